/*-------------------------------------------------------------------------
 * call_body.c
 *	  Whether the body of a routine means the same on a node.
 *
 * The answer is kept until a table or routine that the body uses changes, or the
 * user or search path is another one.
 *
 * Memory: answers are kept in contexts below CacheMemoryContext.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_language.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/proclang.h"
#include "executor/functions.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "rewrite/rewriteHandler.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "cluster/shuttle_cluster.h"
#include "executor/facts/safe_values.h"
#include "executor/router/call.h"
#include "executor/router/call_keys.h"
#include "tablets/shuttle_tablets.h"

/* How often a body is analyzed again because something has changed meanwhile. */
#define MOST_ROUNDS 5

typedef struct KeptBody
{
	Oid			routine;		/* hash key */
	bool		is_valid;
	Oid			userid;
	char	   *path;
	MemoryContext cxt;			/* of body and path; NULL: none */
	ShuttleCallBody *body;
} KeptBody;

static HTAB *kept = NULL;
static Oid	routines_table = InvalidOid;

/* ---- what is kept */

static void
forget_by_relation(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS scan;
	KeptBody   *entry;

	if (relid == routines_table)
		relid = InvalidOid;
	hash_seq_init(&scan, kept);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		if (entry->body == NULL || !OidIsValid(relid) || entry->body->refusal != NULL ||
			list_member_oid(entry->body->relids, relid))
			entry->is_valid = false;
	}
}

/* Routines change seldom, other objects that names lead to even less. */
static void
forget_all(Datum arg, int cacheid, uint32 hash)
{
	forget_by_relation(arg, InvalidOid);
}

static void
make_kept(void)
{
	HASHCTL		control = {
		.keysize = sizeof(Oid),
		.entrysize = sizeof(KeptBody),
		.hcxt = CacheMemoryContext,
	};

	kept = hash_create("pg_shuttle bodies of routines", 16, &control,
					   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	routines_table = shuttle_extension_table(SHUTTLE_TABLE_ROUTINES);
	CacheRegisterRelcacheCallback(forget_by_relation, (Datum) 0);
	CacheRegisterSyscacheCallback(PROCOID, forget_all, (Datum) 0);
	CacheRegisterSyscacheCallback(TYPEOID, forget_all, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, forget_all, (Datum) 0);
	CacheRegisterSyscacheCallback(OPEROID, forget_all, (Datum) 0);
}

/* ---- the routine itself */

void
shuttle_call_refuse(ShuttleCallBody *body, const char *refusal)
{
	if (body->refusal == NULL)
		body->refusal = refusal;
}

static bool
has_same_types(HeapTuple tuple)
{
	const FormData_pg_proc *form = (const FormData_pg_proc *) GETSTRUCT(tuple);
	Oid		   *types;
	char	  **names;
	char	   *modes;
	int			nargs;
	bool		same = form->prorettype == VOIDOID || form->prorettype == RECORDOID ||
		(get_typtype(form->prorettype) == TYPTYPE_BASE && shuttle_call_type_is_alike(form->prorettype));

	nargs = get_func_arg_info(tuple, &types, &names, &modes);
	for (int i = 0; i < nargs; i++)
		same &= get_typtype(types[i]) == TYPTYPE_BASE && shuttle_call_type_is_alike(types[i]);
	return same && !OidIsValid(form->provariadic);
}

/* A body that was analyzed when the function was made. */
static void
check_analyzed(ShuttleCallBody *body, const char *tree)
{
	Node	   *parsed = stringToNode(tree);
	List	   *queries = IsA(parsed, List) ? linitial_node(List, (List *) parsed) : list_make1(parsed);
	ListCell   *cell;

	foreach(cell, queries)
	{
		AcquireRewriteLocks(lfirst_node(Query, cell), true, false);
		shuttle_call_check_query(body, lfirst_node(Query, cell));
	}
}

static void
check_sql(ShuttleCallBody *body, HeapTuple tuple)
{
	bool		is_null;
	Datum		parsed = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosqlbody, &is_null);
	SQLFunctionParseInfoPtr info;
	char	   *source;
	ListCell   *cell;

	if (!is_null)
	{
		check_analyzed(body, TextDatumGetCString(parsed));
		return;
	}
	source = TextDatumGetCString(SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &is_null));
	info = prepare_sql_fn_parse_info(tuple, NULL, InvalidOid);
	foreach(cell, pg_parse_query(source))
		shuttle_call_check_query(body, parse_analyze_withcb(lfirst_node(RawStmt, cell), source,
															(ParserSetupHook) sql_fn_parser_setup,
															info, NULL));
}

