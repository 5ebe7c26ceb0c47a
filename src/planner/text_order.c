/*-------------------------------------------------------------------------
 * text_order.c
 *	  Whether a node sorts text as this server does.
 *
 * postgres_fdw has nodes sort by the collation of a foreign table's column, and
 * core merges what they return.  Where a node's collation of that name is of
 * another locale, or its library of another version, the rows are merged in a
 * wrong order and joins miss some (trap 14).  So a node is asked what it sorts by,
 * once a session and collation, when a query could use its order; all servers of
 * the query at a time, on connections of their own, since nothing of it belongs
 * to the transaction.  Only who answers as this server does is relied upon;
 * "C" is the same everywhere.
 * Memory: answers live in a context below CacheMemoryContext; a change of a server
 * or user mapping forgets them.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/parallel.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_collation.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/tlist.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "executor/shuttle_executor.h"
#include "planner/planner_internal.h"
#include "storage/shuttle_storage.h"

/* Longer descriptions are cut, and compared as they are then. */
#define MOST_BYTES 256

#define ASK_LIMIT_MS 10000

/* What the sessions of a database sort by where nothing else is said; columns
 * have other names from version to version. */
#define FIELD(row, name) "pg_catalog.to_jsonb(" row ") OPERATOR(pg_catalog.->>) '" name "'"

#define DATABASE_SQL \
	"SELECT pg_catalog.concat_ws(' ', coalesce(" FIELD("d", "datlocprovider") ", 'c')," \
	" coalesce(" FIELD("d", "datlocale") ", " FIELD("d", "daticulocale") ", datcollate)," \
	" " FIELD("d", "daticurules") ", pg_catalog.pg_encoding_to_char(encoding)," \
	" pg_catalog.pg_database_collation_actual_version(oid))" \
	" FROM pg_catalog.pg_database d" \
	" WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()"

#define COLLATION_SQL \
	"SELECT pg_catalog.concat_ws(' ', collprovider, collisdeterministic," \
	" coalesce(" FIELD("c", "colllocale") ", " FIELD("c", "colliculocale") ", collcollate)," \
	" " FIELD("c", "collicurules") ", pg_catalog.getdatabaseencoding()," \
	" pg_catalog.pg_collation_actual_version(oid))" \
	" FROM pg_catalog.pg_collation c" \
	" WHERE oid OPERATOR(pg_catalog.=) pg_catalog.to_regcollation(%s)"

typedef struct OrderKey
{
	Oid			serverid;
	Oid			collation;
} OrderKey;

typedef struct KnownOrder
{
	OrderKey	key;			/* hash key */
	bool		alike;
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

/* Where this server and a node ask themselves what a collation is. */
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

/* What this server sorts by; empty where it is not known. */
static void
describe_here(const char *sql, Answer *answer)
{
	answer->text[0] = '\0';
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute(sql, true, 1) == SPI_OK_SELECT && SPI_processed == 1)
		strlcpy(answer->text, SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1),
				MOST_BYTES);
	SPI_finish();
}

static void
take_row(void *arg, const ShuttleRow *row)
{
	if (row->ncolumns == 1 && row->values[0] != NULL)
		strlcpy(((Answer *) arg)->text, row->values[0], MOST_BYTES);
}

/* Servers of ours in a query that nothing is known of yet. */
static List *
unknown_servers(PlannerInfo *root, Oid collation)
{
	List	   *servers = NIL;

	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		const RelOptInfo *rel = root->simple_rel_array[i];
		OrderKey	key = {.collation = collation};

		if (rel == NULL || rel->fdwroutine == NULL ||
			!shuttle_foreign_is_ours(rel->fdwroutine))
			continue;
		key.serverid = rel->serverid;
		if (hash_search(known, &key, HASH_FIND, NULL) == NULL)
			servers = list_append_unique_oid(servers, rel->serverid);
	}
	return servers;
}

static void
ask(List *servers, Oid collation, Oid userid)
{
	int			nservers = list_length(servers);
	ShuttleRun *runs = palloc0_array(ShuttleRun, nservers);
	Answer	   *answers = palloc0_array(Answer, nservers);
	Answer		here;
	char	   *sql = describing_sql(collation);

	describe_here(sql, &here);
	for (int i = 0; i < nservers; i++)
	{
		runs[i].serverid = list_nth_oid(servers, i);
		runs[i].name = GetForeignServer(runs[i].serverid)->servername;
		runs[i].ok = true;
		runs[i].row = take_row;
		runs[i].row_arg = &answers[i];
	}
	shuttle_run(sql, userid, runs, nservers, ASK_LIMIT_MS);
	if (changed)
		forget();
	for (int i = 0; i < nservers; i++)
	{
		OrderKey	key = {.serverid = runs[i].serverid,.collation = collation};
		KnownOrder *entry = hash_search(known, &key, HASH_ENTER, NULL);

		entry->alike = runs[i].ok && answers[i].text[0] != '\0' &&
			strcmp(answers[i].text, here.text) == 0;
	}
}

bool
shuttle_sorts_alike(PlannerInfo *root, const RelOptInfo *rel, Oid collation)
{
	OrderKey	key = {.serverid = rel->serverid,.collation = collation};
	KnownOrder *entry;

	if (!OidIsValid(collation) || collation == C_COLLATION_OID)
		return true;
	if (known == NULL || changed)
		forget();
	entry = hash_search(known, &key, HASH_FIND, NULL);
	if (entry == NULL)
	{
		if (IsParallelWorker())
			return false;
		ask(list_append_unique_oid(unknown_servers(root, collation), rel->serverid),
			collation, OidIsValid(rel->userid) ? rel->userid : GetUserId());
		entry = hash_search(known, &key, HASH_FIND, NULL);
	}
	return entry != NULL && entry->alike;
}

/* ---- orders and aggregates of a query */

/* True where some expression of a class is of the relation. */
static bool
has_member(const EquivalenceClass *class, const RelOptInfo *rel)
{
	Relids		relids = rel->top_parent_relids ? rel->top_parent_relids : rel->relids;

	return relids == NULL || bms_overlap(class->ec_relids, relids);
}

bool
shuttle_order_is_alike(PlannerInfo *root, const RelOptInfo *rel, const List *pathkeys)
{
	ListCell   *lc;

	foreach(lc, pathkeys)
	{
		const EquivalenceClass *class = lfirst_node(PathKey, lc)->pk_eclass;

		if (has_member(class, rel) &&
			!shuttle_sorts_alike(root, rel, class->ec_collation))
			return false;
	}
	return true;
}

typedef struct OrdersContext
{
	PlannerInfo *root;
	const RelOptInfo *rel;
} OrdersContext;

/* min() and max() compare, and so does ORDER BY within an aggregate. */
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
		if (sorts && !shuttle_sorts_alike(context->root, context->rel,
										  aggregate->inputcollid))
			return true;
		foreach(lc, aggregate->aggorder)
		{
			Node	   *value = get_sortgroupclause_expr(lfirst_node(SortGroupClause, lc),
														 aggregate->args);

			if (!shuttle_sorts_alike(context->root, context->rel, exprCollation(value)))
				return true;
		}
	}
	return expression_tree_walker(node, orders_otherwise, context);
}

bool
shuttle_aggregates_are_alike(PlannerInfo *root, const RelOptInfo *input,
							 const RelOptInfo *grouped, const GroupPathExtraData *extra)
{
	OrdersContext context = {.root = root,.rel = input};

	return !orders_otherwise((Node *) grouped->reltarget->exprs, &context) &&
		(extra == NULL || !orders_otherwise(extra->havingQual, &context));
}
