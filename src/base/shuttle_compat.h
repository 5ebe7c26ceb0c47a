/*-------------------------------------------------------------------------
 * shuttle_compat.h
 *	  Differences between the versions of the server; the only file that
 *	  looks at PG_VERSION_NUM.
 *
 * Older servers are given the newest server's names, so that callers have no
 * #if.  A branch goes when its version does.  Entries are sorted by the
 * version that changed, newest first.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_COMPAT_H
#define SHUTTLE_COMPAT_H

#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/stratnum.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_database.h"
#include "commands/explain.h"
#include "commands/vacuum.h"
#include "executor/executor.h"
#include "executor/execPartition.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "pgstat.h"
#include "storage/buffile.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/relcache.h"
#include "utils/syscache.h"
#include "utils/wait_event.h"

#if PG_VERSION_NUM >= 180000	/* 18 split commands/explain.h */
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#include "common/base64.h"
#endif

/*
 * The session's port includes the headers of GSSAPI where the server was built
 * with it, and packages of the server's headers do not bring them.
 */
#if !defined(ENABLE_GSS) || __has_include(<gssapi/gssapi.h>) || __has_include(<gssapi.h>)
#define SHUTTLE_HAS_PORT
#include "libpq/libpq-be.h"
#endif

#if PG_VERSION_NUM >= 170000
#include "utils/injection_point.h"
#endif

#if PG_VERSION_NUM < 160000
#include "catalog/pg_foreign_data_wrapper.h"
#include "catalog/pg_foreign_server.h"
#include "utils/acl.h"
#endif

/* ---- changed in 18 */

/* Stands in front of a declaration, where the old name stood behind it. */
#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/* A library tells its name and version. */
#if PG_VERSION_NUM < 180000
#define PG_MODULE_MAGIC_EXT(...) PG_MODULE_MAGIC
#endif

/* Arguments of an ExecutorRun_hook; execute_once went. */
#if PG_VERSION_NUM < 180000
#define SHUTTLE_EXECUTOR_RUN_PARAMETERS \
	QueryDesc *queryDesc, ScanDirection direction, uint64 count, bool execute_once
#define SHUTTLE_EXECUTOR_RUN_ARGUMENTS queryDesc, direction, count, execute_once
#else
#define SHUTTLE_EXECUTOR_RUN_PARAMETERS \
	QueryDesc *queryDesc, ScanDirection direction, uint64 count
#define SHUTTLE_EXECUTOR_RUN_ARGUMENTS queryDesc, direction, count
#endif

/* Joins of partitions are handed what translates their parents. */
static inline RelOptInfo *
shuttle_build_child_join_rel(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner,
							 RelOptInfo *parent, List *clauses,
							 SpecialJoinInfo *special, int nappinfos,
							 AppendRelInfo **appinfos)
{
#if PG_VERSION_NUM >= 180000
	return build_child_join_rel(root, outer, inner, parent, clauses, special,
								nappinfos, appinfos);
#elif PG_VERSION_NUM >= 160000
	return build_child_join_rel(root, outer, inner, parent, clauses, special);
#else
	return build_child_join_rel(root, outer, inner, parent, clauses, special,
								special->jointype);
#endif
}

/* Joins that keep their inner side and are no outer joins; 16 and 18 brought them. */
static inline bool
shuttle_is_right_semi_or_anti(JoinType type)
{
#if PG_VERSION_NUM >= 180000
	return type == JOIN_RIGHT_SEMI || type == JOIN_RIGHT_ANTI;
#elif PG_VERSION_NUM >= 160000
	return type == JOIN_RIGHT_ANTI;
#else
	return false;
#endif
}

/*
 * EXPLAIN takes options of extensions.  Before, nobody calls the handler:
 * where SHUTTLE_EXPLAIN_TAKES_OPTIONS is false, an option has to be taken out
 * of the statement, and an ExplainState carries nothing of ours.
 */
#if PG_VERSION_NUM < 180000
#define SHUTTLE_EXPLAIN_TAKES_OPTIONS false

typedef void (*ExplainOptionHandler) (ExplainState *es, DefElem *option,
									  ParseState *pstate);

static inline void
RegisterExtensionExplainOption(const char *name, ExplainOptionHandler handler)
{
}

static inline int
GetExplainExtensionId(const char *name)
{
	return 0;
}

static inline void
SetExplainExtensionState(ExplainState *es, int id, void *state)
{
}

