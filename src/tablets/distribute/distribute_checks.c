/*-------------------------------------------------------------------------
 * distribute_checks.c
 *	  Which tables can be distributed, and by which column.
 *
 * A check returns an error that is not raised, or NULL: distribute_table()
 * raises it before anything is changed, and advise() shows it.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/catalog.h"
#include "catalog/dependency.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/refusal.h"
#include "tablets/common/table_facts.h"
#include "tablets/constraints/constraints.h"
#include "tablets/distribute/distribute.h"
#include "tablets/indexes/global.h"
#include "tablets/shuttle_global.h"
#include "tablets/shuttle_tablets.h"

/* Something that a distributed table cannot have. */
typedef struct RefusedPart
{
	const char *query;			/* of one name; $1 is the table */
	const char *message;		/* with the table's name and that name */
	const char *hint;
	bool		partitions_may; /* a partition can have it */
} RefusedPart;

static const RefusedPart parts[] =
{
	{
		.query = "SELECT conname::text FROM pg_constraint WHERE conrelid = $1 AND contype = 'x'",
		.message = "cannot distribute table \"%s\" with exclusion constraint \"%s\"",
		.hint = "Drop the constraint first.",
	},
	{
		.query = "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = $1 AND NOT indisvalid",
		.message = "cannot distribute table \"%s\" with index \"%s\" that is not valid",
		.hint = "Drop the index, or build it again with REINDEX.",
	},
	{
		.query = "SELECT conname::text FROM pg_constraint"
		" WHERE conrelid = $1 AND contype IN ('c', 'n') AND NOT convalidated"
		" AND pg_get_constraintdef(oid) NOT LIKE '% NOT ENFORCED'",
		.message = "cannot distribute table \"%s\" with constraint \"%s\" that its rows may not meet",
		.hint = "Validate it with ALTER TABLE ... VALIDATE CONSTRAINT, or drop it.",
	},
	{
		.query = "SELECT conname::text FROM pg_constraint WHERE conrelid = $1 AND contype = 'c' AND connoinherit",
		.message = "cannot distribute table \"%s\" with check \"%s\" that is NO INHERIT",
		.hint = "Drop it, and add it without NO INHERIT.",
	},
	{
		.query = "SELECT inhparent::regclass::text FROM pg_inherits WHERE inhrelid = $1"
		" UNION ALL SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = $1",
		.message = "cannot distribute table \"%s\" because of its inheritance with \"%s\"",
		.hint = "Only tables without parents and children can be distributed.",
		.partitions_may = true,
	},
	{
		.query = "SELECT reloftype::regtype::text FROM pg_class WHERE oid = $1 AND reloftype <> 0",
		.message = "cannot distribute table \"%s\" of type \"%s\"",
		.hint = "Use ALTER TABLE ... NOT OF first.",
	},
	{
		.query = "SELECT amname::text FROM pg_class AS c JOIN pg_am AS a ON a.oid = c.relam WHERE c.oid = $1 AND amname <> 'heap'",
		.message = "cannot distribute table \"%s\" of access method \"%s\"",
		.hint = "Use ALTER TABLE ... SET ACCESS METHOD heap first.",
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
	{
		.query = "SELECT tgname::text FROM pg_trigger WHERE tgrelid = $1 AND tgname ~ '^00_shuttle_index(_begin|_end)?$'",
		.message = "cannot distribute table \"%s\" with trigger \"%s\"",
		.hint = "Triggers of the extension have that name: give it another one.",
	},
	{
		.query = "SELECT pubname::text FROM pg_publication AS p JOIN pg_publication_rel ON prpubid = p.oid WHERE NOT puballtables"
		" AND (prrelid = $1 OR prrelid IN (SELECT relid FROM pg_partition_ancestors($1))) ORDER BY pubname LIMIT 1",
		.message = "cannot distribute table \"%s\" that publication \"%s\" names",
		.hint = "Its rows would be written on nodes, where this publication has no changes: take it out with ALTER PUBLICATION ... DROP TABLE first, and publish the tablets on their nodes.",
	},
	{
		.query = "SELECT subname::text FROM pg_subscription AS s JOIN pg_subscription_rel ON srsubid = s.oid"
		" WHERE srrelid = $1 OR srrelid IN (SELECT relid FROM pg_partition_ancestors($1)) ORDER BY subname LIMIT 1",
		.message = "cannot distribute table \"%s\" that subscription \"%s\" writes",
		.hint = "Changes of a publisher cannot be written into tablets: take the table out of the publication and refresh the subscription, or drop the subscription.",
	},
};

static const char *const choose_hint = "Choose another column.";

static ShuttleRefusal *
refuse_kind(Relation rel, char kind)
{
	const char *hint = NULL;

	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE && kind == RELKIND_RELATION)
		hint = "It is partitioned: distribute it by itself, with shuttle.distribute_table().";
	else if (rel->rd_rel->relkind != kind)
		hint = "Only ordinary tables can be distributed.";
	else if (rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		hint = "Temporary and unlogged tables stay on this server; use ALTER TABLE ... SET LOGGED first.";
	else if (IsSystemRelation(rel) || shuttle_table_is_of_extension(RelationGetRelid(rel)))
		hint = "System catalogs, and tables of pg_shuttle, stay on this server.";
	if (hint == NULL)
		return NULL;
	return shuttle_refusal(ERRCODE_WRONG_OBJECT_TYPE,
						   psprintf("cannot distribute \"%s\"", RelationGetRelationName(rel)),
						   NULL, hint);
}

static ShuttleRefusal *
refuse_parts(Relation rel, bool is_of_partitions)
{
	for (int i = 0; i < lengthof(parts); i++)
	{
		char	   *name = is_of_partitions && parts[i].partitions_may ? NULL :
			shuttle_local_text(parts[i].query, RelationGetRelid(rel));

		if (name != NULL)
			return shuttle_refusal(ERRCODE_FEATURE_NOT_SUPPORTED,
								   psprintf(parts[i].message, RelationGetRelationName(rel), name),
								   NULL, parts[i].hint);
	}
	return NULL;
}

/* A node checks only its own rows; what it cannot check alone is global. */
static ShuttleRefusal *
refuse_unique_index(Relation rel, Relation index, AttrNumber key)
{
	if (!index->rd_index->indisunique)
		return NULL;
	if (shuttle_global_index_is(index, key))
		return shuttle_global_index_refuse(index, key);
	if (shuttle_table_index_tree(index, Anum_pg_index_indexprs) == NULL)
		return NULL;
	return shuttle_refusal(ERRCODE_FEATURE_NOT_SUPPORTED,
						   psprintf("cannot distribute table \"%s\" with unique index \"%s\" on expressions and the distribution column",
									RelationGetRelationName(rel), RelationGetRelationName(index)),
						   NULL, "Make the index not unique, drop it, or leave the distribution column out.");
}

static ShuttleRefusal *
refuse_unique_indexes(Relation rel, AttrNumber key)
{
	ShuttleRefusal *refusal = NULL;
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(rel))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		if (refusal == NULL)
			refusal = refuse_unique_index(rel, index, key);
		index_close(index, NoLock);
	}
	return refusal;
}

