/*-------------------------------------------------------------------------
 * distribute_checks.c
 *	  Which tables can be distributed, and by which column.
 *
 * A check returns an error that is not raised, or NULL: distribute_table()
 * raises it before anything is changed, and advise() shows it.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

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
#include "tablets/distribute.h"
#include "tablets/tablets_internal.h"

/* Something that a distributed table cannot have. */
typedef struct RefusedPart
{
	const char *query;			/* of one name; $1 is the table */
	const char *message;		/* with the table's name and that name */
	const char *hint;
} RefusedPart;

static const RefusedPart parts[] =
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
		.query = "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = $1 AND NOT indisvalid",
		.message = "cannot distribute table \"%s\" with index \"%s\" that is not valid",
		.hint = "Drop the index, or build it again with REINDEX.",
	},
	{
		.query = "SELECT conname::text FROM pg_constraint"
		" WHERE conrelid = $1 AND contype = 'c' AND NOT convalidated"
		" AND pg_get_constraintdef(oid) NOT LIKE '% NOT ENFORCED'",
		.message = "cannot distribute table \"%s\" with check \"%s\" that its rows may not meet",
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
	{
		.query = "SELECT conname::text FROM pg_constraint WHERE conrelid = $1 AND contype = 'f'"
		" AND 'd' IN (confupdtype, confdeltype)",
		.message = "cannot distribute table \"%s\" with foreign key \"%s\" that sets defaults",
		.hint = "Storage nodes have no defaults; use ON UPDATE and ON DELETE with CASCADE, SET NULL or NO ACTION.",
	},
	{
		.query = "SELECT attname::text FROM pg_attribute WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped"
		" AND (SELECT typname LIKE 'reg%' AND typnamespace = 'pg_catalog'::regnamespace FROM pg_type WHERE oid = atttypid)",
		.message = "cannot distribute table \"%s\" with column \"%s\" of names of objects",
		.hint = "They stand for OIDs, which differ on nodes: make the column text, or oid.",
	},
	{
		.query = "SELECT t.tgname::text FROM pg_trigger AS t JOIN pg_constraint AS k ON k.conrelid = t.tgrelid AND k.contype = 'f'"
		" WHERE t.tgrelid = $1 AND NOT t.tgisinternal AND t.tgtype & 1 <> 0 AND (t.tgtype & 8 <> 0 AND k.confdeltype = 'c'"
		" OR t.tgtype & 16 <> 0 AND (k.confdeltype = 'n' OR k.confupdtype IN ('c', 'n')))",
		.message = "cannot distribute table \"%s\" with trigger \"%s\" and a foreign key that changes its rows",
		.hint = "Storage nodes do what foreign keys say, and fire no triggers: drop the trigger, or use NO ACTION.",
	},
};

static const char *const choose_hint = "Choose another column.";

ShuttleRefusal *
shuttle_refusal(int code, const char *message, const char *detail, const char *hint)
{
	ShuttleRefusal *refusal = palloc_object(ShuttleRefusal);

	refusal->code = code;
	refusal->message = message;
	refusal->detail = detail;
	refusal->hint = hint;
	return refusal;
}

void
shuttle_refusal_raise(const ShuttleRefusal *refusal)
{
	if (refusal != NULL)
		ereport(ERROR,
				(errcode(refusal->code),
				 errmsg_internal("%s", refusal->message),
				 refusal->detail == NULL ? 0 : errdetail_internal("%s", refusal->detail),
				 refusal->hint == NULL ? 0 : errhint("%s", refusal->hint)));
}

bool
shuttle_is_extension_table(Oid relid)
{
	Oid			extension = getExtensionOfObject(RelationRelationId, relid);

	return OidIsValid(extension) && extension == get_extension_oid("pg_shuttle", true);
}

void
shuttle_lock_owned(Oid relid)
{
	const char *name = get_rel_name(relid);

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (!object_ownercheck(RelationRelationId, relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, name);
	LockRelationOid(relid, AccessExclusiveLock);
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table \"%s\" was dropped by another session", name)));
}

ShuttleRefusal *
shuttle_refuse_taken(Relation rel)
{
	const char *name = RelationGetRelationName(rel);

	if (!object_ownercheck(RelationRelationId, RelationGetRelid(rel), GetUserId()))
		return shuttle_refusal(ERRCODE_INSUFFICIENT_PRIVILEGE,
							   psprintf("must be owner of table %s", name), NULL, NULL);
	if (shuttle_table_kind(RelationGetRelid(rel)) != SHUTTLE_TABLE_OTHER)
		return shuttle_refusal(ERRCODE_DUPLICATE_OBJECT,
							   psprintf("table \"%s\" is distributed or a reference table already", name),
							   NULL, "Bring it back first with shuttle.local_table().");
	return NULL;
}