static inline void *
GetExplainExtensionState(ExplainState *es, int id)
{
	return NULL;
}
#else
#define SHUTTLE_EXPLAIN_TAKES_OPTIONS true
#endif

/*
 * The keys by which the client of this session logged in with SCRAM, in
 * base64; 18 keeps them, for nodes that know the same password.
 */
static inline bool
shuttle_get_scram_keys(char **client_key, char **server_key)
{
#if PG_VERSION_NUM >= 180000 && defined(SHUTTLE_HAS_PORT)
	int			size = pg_b64_enc_len(SCRAM_MAX_KEY_LEN) + 1;

	if (MyProcPort == NULL || !MyProcPort->has_scram_keys)
		return false;
	*client_key = palloc0(size);
	*server_key = palloc0(size);
	return pg_b64_encode(MyProcPort->scram_ClientKey,
						 sizeof(MyProcPort->scram_ClientKey),
						 *client_key, size - 1) >= 0 &&
		pg_b64_encode(MyProcPort->scram_ServerKey,
					  sizeof(MyProcPort->scram_ServerKey),
					  *server_key, size - 1) >= 0;
#else
	return false;
#endif
}

/* The members of a class that are of these relations or of all; 18 keeps those
 * of child relations apart. */
#if PG_VERSION_NUM < 180000
typedef struct EquivalenceMemberIterator
{
	List	   *members;
	int			next;
} EquivalenceMemberIterator;

static inline void
setup_eclass_member_iterator(EquivalenceMemberIterator *it, EquivalenceClass *ec,
							 Relids child_relids)
{
	it->members = ec->ec_members;
	it->next = 0;
}

static inline EquivalenceMember *
eclass_member_iterator_next(EquivalenceMemberIterator *it)
{
	if (it->next >= list_length(it->members))
		return NULL;
	return list_nth_node(EquivalenceMember, it->members, it->next++);
}

/* Orders have names of their own, beside the strategies of btrees. */
#define COMPARE_LT BTLessStrategyNumber
#endif

/* Makes and copies tuples in the current context; 18 can leave room in front. */
static inline MinimalTuple
shuttle_form_minimal_tuple(TupleDesc desc, Datum *values, bool *nulls)
{
#if PG_VERSION_NUM >= 180000
	return heap_form_minimal_tuple(desc, values, nulls, 0);
#else
	return heap_form_minimal_tuple(desc, values, nulls);
#endif
}

static inline MinimalTuple
shuttle_copy_minimal_tuple(MinimalTuple tuple)
{
#if PG_VERSION_NUM >= 180000
	return heap_copy_minimal_tuple(tuple, 0);
#else
	return heap_copy_minimal_tuple(tuple);
#endif
}

/*
 * Evaluates RETURNING on a row of a foreign table that was written, or, for a
 * DELETE, was there; 18 tells OLD and NEW apart.
 */
static inline TupleTableSlot *
shuttle_project_returning(EState *estate, ResultRelInfo *target,
						  CmdType operation, TupleTableSlot *row,
						  TupleTableSlot *plan_row)
{
	ProjectionInfo *projection = target->ri_projectReturning;
	ExprContext *econtext = projection->pi_exprContext;

	econtext->ecxt_scantuple = row;
	econtext->ecxt_outertuple = plan_row;
#if PG_VERSION_NUM >= 180000
	{
		TupleTableSlot *old_row = operation == CMD_DELETE ? row : NULL;
		TupleTableSlot *new_row = operation == CMD_DELETE ? NULL : row;
		int			flags = projection->pi_state.flags;

		if (operation == CMD_UPDATE && (flags & EEO_FLAG_HAS_OLD) != 0)
		{
			bool		is_null;
			Datum		whole = ExecGetJunkAttribute(plan_row, target->ri_RowIdAttNo,
													 &is_null);
			HeapTupleHeader header = DatumGetHeapTupleHeader(whole);
			HeapTupleData tuple = {
				.t_len = HeapTupleHeaderGetDatumLength(header),
				.t_tableOid = RelationGetRelid(target->ri_RelationDesc),
				.t_data = header,
			};

			ItemPointerSetInvalid(&tuple.t_self);
			old_row = target->ri_oldTupleSlot;
			ExecForceStoreHeapTuple(&tuple, old_row, false);
		}
		econtext->ecxt_oldtuple = old_row != NULL ? old_row :
			(flags & EEO_FLAG_HAS_OLD) != 0 ? ExecGetAllNullSlot(estate, target) : NULL;
		econtext->ecxt_newtuple = new_row != NULL ? new_row :
			(flags & EEO_FLAG_HAS_NEW) != 0 ? ExecGetAllNullSlot(estate, target) : NULL;
		if (old_row == NULL)
			projection->pi_state.flags |= EEO_FLAG_OLD_IS_NULL;
		else
			projection->pi_state.flags &= ~EEO_FLAG_OLD_IS_NULL;
		if (new_row == NULL)
			projection->pi_state.flags |= EEO_FLAG_NEW_IS_NULL;
		else
			projection->pi_state.flags &= ~EEO_FLAG_NEW_IS_NULL;
	}
#endif
	return ExecProject(projection);
}

