/*-------------------------------------------------------------------------
 * read_only.c
 *	  Whether a transaction is read-only on nodes.
 *
 * In recovery core makes each transaction read-only. A standby that is a query node writes to nodes
 * nevertheless, unless the client has asked for a transaction that is read-only: by SET TRANSACTION,
 * BEGIN or default_transaction_read_only. Core refuses READ WRITE in recovery, so the wish is taken out of
 * the statement.
 *
 * XactReadOnly stays true all the time but while a plan that writes to distributed tables only is started
 * (standby_writes.c): core refuses by it what would write to this server, and nextval(), whose
 * numbers the primary server would give out again.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "storage/proc.h"
#include "utils/guc.h"

#include "base/shuttle_compat_session.h"
#include "base/shuttle_settings.h"
#include "storage/shuttle_read_only.h"

#define READ_ONLY "transaction_read_only"

/* The transaction in which the client asked for READ WRITE. */
static LocalTransactionId writing_lxid = InvalidLocalTransactionId;

bool
shuttle_read_only_is_lifted(void)
{
	return shuttle_settings.query_node_name[0] != '\0' && RecoveryInProgress() &&
		!shuttle_guc_was_set(READ_ONLY) &&
		(!DefaultXactReadOnly || writing_lxid == shuttle_my_lxid());
}

bool
shuttle_read_only_applies(void)
{
	return XactReadOnly && !shuttle_read_only_is_lifted();
}

/* True of the option READ WRITE. Its argument is as the grammar makes it. */
static bool
asks_to_write(const DefElem *option)
{
	return strcmp(option->defname, READ_ONLY) == 0 && intVal(&castNode(A_Const, option->arg)->val) == 0;
}

/* The options without READ WRITE. */
static List *
take_wish(List *options)
{
	List	   *kept = NIL;
	ListCell   *cell;

	foreach(cell, options)
	{
		if (!asks_to_write(lfirst_node(DefElem, cell)))
			kept = lappend(kept, lfirst(cell));
	}
	return kept;
}

/* The list of options of BEGIN, START TRANSACTION and SET TRANSACTION; else NULL. */
static List **
options_of(Node *statement)
{
	if (IsA(statement, TransactionStmt))
		return &castNode(TransactionStmt, statement)->options;
	if (IsA(statement, VariableSetStmt) && castNode(VariableSetStmt, statement)->kind == VAR_SET_MULTI &&
		strcmp(castNode(VariableSetStmt, statement)->name, "TRANSACTION") == 0)
		return &castNode(VariableSetStmt, statement)->args;
	return NULL;
}

static bool
has_wish(Node *statement)
{
	List	  **options = options_of(statement);
	ListCell   *cell;

	foreach(cell, options == NULL ? NIL : *options)
	{
		if (IsA(lfirst(cell), DefElem) && asks_to_write(lfirst_node(DefElem, cell)))
			return true;
	}
	return false;
}

PlannedStmt *
shuttle_read_only_take_wish(PlannedStmt *pstmt)
{
	List	  **options;

	if (shuttle_settings.query_node_name[0] == '\0' || !has_wish(pstmt->utilityStmt) || !RecoveryInProgress())
		return pstmt;
	pstmt = copyObject(pstmt);
	options = options_of(pstmt->utilityStmt);
	*options = take_wish(*options);
	writing_lxid = shuttle_my_lxid();
	return pstmt;
}