/* Settings of the routine apply to the names in its body. */
static void
apply_settings(ShuttleCallBody *body, HeapTuple tuple)
{
	bool		is_null;
	Datum		settings = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_proconfig, &is_null);
	Datum	   *texts;
	int			ntexts;

	if (is_null)
		return;
	deconstruct_array(DatumGetArrayTypeP(settings), TEXTOID, -1, false, TYPALIGN_INT, &texts,
					  NULL, &ntexts);
	for (int i = 0; i < ntexts; i++)
	{
		if (strncmp(TextDatumGetCString(texts[i]), "search_path=", strlen("search_path=")) != 0)
			shuttle_call_refuse(body, "it has SET of another setting than search_path");
		else if (strstr(TextDatumGetCString(texts[i]), "$user") != NULL)
			shuttle_call_refuse(body, "its search_path depends on the user");
	}
	if (body->refusal == NULL)
		ProcessGUCArray(DatumGetArrayTypeP(settings), PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE);
}

static void
check_text(ShuttleCallBody *body, HeapTuple tuple)
{
	const FormData_pg_proc *form = (const FormData_pg_proc *) GETSTRUCT(tuple);
	int			level = NewGUCNestLevel();
	bool		was_nested = body->keys.is_nested;
	uint64		nignored = shuttle_table_ignored_only;

	/* it is parsed once more if it runs here, and tells its notices then */
	(void) set_config_option("client_min_messages", "error", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	body->keys.is_nested = form->oid != body->routine;
	apply_settings(body, tuple);
	if (body->refusal != NULL)
		 /* nothing more to find */ ;
	else if (form->prolang == SQLlanguageId)
	{
		check_sql(body, tuple);
		if (!body->keys.is_nested)
			shuttle_call_keys_resolve(body, NULL, NULL, form->pronargs);
	}
	else if (form->prolang == get_language_oid("plpgsql", true))
		shuttle_call_check_plpgsql(body, tuple);
	else
		shuttle_call_refuse(body, "it is not written in SQL or PL/pgSQL");
	if (shuttle_table_ignored_only != nignored)
		shuttle_call_refuse(body, "it has ONLY in front of a distributed table");
	body->keys.is_nested = was_nested;
	AtEOXact_GUC(true, level);
}

void
shuttle_call_check_routine(ShuttleCallBody *body, Oid routine)
{
	HeapTuple	tuple;
	const FormData_pg_proc *form;

	if (list_member_oid(body->routines, routine))
	{
		/* it calls itself, perhaps with other arguments */
		if (routine == body->routine)
			shuttle_call_keys_are_unknown(body);
		return;
	}
	body->routines = lappend_oid(body->routines, routine);
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(routine));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", routine);
	form = (const FormData_pg_proc *) GETSTRUCT(tuple);
	check_stack_depth();
	if (form->prosecdef)
		shuttle_call_refuse(body, psprintf("%s() is SECURITY DEFINER", NameStr(form->proname)));
	else if (form->prokind != PROKIND_FUNCTION && form->prokind != PROKIND_PROCEDURE)
		shuttle_call_refuse(body, psprintf("%s() is neither a function nor a procedure", NameStr(form->proname)));
	else if (!has_same_types(tuple))
		shuttle_call_refuse(body, psprintf("%s() has arguments or results of a type that nodes may not have",
										   NameStr(form->proname)));
	else
		check_text(body, tuple);
	ReleaseSysCache(tuple);
}

/* ---- what it needs as a whole */

static bool
is_column_type(const List *relids, Oid type)
{
	ListCell   *cell;

	foreach(cell, relids)
	{
		Relation	rel = table_open(lfirst_oid(cell), NoLock);
		bool		found = false;

		for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
		{
			Oid			own = TupleDescAttr(RelationGetDescr(rel), i)->atttypid;

			found |= own == type || get_element_type(own) == type || get_array_type(own) == type;
		}
		table_close(rel, NoLock);
		if (found)
			return true;
	}
	return false;
}

static void
check_types(ShuttleCallBody *body)
{
	ListCell   *cell;

	foreach(cell, body->types)
	{
		if (!is_column_type(body->relids, lfirst_oid(cell)))
			shuttle_call_refuse(body, psprintf("it uses type %s, which no column has",
											   format_type_be(lfirst_oid(cell))));
	}
}

