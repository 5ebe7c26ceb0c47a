/*-------------------------------------------------------------------------
 * scan_proof.c
 *	  Proves the texts that postgres_fdw makes for scans (tablets/proof).
 *
 * What the text says is compared with what postgres_fdw was shown, clause by clause:
 * the columns, all conditions, outer and semi joins, groups, order, LIMIT, locks, and the
 * values that a direct UPDATE sets. Conditions are compared as a set: in which of its
 * clauses the text has one is postgres_fdw's matter.
 *
 * Memory: that of the proof.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_settings.h"
#include "executor/shuttle_scan_key.h"
#include "planner/shown/scan_proof.h"
#include "planner/shown/shown.h"
#include "tablets/shuttle_proof.h"

typedef struct Proof
{
	PlannerInfo *root;
	const RelOptInfo *rel;
	const ForeignScan *scan;
	List	   *values;			/* of the text's parameters */
	List	   *attributes;		/* of the columns that the text returns */
	List	   *pathkeys;
	bool		has_limit;
	Index		target;			/* the table that it writes; 0: none */
	const Query *query;			/* what was read of the text */
	Relids		tables;			/* NULL: not known */
	char	   *wrong;
} Proof;

SHUTTLE_SQL_FUNCTION(shuttle_scan_text_proof);

static const char *planted;		/* in tests: a text in the place of those that
								 * postgres_fdw made */

/* ---- expressions */

static Node *
normal_text(Node *expression, Proof *proof)
{
	expression = shuttle_shown_expression(expression, false);
	return shuttle_normal_planned(expression, true, proof->values, &proof->wrong);
}

static Node *
normal_text_column(Expr *expression, Proof *proof)
{
	ShuttleTextLevel level = {.query = proof->query};

	return normal_text(shuttle_scan_proof_columns((Node *) expression, &level), proof);
}

/* Conditions of a write may have their stable values again. */
static Node *
normal_meant(void *expression, Proof *proof)
{
	if (proof->target != 0)
		expression = shuttle_stable_put_back(proof->root, expression);
	expression = shuttle_shown_expression(expression, false);
	return shuttle_normal_planned(expression, false, NIL, &proof->wrong);
}

/* Rows as values, and system columns, are other expressions in a text. */
static bool
is_written_otherwise(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varattno <= 0 && ((Var *) node)->varattno != SelfItemPointerAttributeNumber;
	return expression_tree_walker(node, is_written_otherwise, context);
}

static void
find_wrong(Proof *proof, const char *what, const void *meant, const void *read)
{
	if (proof->wrong == NULL)
		proof->wrong = psprintf("%s\n%s", what, shuttle_tree_place(meant, read));
}

/* ---- columns */

static void
compare_columns(Proof *proof, const List *targets)
{
	ListCell   *lc;

	foreach(lc, proof->attributes)
	{
		int			attribute = lfirst_int(lc);
		const TargetEntry *target = list_nth(targets, foreach_current_index(lc));
		Node	   *read = normal_text_column(target->expr, proof);
		Node	   *meant;

		if (proof->scan->scan.scanrelid != 0)
		{
			const Var  *column = (const Var *) read;

			if (!IsA(read, Var) || column->varno != proof->rel->relid || column->varattno != attribute)
				proof->wrong = psprintf("Column %d is not attribute %d.", foreach_current_index(lc) + 1,
										attribute);
			continue;
		}
		meant = (Node *) list_nth_node(TargetEntry, proof->scan->fdw_scan_tlist, attribute - 1)->expr;
		if (is_written_otherwise(meant, NULL))
			continue;
		meant = normal_meant(meant, proof);
		if (!equal(meant, read))
			find_wrong(proof, "A column differs.", meant, read);
	}
}

/* The values that an UPDATE sets. */
static void
compare_values(Proof *proof)
{
	List	   *targets;
	List	   *attributes;
	ListCell   *lc;
	ListCell   *number;

	get_translated_update_targetlist(proof->root, proof->target, &targets, &attributes);
	if (list_length(attributes) != list_length(proof->query->targetList))
		proof->wrong = "It sets other columns.";

	/* more are in targets */
	forboth(lc, targets, number, attributes)
	{
		const TargetEntry *set = get_tle_by_resno(proof->query->targetList, lfirst_int(number));
		Node	   *meant = normal_meant(lfirst_node(TargetEntry, lc)->expr, proof);
		Node	   *read = set == NULL ? NULL : normal_text_column(set->expr, proof);

		if (!equal(meant, read) && !is_written_otherwise(meant, NULL))
			find_wrong(proof, "A column is set to another value.", meant, read);
	}
}