/* True where RETURNING tells OLD from NEW, as it can from 18 on. */
static inline bool
shuttle_returns_old_or_new(Node *node)
{
#if PG_VERSION_NUM >= 180000
	return contain_vars_returning_old_or_new(node);
#else
	return false;
#endif
}

/* A table that the statement changes, or one above it; 18 wants to be told. */
static inline Relation
shuttle_changed_relation(EState *estate, Index rtindex)
{
#if PG_VERSION_NUM >= 180000
	return ExecGetRangeTableRelation(estate, rtindex, true);
#else
	return ExecGetRangeTableRelation(estate, rtindex);
#endif
}

/* A semi join whose inner rows are kept, which 18 brought. */
static inline bool
shuttle_is_right_semi(JoinType type)
{
#if PG_VERSION_NUM >= 180000
	return type == JOIN_RIGHT_SEMI;
#else
	return false;
#endif
}

/* Columns can be generated when they are read; no version before has one. */
#if PG_VERSION_NUM < 180000
#define ATTRIBUTE_GENERATED_VIRTUAL 'v'
#endif

/* The index of a table's primary key; 18 tells deferrable ones apart. */
static inline Oid
shuttle_primary_key(Relation rel)
{
#if PG_VERSION_NUM >= 180000
	return RelationGetPrimaryKeyIndex(rel, false);
#else
	return RelationGetPrimaryKeyIndex(rel);
#endif
}

/* ---- changed in 17 */

/* The locale of a database that is not of libc's. */
#if PG_VERSION_NUM < 170000
#define Anum_pg_database_datlocale Anum_pg_database_daticulocale
#endif

/* What ALTER TABLE SET STATISTICS said of a column; -1: nothing.  17 keeps
 * that as NULL. */
static inline int
shuttle_statistics_target(Oid relid, AttrNumber attribute)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid),
										Int16GetDatum(attribute));
	int			target = -1;

	if (!HeapTupleIsValid(tuple))
		return target;
#if PG_VERSION_NUM >= 170000
	{
		bool		is_null;
		Datum		value = SysCacheGetAttr(ATTNUM, tuple,
											Anum_pg_attribute_attstattarget,
											&is_null);

		if (!is_null)
			target = DatumGetInt16(value);
	}
#else
	target = ((Form_pg_attribute) GETSTRUCT(tuple))->attstattarget;
#endif
	ReleaseSysCache(tuple);
	return target;
}

/* JSON_VALUE() and its like, which 17 brought. */
static inline bool
shuttle_is_json_query(const Node *node)
{
#if PG_VERSION_NUM >= 170000
	return IsA(node, JsonExpr);
#else
	return false;
#endif
}

/* Internal subtransactions are possible while parallel workers run from 17 on. */
#define SHUTTLE_SUBTRANSACTIONS_BESIDE_WORKERS (PG_VERSION_NUM >= 170000)

/*
 * A path that takes parameters from the parent of a child relation, for a
 * nested loop over the child; NULL where it cannot be changed to that.  17
 * changes it when the plan is made.
 */
static inline Path *
shuttle_path_for_child(PlannerInfo *root, Path *path, RelOptInfo *child)
{
	if (!bms_overlap(PATH_REQ_OUTER(path), child->top_parent_relids))
		return path;
#if PG_VERSION_NUM >= 170000
	return path_is_reparameterizable_by_child(path, child) ? path : NULL;
#else
	return reparameterize_path_by_child(root, path, child);
#endif
}

/*
 * True where another server takes the bytes of an interval as this one does: 17
 * calls infinite what were very long ones before.
 */