static ShuttleRefusal *
refuse_key(Relation rel, const char *key)
{
	const char *name = RelationGetRelationName(rel);
	HeapTuple	tuple = SearchSysCacheAttName(RelationGetRelid(rel), key);
	FormData_pg_attribute attribute;

	if (!HeapTupleIsValid(tuple))
		return shuttle_refusal(ERRCODE_UNDEFINED_COLUMN,
							   psprintf("column \"%s\" of table \"%s\" does not exist", key, name),
							   NULL, NULL);
	memcpy(&attribute, GETSTRUCT(tuple), ATTRIBUTE_FIXED_PART_SIZE);
	ReleaseSysCache(tuple);
	if (attribute.attnum < 0 || attribute.attgenerated != '\0')
		return shuttle_refusal(ERRCODE_INVALID_COLUMN_REFERENCE,
							   psprintf("cannot distribute table \"%s\" by column \"%s\"", name, key),
							   "The column is a system column or generated.", choose_hint);
	if (!OidIsValid(GetDefaultOpClass(attribute.atttypid, HASH_AM_OID)))
		return shuttle_refusal(ERRCODE_UNDEFINED_OBJECT,
							   psprintf("cannot distribute table \"%s\" by column \"%s\" of type %s",
										name, key, format_type_be(attribute.atttypid)),
							   "The type has no default operator class for hashing.", choose_hint);
	if (shuttle_table_hashes_by_oids(attribute.atttypid))
		return shuttle_refusal(ERRCODE_FEATURE_NOT_SUPPORTED,
							   psprintf("cannot distribute table \"%s\" by column \"%s\" of type %s",
										name, key, format_type_be(attribute.atttypid)),
							   "Its values are hashed by OIDs, which differ on nodes.", choose_hint);
	if (OidIsValid(attribute.attcollation) &&
		!get_collation_isdeterministic(attribute.attcollation))
		return shuttle_refusal(ERRCODE_FEATURE_NOT_SUPPORTED,
							   psprintf("cannot distribute table \"%s\" by column \"%s\"", name, key),
							   "Its collation is not deterministic, so that equal values can have different hash values on nodes.",
							   choose_hint);
	return NULL;
}

