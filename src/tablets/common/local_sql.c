/*-------------------------------------------------------------------------
 * local_sql.c
 *	  Statements of the tablets room on this server.
 *
 * They run with the caller's rights under search_path pg_catalog; temporary objects
 * are named last, or they would come first, and who makes a domain named regclass
 * would have its checks run with our rights. Definitions
 * that are read have their constants as nodes read them, whatever the session's
 * DateStyle. The depth
 * says to our ProcessUtility hook that a statement is ours; it is reset when
 * the outermost statement ends, also by an error.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "executor/tstoreReceiver.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "parser/parser.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_planner.h"
#include "storage/shuttle_storage.h"
#include "tablets/common/local_sql.h"

static int	depth = 0;			/* of shuttle_local_run() */
static int	rows_depth = 0;		/* of shuttle_local_change_rows() */

#define OWNERS_CONTEXT(flags) ((flags) | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION)

int
shuttle_local_qualify_names(void)
{
	int			level = NewGUCNestLevel();

	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	return level;
}

static List *
read_rows(const char *sql, Oid relid, bool read_only)
{
	MemoryContext caller_cxt = CurrentMemoryContext;
	int			level = shuttle_row_transmission_begin(SHUTTLE_PRINT_ALL);
	Oid			type = OIDOID;
	Datum		value = ObjectIdGetDatum(relid);
	List	   *rows = NIL;

	/*
	 * the cost of queries of catalogs is overestimated: compilation took
	 * seconds
	 */
	(void) set_config_option("jit", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
							 true, 0, false);

	/* definitions are compared with those of nodes */
	(void) set_config_option("quote_all_identifiers", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
							 true, 0, false);
	SPI_connect();
	if (SPI_execute_with_args(sql, 1, &type, &value, NULL, read_only, 0) != SPI_OK_SELECT)
		elog(ERROR, "not a query: %s", sql);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		int			ncolumns = SPI_tuptable->tupdesc->natts;
		MemoryContext old_cxt = MemoryContextSwitchTo(caller_cxt);
		char	  **row = palloc_array(char *, ncolumns);

		for (int j = 0; j < ncolumns; j++)
		{
			char	   *text = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, j + 1);

			row[j] = text == NULL ? NULL : pstrdup(text);
		}
		rows = lappend(rows, row);
		MemoryContextSwitchTo(old_cxt);
	}
	SPI_finish();
	shuttle_row_transmission_end(level);
	return rows;
}

List *
shuttle_local_rows(const char *sql, Oid relid)
{
	return read_rows(sql, relid, false);
}

List *
shuttle_local_rows_seen(const char *sql, Oid relid)
{
	return read_rows(sql, relid, true);
}

List *
shuttle_local_rows_now(const char *sql, Oid relid)
{
	List	   *rows;

	CommandCounterIncrement();
	PushActiveSnapshot(GetLatestSnapshot());
	rows = shuttle_local_rows_seen(sql, relid);
	PopActiveSnapshot();
	return rows;
}

static List *
first_column(const List *rows)
{
	List	   *texts = NIL;
	ListCell   *cell;

	foreach(cell, rows)
	{
		char	   *text = ((char **) lfirst(cell))[0];

		if (text !=NULL)
			texts = lappend(texts, text);
	}
	return texts;
}

List *
shuttle_local_texts(const char *sql, Oid relid)
{
	return first_column(shuttle_local_rows(sql, relid));
}

List *
shuttle_local_texts_seen(const char *sql, Oid relid)
{
	return first_column(shuttle_local_rows_seen(sql, relid));
}

char *
shuttle_local_text(const char *sql, Oid relid)
{
	List	   *texts = shuttle_local_texts(sql, relid);

	return texts == NIL ? NULL : linitial(texts);
}

uint64
shuttle_local_run(const char *sql)
{
	int			level = shuttle_local_qualify_names();
	uint64		nrows = 0;

	depth++;
	PG_TRY();					/* the depth outlives the transaction */
	{
		SPI_connect();
		if (SPI_execute(sql, false, 0) < 0)
			elog(ERROR, "could not execute: %s", sql);
		nrows = SPI_processed;
		SPI_finish();
	}
	PG_FINALLY();
	{
		depth--;
	}
	PG_END_TRY();
	AtEOXact_GUC(true, level);
	return nrows;
}

