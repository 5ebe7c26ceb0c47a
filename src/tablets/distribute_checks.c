/*-------------------------------------------------------------------------
 * distribute_checks.c
 *	  Which tables can be distributed, and by which column.
 *
 * Each refusal is a query that returns a name if the table has what cannot be
 * kept; all of them are asked before anything is changed.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/catalog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/shuttle_compat_catalog.h"
#include "tablets/tablets_internal.h"

/* Something that a distributed table cannot have. */
typedef struct Refusal
{
	const char *query;			/* of one name; $1 is the table */
	const char *message;		/* with the table's name and that name */
	const char *hint;
} Refusal;

static const Refusal refusals[] =
{
	{
		.query = "SELECT conname::text FROM pg_constraint WHERE conrelid = $1 AND contype = 'x'",
		.message = "cannot distribute table \"%s\" with exclusion constraint \"%s\"",
		.hint = "Drop the constraint first.",
	},
	{
		.query = "SELECT indexrelid::regclass::text FROM pg_index"
		" WHERE indrelid = $1 AND indisunique AND indnkeyatts > 0"
		" AND indexprs IS NOT NULL",
		.message = "cannot distribute table \"%s\" with unique index \"%s\" on expressions",
		.hint = "Make the index not unique, or drop it.",
	},
	{
		.query = "SELECT inhparent::regclass::text FROM pg_inherits WHERE inhrelid = $1"
		" UNION ALL SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = $1",
		.message = "cannot distribute table \"%s\" because of its inheritance with \"%s\"",
		.hint = "Only tables without parents and children can be distributed.",
	},
	{
		.query = "SELECT reloftype::regtype::text FROM pg_class WHERE oid = $1 AND reloftype <> 0",
		.message = "cannot distribute table \"%s\" of type \"%s\"",
		.hint = "Use ALTER TABLE ... NOT OF first.",
	},
	{
		.query = "SELECT rulename::text FROM pg_rewrite WHERE ev_class = $1",
		.message = "cannot distribute table \"%s\" with rule \"%s\"",
		.hint = "Use triggers on views, or drop the rule.",
	},
	{
		.query = "SELECT tgname::text FROM pg_trigger WHERE tgrelid = $1 AND NOT tgisinternal"
		" AND (tgconstraint <> 0 OR tgoldtable IS NOT NULL OR tgnewtable IS NOT NULL)",
		.message = "cannot distribute table \"%s\" with trigger \"%s\"",
		.hint = "Constraint triggers, and triggers with transition tables, cannot be on foreign tables.",
	},
};

void
shuttle_distribute_check_owned(Relation rel)
{
	if (!object_ownercheck(RelationRelationId, RelationGetRelid(rel), GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, RelationGetRelationName(rel));
	if (shuttle_table_kind(RelationGetRelid(rel)) != SHUTTLE_TABLE_OTHER)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("table \"%s\" is distributed or a reference table already",
						RelationGetRelationName(rel)),
				 errhint("Bring it back first with shuttle.local_table().")));
}

static void
refuse_kind(Relation rel)
{
	const char *hint = NULL;

	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		hint = "Tables that are partitioned already cannot be distributed yet: distribute a table without partitions.";
	else if (rel->rd_rel->relkind != RELKIND_RELATION)
		hint = "Only ordinary tables can be distributed.";
	else if (rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		hint = "Temporary and unlogged tables stay on this server; use ALTER TABLE ... SET LOGGED first.";
	else if (IsSystemRelation(rel))
		hint = "System catalogs stay on this server.";
	if (hint != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot distribute \"%s\"", RelationGetRelationName(rel)),
				 errhint("%s", hint)));
}

static void
refuse_parts(Relation rel)
{
	for (int i = 0; i < lengthof(refusals); i++)
	{
		char	   *name = shuttle_local_text(refusals[i].query, RelationGetRelid(rel));

		if (name != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg(refusals[i].message, RelationGetRelationName(rel), name),
					 errhint("%s", refusals[i].hint)));
	}
}

