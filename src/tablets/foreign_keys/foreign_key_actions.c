/*-------------------------------------------------------------------------
 * foreign_key_actions.c
 *	  What foreign keys check, and what they do.
 *
 * As core's ri_triggers.c, with all keys of a statement at once. A child's key has a parent
 * if a row has it now; if not, it is an error if a row of the child still has the key. A
 * parent's old key may have got another row (NO ACTION), else no row of the child may have
 * it. CASCADE and SET are statements on the child, as its owner, like any others.
 *
 * Memory: the current context.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/table_facts.h"
#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/shuttle_tablets.h"

void		(*shuttle_foreign_key_before_error) (void) = NULL;

void
shuttle_foreign_key_types(Oid relid, const AttrNumber *columns, int ncolumns, Oid *types)
{
	for (int i = 0; i < ncolumns; i++)
		types[i] = getBaseType(get_atttype(relid, columns[i]));
}

/* The keys that a search finds, or those that it does not find. */
static List *
search_keys(const ShuttleKeySearch *search, List *keys, bool wanted)
{
	bool	   *found = palloc0_array(bool, list_length(keys));
	List	   *chosen = NIL;
	ListCell   *cell;

	if (keys != NIL)
		shuttle_foreign_key_search(search, keys, found);
	foreach(cell, keys)
	{
		if (found[foreach_current_index(cell)] == wanted)
			chosen = lappend(chosen, lfirst(cell));
	}
	return chosen;
}

/* A search of either table for keys of either table's types. */
static ShuttleKeySearch
make_search(const ShuttleForeignKey *key, bool in_parent, bool parents_keys)
{
	Oid		   *types = palloc_array(Oid, key->ncolumns);
	ShuttleKeySearch search = {
		.relid = in_parent ? key->parent : key->child,
		.ncolumns = key->ncolumns,
		.columns = in_parent ? key->parent_columns : key->child_columns,
		.types = types,
		.operators = in_parent == parents_keys ? (in_parent ? key->parent_parent : key->child_child) : key->parent_child,
		.key_is_left = parents_keys,
		.holds = shuttle_table_kind(key->child) != SHUTTLE_TABLE_DISTRIBUTED,
		.waits = !in_parent && parents_keys,
	};

	shuttle_foreign_key_types(parents_keys ? key->parent : key->child,
							  parents_keys ? key->parent_columns : key->child_columns, key->ncolumns, types);
	return search;
}

static List *
search_side(const ShuttleForeignKey *key, bool in_parent, bool parents_keys, List *keys, bool wanted)
{
	ShuttleKeySearch search = make_search(key, in_parent, parents_keys);

	return search_keys(&search, keys, wanted);
}

/* Bits of the columns that are NULL in a child's key. */
static uint32
nulls_of(const ShuttleForeignKey *key, const ShuttleKeyValues *values)
{
	uint32		nulls = 0;

	for (int i = 0; values->nulls != NULL && i < key->ncolumns; i++)
		nulls |= values->nulls[i] ? 1U << i : 0;
	return nulls;
}

/* The keys whose columns are NULL where the first one's are, and the others. */
static List *
take_alike(const ShuttleForeignKey *key, List **keys, uint32 *nulls)
{
	List	   *alike = NIL;
	List	   *others = NIL;
	ListCell   *cell;

	*nulls = nulls_of(key, linitial(*keys));
	foreach(cell, *keys)
	{
		if (nulls_of(key, lfirst(cell)) == *nulls)
			alike = lappend(alike, lfirst(cell));
		else
			others = lappend(others, lfirst(cell));
	}
	*keys = others;
	return alike;
}

List *
shuttle_foreign_key_missing(const ShuttleForeignKey *key, List *keys)
{
	List	   *missing = NIL;

	while (keys != NIL)
	{
		uint32		nulls;
		List	   *alike = take_alike(key, &keys, &nulls);

		missing = list_concat(missing, nulls == 0 ? search_side(key, true, false, alike, false) : alike);
	}
	return missing;
}

ShuttleKeysAsked *
shuttle_foreign_key_ask_other(const ShuttleForeignKey *key, bool of_parent, List *keys, bool flushes)
{
	ShuttleKeySearch search = make_search(key, !of_parent, of_parent);

	if (shuttle_table_kind(search.relid) != SHUTTLE_TABLE_DISTRIBUTED)
		return NULL;
	return shuttle_foreign_key_search_send(&search, keys, flushes);
}

