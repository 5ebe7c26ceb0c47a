/*-------------------------------------------------------------------------
 * problems.c
 *	  Rows of the result of shuttle.check().
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "storage/shuttle_storage.h"
#include "tablets/common/problems.h"

#define NCOLUMNS 5

void
shuttle_problem_put(const ShuttleCheck *check, const char *problem, const char *hint)
{
	NameData	node;
	Datum		values[NCOLUMNS];
	bool		nulls[NCOLUMNS] = {[1] = check->node == NULL,[NCOLUMNS - 1] = hint == NULL};

	namestrcpy(&node, check->node == NULL ? "" : shuttle_node_name(check->node));
	values[0] = ObjectIdGetDatum(check->relid);
	values[1] = NameGetDatum(&node);
	values[2] = CStringGetTextDatum(problem);
	values[3] = BoolGetDatum(hint == NULL);
	values[4] = hint == NULL ? (Datum) 0 : CStringGetTextDatum(hint);
	tuplestore_putvalues(check->result->setResult, check->result->setDesc, values, nulls);
}
