/*-------------------------------------------------------------------------
 * statement.c
 *	  Statements under way, each within another one.
 *
 * A function or trigger runs statements within the one that called it. The executor's are counted where
 * they run (snapshot.c); a COPY that inserts rows runs in no executor, and is counted here.
 */
#include "postgres.h"

#include "storage/shuttle_storage.h"
#include "tablets/shuttle_tablets.h"

static int	ncopies = 0;		/* COPYs under way */
static int	copy_depth = 0;		/* of the innermost one; 0: there is none */

int
shuttle_statement_depth(void)
{
	return shuttle_snapshot_run_depth() + ncopies;
}

bool
shuttle_statement_is_copy(void)
{
	return copy_depth == shuttle_statement_depth();
}

int
shuttle_statement_enter_copy(void)
{
	int			outer = copy_depth;

	ncopies++;
	copy_depth = shuttle_statement_depth();
	return outer;
}

void
shuttle_statement_leave_copy(int outer)
{
	ncopies--;
	copy_depth = outer;
}
