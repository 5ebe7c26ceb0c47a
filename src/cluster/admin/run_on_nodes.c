/*-------------------------------------------------------------------------
 * run_on_nodes.c
 *	  shuttle.run_on_nodes(): an administrator's statement on all nodes.
 *
 * It runs as the remote user of the caller's mapping, with all rights of that
 * user, which can be more than the caller's foreign tables allow. So by
 * default only superusers may call it, and others also need USAGE on each
 * server, as for creating foreign tables.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_foreign_server.h"
#include "foreign/foreign.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "cluster/common/servers.h"
#include "storage/shuttle_storage.h"

#define NCOLUMNS 7

SHUTTLE_SQL_FUNCTION(shuttle_run_on_nodes);

static void prepare_run(ShuttleOutsideRun *run, Oid serverid);
static void put_run(ReturnSetInfo *result, const ShuttleOutsideRun *run);

/* shuttle.run_on_nodes(sql, servers) */
Datum
shuttle_run_on_nodes(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *servers;
	ShuttleOutsideRun *runs;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	servers = PG_ARGISNULL(1) ? shuttle_server_list() :
		shuttle_server_find_all(PG_GETARG_ARRAYTYPE_P(1));
	runs = palloc0_array(ShuttleOutsideRun, Max(1, list_length(servers)));
	foreach(cell, servers)
		prepare_run(&runs[foreach_current_index(cell)], lfirst_oid(cell));

	shuttle_outside_run(text_to_cstring(PG_GETARG_TEXT_PP(0)), GetUserId(), runs,
						list_length(servers), 0);
	for (int i = 0; i < list_length(servers); i++)
		put_run(result, &runs[i]);
	return (Datum) 0;
}

/* Missing privileges are reported in the server's row, like a failure. */
static void
prepare_run(ShuttleOutsideRun *run, Oid serverid)
{
	ForeignServer *server = GetForeignServer(serverid);

	if (shuttle_node_in_use(serverid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot run a statement on storage node \"%s\" because this transaction uses it",
						server->servername),
				 errdetail("The statement runs outside of the transaction and could wait for its locks."),
				 errhint("End the transaction first.")));
	run->serverid = serverid;
	run->name = server->servername;
	run->nrows = -1;
	if (object_aclcheck(ForeignServerRelationId, serverid, GetUserId(),
						ACL_USAGE) != ACLCHECK_OK)
	{
		strlcpy(run->sqlstate, "42501", sizeof(run->sqlstate));
		run->error = psprintf("permission denied for foreign server %s",
							  server->servername);
	}
	else if (!shuttle_node_has_mapping(serverid, GetUserId()))
	{
		strlcpy(run->sqlstate, "42704", sizeof(run->sqlstate));
		run->error = psprintf("user mapping not found for user \"%s\": CREATE USER MAPPING FOR %s SERVER %s, or SET ROLE to a role that has one",
							  GetUserNameFromId(GetUserId(), false),
							  quote_identifier(GetUserNameFromId(GetUserId(), false)),
							  quote_identifier(server->servername));
	}
	else
		run->ok = true;
}

static void
put_run(ReturnSetInfo *result, const ShuttleOutsideRun *run)
{
	NameData	name;
	Datum		values[NCOLUMNS] = {0};
	bool		nulls[NCOLUMNS] = {false};

	namestrcpy(&name, run->name);
	values[0] = NameGetDatum(&name);
	values[1] = BoolGetDatum(run->ok);
	nulls[2] = run->status == NULL;
	if (!nulls[2])
		values[2] = CStringGetTextDatum(run->status);
	nulls[3] = run->nrows < 0;
	values[3] = Int64GetDatum(run->nrows);
	nulls[4] = run->result == NULL;
	if (!nulls[4])
		values[4] = CStringGetTextDatum(run->result);
	nulls[5] = nulls[6] = run->error == NULL;
	if (!nulls[5])
	{
		values[5] = CStringGetTextDatum(run->sqlstate);
		values[6] = CStringGetTextDatum(run->error);
	}
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}