static inline bool
shuttle_agrees_on_intervals(int server_version)
{
	return (server_version >= 170000) == (PG_VERSION_NUM >= 170000);
}

/* A StringInfo over memory that is not to be changed. */
#if PG_VERSION_NUM < 170000
static inline void
initReadOnlyStringInfo(StringInfo string, char *data, int length)
{
	string->data = data;
	string->len = length;
	string->maxlen = 0;
	string->cursor = 0;
}
#endif

/* A point of core's kind, at which a test can stop; servers have them since 17,
 * where they are built so, and 18 gave them an argument. */
#if PG_VERSION_NUM >= 180000
#define shuttle_injection_point(name) INJECTION_POINT(name, NULL)
#elif PG_VERSION_NUM >= 170000
#define shuttle_injection_point(name) INJECTION_POINT(name)
#else
#define shuttle_injection_point(name) ((void) 0)
#endif

/* The number of the current transaction in its session; 17 moved it. */
static inline LocalTransactionId
shuttle_my_lxid(void)
{
#if PG_VERSION_NUM >= 170000
	return MyProc->vxid.lxid;
#else
	return MyProc->lxid;
#endif
}

/* Extensions name their wait events. */
static inline uint32
shuttle_new_wait_event(const char *name)
{
#if PG_VERSION_NUM >= 170000
	return WaitEventExtensionNew(name);
#else
	return PG_WAIT_EXTENSION;
#endif
}

/* A set of wait events that lives as long as the session. */
static inline WaitEventSet *
shuttle_create_wait_event_set(int nevents)
{
#if PG_VERSION_NUM >= 170000
	return CreateWaitEventSet(NULL, nevents);
#else
	return CreateWaitEventSet(TopMemoryContext, nevents);
#endif
}

/* Core's own way to explain one query has a name since 17. */
#if PG_VERSION_NUM < 170000
static inline void
standard_ExplainOneQuery(Query *query, int cursorOptions, IntoClause *into,
						 ExplainState *es, const char *queryString,
						 ParamListInfo params, QueryEnvironment *queryEnv)
{
	PlannedStmt *plan;
	instr_time	start;
	instr_time	duration;
	BufferUsage before = pgBufferUsage;
	BufferUsage used = {0};

	INSTR_TIME_SET_CURRENT(start);
	plan = pg_plan_query(query, queryString, cursorOptions, params);
	INSTR_TIME_SET_CURRENT(duration);
	INSTR_TIME_SUBTRACT(duration, start);
	BufferUsageAccumDiff(&used, &pgBufferUsage, &before);
	ExplainOnePlan(plan, into, es, queryString, params, queryEnv,
				   &duration, es->buffers ? &used : NULL);
}
#endif

/* Since 17 one function asks for a lock or for any stronger one. */
#if PG_VERSION_NUM < 170000
static inline bool
shuttle_lock_held_by_me(const LOCKTAG *tag, LOCKMODE mode, bool orstronger)
{
	bool		held = LockHeldByMe(tag, mode);

	while (!held && orstronger && mode < MaxLockMode)
		held = LockHeldByMe(tag, ++mode);
	return held;
}

#define LockHeldByMe shuttle_lock_held_by_me
#endif

/* 17 knows infinite intervals, and has states of its own for sums of them. */
#if PG_VERSION_NUM < 170000
#define F_INTERVAL_AVG_SERIALIZE InvalidOid
#define INTERVAL_NOT_FINITE(interval) false
#define INTERVAL_IS_NOBEGIN(interval) false
#else
#define F_INTERVAL_COMBINE InvalidOid
#endif

/* ---- changed in 16 */

/* An entry of the range table for a child that is the same table, whose privileges
 * are checked with the parent's. */
static inline RangeTblEntry *
shuttle_child_entry(const RangeTblEntry *parent)
{
	RangeTblEntry *child = makeNode(RangeTblEntry);

	*child = *parent;
	child->securityQuals = NIL;
#if PG_VERSION_NUM >= 160000
	child->perminfoindex = 0;
#else
	child->requiredPerms = 0;
#endif
	return child;
}

/* How the root's rows become those of a partition that they are routed to. */
#if PG_VERSION_NUM < 160000
static inline TupleConversionMap *
ExecGetRootToChildMap(ResultRelInfo *child, EState *estate)
{
	return child->ri_RootToPartitionMap;
}
#endif

