/*-------------------------------------------------------------------------
 * query.c
 *	  Runs a statement of our own and hands its rows to a callback.
 *
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "storage/connection/connection.h"
#include "storage/request/request.h"
#include "storage/shuttle_storage.h"

void
shuttle_query(ShuttleNode *node, const char *sql, ShuttleEffect effect,
			  int ncolumns, ShuttleRowCallback callback, void *arg)
{
	ShuttleStatement statement = {
		.sql = sql,
		.effect = effect,
		.size = SHUTTLE_SIZE_CERTAIN,
		.ncolumns = ncolumns,
	};
	ShuttleRequest *request;
	ShuttleRow	row;

	request = shuttle_request_send(node, &statement, CurrentMemoryContext);
	while (shuttle_request_fetch(request, true, &row) == SHUTTLE_ROW)
	{
		if (callback != NULL)
			callback(arg, &row);
	}
	shuttle_request_close(request);
}
