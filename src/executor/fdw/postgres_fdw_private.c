/*-------------------------------------------------------------------------
 * postgres_fdw_private.c
 *	  The only file that knows the private lists of postgres_fdw's plans.
 *
 * The lists are no interface. They have been stable from 15 to 18, and their
 * shape is checked before use. If it is unknown, callers that can do without
 * leave the plan alone, and callers that execute it raise an internal error.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/heap.h"
#include "nodes/value.h"

#include "executor/fdw/postgres_fdw.h"
#include "executor/fdw/scan_text.h"
#include "executor/shuttle_executor.h"
#include "executor/shuttle_scan_key.h"
#include "storage/shuttle_sql_tokens.h"

/* A scan's list. For joins and aggregates the fourth element describes the
 * relations; we append a fifth for partial aggregates, and behind it the key of a
 * partition, if all rows have one value. */
enum ScanPrivate
{
	SCAN_SQL,
	SCAN_ATTRIBUTES,
	SCAN_FETCH_SIZE,
	SCAN_RELATIONS,
	SCAN_STATES,
	SCAN_KEY,
	SCAN_LENGTH
};

/* A ModifyTable's list. */
enum ModifyPrivate
{
	MODIFY_SQL,
	MODIFY_TARGETS,
	MODIFY_VALUES_END,
	MODIFY_HAS_RETURNING,
	MODIFY_ATTRIBUTES,
	MODIFY_LENGTH
};

/* A direct modify's list. */
enum DirectPrivate
{
	DIRECT_SQL,
	DIRECT_HAS_RETURNING,
	DIRECT_ATTRIBUTES,
	DIRECT_SET_PROCESSED,
	DIRECT_LENGTH
};

static bool element_is(const List *list, int i, NodeTag tag);
static bool element_is_list(const List *list, int i);
static bool element_is_attributes(const List *list, int i);

bool
shuttle_postgres_fdw_read_scan(const ForeignScan *scan, ShuttlePostgresFdwScan *postgres_fdw)
{
	const List *list = scan->fdw_private;
	int			length = list_length(list);

	if (scan->operation != CMD_SELECT ||
		length < SCAN_RELATIONS || length > SCAN_LENGTH ||
		!element_is(list, SCAN_SQL, T_String) ||
		!element_is_attributes(list, SCAN_ATTRIBUTES) ||
		!element_is(list, SCAN_FETCH_SIZE, T_Integer) ||
		(length > SCAN_RELATIONS && !element_is(list, SCAN_RELATIONS, T_String)) ||
		(length > SCAN_STATES && !element_is_list(list, SCAN_STATES)) ||
		(length > SCAN_KEY && !element_is(list, SCAN_KEY, T_List)))
		return false;

	postgres_fdw->sql = strVal(list_nth(list, SCAN_SQL));
	postgres_fdw->attributes = (List *) list_nth(list, SCAN_ATTRIBUTES);
	postgres_fdw->fetch_size = intVal(list_nth(list, SCAN_FETCH_SIZE));
	return true;
}

const char *
shuttle_postgres_fdw_scan_sql(const ForeignScan *scan)
{
	ShuttlePostgresFdwScan postgres_fdw;

	return shuttle_postgres_fdw_read_scan(scan, &postgres_fdw) ? postgres_fdw.sql : NULL;
}

List *
shuttle_postgres_fdw_scan_attributes(const ForeignScan *scan)
{
	ShuttlePostgresFdwScan postgres_fdw;

	return shuttle_postgres_fdw_read_scan(scan, &postgres_fdw) ? postgres_fdw.attributes : NIL;
}

List *
shuttle_postgres_fdw_scan_states(const ForeignScan *scan)
{
	if (scan->operation != CMD_SELECT ||
		list_length(scan->fdw_private) <= SCAN_STATES)
		return NIL;
	return list_nth_node(List, scan->fdw_private, SCAN_STATES);
}

bool
shuttle_postgres_fdw_add_scan_states(ForeignScan *scan, List *states)
{
	ShuttlePostgresFdwScan postgres_fdw;

	if (!shuttle_postgres_fdw_read_scan(scan, &postgres_fdw) ||
		shuttle_postgres_fdw_scan_states(scan) != NIL ||
		list_length(scan->fdw_private) < SCAN_STATES)
		return false;
	scan->fdw_private = list_copy(scan->fdw_private);
	if (list_length(scan->fdw_private) == SCAN_STATES)
		scan->fdw_private = lappend(scan->fdw_private, states);
	else
		lfirst(list_nth_cell(scan->fdw_private, SCAN_STATES)) = states;
	return true;
}