/* What groups are told apart by; 16 leaves out what is the same in all rows. */
static inline List *
shuttle_processed_group_clause(const PlannerInfo *root)
{
#if PG_VERSION_NUM >= 160000
	return root->processed_groupClause;
#else
	return root->parse->groupClause;
#endif
}

static inline List *
shuttle_processed_distinct_clause(const PlannerInfo *root)
{
#if PG_VERSION_NUM >= 160000
	return root->processed_distinctClause;
#else
	return root->parse->distinctClause;
#endif
}

/* All that a query level joins; 16 counts outer joins among it. */
static inline Relids
shuttle_all_relids(const PlannerInfo *root)
{
#if PG_VERSION_NUM >= 160000
	return root->all_query_rels;
#else
	return root->all_baserels;
#endif
}

/* Plans a subquery of a query that joins it; 17 asks which set operation it is of. */
static inline PlannerInfo *
shuttle_subquery_planner(PlannerInfo *root, Query *subquery)
{
#if PG_VERSION_NUM >= 170000
	return subquery_planner(root->glob, subquery, root, false, 0, NULL);
#else
	return subquery_planner(root->glob, subquery, root, false, 0);
#endif
}

/* A scan of a subquery without an order; 16 has it told what it need not do. */
static inline Path *
shuttle_create_subqueryscan_path(PlannerInfo *root, RelOptInfo *rel, Path *subpath,
								 Relids required_outer)
{
#if PG_VERSION_NUM >= 160000
	return (Path *) create_subqueryscan_path(root, rel, subpath, false, NIL,
											 required_outer);
#else
	return (Path *) create_subqueryscan_path(root, rel, subpath, NIL, required_outer);
#endif
}

/* Gives a query another GROUP BY; returns the one that it had. */
typedef struct ShuttleGroupClause
{
	List	   *whole;
	List	   *processed;
} ShuttleGroupClause;

static inline ShuttleGroupClause
shuttle_set_group_clause(PlannerInfo *root, List *whole, List *processed)
{
	ShuttleGroupClause before;

	before.whole = root->parse->groupClause;
	before.processed = shuttle_processed_group_clause(root);
	root->parse->groupClause = whole;
#if PG_VERSION_NUM >= 160000
	root->processed_groupClause = processed;
#endif
	return before;
}

/* An expression over a base relation, over a child of it or of its children. */
static inline void *
shuttle_translate_to_child(PlannerInfo *root, Node *node, RelOptInfo *child,
						   RelOptInfo *parent)
{
#if PG_VERSION_NUM >= 160000
	return adjust_appendrel_attrs_multilevel(root, node, child, parent);
#else
	return adjust_appendrel_attrs_multilevel(root, node, child->relids,
											 parent->relids);
#endif
}

/* Until 16 a clause says which of its relations outer joins make NULL. */
static inline void
shuttle_move_nullable_relids(RestrictInfo *clause, Index from, Index to)
{
#if PG_VERSION_NUM < 160000
	if (bms_is_member(from, clause->nullable_relids))
		clause->nullable_relids =
			bms_add_member(bms_del_member(bms_copy(clause->nullable_relids), from), to);
#endif
}

/* Whether the user may analyze a table, with a warning if not. */
#if PG_VERSION_NUM < 160000
#define vacuum_is_permitted_for_relation vacuum_is_relation_owner
#endif

/* Analyzes one table within the transaction; 16 takes a memory context. */
static inline void
shuttle_analyze_table(Oid relid)
{
	VacuumParams params = {
		.options = VACOPT_ANALYZE,
		.log_min_duration = -1,
	};
	List	   *tables = list_make1(makeVacuumRelation(NULL, relid, NIL));

#if PG_VERSION_NUM >= 160000
	vacuum(tables, &params, NULL, CurrentMemoryContext, false);
#else
	vacuum(tables, &params, NULL, false);
#endif
}

/* The table that a session counts written rows of; 16 renamed it. */
static inline Oid
shuttle_counted_table(const PgStat_TableStatus *status)
{
#if PG_VERSION_NUM >= 160000
	return status->id;
#else
	return status->t_id;
#endif
}

/* The root of a btree, share-locked, or InvalidBuffer; 16 asks for the table. */
static inline Buffer
shuttle_bt_getroot(Relation index, Relation heap)
{
#if PG_VERSION_NUM >= 160000
	return _bt_getroot(index, heap, BT_READ);
#else
	return _bt_getroot(index, BT_READ);
#endif
}

/* Did the client of this session delegate its GSSAPI credentials?  libpq can tell
 * from 16 on, too, whether a connection has used them. */