/* Uniqueness is checked by each node for itself. */
static void
check_unique_indexes(Relation rel, const char *key)
{
	char	   *query = psprintf("SELECT i.indexrelid::regclass::text FROM pg_index AS i WHERE i.indrelid = $1"
								 " AND i.indisunique AND NOT EXISTS (SELECT FROM pg_attribute AS a"
								 " WHERE a.attrelid = i.indrelid AND a.attname = %s"
								 " AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]))",
								 quote_literal_cstr(key));
	char	   *name = shuttle_local_text(query, RelationGetRelid(rel));

	if (name != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("cannot distribute table \"%s\" by column \"%s\" because unique index \"%s\" lacks it",
						RelationGetRelationName(rel), key, name),
				 errdetail("A storage node checks only its own rows, so rows that could be equal must be on one node."),
				 errhint("Add the column to the key, or distribute by a column of the key.")));
}

/* A foreign key has to relate rows of one node: it maps key to key, or leads to
 * a reference table. */
static void
check_foreign_keys(Relation rel, const char *key, const List *group)
{
	ListCell   *cell;
	static const char *const partners_query =
		"SELECT '>' || confrelid::oid::text || ' ' || quote_ident(conname) FROM pg_constraint"
		" WHERE contype = 'f' AND conrelid = $1"
		" UNION ALL SELECT '<' || conrelid::oid::text || ' ' || quote_ident(conname) FROM pg_constraint"
		" WHERE contype = 'f' AND confrelid = $1";

	foreach(cell, shuttle_local_texts(partners_query, RelationGetRelid(rel)))
	{
		char	   *text = lfirst(cell);
		Oid			partner = atooid(text +1);

		if (list_member_oid(group, partner) ||
			(*text == '>' && shuttle_table_kind(partner) == SHUTTLE_TABLE_REFERENCE))
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot distribute table \"%s\" alone because of foreign key %s",
						RelationGetRelationName(rel), strchr(text, ' ') + 1),
				 errdetail("The key relates it to table \"%s\", which is on this server.",
						   get_rel_name(partner)),
				 errhint("Distribute both with shuttle.distribute_tables(), or make \"%s\" a reference table.",
						 get_rel_name(partner))));
	}
}

static AttrNumber
find_key(Relation rel, const char *key)
{
	HeapTuple	tuple = SearchSysCacheAttName(RelationGetRelid(rel), key);
	FormData_pg_attribute attribute;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of table \"%s\" does not exist",
						key, RelationGetRelationName(rel))));
	memcpy(&attribute, GETSTRUCT(tuple), ATTRIBUTE_FIXED_PART_SIZE);
	ReleaseSysCache(tuple);
	if (attribute.attnum < 0 || attribute.attgenerated != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
				 errmsg("cannot distribute table \"%s\" by column \"%s\"",
						RelationGetRelationName(rel), key),
				 errdetail("The column is a system column or generated.")));
	if (!OidIsValid(GetDefaultOpClass(attribute.atttypid, HASH_AM_OID)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("cannot distribute table \"%s\" by column \"%s\" of type %s",
						RelationGetRelationName(rel), key, format_type_be(attribute.atttypid)),
				 errdetail("The type has no default operator class for hashing.")));
	if (OidIsValid(attribute.attcollation) &&
		!get_collation_isdeterministic(attribute.attcollation))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot distribute table \"%s\" by column \"%s\"",
						RelationGetRelationName(rel), key),
				 errdetail("Its collation is not deterministic, so that equal values can have different hash values on nodes.")));
	return attribute.attnum;
}

AttrNumber
shuttle_distribute_check(Relation rel, const char *key, const List *group)
{
	AttrNumber	number;

	shuttle_distribute_check_owned(rel);
	refuse_kind(rel);
	number = find_key(rel, key);
	refuse_parts(rel);
	check_unique_indexes(rel, key);
	check_foreign_keys(rel, key, group);
	return number;
}
