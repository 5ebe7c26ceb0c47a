/*-------------------------------------------------------------------------
 * text_order.c
 *	  Whether a node sorts text as this server does.
 *
 * postgres_fdw lets nodes sort by a column's collation, and core merges what
 * they return. If the node's collation of that name has another locale or
 * library version, rows are merged in a wrong order and joins miss some (trap
 * 14). So when a query could use a node's order, the node is asked how it
 * sorts, once per session and collation: all servers of the query at once, on
 * separate connections, outside of the transaction. If the session has no
 * connection to a server yet, it keeps this one. Only an equal answer counts
 * as alike; a node that could not be asked is asked again later. "C" is alike
 * everywhere.
 *
 * Memory: answers live below CacheMemoryContext, until a server or user
 * mapping changes.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/table.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "catalog/pg_type.h"
#include "foreign/foreign.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_expressions.h"
#include "base/shuttle_meanings.h"
#include "executor/shuttle_executor.h"
#include "planner/scan/scan.h"
#include "storage/shuttle_storage.h"

/* Longer descriptions are truncated before they are compared. */
#define MOST_BYTES 256

#define ASK_LIMIT_MS 10000

/* When to ask a node again that could not be asked: after this time, or after
 * this multiple of the time the attempt took, if longer. */
#define ASK_AGAIN_MS 10000
#define ASK_AGAIN_TIMES 10

/* The database's default collation. Column names depend on the version. */
#define FIELD(row, name) "pg_catalog.to_jsonb(" row ") OPERATOR(pg_catalog.->>) '" name "'"

#define DATABASE_SQL \
	SHUTTLE_RUN_AT_ONCE "SELECT pg_catalog.concat_ws(' ', coalesce(" FIELD("d", "datlocprovider") ", 'c')," \
	" coalesce(" FIELD("d", "datlocale") ", " FIELD("d", "daticulocale") ", datcollate)," \
	" " FIELD("d", "daticurules") ", pg_catalog.pg_encoding_to_char(encoding)," \
	" pg_catalog.pg_database_collation_actual_version(oid))" \
	" FROM pg_catalog.pg_database d" \
	" WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()"

#define COLLATION_SQL \
	SHUTTLE_RUN_AT_ONCE "SELECT pg_catalog.concat_ws(' ', collprovider, collisdeterministic," \
	" coalesce(" FIELD("c", "colllocale") ", " FIELD("c", "colliculocale") ", collcollate)," \
	" " FIELD("c", "collicurules") ", pg_catalog.getdatabaseencoding()," \
	" pg_catalog.pg_collation_actual_version(oid))" \
	" FROM pg_catalog.pg_collation c" \
	" WHERE oid OPERATOR(pg_catalog.=) pg_catalog.to_regcollation(%s)"

typedef struct OrderKey
{
	Oid			serverid;
	Oid			userid;			/* whose mapping is used */
	Oid			collation;
} OrderKey;

typedef struct KnownOrder
{
	OrderKey	key;			/* hash key */
	bool		alike;
	TimestampTz until;			/* when to ask again; 0: never */
} KnownOrder;

typedef struct Answer
{
	char text[	MOST_BYTES];
} Answer;

static HTAB *known = NULL;
static MemoryContext known_cxt = NULL;
static bool changed = true;

/* ---- asking */

static void
servers_changed(Datum argument, int cache, uint32 hash)
{
	changed = true;
}

