/*-------------------------------------------------------------------------
 * reference_writes.c
 *	  Refuses to write to one copy of a table that several nodes have.
 *
 * A row has a different ctid in each copy, and each node has its own defaults
 * and triggers: what one node did to its copy cannot be repeated on another.
 * Through a foreign table for each copy, all copies can be written in one
 * transaction.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "foreign/fdwapi.h"
#include "utils/lsyscache.h"

#include "cluster/shuttle_cluster.h"
#include "executor/shuttle_executor.h"

void
shuttle_reference_write_refuse(Oid relid)
{
	if (shuttle_option_get_text(GetForeignServerIdByRelId(relid), relid,
								"shuttle_replicated_on") == NULL)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot write to foreign table \"%s\", of which several servers have a copy",
					get_rel_name(relid)),
			 errhint("In one transaction, write to each copy through a foreign table of its own without the option \"%s\".",
					 "shuttle_replicated_on")));
}
