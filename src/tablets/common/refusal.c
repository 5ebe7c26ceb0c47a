/*-------------------------------------------------------------------------
 * refusal.c
 *	  Errors that have not been raised, and those that several parts share.
 *
 * Whoever distributes a table raises a refusal; advise() shows it.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "tablets/common/refusal.h"
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