/* ---- errors */

/* True if the user for whom core's trigger would run may see the key. */
static bool
may_read(Oid relid, const AttrNumber *columns, int ncolumns, const ShuttleKeyValues *values)
{
	Oid			userid = SHUTTLE_TRIGGERS_KEEP_ROLE ? values->userid : GetUserId();

	if (check_enable_rls(relid, userid, true) == RLS_ENABLED)
		return false;
	if (pg_class_aclcheck(relid, userid, ACL_SELECT) == ACLCHECK_OK)
		return true;
	for (int i = 0; i < ncolumns; i++)
	{
		if (pg_attribute_aclcheck(relid, columns[i], userid, ACL_SELECT) != ACLCHECK_OK)
			return false;
	}
	return true;
}

/* The key's columns and values, for a detail. */
static char *
describe_key(Oid relid, const AttrNumber *columns, int ncolumns, const ShuttleKeyValues *values)
{
	StringInfoData names;
	StringInfoData texts;

	initStringInfo(&names);
	initStringInfo(&texts);
	for (int i = 0; i < ncolumns; i++)
	{
		Oid			output;
		bool		is_varlena;

		getTypeOutputInfo(get_atttype(relid, columns[i]), &output, &is_varlena);
		appendStringInfo(&names, "%s%s", i == 0 ? "" : ", ", get_attname(relid, columns[i], false));
		appendStringInfo(&texts, "%s%s", i == 0 ? "" : ", ", OidOutputFunctionCall(output, values->values[i]));
	}
	return psprintf("(%s)=(%s)", names.data, texts.data);
}

pg_noreturn static void
raise_missing(const ShuttleForeignKey *key, const ShuttleKeyValues *values)
{
	Relation	child = table_open(key->child, NoLock);
	bool		shown = may_read(key->child, key->child_columns, key->ncolumns, values);

	ereport(ERROR,
			(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
			 errmsg("insert or update on table \"%s\" violates foreign key constraint \"%s\"",
					RelationGetRelationName(child), key->name),
			 values->nulls != NULL ? errdetail("MATCH FULL does not allow mixing of null and nonnull key values.") :
			 shown ? errdetail("Key %s is not present in table \"%s\".",
							   describe_key(key->child, key->child_columns, key->ncolumns, values),
							   get_rel_name(key->parent)) :
			 errdetail("Key is not present in table \"%s\".", get_rel_name(key->parent)),
			 errtableconstraint(child, key->name)));
}

pg_noreturn static void
raise_left(const ShuttleForeignKey *key, const ShuttleKeyValues *values, bool is_restrict)
{
	Relation	child = table_open(key->child, NoLock);
	bool		shown = may_read(key->parent, key->parent_columns, key->ncolumns, values);
	bool		is_own_error = is_restrict && SHUTTLE_RESTRICT_HAS_ERROR;

	ereport(ERROR,
			(errcode(is_own_error ? ERRCODE_RESTRICT_VIOLATION : ERRCODE_FOREIGN_KEY_VIOLATION),
			 is_own_error ?
			 errmsg("update or delete on table \"%s\" violates RESTRICT setting of foreign key constraint \"%s\" on table \"%s\"",
					get_rel_name(key->parent), key->name, RelationGetRelationName(child)) :
			 errmsg("update or delete on table \"%s\" violates foreign key constraint \"%s\" on table \"%s\"",
					get_rel_name(key->parent), key->name, RelationGetRelationName(child)),
			 errdetail("Key%s%s is %sreferenced from table \"%s\".", shown ? " " : "",
					   shown ? describe_key(key->parent, key->parent_columns, key->ncolumns, values) : "",
					   is_own_error ? "" : "still ", RelationGetRelationName(child)),
			 errtableconstraint(child, key->name)));
}

static void
wait_for_errors(void)
{
	if (shuttle_foreign_key_before_error != NULL)
		shuttle_foreign_key_before_error();
}

void
shuttle_foreign_key_check_missing(const ShuttleForeignKey *key, List *keys)
{
	List	   *present = NIL;

	while (keys != NIL && present == NIL)
	{
		ShuttleKeySearch search = make_search(key, false, false);
		List	   *alike = take_alike(key, &keys, &search.nulls);

		present = search_keys(&search, alike, true);
	}
	if (present == NIL)
		return;
	wait_for_errors();
	raise_missing(key, linitial(present));
}