#if PG_VERSION_NUM >= 160000
#define SHUTTLE_LIBPQ_TELLS_GSSAPI
#endif

/* What postgres_fdw says of users who have to give credentials of their own. */
#if PG_VERSION_NUM >= 160000
#define SHUTTLE_CREDENTIALS_REQUIRED \
	"password or GSSAPI delegated credentials required"
#define SHUTTLE_CREDENTIALS_UNUSED \
	"Non-superuser cannot connect if the server does not request a password or use GSSAPI with delegated credentials."
#else
#define SHUTTLE_CREDENTIALS_REQUIRED "password is required"
#define SHUTTLE_CREDENTIALS_UNUSED \
	"Non-superuser cannot connect if the server does not request a password."
#endif
#if PG_VERSION_NUM >= 180000
#define SHUTTLE_CREDENTIALS_MISSING \
	"Non-superusers must delegate GSSAPI credentials, provide a password, or enable SCRAM pass-through in user mapping."
#elif PG_VERSION_NUM >= 160000
#define SHUTTLE_CREDENTIALS_MISSING \
	"Non-superusers must delegate GSSAPI credentials or provide a password in the user mapping."
#else
#define SHUTTLE_CREDENTIALS_MISSING \
	"Non-superusers must provide a password in the user mapping."
#endif

static inline bool
shuttle_gss_delegated(void)
{
#if PG_VERSION_NUM >= 160000 && defined(ENABLE_GSS) && defined(SHUTTLE_HAS_PORT)
	return MyProcPort != NULL && be_gssapi_get_delegation(MyProcPort);
#else
	return false;
#endif
}

/* One function for all kinds of objects since 16; here for servers only. */
#if PG_VERSION_NUM < 160000
static inline bool
object_ownercheck(Oid classid, Oid objectid, Oid roleid)
{
	Assert(classid == ForeignServerRelationId);
	return pg_foreign_server_ownercheck(objectid, roleid);
}

/* The same; here for foreign-data wrappers and servers only. */
static inline AclResult
object_aclcheck(Oid classid, Oid objectid, Oid roleid, AclMode mode)
{
	if (classid == ForeignServerRelationId)
		return pg_foreign_server_aclcheck(objectid, roleid, mode);
	Assert(classid == ForeignDataWrapperRelationId);
	return pg_foreign_data_wrapper_aclcheck(objectid, roleid, mode);
}
#endif

/*
 * The user that a foreign scan, or a write, runs as.  From 16 on it is in the
 * plan and in the permissions of the statement, before in the range table.
 */
static inline Oid
shuttle_scan_user(const ForeignScan *scan, EState *estate)
{
#if PG_VERSION_NUM >= 160000
	Oid			user = scan->checkAsUser;
#else
	Index		rtindex = scan->scan.scanrelid;
	Oid			user;

	if (rtindex == 0)
		rtindex = bms_next_member(scan->fs_relids, -1);
	user = exec_rt_fetch(rtindex, estate)->checkAsUser;
#endif
	return OidIsValid(user) ? user : GetUserId();
}

#if PG_VERSION_NUM < 160000
/* Allocation by type; late minor releases of 15 have a part of it. */
#ifndef palloc_object
#define palloc_object(type) ((type *) palloc(sizeof(type)))
#define palloc0_object(type) ((type *) palloc0(sizeof(type)))
#endif
#ifndef palloc_array
#define palloc_array(type, count) ((type *) palloc(sizeof(type) * (count)))
#define palloc0_array(type, count) ((type *) palloc0(sizeof(type) * (count)))
#endif

/* From 16 on fs_relids has outer joins as well. */
#define fs_base_relids fs_relids

static inline Oid
ExecGetResultRelCheckAsUser(ResultRelInfo *target, EState *estate)
{
	Index		rtindex = target->ri_RangeTableIndex;
	Oid			user;

	if (rtindex == 0)
		rtindex = target->ri_RootResultRelInfo->ri_RangeTableIndex;
	user = exec_rt_fetch(rtindex, estate)->checkAsUser;
	return OidIsValid(user) ? user : GetUserId();
}

extern PGDLLEXPORT void _PG_init(void);
#endif

/*
 * Declares a C function that SQL calls.  15 does not export the function
 * itself when symbols are hidden by default; from 16 on core does.
 */
#define SHUTTLE_SQL_FUNCTION(name) \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name)

