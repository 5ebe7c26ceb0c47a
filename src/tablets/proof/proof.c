/*-------------------------------------------------------------------------
 * proof.c
 *	  Proves that a text for a node means the statement that it was made of.
 *
 * The text is parsed, analyzed and rewritten here, with the settings that sessions on
 * nodes have and without types of parameters, as a node gets it. Names are found in
 * this server's catalogs: tables and tablets have the same names here as there. So the
 * text must name nothing that nodes do not have, which is looked at, too.
 *
 * Rights are not the text's matter, so it is analyzed as a superuser.
 *
 * Memory: a context of its own for each proof.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "parser/parse_param.h"
#include "parser/parser.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/shuttle_compat.h"
#include "storage/shuttle_shown_request.h"
#include "tablets/proof/proof_internal.h"
#include "tablets/shuttle_proof.h"
#include "tablets/shuttle_tablets.h"

SHUTTLE_SQL_FUNCTION(shuttle_text_difference);

/* Those of node_reset.c that tell what a text means, and what nobody sets for nodes. */
static const char *const settings[][2] = {
	{"search_path", "pg_catalog, pg_temp"},
	{"TimeZone", "GMT"},
	{"DateStyle", "ISO, MDY"},
	{"IntervalStyle", "postgres"},
	{"array_nulls", "on"},
	{"standard_conforming_strings", "on"},
	{"transform_null_equals", "off"},
	{"xmloption", "content"},
};

/* ---- as a node reads it */

/* Errors in the text are ours. */
static void
add_text_to_error(void *arg)
{
	int			category = ERRCODE_TO_CATEGORY(geterrcode());

	if (category == ERRCODE_TO_CATEGORY(ERRCODE_SYNTAX_ERROR) ||
		category == ERRCODE_TO_CATEGORY(ERRCODE_DATA_EXCEPTION))
		errcode(ERRCODE_INTERNAL_ERROR);
	errcontext("proof of the text of a statement for nodes: %s", shuttle_shown_request(arg));
}

/* The table of which the text for a node names a tablet, as it is called there or here. */
static Oid
table_of(const RangeVar *name)
{
	Oid			found = RangeVarGetRelid(name, NoLock, true);

	if (!OidIsValid(found) || shuttle_table_kind(found) == SHUTTLE_TABLE_OTHER)
		return shuttle_tablet_table_named(name->schemaname, name->relname);
	return shuttle_table_kind(found) == SHUTTLE_TABLE_TABLET ? get_partition_parent(found, false) : InvalidOid;
}

/* Reads a tablet as its table: tablets are foreign tables here, of which some statements
 * are refused. */
static void
name_table(RangeVar *name)
{
	Oid			table = name->schemaname == NULL ? InvalidOid : table_of(name);

	if (!OidIsValid(table))
		return;
	if (name->alias == NULL)
		name->alias = makeAlias(name->relname, NIL);
	name->relname = get_rel_name(table);
	name->schemaname = get_namespace_name(get_rel_namespace(table));
}

/* Columns have no identity on nodes. */
static bool
change_for_here(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeVar))
		name_table((RangeVar *) node);
	if (IsA(node, InsertStmt))
		((InsertStmt *) node)->override = OVERRIDING_SYSTEM_VALUE;
	if (IsA(node, MergeWhenClause))
		((MergeWhenClause *) node)->override = OVERRIDING_SYSTEM_VALUE;
	return raw_expression_tree_walker(node, change_for_here, context);
}

Query *
shuttle_proof_read(const char *text, bool (*change) (Node *, void *), void *context)
{
	RawStmt    *statement = linitial_node(RawStmt, raw_parser(text, RAW_PARSE_DEFAULT));
	ParseState *state;
	Oid		   *types = NULL;
	int			ntypes = 0;
	Query	   *query;

	/* CALL names no table, and has no walker */
	if (!IsA(statement->stmt, CallStmt) && change(statement->stmt, context))
		return NULL;
	state = make_parsestate(NULL);
	state->p_sourcetext = text;

	setup_parse_variable_parameters(state, &types, &ntypes);
	query = transformTopLevelStmt(state, statement);
	check_variable_parameters(state, query);
	free_parsestate(state);
	return query;
}

static Query *
rewrite(Query *query)
{
	List	   *queries = query->commandType == CMD_UTILITY ? list_make1(query) : QueryRewrite(query);

	if (list_length(queries) != 1)
		elog(ERROR, "a rule changes the text of a statement for nodes");
	return linitial_node(Query, queries);
}

/* ---- what nodes have */

static void
check_tables(const Query *query, char **wrong)
{
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		const RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);

		/* the table of an INSERT has no descendants in it */
		if (entry->rtekind == RTE_RELATION && entry->relkind == RELKIND_PARTITIONED_TABLE && !entry->inh &&
			foreach_current_index(lc) + 1 != query->resultRelation)
			*wrong = psprintf("ONLY of table \"%s\" reads none of its tablets.", get_rel_name(entry->relid));
	}
}

/* Functions and types of users are looked at where it is decided what goes to a node;
 * operators of users may also stand for built-in functions. */