uint64
shuttle_local_run_as_superuser(const char *sql)
{
	Oid			userid;
	int			flags;
	uint64		nrows;

	GetUserIdAndSecContext(&userid, &flags);
	SetUserIdAndSecContext(BOOTSTRAP_SUPERUSERID, flags | SECURITY_LOCAL_USERID_CHANGE);
	nrows = shuttle_local_run(sql);
	SetUserIdAndSecContext(userid, flags);
	return nrows;
}

/* ---- statements on rows of tables
 *
 * The planner computes what is constant in checks, indexes and statistics, which may call functions of
 * a table's owner. The plan cache is no help: it plans anew, as whoever executes, for another
 * search_path, which may have the name of the role.
 */

/* Has entries of a query read with all rights, which also leaves policies out. */
static bool
give_rights(Node *node, void *context)
{
	ListCell   *cell;

	if (node == NULL || !IsA(node, Query))
		return node != NULL && expression_tree_walker(node, give_rights, NULL);
	foreach(cell, ((Query *) node)->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);
		RTEPermissionInfo *permission = rte->rtekind == RTE_RELATION ? shuttle_entry_permission((Query *) node, rte) : NULL;

		if (permission != NULL)
			permission->checkAsUser = BOOTSTRAP_SUPERUSERID;
	}
	return query_tree_walker((Query *) node, give_rights, NULL, 0);
}

static Query *
analyze(const char *sql, bool with_all_rights)
{
	RawStmt    *raw = linitial_node(RawStmt, raw_parser(sql, RAW_PARSE_DEFAULT));
	Query	   *query = parse_analyze_fixedparams(raw, sql, NULL, 0, NULL);

	if (with_all_rights)
		(void) give_rights((Node *) query, NULL);
	return linitial_node(Query, pg_rewrite_query(query));
}

static PlannedStmt *
plan_as_owner(Query *query, const char *sql, Oid relid)
{
	int			level = NewGUCNestLevel();
	PlannedStmt *plan;
	Oid			userid;
	int			flags;

	GetUserIdAndSecContext(&userid, &flags);
	SetUserIdAndSecContext(shuttle_local_owner(relid), OWNERS_CONTEXT(flags));
	plan = pg_plan_query(query, sql, 0, NULL);
	SetUserIdAndSecContext(userid, flags);
	AtEOXact_GUC(false, level);
	return plan;
}

/* Returns the number of rows. No triggers fire: they would, here, for rows that do not change. */
static uint64
execute(PlannedStmt *plan, const char *sql, DestReceiver *dest)
{
	QueryDesc  *query = CreateQueryDesc(plan, sql, GetActiveSnapshot(), InvalidSnapshot, dest, NULL, NULL, 0);
	uint64		nrows;
	ListCell   *cell;

	ExecutorStart(query, 0);
	foreach(cell, query->estate->es_opened_result_relations)
		((ResultRelInfo *) lfirst(cell))->ri_TrigDesc = NULL;
	shuttle_executor_run_all(query);
	nrows = query->estate->es_processed;
	ExecutorFinish(query);
	ExecutorEnd(query);
	FreeQueryDesc(query);
	return nrows;
}

/* running: counts the statements of a kind */
static uint64
change_rows(const char *sql, Oid owned, int *running)
{
	uint64		nrows;

	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	(*running)++;
	PG_TRY();					/* the count outlives the transaction */
	{
		Query	   *query = analyze(sql, false);

		nrows = execute(plan_as_owner(query, sql, owned), sql, None_Receiver);
	}
	PG_FINALLY();
	{
		(*running)--;
	}
	PG_END_TRY();
	PopActiveSnapshot();
	CommandCounterIncrement();
	return nrows;
}

uint64
shuttle_local_change_rows(Oid relid, const char *sql)
{
	return change_rows(sql, relid, &rows_depth);
}

uint64
shuttle_local_load_rows(Oid relid, const char *sql)
{
	int			level = shuttle_local_qualify_names();
	uint64		nrows = change_rows(sql, relid, &depth);

	AtEOXact_GUC(true, level);
	return nrows;
}