/* 18 counts disabled nodes; before, they cost disable_cost. */
static inline void
shuttle_path_copy_disabled(Path *to, const Path *from)
{
#if PG_VERSION_NUM >= 180000
	to->disabled_nodes = from->disabled_nodes;
#endif
}

static inline void
shuttle_plan_copy_disabled(Plan *to, const Plan *from)
{
#if PG_VERSION_NUM >= 180000
	to->disabled_nodes = from->disabled_nodes;
#endif
}

/* The children of an Append that its run-time pruning leaves. */
static inline Bitmapset *
shuttle_find_matching_subplans(PartitionPruneState *state)
{
#if PG_VERSION_NUM >= 180000
	return ExecFindMatchingSubPlans(state, false, NULL);
#else
	return ExecFindMatchingSubPlans(state, false);
#endif
}

/* True where an Append chooses its children at run time. */
static inline bool
shuttle_append_prunes(const Append *append)
{
#if PG_VERSION_NUM >= 180000
	return append->part_prune_index >= 0;
#else
	return append->part_prune_info != NULL;
#endif
}

/*
 * From 18 on an EvalPlanQual tree is lent the run-time pruning of the statement's plan.
 * Makes its own, if so; what was pruned when the statement began stays so.
 */
static inline bool
shuttle_make_pruning(EState *estate)
{
#if PG_VERSION_NUM >= 180000
	List	   *results = estate->es_part_prune_results;
	Bitmapset  *unpruned = estate->es_unpruned_relids;

	if (estate->es_epq_active == NULL || estate->es_part_prune_states !=
		estate->es_epq_active->parentestate->es_part_prune_states)
		return false;
	estate->es_part_prune_states = NIL;
	estate->es_part_prune_results = NIL;
	estate->es_unpruned_relids = bms_copy(unpruned);
	ExecDoInitialPruning(estate);
	estate->es_part_prune_results = results;
	estate->es_unpruned_relids = unpruned;
	return true;
#else
	return false;
#endif
}

#if PG_VERSION_NUM >= 180000
#define SHUTTLE_OWN_PRUNING(node, append, children, now) \
	((now) == NULL || list_member_ptr((node)->state->es_part_prune_states, now) ? (now) : \
	 ExecInitPartitionExecPruning(node, list_length(children), (append)->part_prune_index, \
								  (append)->apprelids, &(Bitmapset *) {NULL}))
#else
#define SHUTTLE_OWN_PRUNING(node, append, children, now) ((void) (append), (now))
#endif

/* 17 raised postgres_fdw's default cost of a row. */
#if PG_VERSION_NUM >= 170000
#define SHUTTLE_POSTGRES_FDW_TUPLE_COST 0.2
#else
#define SHUTTLE_POSTGRES_FDW_TUPLE_COST 0.01
#endif

/* A parameterised scan of a foreign table. */
static inline ForeignPath *
shuttle_create_foreignscan_path(PlannerInfo *root, RelOptInfo *rel, double rows,
								Cost startup, Cost total, Relids required_outer)
{
#if PG_VERSION_NUM >= 180000
	return create_foreignscan_path(root, rel, NULL, rows, 0, startup, total, NIL,
								   required_outer, NULL, NIL, NIL);
#elif PG_VERSION_NUM >= 170000
	return create_foreignscan_path(root, rel, NULL, rows, startup, total, NIL,
								   required_outer, NULL, NIL, NIL);
#else
	return create_foreignscan_path(root, rel, NULL, rows, startup, total, NIL,
								   required_outer, NULL, NIL);
#endif
}

/* 18 counts nodes that are disabled. */
static inline bool
shuttle_add_path_precheck(RelOptInfo *rel, const JoinCostWorkspace *workspace,
						  List *pathkeys, Relids required_outer)
{
#if PG_VERSION_NUM >= 180000
	return add_path_precheck(rel, workspace->disabled_nodes, workspace->startup_cost,
							 workspace->total_cost, pathkeys, required_outer);
#else
	return add_path_precheck(rel, workspace->startup_cost, workspace->total_cost,
							 pathkeys, required_outer);
#endif
}

/*
 * From 16 on an outer join is a relation of its own, and a path that takes
 * parameters from the join being made makes no sense.
 */