static void
forget(void)
{
	HASHCTL		control = {
		.keysize = sizeof(OrderKey),
		.entrysize = sizeof(KnownOrder),
	};

	if (known_cxt == NULL)
	{
		known_cxt = AllocSetContextCreate(CacheMemoryContext, "shuttle text orders",
										  ALLOCSET_SMALL_SIZES);
		CacheRegisterSyscacheCallback(FOREIGNSERVEROID, servers_changed, (Datum) 0);
		CacheRegisterSyscacheCallback(USERMAPPINGOID, servers_changed, (Datum) 0);
	}
	MemoryContextReset(known_cxt);
	control.hcxt = known_cxt;
	known = hash_create("shuttle text orders", 16, &control,
						HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	changed = false;
}

/* The statement that asks a node for a collation. */
static char *
describing_sql(Oid collation)
{
	HeapTuple	tuple;
	Form_pg_collation form;
	const char *name;

	if (collation == DEFAULT_COLLATION_OID)
		return pstrdup(DATABASE_SQL);
	tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for collation %u", collation);
	form = (Form_pg_collation) GETSTRUCT(tuple);
	name = quote_qualified_identifier(get_namespace_name(form->collnamespace),
									  NameStr(form->collname));
	ReleaseSysCache(tuple);
	return psprintf(COLLATION_SQL, quote_literal_cstr(name));
}

/* Appends a column by name; false if this version lacks it or it is NULL. */
static bool
append_column(StringInfo to, HeapTuple tuple, TupleDesc columns, const char *name)
{
	for (int i = 0; i < columns->natts; i++)
	{
		const FormData_pg_attribute *column = TupleDescAttr(columns, i);
		bool		is_null;
		Datum		value;
		Oid			output;
		bool		is_varlena;

		if (strcmp(NameStr(column->attname), name) != 0)
			continue;
		value = heap_getattr(tuple, i + 1, columns, &is_null);
		if (is_null)
			return false;
		getTypeOutputInfo(column->atttypid, &output, &is_varlena);
		appendStringInfo(to, "%s%s", to->len > 0 ? " " : "",
						 OidOutputFunctionCall(output, value));
		return true;
	}
	return false;
}

static void
append_version(StringInfo to, PGFunction version_of, Oid oid)
{
	LOCAL_FCINFO(call, 1);
	Datum		version;

	InitFunctionCallInfoData(*call, NULL, 1, InvalidOid, NULL, NULL);
	call->args[0].value = ObjectIdGetDatum(oid);
	call->args[0].isnull = false;
	version = version_of(call);
	if (!call->isnull)
		appendStringInfo(to, " %s", TextDatumGetCString(version));
}

/* Describes this server's collation as the statements above do. They are not
 * executed here, to keep them out of statement statistics. */
static void
describe_here(Oid collation, Answer *answer)
{
	bool		of_database = collation == DEFAULT_COLLATION_OID;
	Oid			oid = of_database ? MyDatabaseId : collation;
	Relation	catalog = table_open(of_database ? DatabaseRelationId : CollationRelationId,
									 AccessShareLock);
	TupleDesc	columns = RelationGetDescr(catalog);
	HeapTuple	tuple = SearchSysCache1(of_database ? DATABASEOID : COLLOID,
										ObjectIdGetDatum(oid));
	const char *prefix = of_database ? "dat" : "coll";
	StringInfoData to;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for collation %u", collation);
	initStringInfo(&to);
	append_column(&to, tuple, columns, of_database ? "datlocprovider" : "collprovider");
	if (!of_database)
		append_column(&to, tuple, columns, "collisdeterministic");
	if (!append_column(&to, tuple, columns, psprintf("%slocale", prefix)) &&
		!append_column(&to, tuple, columns, psprintf("%siculocale", prefix)))
		append_column(&to, tuple, columns, psprintf("%scollate", prefix));
	append_column(&to, tuple, columns, psprintf("%sicurules", prefix));
	appendStringInfo(&to, " %s", GetDatabaseEncodingName());
	append_version(&to, of_database ? pg_database_collation_actual_version :
				   pg_collation_actual_version, oid);
	ReleaseSysCache(tuple);
	table_close(catalog, AccessShareLock);
	strlcpy(answer->text, to.data, MOST_BYTES);
}

static void
take_row(void *arg, const ShuttleRow *row)
{
	strlcpy(((Answer *) arg)->text, row->values[0], MOST_BYTES);
}

/* The valid answer of a node, or NULL. */
static const KnownOrder *
find_known(const OrderKey *key)
{
	const KnownOrder *entry = hash_search(known, key, HASH_FIND, NULL);

	return entry != NULL && entry->until != 0 && entry->until <= GetCurrentTimestamp() ?
		NULL : entry;
}

/* Our servers in a query that must be asked. */
static List *
unknown_servers(PlannerInfo *root, Oid userid, Oid collation)
{
	List	   *servers = NIL;

	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		const RelOptInfo *rel = root->simple_rel_array[i];
		OrderKey	key = {.userid = userid,.collation = collation};

		if (rel == NULL || rel->fdwroutine == NULL ||
			!shuttle_server_routine_is_ours(rel->fdwroutine))
			continue;
		key.serverid = rel->serverid;
		if (find_known(&key) == NULL)
			servers = list_append_unique_oid(servers, rel->serverid);
	}
	return servers;
}