void
shuttle_postgres_fdw_add_scan_key(ForeignScan *scan, Oid partition, Node *key)
{
	ShuttlePostgresFdwScan postgres_fdw;

	if (!shuttle_postgres_fdw_read_scan(scan, &postgres_fdw) ||
		list_length(scan->fdw_private) != SCAN_STATES)
		return;
	scan->fdw_private = lappend(list_copy(scan->fdw_private), NIL);
	scan->fdw_private = lappend(scan->fdw_private, list_make2(list_make1_oid(partition), key));
}

Node *
shuttle_postgres_fdw_scan_key(const ForeignScan *scan, Oid *partition)
{
	const List *key;

	if (scan->operation != CMD_SELECT || list_length(scan->fdw_private) != SCAN_LENGTH)
		return NULL;
	key = list_nth_node(List, scan->fdw_private, SCAN_KEY);
	*partition = linitial_oid((const List *) linitial(key));
	return lsecond(key);
}

ForeignScan *
shuttle_postgres_fdw_replace_scan_sql(const ForeignScan *scan, const char *sql)
{
	ForeignScan *copy = palloc(sizeof(ForeignScan));

	Assert(element_is(scan->fdw_private, SCAN_SQL, T_String));
	*copy = *scan;
	copy->fdw_private = list_copy(scan->fdw_private);
	lfirst(list_nth_cell(copy->fdw_private, SCAN_SQL)) = makeString(pstrdup(sql));
	return copy;
}

/* Names of system columns, as a list of SQL. */
static char *
print_columns(const List *attributes)
{
	StringInfoData names;
	ListCell   *lc;

	initStringInfo(&names);
	foreach(lc, attributes)
		appendStringInfo(&names, "%s%s", foreach_current_index(lc) > 0 ? ", " : "",
						 NameStr(SystemAttributeDefinition(lfirst_int(lc))->attname));
	return names.data;
}

void
shuttle_postgres_fdw_add_scan_columns(ForeignScan *scan, List *attributes)
{
	ShuttlePostgresFdwScan postgres_fdw;
	char	   *sql;

	if (!shuttle_postgres_fdw_read_scan(scan, &postgres_fdw))
		elog(ERROR, "unknown plan of postgres_fdw");
	sql = shuttle_remote_sql_add_columns(postgres_fdw.sql, print_columns(attributes),
										 postgres_fdw.attributes == NIL);
	if (sql == NULL)
		elog(ERROR, "unknown SELECT of postgres_fdw: %s", postgres_fdw.sql);
	scan->fdw_private = list_copy(scan->fdw_private);
	lfirst(list_nth_cell(scan->fdw_private, SCAN_SQL)) = makeString(sql);
	lfirst(list_nth_cell(scan->fdw_private, SCAN_ATTRIBUTES)) =
		list_concat_copy(postgres_fdw.attributes, attributes);
}

List *
shuttle_postgres_fdw_add_modify_columns(List *fdw_private, List *attributes)
{
	ShuttlePostgresFdwModify postgres_fdw;

	if (!shuttle_postgres_fdw_read_modify(fdw_private, &postgres_fdw))
		elog(ERROR, "unknown plan of postgres_fdw");
	fdw_private = shuttle_postgres_fdw_replace_modify_sql(fdw_private,
														  psprintf("%s%s%s", postgres_fdw.sql,
																   postgres_fdw.attributes == NIL ? " RETURNING " : ", ",
																   print_columns(attributes)));
	lfirst(list_nth_cell(fdw_private, MODIFY_HAS_RETURNING)) = makeBoolean(true);
	lfirst(list_nth_cell(fdw_private, MODIFY_ATTRIBUTES)) =
		list_concat_copy(postgres_fdw.attributes, attributes);
	return fdw_private;
}

List *
shuttle_postgres_fdw_make_scan(char *sql, List *attributes, int fetch_size)
{
	return list_make3(makeString(sql), attributes, makeInteger(fetch_size));
}