/* ---- conditions and joins */

static bool
is_true(const Node *condition)
{
	return IsA(condition, Const) && !((const Const *) condition)->constisnull &&
		DatumGetBool(((const Const *) condition)->constvalue);
}

/* Without those that are always true. */
static List *
normal_conditions(List *conditions, bool is_text, Proof *proof)
{
	List	   *normal = NIL;
	ListCell   *lc;

	foreach(lc, conditions)
	{
		Node	   *condition;

		if (is_written_otherwise(lfirst(lc), NULL))
			continue;
		condition = is_text ? normal_text(lfirst(lc), proof) : normal_meant(lfirst(lc), proof);
		if (!is_true(condition))
			normal = lappend(normal, condition);
	}
	return normal;
}

static void
compare_conditions(Proof *proof, const ShuttleScanMeaning *meaning, List *read)
{
	List	   *meant = normal_conditions(meaning->conditions, false, proof);
	List	   *lost;
	List	   *added;

	read = normal_conditions(read, true, proof);
	lost = list_difference(meant, read);
	added = list_difference(list_difference(read, meant), normal_conditions(meaning->once, false, proof));
	if (lost != NIL || added != NIL)
		find_wrong(proof, "A condition differs.", lost, added);
}

static bool
has_join(const List *joins, const ShuttleProvedJoin *wanted)
{
	ListCell   *lc;

	foreach(lc, joins)
	{
		const ShuttleProvedJoin *join = lfirst(lc);

		if (join->type == wanted->type && bms_equal(join->left, wanted->left) &&
			bms_equal(join->right, wanted->right))
			return true;
	}
	return false;
}

/* Tables that semi joins hide, and the table that is written, need not be below the same
 * outer joins. */
static void
forget_hidden(List *joins, Index target)
{
	ListCell   *lc;
	Relids		hidden = target == 0 ? NULL : bms_make_singleton(target);

	foreach(lc, joins)
	{
		const ShuttleProvedJoin *join = lfirst(lc);

		if (join->type == JOIN_SEMI)
			hidden = bms_add_members(hidden, join->right);
	}
	foreach(lc, joins)
	{
		ShuttleProvedJoin *join = lfirst(lc);

		join->left = bms_difference(join->left, hidden);
		join->right = bms_difference(join->right, join->type == JOIN_SEMI ? NULL : hidden);
	}
}

static void
compare_joins(Proof *proof, List *meant, List *read)
{
	ListCell   *lc;
	bool		all = list_length(meant) == list_length(read);

	forget_hidden(meant, proof->target);
	forget_hidden(read, proof->target);
	foreach(lc, meant)
		all &= has_join(read, lfirst(lc));
	if (!all)
		proof->wrong = "Its outer or semi joins differ.";
}

static void
compare_meaning(Proof *proof, ShuttleScanMeaning *meant)
{
	ShuttleScanMeaning read = {0};

	shuttle_scan_proof_say(proof->query, &read);
	if (IS_SIMPLE_REL(proof->rel))
		meant->conditions = proof->scan->fdw_recheck_quals;
	else if (proof->tables == NULL)
		return;
	else
		meant->conditions = list_difference(meant->conditions, proof->scan->scan.plan.qual);
	compare_conditions(proof, meant, read.conditions);
	compare_joins(proof, meant->joins, read.joins);
}

/* ---- groups and order */

static void
compare_groups(Proof *proof)
{
	List	   *meant = NIL;
	List	   *read = NIL;
	ListCell   *lc;

	if (IS_UPPER_REL(proof->rel))
	{
		foreach(lc, proof->root->parse->groupClause)
			meant = lappend(meant, normal_meant(get_sortgroupclause_expr(lfirst(lc),
																		 proof->scan->fdw_scan_tlist), proof));
	}
	foreach(lc, proof->query->groupClause)
		read = lappend(read, normal_text_column((Expr *) get_sortgroupclause_expr(lfirst(lc),
																				  proof->query->targetList),
												proof));
	if (list_difference(meant, read) != NIL || list_difference(read, meant) != NIL)
		find_wrong(proof, "A group differs.", meant, read);
}