static TimestampTz
when_to_ask_again(TimestampTz began)
{
	TimestampTz now = GetCurrentTimestamp();

	return TimestampTzPlusMilliseconds(now,
									   Max(ASK_AGAIN_MS, ASK_AGAIN_TIMES *
										   TimestampDifferenceMilliseconds(began, now)));
}

static void
ask(List *servers, Oid collation, Oid userid)
{
	int			nservers = list_length(servers);
	ShuttleOutsideRun *runs = palloc0_array(ShuttleOutsideRun, nservers);
	Answer	   *answers = palloc0_array(Answer, nservers);
	TimestampTz began = GetCurrentTimestamp();
	TimestampTz again;
	Answer		here;

	describe_here(collation, &here);
	for (int i = 0; i < nservers; i++)
	{
		runs[i].serverid = list_nth_oid(servers, i);
		runs[i].name = GetForeignServer(runs[i].serverid)->servername;
		runs[i].ok = true;
		runs[i].side = shuttle_outside_side_create();
		runs[i].lasts = true;
		runs[i].row = take_row;
		runs[i].ncolumns = 1;
		runs[i].row_arg = &answers[i];
	}
	shuttle_outside_run(describing_sql(collation), userid, runs, nservers, ASK_LIMIT_MS);
	for (int i = 0; !changed && i < nservers; i++)
		shuttle_outside_side_end(runs[i].side, runs[i].serverid, userid);
	if (changed)
		forget();
	again = when_to_ask_again(began);
	for (int i = 0; i < nservers; i++)
	{
		OrderKey	key = {.serverid = runs[i].serverid,.userid = userid,.collation = collation};
		KnownOrder *entry = hash_search(known, &key, HASH_ENTER, NULL);

		entry->alike = runs[i].ok && answers[i].text[0] != '\0' &&
			strcmp(answers[i].text, here.text) == 0;
		entry->until = runs[i].ok ? 0 : again;
	}
}

/* True if a server sorts by a collation as this one does. If it has to be asked,
 * so are the query's other servers; root NULL: others. */
static bool
collation_is_alike(Oid serverid, Oid userid, Oid collation, PlannerInfo *root,
				   const List *others)
{
	OrderKey	key = {.serverid = serverid,.userid = userid,.collation = collation};
	const KnownOrder *entry;

	if (!OidIsValid(collation) || collation == C_COLLATION_OID)
		return true;
	if (known == NULL || changed)
		forget();
	entry = find_known(&key);
	if (entry == NULL)
	{
		if (IsParallelWorker())
			return false;
		ask(list_append_unique_oid(root == NULL ? list_copy(others) :
								   unknown_servers(root, userid, collation), serverid),
			collation, userid);
		entry = find_known(&key);
	}
	return entry != NULL && entry->alike;
}

/* True of a text without a collation, such as a column of UNION ALL whose branches have several. Comparing its
 * values is an error (42P22), which a node would not raise: it would take the collation of its own column. */
static bool
lacks_collation(Oid type, Oid collation)
{
	return !OidIsValid(collation) && type_is_collatable(type);
}

/* jsonb has no collation but compares its strings by the database's. Other such
 * types are users' types, which postgres_fdw does not let nodes sort. */
static Oid
sorting_collation(Oid type, Oid collation)
{
	type = getBaseType(type);
	return type == JSONBOID || get_element_type(type) == JSONBOID ?
		DEFAULT_COLLATION_OID : collation;
}

bool
shuttle_text_order_type_is_alike(PlannerInfo *root, const RelOptInfo *rel, Oid type, Oid collation)
{
	Oid			userid = OidIsValid(rel->userid) ? rel->userid : GetUserId();

	return !lacks_collation(type, collation) &&
		collation_is_alike(rel->serverid, userid, sorting_collation(type, collation), root, NIL);
}