bool
shuttle_postgres_fdw_read_modify(const List *list, ShuttlePostgresFdwModify *postgres_fdw)
{
	if (list_length(list) != MODIFY_LENGTH ||
		!element_is(list, MODIFY_SQL, T_String) ||
		!element_is_attributes(list, MODIFY_TARGETS) ||
		!element_is(list, MODIFY_VALUES_END, T_Integer) ||
		!element_is(list, MODIFY_HAS_RETURNING, T_Boolean) ||
		!element_is_attributes(list, MODIFY_ATTRIBUTES))
		return false;

	postgres_fdw->sql = strVal(list_nth(list, MODIFY_SQL));
	postgres_fdw->target_attributes = (List *) list_nth(list, MODIFY_TARGETS);
	postgres_fdw->values_end = intVal(list_nth(list, MODIFY_VALUES_END));
	postgres_fdw->has_returning = boolVal(list_nth(list, MODIFY_HAS_RETURNING));
	postgres_fdw->attributes = (List *) list_nth(list, MODIFY_ATTRIBUTES);
	return postgres_fdw->values_end <= (int) strlen(postgres_fdw->sql);
}

List *
shuttle_postgres_fdw_replace_modify_sql(List *fdw_private, char *sql)
{
	List	   *copy = list_copy(fdw_private);

	lfirst(list_nth_cell(copy, MODIFY_SQL)) = makeString(sql);
	return copy;
}

List *
shuttle_postgres_fdw_replace_insert(List *fdw_private, char *sql, List *target_attributes,
									int values_end)
{
	List	   *copy = shuttle_postgres_fdw_replace_modify_sql(fdw_private, sql);

	lfirst(list_nth_cell(copy, MODIFY_TARGETS)) = target_attributes;
	lfirst(list_nth_cell(copy, MODIFY_VALUES_END)) = makeInteger(values_end);
	return copy;
}

bool
shuttle_postgres_fdw_read_direct(const ForeignScan *scan, ShuttlePostgresFdwDirect *postgres_fdw)
{
	const List *list = scan->fdw_private;

	if (scan->operation == CMD_SELECT ||
		list_length(list) != DIRECT_LENGTH ||
		!element_is(list, DIRECT_SQL, T_String) ||
		!element_is(list, DIRECT_HAS_RETURNING, T_Boolean) ||
		!element_is_attributes(list, DIRECT_ATTRIBUTES) ||
		!element_is(list, DIRECT_SET_PROCESSED, T_Boolean))
		return false;

	postgres_fdw->sql = strVal(list_nth(list, DIRECT_SQL));
	postgres_fdw->has_returning = boolVal(list_nth(list, DIRECT_HAS_RETURNING));
	postgres_fdw->attributes = (List *) list_nth(list, DIRECT_ATTRIBUTES);
	postgres_fdw->set_processed = boolVal(list_nth(list, DIRECT_SET_PROCESSED));
	return true;
}

bool
shuttle_postgres_fdw_find_text(const ForeignScan *scan, const char **sql, List **attributes)
{
	ShuttlePostgresFdwScan selecting = {0};
	ShuttlePostgresFdwDirect writing = {0};
	bool		selects = scan->operation == CMD_SELECT;

	if (selects ? !shuttle_postgres_fdw_read_scan(scan, &selecting) :
		!shuttle_postgres_fdw_read_direct(scan, &writing))
		return false;
	*sql = selects ? selecting.sql : writing.sql;
	*attributes = selects ? selecting.attributes : writing.attributes;
	return true;
}

/* postgres_fdw deparses -0 of a float as "(-0)::double precision", which is 0,
 * since -0 is an integer there. The replacement '-0' has the same length. */
void
shuttle_postgres_fdw_quote_zeros(ForeignScan *scan)
{
	static const char *const zero = "(-0)::";
	char	   *sql;
	const char *p;

	if (scan->fdw_private == NIL || !element_is(scan->fdw_private, SCAN_SQL, T_String))
		return;
	sql = strVal(list_nth(scan->fdw_private, SCAN_SQL));
	if (strstr(sql, zero) == NULL)
		return;
	for (p = sql; *p != '\0'; p = shuttle_sql_skip_token(p))
	{
		if (strncmp(p, zero, strlen(zero)) == 0)
			sql[p - sql] = sql[p - sql + 3] = '\'';
	}
}

static bool
element_is(const List *list, int i, NodeTag tag)
{
	const Node *element = list_nth(list, i);

	return element != NULL && nodeTag(element) == tag;
}

/* An empty list is NIL. */
static bool
element_is_list(const List *list, int i)
{
	return list_nth(list, i) == NULL || element_is(list, i, T_List);
}

/* A list of attribute numbers; an empty one is NIL. */
static bool
element_is_attributes(const List *list, int i)
{
	const Node *element = list_nth(list, i);

	return element == NULL || IsA(element, IntList);
}
