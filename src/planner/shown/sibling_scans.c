/*-------------------------------------------------------------------------
 * sibling_scans.c
 *	  Plans scans of a table's children from one plan, if their SELECTs
 *	  differ in the table's name only.
 *
 * For 200 partitions postgres_fdw needs as long to deparse the SELECTs as the
 * rest of planning takes. So a child's plan is remembered while a query is
 * planned, and a sibling's is made from it, with the sibling's name in the
 * text and its relid in the quals. All that postgres_fdw looks at must be
 * equal: server, user, options, column names, columns read, parameters and
 * quals; and nothing is locked, written, sorted or sampled. Otherwise
 * postgres_fdw plans the sibling, and that plan is remembered, too.
 *
 * Quals are compared after the remembered ones got the sibling's relid.
 * Coercion forms, which equal() ignores but the text depends on, are compared
 * separately.
 *
 * Memory: root->planner_cxt.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/prep.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "cluster/shuttle_cluster.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/partition_sample.h"
#include "planner/facts/planning_memo.h"
#include "planner/facts/relation_facts.h"
#include "planner/join/node_joins.h"
#include "planner/shown/shown.h"

/* Plans remembered for one table: its children differ in few ways. */
#define MOST_PLANS 4

/* Plans remembered for the children of a table. */
typedef struct Siblings
{
	List	   *plans;			/* KnownScans, latest first */
} Siblings;

typedef struct KnownScan
{
	Oid			serverid;
	Oid			userid;
	List	   *options;		/* options without schema_name and table_name */
	char	   *names;			/* shuttle_column_names() */
	Bitmapset  *columns;		/* columns in its target */
	Relids		parameters;		/* outer relations of its parameters */
	Index		security_min;
	Index		number;			/* relid of the Vars in the lists below */
	List	   *clauses;		/* bare clauses */
	List	   *traits;			/* traits_of() each clause */
	List	   *forms;			/* coercion forms in them */
	bool		replaced;		/* quals differ from the query's clauses */
	List	   *quals;			/* if replaced, the plan's expressions; else
								 * indexes into clauses */
	List	   *recheck_quals;
	List	   *values;			/* its fdw_exprs */
	ShuttleScanText parts;
} KnownScan;

/* ---- what decides */

typedef struct FormsContext
{
	List	   *forms;
	bool		has_placeholder;	/* equal() does not look into them */
} FormsContext;

/* Collects coercion forms. */
static bool
forms_walker(Node *node, FormsContext *context)
{
	int			form;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_FuncExpr:
			form = ((FuncExpr *) node)->funcformat;
			break;
		case T_RelabelType:
			form = ((RelabelType *) node)->relabelformat;
			break;
		case T_CoerceViaIO:
			form = ((CoerceViaIO *) node)->coerceformat;
			break;
		case T_ArrayCoerceExpr:
			form = ((ArrayCoerceExpr *) node)->coerceformat;
			break;
		case T_ConvertRowtypeExpr:
			form = ((ConvertRowtypeExpr *) node)->convertformat;
			break;
		case T_RowExpr:
			form = ((RowExpr *) node)->row_format;
			break;
		case T_CoerceToDomain:
			form = ((CoerceToDomain *) node)->coercionformat;
			break;
		case T_PlaceHolderVar:
			context->has_placeholder = true;
			return true;
		default:
			return expression_tree_walker(node, forms_walker, context);
	}
	context->forms = lappend_int(context->forms, form);
	return expression_tree_walker(node, forms_walker, context);
}

/* Properties that equal clauses may differ in. */
static int
traits_of(const RestrictInfo *clause)
{
	return clause->security_level << 2 | clause->leakproof << 1 | clause->pseudoconstant;
}

/* Columns that the scan's target needs. */
static Bitmapset *
target_columns(const RelOptInfo *rel)
{
	Bitmapset  *columns = NULL;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &columns);
	return columns;
}

/* The topmost parent of a child; NULL if the scan is of no child, or does more
 * than read rows. */