bool
shuttle_text_order_servers_are_alike(const List *servers, Oid userid, Oid type, Oid collation)
{
	ListCell   *lc;

	if (lacks_collation(type, collation))
		return false;
	collation = sorting_collation(type, collation);
	foreach(lc, servers)
	{
		if (!collation_is_alike(lfirst_oid(lc), userid, collation, NULL, servers))
			return false;
	}
	return true;
}

/* ---- orders and aggregates of a query */

/* True if a node would sort an expression of the relation by another collation than the query does. A column of
 * a branch of UNION ALL may have another one than the result's column. */
static bool
has_other_collation(const RelOptInfo *rel, const EquivalenceClass *class)
{
	EquivalenceMemberIterator members;
	EquivalenceMember *member;

	setup_eclass_member_iterator(&members, unconstify(EquivalenceClass *, class), rel->relids);
	while ((member = eclass_member_iterator_next(&members)) != NULL)
	{
		if (!bms_is_empty(member->em_relids) && bms_is_subset(member->em_relids, rel->relids) &&
			exprCollation((Node *) member->em_expr) != class->ec_collation)
			return true;
	}
	return false;
}

bool
shuttle_text_order_class_is_alike(PlannerInfo *root, const RelOptInfo *rel,
								  const EquivalenceClass *class)
{
	const EquivalenceMember *member = linitial_node(EquivalenceMember, class->ec_members);

	return !has_other_collation(rel, class) && shuttle_text_order_type_is_alike(root, rel, exprType((Node *) member->em_expr),
																				class->ec_collation);
}

/* True if a member of a class is the relation's. */
static bool
has_member(const EquivalenceClass *class, const RelOptInfo *rel)
{
	Relids		relids = shuttle_top_relids(rel);

	return relids == NULL || bms_overlap(class->ec_relids, relids);
}

/* True of an order by what a node would compute otherwise. */
static bool
is_known_here_only(const EquivalenceClass *class)
{
	ListCell   *lc;

	foreach(lc, class->ec_members)
	{
		if (shuttle_expression_has(lfirst_node(EquivalenceMember, lc)->em_expr, SHUTTLE_HAS_KNOWN_HERE_ONLY))
			return true;
	}
	return false;
}

bool
shuttle_text_order_pathkeys_are_alike(PlannerInfo *root, const RelOptInfo *rel, const List *pathkeys)
{
	ListCell   *lc;

	foreach(lc, pathkeys)
	{
		const EquivalenceClass *class = lfirst_node(PathKey, lc)->pk_eclass;

		if (shuttle_unfolded_orders_have_class(class) || is_known_here_only(class) ||
			(has_member(class, rel) && !shuttle_text_order_class_is_alike(root, rel, class)))
			return false;
	}
	return true;
}

typedef struct OrdersContext
{
	PlannerInfo *root;
	const RelOptInfo *rel;
} OrdersContext;

/* min(), max() and ORDER BY in an aggregate compare values. */
static bool
orders_otherwise(Node *node, OrdersContext *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
	{
		const Aggref *aggregate = (const Aggref *) node;
		HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate->aggfnoid));
		bool		sorts = HeapTupleIsValid(tuple) &&
			OidIsValid(((Form_pg_aggregate) GETSTRUCT(tuple))->aggsortop);
		ListCell   *lc;

		if (HeapTupleIsValid(tuple))
			ReleaseSysCache(tuple);
		if (sorts && !shuttle_text_order_type_is_alike(context->root, context->rel,
													   linitial_oid(aggregate->aggargtypes),
													   aggregate->inputcollid))
			return true;
		foreach(lc, aggregate->aggorder)
		{
			Node	   *value = get_sortgroupclause_expr(lfirst_node(SortGroupClause, lc),
														 aggregate->args);

			if (!shuttle_text_order_type_is_alike(context->root, context->rel, exprType(value),
												  exprCollation(value)))
				return true;
		}
	}
	return expression_tree_walker(node, orders_otherwise, context);
}

bool
shuttle_text_order_aggregates_are_alike(PlannerInfo *root, const RelOptInfo *input,
										const RelOptInfo *grouped, const GroupPathExtraData *extra)
{
	OrdersContext context = {.root = root,.rel = input};

	return !orders_otherwise((Node *) grouped->reltarget->exprs, &context) &&
		(extra == NULL || !orders_otherwise(extra->havingQual, &context));
}
