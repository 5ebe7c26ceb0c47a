/*-------------------------------------------------------------------------
 * refusal.c
 *	  Errors that have not been raised, and those that several parts share.
 *
 * Whoever distributes a table raises a refusal; advise() shows it.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "tablets/common/refusal.h"
#include "tablets/common/table_facts.h"
#include "tablets/shuttle_tablets.h"

ShuttleRefusal *
shuttle_refusal(int code, const char *message, const char *detail, const char *hint)
{
	ShuttleRefusal *refusal = palloc0_object(ShuttleRefusal);

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

ShuttleRefusal *
shuttle_refusal_of_taken(Relation rel)
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

ShuttleRefusal *
shuttle_refusal_of_type(Oid relid, const char *column, Oid type)
{
	bool		is_of_names = shuttle_table_type_is_of_names(type);

	/* "char" is the one type of its category that clients can write */
	if (!is_of_names && (type >= FirstGenbkiObjectId || type == CHAROID || TypeCategory(type) != TYPCATEGORY_INTERNAL))
		return NULL;
	return shuttle_refusal(ERRCODE_FEATURE_NOT_SUPPORTED,
						   psprintf("cannot distribute table \"%s\" with column \"%s\" of type %s",
									get_rel_name(relid), column, format_type_be(type)),
						   is_of_names ? "Its values stand for OIDs, which differ on nodes." : "Only the server itself writes values of this type.",
						   is_of_names ? "Make the column text, or oid." : "Make the column text.");
}

ShuttleRefusal *
shuttle_refusal_of_types(Relation rel, const List *columns)
{
	ShuttleRefusal *refusal = NULL;

	for (int i = 0; refusal == NULL && i < RelationGetNumberOfAttributes(rel); i++)
	{
		const FormData_pg_attribute *column = TupleDescAttr(RelationGetDescr(rel), i);

		if (!column->attisdropped && (columns == NIL || list_member_int(columns, column->attnum)))
			refusal = shuttle_refusal_of_type(RelationGetRelid(rel), NameStr(column->attname), column->atttypid);
	}
	return refusal;
}

void
shuttle_refusal_raise_if_snapshot_is_old(void)
{
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot move rows of tables in a REPEATABLE READ or SERIALIZABLE transaction"),
				 errdetail("Rows that others have committed since it began would be lost."),
				 errhint("Use a READ COMMITTED transaction.")));
}