static bool
check_names(Node *node, void *arg)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		check_tables((Query *) node, arg);
		return query_tree_walker((Query *) node, check_names, arg, 0);
	}
	if (IsA(node, OpExpr) || IsA(node, DistinctExpr) || IsA(node, NullIfExpr) || IsA(node, ScalarArrayOpExpr))
	{
		Oid			name = IsA(node, ScalarArrayOpExpr) ? ((ScalarArrayOpExpr *) node)->opno :
			((OpExpr *) node)->opno;

		if (name >= FirstGenbkiObjectId)
			*(char **) arg = psprintf("Nodes need not have operator %s.", get_opname(name));
	}
	return expression_tree_walker(node, check_names, arg);
}

/* ---- what is meant */

/* A statement, or an ON CONFLICT clause. */
typedef struct Meant
{
	Query	   *query;
	OnConflictExpr *clause;		/* NULL: the query */
	Index		target;			/* its table */
	const List *values;			/* what the text's parameters stand for */
} Meant;

/* Numbers of tables that nothing else has. */
#define OTHER_TARGET 10001
#define OTHER_EXCLUDED 10002

/* The query of a text with the clause that was meant. */
static Query *
query_with_clause(const Meant *meant, const Query *text)
{
	Query	   *query = copyObject((Query *) text);
	OnConflictExpr *clause = copyObject(meant->clause);
	Index		excluded = text->onConflict == NULL ? 0 : text->onConflict->exclRelIndex;

	ChangeVarNodes((Node *) clause, meant->target, OTHER_TARGET, 0);
	ChangeVarNodes((Node *) clause, clause->exclRelIndex, OTHER_EXCLUDED, 0);
	ChangeVarNodes((Node *) clause, OTHER_TARGET, text->resultRelation, 0);
	ChangeVarNodes((Node *) clause, OTHER_EXCLUDED, excluded, 0);
	clause->exclRelIndex = excluded;
	query->onConflict = clause;
	return query;
}

/* ---- all */

/* NULL: there is none. */
static char *
find_difference(const char *text, void *arg)
{
	const Meant *meant = arg;
	ShuttleNormal meant_side = {0};
	ShuttleNormal text_side = {.is_text = true,.values = meant->values};
	char	   *wrong = NULL;
	Query	   *query = shuttle_proof_read(text, change_for_here, NULL);
	Query	   *meant_query;

	(void) check_names((Node *) query, &wrong);
	query = rewrite(query);
	meant_query = meant->clause == NULL ? copyObject(meant->query) : query_with_clause(meant, query);
	query = shuttle_normal_query(query, &text_side);
	meant_query = shuttle_normal_query(meant_query, &meant_side);
	if (wrong == NULL)
		wrong = text_side.wrong;
	if (wrong == NULL && !equal(meant_query, query))
		wrong = shuttle_tree_place(meant_query, query);
	return wrong;
}

/* Runs it as a node would read the text. */
static char *
difference(const char *text, ShuttleProofFind find, void *arg)
{
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = add_text_to_error,
	};
	int			level = NewGUCNestLevel();
	char	   *found;
	Oid			user;
	int			security;

	callback.arg = unconstify(char *, text);
	error_context_stack = &callback;
	GetUserIdAndSecContext(&user, &security);
	for (int i = 0; i < lengthof(settings); i++)
		(void) set_config_option(settings[i][0], settings[i][1], PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	SetUserIdAndSecContext(BOOTSTRAP_SUPERUSERID, security | SECURITY_LOCAL_USERID_CHANGE);
	found = find(text, arg);
	SetUserIdAndSecContext(user, security);
	AtEOXact_GUC(true, level);
	error_context_stack = callback.previous;
	return found;
}

void
shuttle_proof_run(const char *text, ShuttleProofFind find, void *arg)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "proof", ALLOCSET_SMALL_SIZES);
	MemoryContext old_cxt = MemoryContextSwitchTo(cxt);
	char	   *found = difference(text, find, arg);

	if (found != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("the text of a statement for nodes means something else than the statement"),
				 errdetail_internal("Text: %s\n%s", text, found)));
	MemoryContextSwitchTo(old_cxt);
	MemoryContextDelete(cxt);
}

void
shuttle_proof_check_statement(const char *text, const Query *meant, const List *values)
{
	Meant		statement = {
		.query = unconstify(Query *, meant),
		.values = values,
	};

	shuttle_proof_run(text, find_difference, &statement);
}

void
shuttle_proof_check_conflict(const char *text, const OnConflictExpr *clause, Index target,
							 const List *values)
{
	Meant		meant = {
		.clause = unconstify(OnConflictExpr *, clause),
		.target = target,
		.values = values,
	};

	shuttle_proof_run(text, find_difference, &meant);
}

/* ---- for tests: what a proof finds between a statement of here and a text */

Datum
shuttle_text_difference(PG_FUNCTION_ARGS)
{
	char	   *statement = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *sent = text_to_cstring(PG_GETARG_TEXT_PP(1));
	Meant		meant = {.query = rewrite(shuttle_proof_read(statement, change_for_here, NULL))};
	char	   *found = difference(sent, find_difference, &meant);

	if (found == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(found));
}