static ShuttleRefusal *
refuse_table(Relation rel, const char *key, bool is_partition)
{
	ShuttleRefusal *refusal = shuttle_refusal_of_taken(rel);

	if (refusal == NULL)
		refusal = refuse_kind(rel, RELKIND_RELATION);
	if (refusal == NULL && key != NULL)
		refusal = refuse_key(rel, key);
	if (refusal == NULL)
		refusal = refuse_parts(rel, is_partition);
	if (refusal == NULL)
		refusal = shuttle_refusal_of_types(rel, NIL);
	if (refusal == NULL)
		refusal = shuttle_session_checks_refuse(rel, NULL);
	if (refusal == NULL)
		refusal = shuttle_session_checks_refuse_generated(rel, NIL);
	if (refusal == NULL)
		refusal = shuttle_session_checks_refuse_domains(rel, NIL);
	if (refusal == NULL && key != NULL)
		refusal = refuse_unique_indexes(rel, get_attnum(RelationGetRelid(rel), key));
	return refusal;
}

/* Core makes foreign keys of partitions and of their parent of one another, and it has none of tables
 * with foreign partitions. A global index is one of a table, not of several. */
static ShuttleRefusal *
refuse_of_partitions(Relation rel, const char *key)
{
	static const char *const key_query =
		"SELECT conname::text FROM pg_constraint WHERE contype = 'f' AND $1 IN (conrelid, confrelid)";
	const char *table = RelationGetRelationName(rel);
	char	   *name = shuttle_local_text(key_query, RelationGetRelid(rel));
	ListCell   *cell;

	if (name != NULL)
		return shuttle_refusal(ERRCODE_FEATURE_NOT_SUPPORTED,
							   psprintf("cannot distribute partitioned table or partition \"%s\" with foreign key \"%s\"", table, name),
							   NULL, "Drop the foreign key first.");
	foreach(cell, RelationGetIndexList(rel))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);
		bool		is_global = shuttle_global_index_is(index, get_attnum(RelationGetRelid(rel), key));

		name = pstrdup(RelationGetRelationName(index));
		index_close(index, NoLock);
		if (is_global)
			return shuttle_refusal(ERRCODE_FEATURE_NOT_SUPPORTED,
								   psprintf("cannot distribute partitioned table or partition \"%s\" with unique index \"%s\"", table, name),
								   psprintf("Its columns lack the distribution column \"%s\".", key),
								   "Add the column to the index, make the index not unique, or choose another column.");
	}
	return NULL;
}

ShuttleRefusal *
shuttle_distribute_refuse_partitioned(Relation rel, const char *key)
{
	ShuttleRefusal *refusal = shuttle_refusal_of_taken(rel);

	if (refusal == NULL)
		refusal = refuse_kind(rel, RELKIND_PARTITIONED_TABLE);
	if (refusal == NULL)
		refusal = refuse_key(rel, key);
	if (refusal == NULL)
		refusal = refuse_parts(rel, true);
	if (refusal == NULL)
		refusal = shuttle_refusal_of_types(rel, NIL);
	return refusal == NULL ? refuse_of_partitions(rel, key) : refusal;
}

ShuttleRefusal *
shuttle_distribute_refuse_partition(Relation rel, const char *key)
{
	ShuttleRefusal *refusal = refuse_table(rel, key, true);

	return refusal == NULL ? refuse_of_partitions(rel, key) : refusal;
}

ShuttleRefusal *
shuttle_distribute_refuse(Relation rel, const char *key)
{
	return refuse_table(rel, key, false);
}