static ShuttleRefusal *
refuse_kind(Relation rel)
{
	const char *hint = NULL;

	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		hint = "Tables that are partitioned already cannot be distributed yet: distribute a table without partitions.";
	else if (rel->rd_rel->relkind != RELKIND_RELATION)
		hint = "Only ordinary tables can be distributed.";
	else if (rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		hint = "Temporary and unlogged tables stay on this server; use ALTER TABLE ... SET LOGGED first.";
	else if (IsSystemRelation(rel) || shuttle_is_extension_table(RelationGetRelid(rel)))
		hint = "System catalogs, and tables of pg_shuttle, stay on this server.";
	if (hint == NULL)
		return NULL;
	return shuttle_refusal(ERRCODE_WRONG_OBJECT_TYPE,
						   psprintf("cannot distribute \"%s\"", RelationGetRelationName(rel)),
						   NULL, hint);
}

static ShuttleRefusal *
refuse_parts(Relation rel)
{
	for (int i = 0; i < lengthof(parts); i++)
	{
		char	   *name = shuttle_local_text(parts[i].query, RelationGetRelid(rel));

		if (name != NULL)
			return shuttle_refusal(ERRCODE_FEATURE_NOT_SUPPORTED,
								   psprintf(parts[i].message, RelationGetRelationName(rel), name),
								   NULL, parts[i].hint);
	}
	return NULL;
}

/* Uniqueness is checked by each node for itself. */
static ShuttleRefusal *
refuse_unique_index(Relation rel, const char *key)
{
	char	   *query = psprintf("SELECT i.indexrelid::regclass::text FROM pg_index AS i WHERE i.indrelid = $1"
								 " AND i.indisunique AND NOT EXISTS (SELECT FROM pg_attribute AS a"
								 " WHERE a.attrelid = i.indrelid AND a.attname = %s"
								 " AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]))",
								 quote_literal_cstr(key));
	char	   *name = shuttle_local_text(query, RelationGetRelid(rel));

	if (name == NULL)
		return NULL;
	return shuttle_refusal(ERRCODE_INVALID_TABLE_DEFINITION,
						   psprintf("cannot distribute table \"%s\" by column \"%s\" because unique index \"%s\" lacks it",
									RelationGetRelationName(rel), key, name),
						   "A storage node checks only its own rows, so rows that could be equal must be on one node.",
						   "Add the column to the key, or distribute by a column of the key.");
}

/* A node cannot move a row that a foreign key gives another key. */
static ShuttleRefusal *
refuse_null_keys(Relation rel, const char *key)
{
	char	   *query = psprintf("SELECT c.conname::text FROM pg_constraint AS c JOIN pg_attribute AS a"
								 " ON a.attrelid = c.conrelid AND a.attname = %s AND a.attnum = ANY (c.conkey)"
								 " WHERE c.conrelid = $1 AND c.contype = 'f' AND (c.confupdtype = 'n' OR c.confdeltype = 'n'"
								 " AND COALESCE(a.attnum = ANY (c.confdelsetcols), true))",
								 quote_literal_cstr(key));
	char	   *name = shuttle_local_text(query, RelationGetRelid(rel));

	if (name == NULL)
		return NULL;
	return shuttle_refusal(ERRCODE_FEATURE_NOT_SUPPORTED,
						   psprintf("cannot distribute table \"%s\" by column \"%s\" because foreign key \"%s\" sets it to NULL",
									RelationGetRelationName(rel), key, name),
						   "The row would then belong to another storage node.",
						   "Distribute by another column, or make the key ON UPDATE and ON DELETE with CASCADE or NO ACTION.");
}

/* A foreign key has to relate rows of one node: it maps key to key, or leads to
 * a reference table. */
static ShuttleRefusal *
refuse_foreign_key(Relation rel, const List *group)
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
		return shuttle_refusal(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
							   psprintf("cannot distribute table \"%s\" alone because of foreign key %s",
										RelationGetRelationName(rel), strchr(text, ' ') + 1),
							   psprintf("The key relates it to table \"%s\", which is on this server.",
										get_rel_name(partner)),
							   psprintf("Distribute both with shuttle.distribute_tables(), or make \"%s\" a reference table.",
										*text == '>' ? get_rel_name(partner) : RelationGetRelationName(rel)));
	}
	return NULL;
}

/* True of types that are hashed by OIDs of this server: enums, names of objects, and
 * what consists of them. */
static bool
is_hashed_by_oids(Oid type)
{
	Oid			base = getBaseType(type);
	Oid			part = get_element_type(base);

	if (!OidIsValid(part))
		part = get_range_subtype(base);
	if (!OidIsValid(part))
		part = get_range_subtype(get_multirange_range(base));
	if (OidIsValid(part))
		return is_hashed_by_oids(part);
	return type_is_enum(base) ||
		(base < FirstGenbkiObjectId && strncmp(format_type_be(base), "reg", strlen("reg")) == 0);
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
	if (is_hashed_by_oids(attribute.atttypid))
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

ShuttleRefusal *
shuttle_refuse_distribution(Relation rel, const char *key, const List *group)
{
	ShuttleRefusal *refusal = shuttle_refuse_taken(rel);

	if (refusal == NULL)
		refusal = refuse_kind(rel);
	if (refusal == NULL && key != NULL)
		refusal = refuse_key(rel, key);
	if (refusal == NULL)
		refusal = refuse_parts(rel);
	if (refusal == NULL)
		refusal = shuttle_refuse_session_checks(rel, NULL);
	if (refusal == NULL && key != NULL)
		refusal = refuse_unique_index(rel, key);
	if (refusal == NULL && key != NULL)
		refusal = refuse_null_keys(rel, key);
	if (refusal == NULL)
		refusal = refuse_foreign_key(rel, group);
	return refusal;
}
