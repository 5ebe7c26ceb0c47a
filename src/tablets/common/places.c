/*-------------------------------------------------------------------------
 * places.c
 *	  The placement rules of tables and groups, and the nodes that they allow.
 *
 * The rule of a table is the nearest one above it: its own, or that of the partitioned
 * table that it is a partition of, and so on; entries of an index have that of the
 * index's table. All rules of a group's tables have to be kept at once. The view
 * shuttle.placements says the same of each distributed table.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/places.h"

static const char *const rule_query =
"SELECT rule FROM shuttle.placement_rules WHERE relation = $1";

static const char *const indexed_query =
"SELECT relation::oid::text FROM shuttle.global_indexes WHERE entries = $1";

static const char *const group_query =
"SELECT DISTINCT declared_for::oid::text FROM shuttle.placements WHERE group_id = $1::int8 ORDER BY 1";

/* ---- reading */

static Oid
above(Oid relid)
{
	char	   *indexed;

	if (get_rel_relispartition(relid))
		return get_partition_parent(relid, true);
	indexed = shuttle_local_text(indexed_query, relid);
	return indexed == NULL ? InvalidOid : atooid(indexed);
}

Oid
shuttle_places_source(Oid relid)
{
	while (OidIsValid(relid) && shuttle_local_text(rule_query, relid) == NULL)
		relid = above(relid);
	return relid;
}

/* Adds what the rule says for partitions of any age. */
static void
add_rule(ShuttlePlaces *places, Oid source)
{
	char	   *text = shuttle_local_text(rule_query, source);
	ShuttlePlacesRule *rule;

	if (text == NULL)
		return;
	rule = palloc_object(ShuttlePlacesRule);
	rule->source = source;
	rule->clause = shuttle_rule_base(shuttle_rule_parse(text));
	if (rule->clause != NULL && rule->clause->conditions != NIL)
		places->rules = lappend(places->rules, rule);
}

static int
compare_texts(const ListCell *a, const ListCell *b)
{
	return strcmp(((const ShuttlePlacesRule *) lfirst(a))->clause->text,
				  ((const ShuttlePlacesRule *) lfirst(b))->clause->text);
}

static void
set_text(ShuttlePlaces *places)
{
	StringInfoData text;
	const char *last = "";
	ListCell   *cell;

	list_sort(places->rules, compare_texts);
	initStringInfo(&text);
	foreach(cell, places->rules)
	{
		const ShuttlePlacesRule *rule = lfirst(cell);

		if (strcmp(rule->clause->text, last) != 0)
			appendStringInfo(&text, "%s%s", text.len == 0 ? "" : " and ", rule->clause->text);
		last = rule->clause->text;
	}
	places->text = text.data;
}

ShuttlePlaces *
shuttle_places_of_group(int group)
{
	ShuttlePlaces *places = palloc0_object(ShuttlePlaces);
	ListCell   *cell;

	foreach(cell, group == 0 ? NIL : shuttle_local_texts(group_query, (Oid) group))
		add_rule(places, atooid(lfirst(cell)));
	set_text(places);
	return places;
}

ShuttlePlaces *
shuttle_places_of_table(Oid relid)
{
	ShuttlePlaces *places = palloc0_object(ShuttlePlaces);
	Oid			source = shuttle_places_source(relid);

	if (OidIsValid(source))
		add_rule(places, source);
	set_text(places);
	return places;
}

/* A clause with an age needs partitions that have one. */
static char *
kept_rule(Oid relid, const char *text)
{
	const ShuttleRuleClause *base;

	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE && shuttle_table_kind(relid) != SHUTTLE_TABLE_DISTRIBUTED)
		return pstrdup(text);
	base = shuttle_rule_base(shuttle_rule_parse(text));
	return base == NULL ? NULL : base->text;
}