void
shuttle_foreign_key_check_left(const ShuttleForeignKey *key, List *keys, bool is_restrict)
{
	List	   *left = search_side(key, false, true, keys, true);

	if (left != NIL && !is_restrict)
		left = search_side(key, true, true, left, false);
	if (left == NIL)
		return;
	wait_for_errors();
	raise_left(key, linitial(left), is_restrict);
}

/* ---- statements on the child */

static const char *
child_column(const ShuttleForeignKey *key, int i)
{
	return quote_identifier(get_attname(key->child, key->child_columns[i], false));
}

/* True if SET NULL or SET DEFAULT sets the column. */
static bool
is_set(const ShuttleForeignKey *key, int i, bool deleted)
{
	if (!deleted || key->nset == 0)
		return true;
	for (int j = 0; j < key->nset; j++)
	{
		if (key->set_columns[j] == key->child_columns[i])
			return true;
	}
	return false;
}

static void
append_sets(StringInfo text, const ShuttleForeignKey *key, char action, bool deleted)
{
	const char *separator = "";

	for (int i = 0; i < key->ncolumns; i++)
	{
		if (action != FKCONSTR_ACTION_CASCADE && !is_set(key, i, deleted))
			continue;
		appendStringInfo(text, "%s%s = ", separator, child_column(key, i));
		if (action == FKCONSTR_ACTION_CASCADE)
			appendStringInfo(text, "k.v%d", i + 1);
		else
			appendStringInfoString(text, action == FKCONSTR_ACTION_SETNULL ? "NULL" : "DEFAULT");
		separator = ", ";
	}
}

static void
append_keys(StringInfo text, const ShuttleForeignKey *key, bool has_new)
{
	appendStringInfo(text, "ROWS FROM (");
	for (int i = 0; i < key->ncolumns * (has_new ? 2 : 1); i++)
		appendStringInfo(text, "%spg_catalog.unnest($%d)", i == 0 ? "" : ", ", i + 1);
	appendStringInfoString(text, ") AS k (");
	for (int i = 0; i < key->ncolumns * (has_new ? 2 : 1); i++)
		appendStringInfo(text, "%s%c%d", i == 0 ? "" : ", ", i < key->ncolumns ? 'k' : 'v', i % key->ncolumns + 1);
	appendStringInfoChar(text, ')');
}

/* The child's column on the left of ANY, as the operator takes it. */
static void
append_any(StringInfo text, const ShuttleForeignKey *key)
{
	Oid			operator = get_commutator(key->parent_child[0]);
	Oid			left;
	Oid			right;

	op_input_types(operator, &left, &right);
	appendStringInfo(text, " WHERE c.%s", child_column(key, 0));
	if (left != getBaseType(get_atttype(key->child, key->child_columns[0])) && get_typtype(left) != TYPTYPE_PSEUDO)
		appendStringInfo(text, "::%s", format_type_extended(left, -1, FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
	appendStringInfo(text, " OPERATOR(%s.%s) ANY ($1)",
					 quote_identifier(get_namespace_name(get_func_namespace(get_opcode(operator)))), get_opname(operator));
}

/* One key column: nodes do the statement by themselves. */
static bool
is_simple(const ShuttleForeignKey *key, bool has_new)
{
	return key->ncolumns == 1 && !has_new && OidIsValid(get_commutator(key->parent_child[0]));
}

static char *
action_text(const ShuttleForeignKey *key, char action, bool deleted)
{
	bool		has_new = !deleted && action == FKCONSTR_ACTION_CASCADE;
	bool		deletes = deleted && action == FKCONSTR_ACTION_CASCADE;
	const char *only = get_rel_relkind(key->child) == RELKIND_PARTITIONED_TABLE ? "" : "ONLY ";
	StringInfoData text;

	initStringInfo(&text);
	if (deletes)
		appendStringInfo(&text, "DELETE FROM %s%s AS c", only, shuttle_local_name(key->child));
	else
	{
		appendStringInfo(&text, "UPDATE %s%s AS c SET ", only, shuttle_local_name(key->child));
		append_sets(&text, key, action, deleted);
	}
	if (is_simple(key, has_new))
	{
		append_any(&text, key);
		return text.data;
	}
	appendStringInfoString(&text, deletes ? " USING " : " FROM ");
	append_keys(&text, key, has_new);
	for (int i = 0; i < key->ncolumns; i++)
	{
		appendStringInfoString(&text, i == 0 ? " WHERE " : " AND ");
		generate_operator_clause(&text, psprintf("k.k%d", i + 1),
								 getBaseType(get_atttype(key->parent, key->parent_columns[i])), key->parent_child[i],
								 psprintf("c.%s", child_column(key, i)), get_atttype(key->child, key->child_columns[i]));
	}
	return text.data;
}

/* The owner's statement has to see what the user's wrote: over one connection. */
static void
check_mappings(const ShuttleForeignKey *key)
{
	Oid			owner = shuttle_local_owner(key->child);
	ListCell   *cell;

	if (owner == GetUserId() || shuttle_table_kind(key->child) != SHUTTLE_TABLE_DISTRIBUTED)
		return;
	foreach(cell, shuttle_table_servers(key->child))
	{
		if (GetUserMapping(owner, lfirst_oid(cell))->umid != GetUserMapping(GetUserId(), lfirst_oid(cell))->umid)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("foreign key \"%s\" cannot change rows of table \"%s\", whose owner has another user mapping",
							key->name, get_rel_name(key->child)),
					 errhint("Make one user mapping for PUBLIC.")));
	}
}