static RelOptInfo *
find_parent(PlannerInfo *root, RelOptInfo *rel, const ForeignPath *path)
{
	RelOptInfo *parent = rel;

	if (rel->reloptkind != RELOPT_OTHER_MEMBER_REL || path->path.pathkeys != NIL ||
		path->fdw_private != NIL || path->fdw_outerpath != NULL ||
		bms_is_member(rel->relid, root->all_result_relids) ||
		shuttle_is_locked(root, rel) || shuttle_partition_is_sampled(root, rel))
		return NULL;
	while (root->append_rel_array[parent->relid] != NULL)
		parent = find_base_rel(root, root->append_rel_array[parent->relid]->parent_relid);
	return parent;
}

/* The plans remembered for a table; NULL if none. */
static Siblings *
get_siblings(PlannerInfo *root, RelOptInfo *parent, bool create)
{
	List	   *key = list_make1_int(T_ForeignScan);
	Siblings   *siblings = shuttle_planning_memo_find(root, parent, key);

	if (siblings == NULL && create)
	{
		siblings = MemoryContextAllocZero(root->planner_cxt, sizeof(Siblings));
		shuttle_planning_memo_add(root, parent, key, siblings);
	}
	list_free(key);
	return siblings;
}

/* ---- reusing */

static bool
clauses_agree(KnownScan *known, const RelOptInfo *rel, const List *clauses)
{
	FormsContext context = {NIL};
	ListCell   *lc;
	ListCell   *other;
	ListCell   *traits;

	if (list_length(clauses) != list_length(known->clauses))
		return false;
	ChangeVarNodes((Node *) known->clauses, known->number, rel->relid, 0);
	if (known->replaced)
	{
		ChangeVarNodes((Node *) known->quals, known->number, rel->relid, 0);
		ChangeVarNodes((Node *) known->recheck_quals, known->number, rel->relid, 0);
	}
	known->number = rel->relid;
	forthree(lc, clauses, other, known->clauses, traits, known->traits)
	{
		const RestrictInfo *clause = lfirst_node(RestrictInfo, lc);

		if (lfirst_int(traits) != traits_of(clause) ||
			!equal(lfirst(other), clause->clause))
			return false;

		/* equal clauses have casts at the same places */
		if (known->forms != NIL && forms_walker((Node *) clause->clause, &context))
			return false;
	}
	return equal(context.forms, known->forms);
}

/* True if postgres_fdw would make the same plan but for the table's name. */
static bool
is_alike(PlannerInfo *root, KnownScan *known, const RelOptInfo *rel, Oid relid,
		 const ForeignPath *path, const List *clauses)
{
	return known->serverid == rel->serverid && known->userid == rel->userid &&
		known->security_min == rel->baserestrict_min_security &&
		bms_equal(known->parameters, PATH_REQ_OUTER(&path->path)) &&
		bms_equal(known->columns, target_columns(rel)) &&
		clauses_agree(known, rel, clauses) &&
		equal(known->options,
			  shuttle_option_cache_parsed(rel->serverid, relid)->others) &&
		strcmp(known->names, shuttle_column_names(relid)) == 0;
}

/* A copy of the plan's fdw_exprs; if they are outer values core copies them
 * itself. */
static List *
values_of(const KnownScan *known)
{
	return known->parameters == NULL ? copyObject(known->values) :
		list_copy(known->values);
}

/* The plan's quals, for a table with these clauses. */
static List *
conditions_of(const KnownScan *known, const List *conditions, const List *clauses)
{
	List	   *result = NIL;
	ListCell   *lc;

	if (known->replaced)
		return copyObject(unconstify(List *, conditions));
	foreach(lc, conditions)
		result = lappend(result,
						 list_nth_node(RestrictInfo, clauses, lfirst_int(lc))->clause);
	return result;
}