void
shuttle_places_keep(Oid relid)
{
	Oid			source = shuttle_places_source(relid);
	char	   *rule;

	(void) shuttle_local_run_as_superuser(psprintf("UPDATE shuttle.placement_rules SET by_age = false WHERE relation = %u::regclass", relid));
	if (!OidIsValid(source) || source == relid)
		return;
	rule = kept_rule(relid, shuttle_local_text(rule_query, source));
	if (rule != NULL)
		(void) shuttle_local_run_as_superuser(psprintf("INSERT INTO shuttle.placement_rules VALUES (%u, %s, false)", relid,
													   quote_literal_cstr(rule)));
}

void
shuttle_places_forget(Oid relid)
{
	(void) shuttle_local_run_as_superuser(psprintf("DELETE FROM shuttle.placement_rules WHERE relation = %u::regclass", relid));
}

/* ---- nodes */

static const ShuttlePlacesRule *
find_broken(const ShuttlePlaces *places, Oid serverid)
{
	List	   *labels = places->rules == NIL ? NIL : shuttle_rule_labels(serverid);
	ListCell   *cell;

	foreach(cell, places->rules)
	{
		const ShuttlePlacesRule *rule = lfirst(cell);

		if (!shuttle_rule_allows(rule->clause, labels))
			return rule;
	}
	return NULL;
}

bool
shuttle_places_allow(const ShuttlePlaces *places, Oid serverid)
{
	return find_broken(places, serverid) == NULL;
}

List *
shuttle_places_choose(const ShuttlePlaces *places, const List *servers)
{
	List	   *allowed = NIL;
	const ListCell *cell;

	foreach(cell, servers)
	{
		if (shuttle_places_allow(places, lfirst_oid(cell)))
			allowed = lappend_oid(allowed, lfirst_oid(cell));
	}
	return allowed;
}

List *
shuttle_places_nodes(const ShuttlePlaces *places)
{
	List	   *allowed = shuttle_places_choose(places, shuttle_layout_nodes_needed());

	if (allowed == NIL)
		shuttle_places_refuse_all(places, InvalidOid);
	return allowed;
}

static char *
rule_text(const ShuttlePlacesRule *rule)
{
	return psprintf("rule \"%s\" of table \"%s\"", rule->clause->text, get_rel_name(rule->source));
}

char *
shuttle_places_broken(const ShuttlePlaces *places, Oid serverid)
{
	const ShuttlePlacesRule *rule = find_broken(places, serverid);

	return rule == NULL ? NULL : rule_text(rule);
}

/* ---- errors */

void
shuttle_places_refuse_all(const ShuttlePlaces *places, Oid relid)
{
	StringInfoData rules;
	ListCell   *cell;

	initStringInfo(&rules);
	foreach(cell, places->rules)
		appendStringInfo(&rules, "%s%s", rules.len == 0 ? "" : " and ", rule_text(lfirst(cell)));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 OidIsValid(relid) ? errmsg("no storage node is allowed for tablets of table \"%s\" by %s", get_rel_name(relid), rules.data) :
			 errmsg("no storage node is allowed by %s", rules.data),
			 errdetail("The nodes and their labels: %s.", shuttle_rule_list_nodes(shuttle_layout_nodes())),
			 errhint("Change labels with shuttle.set_labels(), the rule with shuttle.place(), or add a node.")));
}

void
shuttle_places_check(const ShuttlePlaces *places, Oid relid, Oid serverid)
{
	const ShuttlePlacesRule *rule = find_broken(places, serverid);

	if (rule == NULL)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("tablets of table \"%s\" may not lie on storage node \"%s\" by %s", get_rel_name(relid),
					GetForeignServer(serverid)->servername, rule_text(rule)),
			 errdetail("The nodes and their labels: %s.", shuttle_rule_list_nodes(shuttle_layout_nodes())),
			 errhint("Name a node that the rule allows, or change the rule with shuttle.place() or labels with shuttle.set_labels().")));
}
