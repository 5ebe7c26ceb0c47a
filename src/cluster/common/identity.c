/*-------------------------------------------------------------------------
 * identity.c
 *	  The identity of this cluster towards storage nodes, and whether it is
 *	  confirmed for this server.
 *
 * A physical copy of the query node has the same cluster number but may lack
 * commit records of the original, whose transactions it would then roll back
 * (trap 29). So the number is stored with the server's system identifier and
 * timeline, which promotion and point-in-time recovery change. Until an
 * administrator confirms it, nothing is rolled back for lack of a record.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xlog.h"
#include "commands/trigger.h"
#include "funcapi.h"
#include "utils/builtins.h"

#include "base/shuttle_compat.h"
#include "cluster/common/identity.h"
#include "cluster/shuttle_cluster.h"

/* Columns of shuttle.identity. */
enum
{
	COLUMN_CLUSTER = 1,
	COLUMN_SYSTEM_IDENTIFIER,
	COLUMN_TIMELINE,
	NCOLUMNS = COLUMN_TIMELINE
};

SHUTTLE_SQL_FUNCTION(shuttle_server_identity);
SHUTTLE_SQL_FUNCTION(shuttle_keep_own);

/* Copies the row's values; false: no extension in this database. */
static bool
read_identity(Datum *values)
{
	Oid			relid = shuttle_extension_table(SHUTTLE_TABLE_IDENTITY);
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		nulls[NCOLUMNS];

	if (!OidIsValid(relid))
		return false;
	rel = table_open(relid, AccessShareLock);
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		heap_deform_tuple(tuple, RelationGetDescr(rel), values, nulls);
		values[COLUMN_CLUSTER - 1] =
			PointerGetDatum(DatumGetTextPCopy(values[COLUMN_CLUSTER - 1]));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return HeapTupleIsValid(tuple);
}

char *
shuttle_identity_if_any(void)
{
	Datum		values[NCOLUMNS];

	if (!read_identity(values))
		return NULL;
	return TextDatumGetCString(values[COLUMN_CLUSTER - 1]);
}

char *
shuttle_identity(void)
{
	char	   *cluster = shuttle_identity_if_any();

	if (cluster == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot commit on several storage nodes without the tables of extension \"%s\"",
						"pg_shuttle"),
				 errhint("Create the extension in this database.")));
	return cluster;
}

bool
shuttle_identity_is_confirmed(void)
{
	Datum		values[NCOLUMNS];

	return read_identity(values) &&
		DatumGetInt64(values[COLUMN_SYSTEM_IDENTIFIER - 1]) ==
		(int64) GetSystemIdentifier() &&
		DatumGetInt64(values[COLUMN_TIMELINE - 1]) ==
		(int64) GetWALInsertionTimeLine();
}

/* shuttle.server_identity(): this server's system identifier and timeline */
Datum
shuttle_server_identity(PG_FUNCTION_ARGS)
{
	Datum		values[2];
	bool		nulls[2] = {false};
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int64GetDatum((int64) GetSystemIdentifier());
	values[1] = Int64GetDatum((int64) GetWALInsertionTimeLine());
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc),
													  values, nulls)));
}

/* shuttle.keep_own(): a BEFORE ROW trigger that keeps out rows applied by
 * logical replication, or another cluster's number would stand beside ours. */
Datum
shuttle_keep_own(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BEFORE(data->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(data->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by a BEFORE ROW trigger",
						"shuttle.keep_own")));

	/* after ENABLE TRIGGER ALL it fires for local writes, too */
	if (SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA)
		return PointerGetDatum(NULL);
	return PointerGetDatum(TRIGGER_FIRED_BY_UPDATE(data->tg_event) ?
						   data->tg_newtuple : data->tg_trigtuple);
}