/* True if what the text sorts by is a member of a class. */
static bool
is_of_class(Proof *proof, const EquivalenceClass *class, const SortGroupClause *clause, bool *has_constant)
{
	Node	   *sorted = clause == NULL ? NULL :
		get_sortgroupclause_expr(unconstify(SortGroupClause *, clause), proof->query->targetList);
	Node	   *read = normal_text_column((Expr *) sorted, proof);
	EquivalenceMemberIterator members;
	EquivalenceMember *member;

	*has_constant = false;
	setup_eclass_member_iterator(&members, unconstify(EquivalenceClass *, class),
								 bms_union(proof->tables, proof->rel->relids));
	while ((member = eclass_member_iterator_next(&members)) != NULL)
	{
		*has_constant |= IsA(member->em_expr, Const);

		/* casts that are not written change neither order nor collation */
		if (read != NULL &&
			equal(shuttle_normal_uncast(normal_meant(member->em_expr, proof)), shuttle_normal_uncast(read)))
			return exprCollation(sorted) == class->ec_collation;
	}
	return false;
}

/* A branch of UNION ALL may sort by one column twice. The parser keeps the first of them. */
static bool
is_sorted_before(Proof *proof, const EquivalenceClass *class, int nsorted)
{
	bool		has_constant;

	for (int i = 0; i < nsorted; i++)
	{
		if (is_of_class(proof, class, list_nth(proof->query->sortClause, i), &has_constant))
			return true;
	}
	return false;
}

static void
compare_order(Proof *proof)
{
	int			next = 0;
	ListCell   *lc;

	foreach(lc, proof->pathkeys)
	{
		const PathKey *key = lfirst_node(PathKey, lc);
		const SortGroupClause *clause = next < list_length(proof->query->sortClause) ?
			list_nth(proof->query->sortClause, next) : NULL;
		bool		has_constant;

		if (is_of_class(proof, key->pk_eclass, clause, &has_constant) &&
			clause->nulls_first == key->pk_nulls_first &&
			get_op_opfamily_strategy(clause->sortop, key->pk_opfamily) == shuttle_pathkey_strategy(key))
			next++;
		else if (!has_constant && !is_sorted_before(proof, key->pk_eclass, next))
			find_wrong(proof, "Its order differs.", key->pk_eclass->ec_members, proof->query->sortClause);
	}
	if (next < list_length(proof->query->sortClause))
		find_wrong(proof, "It sorts by more.", proof->pathkeys, proof->query->sortClause);
}

static void
compare_limit(Proof *proof)
{
	const Query *statement = proof->root->parse;
	Node	   *count = proof->has_limit ? normal_meant(statement->limitCount, proof) : NULL;
	Node	   *offset = proof->has_limit ? normal_meant(statement->limitOffset, proof) : NULL;
	Node	   *read_count = normal_text_column((Expr *) proof->query->limitCount, proof);
	Node	   *read_offset = normal_text_column((Expr *) proof->query->limitOffset, proof);

	if (!equal(count, read_count))
		find_wrong(proof, "LIMIT differs.", count, read_count);
	if (!equal(offset, read_offset))
		find_wrong(proof, "OFFSET differs.", offset, read_offset);
}

/* ---- locks */

static LockClauseStrength
meant_lock(const Proof *proof, int table)
{
	const PlannerInfo *root = proof->root;
	const PlanRowMark *mark;

	if (bms_is_member(table, root->all_result_relids) &&
		(root->parse->commandType == CMD_UPDATE || root->parse->commandType == CMD_DELETE))
		return LCS_FORUPDATE;
	mark = get_plan_rowmark(root->rowMarks, table);
	if (mark == NULL || mark->strength == LCS_NONE)
		return LCS_NONE;
	return mark->strength <= LCS_FORSHARE ? LCS_FORSHARE : LCS_FORUPDATE;
}

/* The locks of a text, with those of its subqueries. */
static bool
find_locks(Node *node, void *arg)
{
	LockClauseStrength *locks = arg;
	const Query *query = (const Query *) node;
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, find_locks, arg);
	foreach(lc, query->rowMarks)
	{
		const RowMarkClause *mark = lfirst_node(RowMarkClause, lc);
		int			table = shuttle_scan_proof_number(query, mark->rti);

		locks[table] = Max(locks[table], mark->strength);
	}
	return query_tree_walker((Query *) query, find_locks, arg, 0);
}

static void
compare_locks(Proof *proof)
{
	LockClauseStrength *locks = palloc0_array(LockClauseStrength, proof->root->simple_rel_array_size);
	int			table = -1;

	(void) find_locks((Node *) proof->query, locks);
	while ((table = bms_next_member(proof->tables, table)) >= 0)
	{
		if (locks[table] != meant_lock(proof, table))
			proof->wrong = psprintf("Table %d is locked otherwise.", table);
	}
}