/* The texts of the first row's values, in the current context; NULL: there is no row. */
static char **
first_row(Tuplestorestate *rows, TupleDesc desc)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	char	  **texts = NULL;

	if (tuplestore_gettupleslot(rows, true, false, slot))
	{
		texts = palloc0_array(char *, desc->natts);
		for (int i = 0; i < desc->natts; i++)
		{
			bool		is_null;
			Datum		value = slot_getattr(slot, i + 1, &is_null);
			Oid			output;
			bool		is_varlena;

			getTypeOutputInfo(TupleDescAttr(desc, i)->atttypid, &output, &is_varlena);
			if (!is_null)
				texts[i] = OidOutputFunctionCall(output, value);
		}
	}
	ExecDropSingleTupleTableSlot(slot);
	return texts;
}

uint64
shuttle_local_read_as_owner(Oid relid, const char *sql, char ***row)
{
	Tuplestorestate *rows = tuplestore_begin_heap(false, false, work_mem);
	DestReceiver *dest = CreateTuplestoreDestReceiver();
	int			level = shuttle_local_qualify_names();
	uint64		nrows;
	PlannedStmt *plan;
	Query	   *query;
	Oid			userid;
	int			flags;

	SetTuplestoreDestReceiverParams(dest, rows, CurrentMemoryContext, false, NULL, NULL);
	GetUserIdAndSecContext(&userid, &flags);
	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());

	/* names are looked up with all rights, too */
	SetUserIdAndSecContext(BOOTSTRAP_SUPERUSERID, flags | SECURITY_LOCAL_USERID_CHANGE);
	query = analyze(sql, true);
	SetUserIdAndSecContext(shuttle_local_owner(relid), OWNERS_CONTEXT(flags));
	plan = pg_plan_query(query, sql, 0, NULL);
	nrows = execute(plan, sql, row == NULL ? None_Receiver : dest);
	SetUserIdAndSecContext(userid, flags);
	AtEOXact_GUC(false, level); /* also what functions have set */
	PopActiveSnapshot();
	if (row != NULL)
		*row = first_row(rows, ExecCleanTypeFromTL(plan->planTree->targetlist));
	tuplestore_end(rows);
	dest->rDestroy(dest);
	return nrows;
}

bool
shuttle_local_is_running(void)
{
	return depth > 0;
}

bool
shuttle_local_is_own(void)
{
	return depth > 0 || rows_depth > 0;
}

char *
shuttle_local_name(Oid relid)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
									  get_rel_name(relid));
}

char *
shuttle_local_collation(Oid collation)
{
	HeapTuple	tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
	Form_pg_collation form;
	char	   *name;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for collation %u", collation);
	form = (Form_pg_collation) GETSTRUCT(tuple);
	name = quote_qualified_identifier(get_namespace_name(form->collnamespace), NameStr(form->collname));
	ReleaseSysCache(tuple);
	return name;
}

Oid
shuttle_local_owner(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

const char *
shuttle_local_owner_name(Oid relid)
{
	return quote_identifier(GetUserNameFromId(shuttle_local_owner(relid), false));
}

/* A relation's own privileges, and those of its columns, that others than its owner have. */
static const char *const granted_query =
"SELECT format('REVOKE ALL ON TABLE %s FROM %s CASCADE', $1::regclass,"
" CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END)"
" FROM pg_class AS c, LATERAL (SELECT (aclexplode(c.relacl)).grantee"
" UNION SELECT (aclexplode(attacl)).grantee FROM pg_attribute WHERE attrelid = c.oid) AS a"
" WHERE c.oid = $1 AND grantee <> relowner";

List *
shuttle_local_granted(Oid relid)
{
	return shuttle_local_texts(granted_query, relid);
}

void
shuttle_local_revoke(Oid relid)
{
	ListCell   *cell;

	foreach(cell, shuttle_local_granted(relid))
		(void) shuttle_local_run_as_superuser(lfirst(cell));
}

char *
shuttle_local_names(const List *relids)
{
	StringInfoData names;
	ListCell   *cell;

	initStringInfo(&names);
	foreach(cell, relids)
		appendStringInfo(&names, "%s%s", names.len == 0 ? "" : ", ",
						 shuttle_local_name(lfirst_oid(cell)));
	return names.data;
}
