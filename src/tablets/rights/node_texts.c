/*-------------------------------------------------------------------------
 * node_texts.c
 *	  Statements that are run here, or on another node, with a text of a storage node in them.
 *
 * What a node sends is no more trusted than what a user types. SPI runs as many statements
 * as a text has, so the text is parsed first: it must not end ours and begin another one.
 *
 * A statement is also compared with one of ours, of which it should be another print: the same actions and
 * constraints, and no functions, operators and types of users that ours does not have. What is
 * constant in it is computed at once, with the rights of a table's owner; the node must not choose whose code that is.
 * Casts are found by types alone: the owners of types that ours has made them.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "tablets/common/local_sql.h"
#include "tablets/rights/node_texts.h"
#include "tablets/shuttle_tablets.h"

/* kinds of what a text names */
#define FUNCTION "function"
#define OPERATOR "operator"
#define TYPE "type"

static void
refuse(const char *statement)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("a storage node sent a text that is not a part of one statement"),
			 errdetail("It made: %s", statement)));
}

/* The only statement of a text, or NULL. */
static const Node *
parse_one(const char *text)
{
	List	   *parsed = raw_parser(text, RAW_PARSE_DEFAULT);

	return list_length(parsed) == 1 ? linitial_node(RawStmt, parsed)->stmt : NULL;
}

/* ---- what a statement calls */

/* Types are found among temporary ones, too. */
static bool
is_of_postgres(const char *kind, const List *name)
{
	if (list_length(name) == 1)
		return strcmp(kind, TYPE) != 0 || SearchSysCacheExists2(TYPENAMENSP, CStringGetDatum(strVal(linitial(name))),
																ObjectIdGetDatum(PG_CATALOG_NAMESPACE));
	return list_length(name) == 2 && strcmp(strVal(linitial(name)), "pg_catalog") == 0;
}

static void
note_name(List **called, const char *kind, const List *name)
{
	if (name != NIL && !is_of_postgres(kind, name))
		*called = list_append_unique(*called, lcons(makeString(pstrdup(kind)), list_copy(name)));
}

/* Users' functions, operators and types, as lists of strings: a kind, and a name. */
static bool
note_calls(Node *node, void *called)
{
	if (node == NULL)
		return false;
	if (IsA(node, FuncCall))
		note_name(called, FUNCTION, ((FuncCall *) node)->funcname);
	else if (IsA(node, A_Expr))
		note_name(called, OPERATOR, ((A_Expr *) node)->name);
	else if (IsA(node, TypeName))
		note_name(called, TYPE, ((TypeName *) node)->names);
	return raw_expression_tree_walker(node, note_calls, called);
}

static void
note_calls_of_constraint(const Constraint *constraint, List **called)
{
	const ListCell *cell;

	(void) note_calls(constraint->raw_expr, called);
	(void) note_calls(constraint->where_clause, called);
	foreach(cell, constraint->exclusions)
	{
		(void) note_calls(linitial_node(IndexElem, lfirst_node(List, cell))->expr, called);
		note_name(called, OPERATOR, lsecond_node(List, lfirst_node(List, cell)));
	}
}

static void
note_calls_of_column(const ColumnDef *column, List **called)
{
	const ListCell *cell;

	(void) note_calls((Node *) column->typeName, called);
	(void) note_calls(column->raw_default, called);
	foreach(cell, column->constraints)
		note_calls_of_constraint(lfirst_node(Constraint, cell), called);
}

static void
note_calls_of_index(const IndexStmt *index, List **called)
{
	const ListCell *cell;

	(void) note_calls(index->whereClause, called);
	foreach(cell, index->indexParams)
		(void) note_calls(lfirst_node(IndexElem, cell)->expr, called);
}

/* An action of ALTER TABLE, a constraint of a column, or an index. */
static List *
find_calls(const Node *statement)
{
	List	   *called = NIL;
	const ListCell *cell;

	if (IsA(statement, IndexStmt))
		note_calls_of_index((const IndexStmt *) statement, &called);
	if (!IsA(statement, AlterTableStmt))
		return called;
	foreach(cell, ((const AlterTableStmt *) statement)->cmds)
	{
		const Node *part = lfirst_node(AlterTableCmd, cell)->def;

		if (part != NULL && IsA(part, Constraint))
			note_calls_of_constraint((const Constraint *) part, &called);
		else if (part != NULL && IsA(part, ColumnDef))
			note_calls_of_column((const ColumnDef *) part, &called);
	}
	return called;
}