static bool
needs_schema(const ShuttleCallBody *body, Oid schema)
{
	ListCell   *cell;

	foreach(cell, body->relids)
	{
		if (get_rel_namespace(lfirst_oid(cell)) == schema)
			return true;
	}
	foreach(cell, body->routines)
	{
		if (get_func_namespace(lfirst_oid(cell)) == schema)
			return true;
	}
	return false;
}

/* The schemas of the search path that have what the body needs: others may have
 * more on a node than here. */
static const char *
make_path(const ShuttleCallBody *body)
{
	StringInfoData path;
	ListCell   *cell;

	initStringInfo(&path);
	foreach(cell, fetch_search_path(false))
	{
		Oid			schema = lfirst_oid(cell);

		if (schema == PG_CATALOG_NAMESPACE || needs_schema(body, schema))
			appendStringInfo(&path, "%s%s", path.len > 0 ? ", " : "",
							 quote_identifier(get_namespace_name(schema)));
	}
	return path.len > 0 ? path.data : "pg_catalog";
}

/* ---- all */

static void
find_out(void *arg)
{
	ShuttleCallBody *body = arg;

	shuttle_call_check_routine(body, body->routine);
	check_types(body);
	if (!OidIsValid(body->distributed))
		shuttle_call_refuse(body, "it has no distributed table");
	body->path = make_path(body);
}

static ShuttleCallBody *
copy_body(const ShuttleCallBody *body)
{
	ShuttleCallBody *copy = palloc_object(ShuttleCallBody);
	ListCell   *cell;

	*copy = *body;
	copy->refusal = body->refusal == NULL ? NULL : pstrdup(body->refusal);
	copy->relids = list_copy(body->relids);
	copy->routines = list_copy(body->routines);
	copy->keys.arguments = list_copy(body->keys.arguments);
	copy->keys.relids = list_copy(body->keys.relids);
	copy->collations = list_copy(body->collations);
	copy->cursors = NIL;
	foreach(cell, body->cursors)
		copy->cursors = lappend(copy->cursors, pstrdup(lfirst(cell)));
	copy->types = NIL;
	copy->path = body->path == NULL ? NULL : pstrdup(body->path);
	return copy;
}

static void
fill(KeptBody *entry)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "routine body", ALLOCSET_SMALL_SIZES);
	MemoryContext old_cxt = MemoryContextSwitchTo(cxt);
	ShuttleCallBody body = {.routine = entry->routine};
	ErrorData  *error;

	if (entry->cxt != NULL)
		MemoryContextDelete(entry->cxt);
	entry->cxt = NULL;
	entry->body = NULL;
	routines_table = shuttle_extension_table(SHUTTLE_TABLE_ROUTINES);
	entry->is_valid = true;		/* until a change comes meanwhile */
	error = shuttle_caught_error_run(find_out, &body);
	if (error != NULL)
		shuttle_call_refuse(&body, psprintf("its body cannot be analyzed: %s", error->message));
	entry->cxt = AllocSetContextCreate(CacheMemoryContext, "pg_shuttle body of a routine",
									   ALLOCSET_SMALL_SIZES);
	(void) MemoryContextSwitchTo(entry->cxt);
	entry->userid = GetUserId();
	entry->path = pstrdup(namespace_search_path);
	entry->body = copy_body(&body);
	MemoryContextSwitchTo(old_cxt);
	MemoryContextDelete(cxt);
}

static bool
is_known(const KeptBody *entry)
{
	return entry->is_valid && entry->body != NULL && entry->userid == GetUserId() &&
		strcmp(entry->path, namespace_search_path) == 0;
}

const ShuttleCallBody *
shuttle_call_body(Oid routine)
{
	KeptBody   *entry;
	bool		found;
	int			nrounds = 0;
	ListCell   *cell;

	if (kept == NULL)
		make_kept();
	entry = hash_search(kept, &routine, HASH_ENTER, &found);
	if (!found)
	{
		entry->is_valid = false;
		entry->cxt = NULL;
		entry->body = NULL;
	}
	do
	{
		CHECK_FOR_INTERRUPTS();
		if (!is_known(entry))
			fill(entry);

		/* a table that is being moved or changed is waited for */
		foreach(cell, list_copy(entry->body->relids))
			LockRelationOid(lfirst_oid(cell), AccessShareLock);
	} while (!entry->is_valid && ++nrounds < MOST_ROUNDS);
	if (!entry->is_valid)
		shuttle_call_refuse(entry->body, "its tables change all the time");
	return entry->body;
}