/* ---- all */

static bool
find_text(const ForeignScan *scan, const char **text, List **attributes)
{
	if (!shuttle_postgres_fdw_find_text(scan, text, attributes))
		return false;
	if (planted != NULL && strncmp(planted, *text, strlen("SELECT")) == 0)
		*text = planted;
	return true;
}

static char *
find_difference(const char *text, void *arg)
{
	Proof	   *proof = arg;
	ShuttleScanMeaning meant = {0};

	proof->tables = shuttle_scan_proof_mean(proof->root, proof->rel, &meant);
	proof->query = shuttle_scan_proof_read(proof->root, proof->tables, text);
	if (proof->query == NULL)
		return NULL;
	if (proof->query->commandType != proof->scan->operation)
		return "It is another command.";
	if (proof->query->distinctClause != NIL || proof->query->setOperations != NULL ||
		proof->query->groupingSets != NIL || proof->query->windowClause != NIL)
		return "It has clauses that nobody meant.";
	compare_meaning(proof, &meant);
	if (proof->target == 0)
	{
		compare_columns(proof, proof->query->targetList);
		compare_groups(proof);
		compare_order(proof);
		compare_limit(proof);
		compare_locks(proof);
		return proof->wrong;
	}
	compare_columns(proof, proof->query->returningList);
	if (proof->query->commandType == CMD_UPDATE)
		compare_values(proof);
	return proof->wrong;
}

void
shuttle_scan_proof_check(PlannerInfo *root, const RelOptInfo *rel, const ForeignPath *path,
						 const ForeignScan *scan)
{
	Proof		proof = {
		.root = root,
		.rel = rel,
		.scan = scan,
		.values = scan->fdw_exprs,
		.pathkeys = path->path.pathkeys,
	};
	const char *text;

	/* what is only looked at may be no statement at all */
	if (!shuttle_settings.debug_prove_texts || shuttle_remote_estimate_is_dry_run() ||
		!find_text(scan, &text, &proof.attributes))
		return;
	if (path->fdw_private != NIL)
		proof.has_limit = boolVal(lsecond(path->fdw_private));
	shuttle_proof_run(text, find_difference, &proof);
}

/* The direct UPDATE or DELETE of a table below a plan; NULL: none. */
static const ForeignScan *
find_write(const Plan *plan, Index target)
{
	const ForeignScan *found = NULL;
	ListCell   *lc;

	if (plan == NULL)
		return NULL;
	if (IsA(plan, ForeignScan) && ((const ForeignScan *) plan)->operation != CMD_SELECT &&
		((const ForeignScan *) plan)->resultRelation == target)
		return (const ForeignScan *) plan;
	if (IsA(plan, Append))
	{
		foreach(lc, ((const Append *) plan)->appendplans)
		{
			if (found == NULL)
				found = find_write(lfirst(lc), target);
		}
	}
	return found == NULL ? find_write(plan->lefttree, target) : found;
}

void
shuttle_scan_proof_check_write(PlannerInfo *root, Plan *plan, Index target)
{
	Proof		proof = {.root = root,.target = target};
	const char *text;

	if (!shuttle_settings.debug_prove_texts)
		return;
	proof.scan = find_write(plan, target);
	if (proof.scan == NULL || !find_text(proof.scan, &text, &proof.attributes))
		return;
	proof.values = (List *) shuttle_stable_put_back(root, (Node *) proof.scan->fdw_exprs);
	proof.rel = proof.scan->scan.scanrelid != 0 ? find_base_rel(root, proof.scan->scan.scanrelid) :
		find_join_rel(root, proof.scan->fs_relids);
	shuttle_proof_run(text, find_difference, &proof);
}

/* ---- for tests: plans a statement, and proves a text as if it were that of its scans */

Datum
shuttle_scan_text_proof(PG_FUNCTION_ARGS)
{
	char	   *statement = text_to_cstring(PG_GETARG_TEXT_PP(0));
	RawStmt    *raw = linitial_node(RawStmt, pg_parse_query(statement));
	List	   *queries = pg_analyze_and_rewrite_fixedparams(raw, statement, NULL, 0, NULL);

	planted = text_to_cstring(PG_GETARG_TEXT_PP(1));
	PG_TRY();
	{
		(void) pg_plan_query(linitial_node(Query, queries), statement, 0, NULL);
	}
	PG_FINALLY();
	{
		planted = NULL;
	}
	PG_END_TRY();
	PG_RETURN_VOID();
}