ForeignScan *
shuttle_sibling_scan(PlannerInfo *root, RelOptInfo *rel, Oid relid,
					 const ForeignPath *path, List *targetlist, const List *clauses)
{
	RelOptInfo *parent = find_parent(root, rel, path);
	Siblings   *siblings = parent == NULL ? NULL : get_siblings(root, parent, false);
	ListCell   *lc;

	if (siblings == NULL)
		return NULL;
	foreach(lc, siblings->plans)
	{
		KnownScan  *known = lfirst(lc);

		if (is_alike(root, known, rel, relid, path, clauses))
			return make_foreignscan(targetlist,
									conditions_of(known, known->quals, clauses),
									rel->relid, values_of(known),
									shuttle_sibling_sql_of(&known->parts, rel->serverid,
														   relid),
									NIL,
									conditions_of(known, known->recheck_quals, clauses),
									NULL);
	}
	return NULL;
}

/* ---- remembering */

/* Fills in the clauses; false if they cannot be compared. */
static bool
remember_clauses(KnownScan *known, const List *clauses)
{
	FormsContext context = {NIL};
	ListCell   *lc;

	foreach(lc, clauses)
	{
		const RestrictInfo *clause = lfirst_node(RestrictInfo, lc);

		if (forms_walker((Node *) clause->clause, &context))
			return false;
		known->clauses = lappend(known->clauses, copyObject(clause->clause));
		known->traits = lappend_int(known->traits, traits_of(clause));
	}
	known->forms = context.forms;
	return true;
}

/* Indexes of a plan's quals among the clauses; false if one is not there. */
static bool
find_places(const List *conditions, const List *clauses, List **places)
{
	ListCell   *lc;
	ListCell   *clause;

	*places = NIL;
	foreach(lc, conditions)
	{
		int			place = 0;

		foreach(clause, clauses)
		{
			if (lfirst_node(RestrictInfo, clause)->clause == lfirst(lc))
				break;
			place++;
		}
		if (clause == NULL)
			return false;
		*places = lappend_int(*places, place);
	}
	return true;
}

static void
remember(Siblings *siblings, const RelOptInfo *rel, Oid relid,
		 const ForeignPath *path, const List *clauses, const ForeignScan *scan)
{
	KnownScan  *known = palloc0_object(KnownScan);

	if (!remember_clauses(known, clauses) ||
		!shuttle_sibling_sql_split(scan, rel->serverid, relid, &known->parts))
		return;
	known->parts.before = pstrdup(known->parts.before);
	known->parts.behind = pstrdup(known->parts.behind);
	known->parts.attributes = list_copy(known->parts.attributes);
	known->serverid = rel->serverid;
	known->userid = rel->userid;
	known->options = copyObject(shuttle_option_cache_parsed(rel->serverid,
															relid)->others);
	known->names = pstrdup(shuttle_column_names(relid));
	known->columns = target_columns(rel);
	known->parameters = bms_copy(PATH_REQ_OUTER(&path->path));
	known->security_min = rel->baserestrict_min_security;
	known->number = rel->relid;
	known->replaced = !find_places(scan->scan.plan.qual, clauses, &known->quals) ||
		!find_places(scan->fdw_recheck_quals, clauses, &known->recheck_quals);
	if (known->replaced)
	{
		known->quals = copyObject(scan->scan.plan.qual);
		known->recheck_quals = copyObject(scan->fdw_recheck_quals);
	}
	known->values = copyObject(scan->fdw_exprs);
	siblings->plans = lcons(known, siblings->plans);
}

void
shuttle_sibling_remember(PlannerInfo *root, RelOptInfo *rel, Oid relid,
						 const ForeignPath *path, const List *clauses,
						 const ForeignScan *scan)
{
	RelOptInfo *parent = find_parent(root, rel, path);
	Siblings   *siblings;
	MemoryContext old;

	if (parent == NULL)
		return;
	ereport(DEBUG1,
			(errmsg_internal("postgres_fdw writes the SELECT of a scan of \"%s\"",
							 get_rel_name(relid))));
	siblings = get_siblings(root, parent, true);
	if (list_length(siblings->plans) >= MOST_PLANS)
		return;
	old = MemoryContextSwitchTo(root->planner_cxt);
	remember(siblings, rel, relid, path, clauses, scan);
	MemoryContextSwitchTo(old);
}