static inline bool
shuttle_uses_own_outer_join(const SpecialJoinInfo *join, const Path *outer,
							const Path *inner)
{
#if PG_VERSION_NUM >= 160000
	return join->ojrelid != 0 &&
		(bms_is_member(join->ojrelid, PATH_REQ_OUTER(inner)) ||
		 bms_is_member(join->ojrelid, PATH_REQ_OUTER(outer)));
#else
	return false;
#endif
}

/* The user of a scan is copied from plan to plan; before 16 it is elsewhere. */
static inline void
shuttle_copy_scan_user(ForeignScan *to, const ForeignScan *from)
{
#if PG_VERSION_NUM >= 160000
	to->checkAsUser = from->checkAsUser;
	to->fs_base_relids = from->fs_base_relids;
#endif
}

/* Says of which relation a scan is that core has not planned. */
static inline void
shuttle_scan_set_relids(ForeignScan *scan, Relids relids)
{
	scan->fs_relids = bms_copy(relids);
	scan->fs_base_relids = scan->fs_relids;
}

/*
 * Lends what a scan needs of one executor state to another one, whose run is
 * a part of the first one's.
 */
static inline void
shuttle_share_executor_state(EState *to, const EState *from)
{
	to->es_snapshot = from->es_snapshot;
	to->es_crosscheck_snapshot = from->es_crosscheck_snapshot;
	to->es_range_table = from->es_range_table;
	to->es_range_table_size = from->es_range_table_size;
	to->es_relations = from->es_relations;
#if PG_VERSION_NUM >= 160000
	to->es_rteperminfos = from->es_rteperminfos;
#endif
#if PG_VERSION_NUM >= 180000
	to->es_unpruned_relids = from->es_unpruned_relids;
#endif
	to->es_plannedstmt = from->es_plannedstmt;
	to->es_param_list_info = from->es_param_list_info;
	to->es_queryEnv = from->es_queryEnv;
	to->es_sourceText = from->es_sourceText;
}

/* 16 gave temporary files a read that knows how much must be there. */
#if PG_VERSION_NUM < 160000
static inline void
shuttle_BufFileReadExact(BufFile *file, void *to, size_t size)
{
	if (BufFileRead(file, to, size) != size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from temporary file: %m")));
}
#define BufFileReadExact shuttle_BufFileReadExact
#endif

/* True of a column of a table, or of its partitions, that is never NULL.  Before 17
 * the planner does not know. */
static inline bool
shuttle_is_never_null(const RelOptInfo *rel, AttrNumber attribute)
{
#if PG_VERSION_NUM >= 170000
	return attribute > 0 && bms_is_member(attribute, rel->notnullattnums);
#else
	return false;
#endif
}

/* ---- what a statement is made of */

/* 17 gave MERGE's condition a place beside the source's, and knows other rows than those
 * that match and those that match nothing. */
#if PG_VERSION_NUM < 170000
#define MERGE_CONDITION(query) ((query)->jointree->quals)
#define MERGE_IS_MATCHED(action) ((action)->matched)
#define MERGE_IS_OF_17(query, action) false
#else
#define MERGE_CONDITION(query) ((query)->mergeJoinCondition)
#define MERGE_IS_MATCHED(action) ((action)->matchKind == MERGE_WHEN_MATCHED)
#define MERGE_IS_OF_17(query, action) \
	((query)->mergeTargetRelation != (query)->resultRelation || \
	 (action)->matchKind == MERGE_WHEN_NOT_MATCHED_BY_SOURCE)
#endif

/* 16 has lists of the privileges that are checked, and of joins that make NULLs. */
#if PG_VERSION_NUM < 160000
typedef RangeTblEntry RTEPermissionInfo;
#define COPY_PERMISSIONS(query, from) ((void) 0)
#define COPY_PERMISSION(query, rte, from) (rte)
#define SET_NULLED_BY(var, join) ((void) 0)
#else
#define COPY_PERMISSIONS(query, from) ((query)->rteperminfos = copyObject((from)->rteperminfos))
#define COPY_PERMISSION(query, rte, from) \
	((query)->rteperminfos = lappend((query)->rteperminfos, \
									 copyObject(getRTEPermissionInfo((from)->rteperminfos, rte))), \
	 (rte)->perminfoindex = list_length((query)->rteperminfos), \
	 getRTEPermissionInfo((query)->rteperminfos, rte))
#define SET_NULLED_BY(var, join) \
	((var)->varnullingrels = (join) == 0 ? NULL : bms_make_singleton(join))
#endif

#endif							/* SHUTTLE_COMPAT_H */