/* Runs a statement on the child as its owner; its triggers fire behind those of now. */
static void
run_statement(const ShuttleForeignKey *key, const char *sql, int nparams, Oid *types, Datum *values)
{
	Oid			userid;
	int			flags;
	SPIPlanPtr	plan;

	GetUserIdAndSecContext(&userid, &flags);
	SPI_connect();
	SetUserIdAndSecContext(shuttle_local_owner(key->child),
						   flags | SECURITY_LOCAL_USERID_CHANGE | SECURITY_NOFORCE_RLS);
	plan = SPI_prepare(sql, nparams, types);
	if (plan == NULL ||
		shuttle_foreign_key_execute(plan, values, shuttle_table_kind(key->child) != SHUTTLE_TABLE_DISTRIBUTED) < 0)
		elog(ERROR, "could not execute: %s", sql);
	SetUserIdAndSecContext(userid, flags);
	SPI_finish();
}

static void
run_action(const ShuttleForeignKey *key, const List *keys, char action, bool deleted)
{
	bool		has_new = !deleted && action == FKCONSTR_ACTION_CASCADE;
	int			nparams = key->ncolumns * (has_new ? 2 : 1);
	Oid			types[INDEX_MAX_KEYS];
	Oid			arrays[INDEX_MAX_KEYS * 2];
	Datum		values[INDEX_MAX_KEYS * 2];

	check_mappings(key);
	shuttle_foreign_key_wait(key->child);
	shuttle_foreign_key_types(key->parent, key->parent_columns, key->ncolumns, types);
	for (int i = 0; i < nparams; i++)
	{
		int			column = i % key->ncolumns;

		arrays[i] = get_array_type(types[column]);
		values[i] = shuttle_foreign_key_array(types[column], keys, column, i >= key->ncolumns);
	}
	run_statement(key, action_text(key, action, deleted), nparams, arrays, values);
}

/* Under REPEATABLE READ the statement does not see newer rows; core would fail as well. */
static void
check_newer(const ShuttleForeignKey *key, List *keys)
{
	if (IsolationUsesXactSnapshot() && shuttle_table_kind(key->child) == SHUTTLE_TABLE_DISTRIBUTED &&
		search_side(key, false, true, keys, true) != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent update")));
}

void
shuttle_foreign_key_act(const ShuttleForeignKey *key, List *keys, bool deleted)
{
	char		action = deleted ? key->on_delete : key->on_update;

	switch (action)
	{
		case FKCONSTR_ACTION_NOACTION:
		case FKCONSTR_ACTION_RESTRICT:
			shuttle_foreign_key_check_left(key, keys, action == FKCONSTR_ACTION_RESTRICT);
			break;
		case FKCONSTR_ACTION_SETDEFAULT:
			run_action(key, keys, action, deleted);
			check_newer(key, keys);

			/*
			 * a default that is the old key changes no row, and no trigger
			 * sees it
			 */
			shuttle_foreign_key_check_left(key, keys, false);
			break;
		default:
			run_action(key, keys, action, deleted);
			check_newer(key, keys);
	}
}