/* True if objects of that name belong to several roles, and one of them is neither a superuser nor the table's owner: a text
 * of the node could mean that role's, where ours means another one. A type of a function's name would be a cast. */
static bool
has_rivals(const List *called)
{
	static const char *const query =
		"SELECT 'rival' FROM pg_namespace AS n, LATERAL (SELECT proowner FROM pg_proc WHERE pronamespace = n.oid AND proname = %2$s"
		" UNION ALL SELECT typowner FROM pg_type WHERE typnamespace = n.oid AND typname = %2$s"
		" UNION ALL SELECT oprowner FROM pg_operator WHERE oprnamespace = n.oid AND oprname = %2$s) AS found(owner)"
		" JOIN pg_roles AS r ON r.oid = owner WHERE nspname = %1$s"
		" HAVING count(DISTINCT owner) > 1 AND bool_or(NOT rolsuper AND rolname <> current_user)";

	return shuttle_local_text(psprintf(query, quote_literal_cstr(strVal(lsecond(called))), quote_literal_cstr(strVal(llast(called)))),
							  InvalidOid) != NULL;
}

static bool
calls_others(const Node *statement, const Node *like)
{
	List	   *called = find_calls(statement);
	const ListCell *cell;

	foreach(cell, called)
	{
		if (has_rivals(lfirst(cell)))
			return true;
	}
	return list_difference(called, find_calls(like)) != NIL;
}

/* ---- what a statement does */

static List *
add_kinds(List *kinds, const List *constraints)
{
	const ListCell *cell;

	foreach(cell, constraints)
		kinds = lappend_int(kinds, lfirst_node(Constraint, cell)->contype);
	return kinds;
}

/* The kinds of a statement, its actions, and their constraints. */
static List *
find_kinds(const Node *statement)
{
	List	   *kinds = list_make1_int(nodeTag(statement));
	const ListCell *cell;

	if (!IsA(statement, AlterTableStmt))
		return kinds;
	foreach(cell, ((const AlterTableStmt *) statement)->cmds)
	{
		const AlterTableCmd *action = lfirst_node(AlterTableCmd, cell);

		kinds = lappend_int(kinds, action->subtype);
		if (action->def != NULL && IsA(action->def, Constraint))
			kinds = add_kinds(kinds, list_make1(action->def));
		else if (action->def != NULL && IsA(action->def, ColumnDef))
			kinds = add_kinds(kinds, ((const ColumnDef *) action->def)->constraints);
	}
	return kinds;
}

void
shuttle_node_text_run(const char *statement, const char *like)
{
	const Node *parsed = parse_one(statement);
	const Node *own = parse_one(like);

	if (parsed == NULL || own == NULL || !equal(find_kinds(parsed), find_kinds(own)) ||
		(strcmp(statement, like) != 0 && calls_others(parsed, own)))
		refuse(statement);
	(void) shuttle_local_run(statement);
}

/* The only action of a statement, which adds a foreign key to a table. */
static const Constraint *
parse_key(const char *statement, Oid relid)
{
	const AlterTableStmt *parsed = (const AlterTableStmt *) parse_one(statement);
	const AlterTableCmd *action;
	const Constraint *key;

	if (parsed == NULL || !IsA(parsed, AlterTableStmt) || list_length(parsed->cmds) != 1)
		refuse(statement);
	action = linitial_node(AlterTableCmd, parsed->cmds);
	key = (const Constraint *) action->def;
	if (action->subtype != AT_AddConstraint || key->contype != CONSTR_FOREIGN ||
		RangeVarGetRelid(parsed->relation, NoLock, true) != relid)
		refuse(statement);
	return key;
}

char *
shuttle_node_text_add_key(Oid relid, Oid referred, const char *name, const char *definition)
{
	char	   *statement = psprintf("ALTER TABLE %s ADD CONSTRAINT %s %s", shuttle_local_name(relid), name, definition);

	if (RangeVarGetRelid(parse_key(statement, relid)->pktable, NoLock, true) != referred)
		refuse(statement);
	return statement;
}

char *
shuttle_node_text_check_key(Oid relid, const List *group, char *statement)
{
	Oid			referred = RangeVarGetRelid(parse_key(statement, relid)->pktable, NoLock, true);

	if (!list_member_oid(group, referred) && shuttle_table_kind(referred) != SHUTTLE_TABLE_REFERENCE)
		refuse(statement);
	return statement;
}
