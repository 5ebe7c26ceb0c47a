/*-------------------------------------------------------------------------
 * move_table_code.c
 *	  What the definition of an ordinary table calls on the new node.
 *
 * The old node writes the statements that make the table, and the new one executes them, often as a
 * superuser. So they are looked at here, as they are sent: a name may mean something else on the new node, a
 * cast is found by its types alone, and the old node's administrator can write what he likes.
 *
 * - Each text is one statement of a known kind, about the table or its sequences, which are new.
 * - Expressions have parts of known kinds.
 * - PostgreSQL's own functions in them are immutable, or known to call nothing: others run SQL, or check a
 *	  domain, of which the text has only the name or the number. Defaults may call them: they come with the last commit.
 * - Types, functions and operators of other schemas are there, and they, and what they need, belong to roles that have the
 *	  rights of the remote user. So do the schemas, and nobody else can create in them: a better match would be
 *	  called instead. The owner of a type could make a cast for it.
 *
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "tablets/common/node_statements.h"
#include "tablets/move/move_table.h"

/* The first of the names that the new node does not have, or of whose objects, or what these need, a role without the rights of
 * the remote user can make something else. A function's name may be that of a type, to which it casts. */
#define STRANGER_QUERY \
"WITH RECURSIVE named(kind, schema, name) AS (VALUES %s), root(kind, schema, name, classid, objid) AS (SELECT named.*, o.* FROM named" \
" LEFT JOIN pg_namespace AS n ON nspname = schema LEFT JOIN LATERAL (" \
"SELECT 'pg_proc'::regclass::oid, oid FROM pg_proc WHERE kind = 'function' AND pronamespace = n.oid AND proname = name" \
" UNION ALL SELECT 'pg_type'::regclass, oid FROM pg_type WHERE kind IN ('type', 'function') AND typnamespace = n.oid AND typname = name" \
" UNION ALL SELECT 'pg_operator'::regclass, oid FROM pg_operator WHERE kind = 'operator' AND oprnamespace = n.oid AND oprname = name) AS o(classid, objid) ON true)," \
" used(classid, objid) AS (SELECT classid, objid FROM root WHERE objid IS NOT NULL" \
" UNION SELECT n.* FROM used, LATERAL (SELECT refclassid, refobjid FROM pg_depend WHERE classid = used.classid AND objid = used.objid" \
" UNION ALL SELECT 'pg_constraint'::regclass, oid FROM pg_constraint WHERE used.classid = 'pg_type'::regclass AND contypid = used.objid" \
" UNION ALL SELECT 'pg_class'::regclass, typrelid FROM pg_type WHERE used.classid = 'pg_type'::regclass AND oid = used.objid AND typrelid <> 0) AS n(classid, objid)" \
" WHERE n.classid IN ('pg_proc'::regclass, 'pg_type'::regclass, 'pg_operator'::regclass, 'pg_constraint'::regclass, 'pg_class'::regclass))," \
" found(classid, objid, schema, owner) AS (SELECT classid, objid, pronamespace, proowner FROM used JOIN pg_proc ON classid = 'pg_proc'::regclass AND oid = objid" \
" UNION ALL SELECT classid, objid, typnamespace, typowner FROM used JOIN pg_type ON classid = 'pg_type'::regclass AND oid = objid" \
" UNION ALL SELECT classid, objid, oprnamespace, oprowner FROM used JOIN pg_operator ON classid = 'pg_operator'::regclass AND oid = objid)" \
" SELECT pg_describe_object(classid, objid, 0), rolname, current_user FROM found JOIN pg_namespace AS n ON n.oid = schema" \
" CROSS JOIN LATERAL (SELECT owner UNION SELECT nspowner UNION SELECT oid FROM pg_roles WHERE has_schema_privilege(oid, n.oid, 'CREATE')) AS either(role)" \
" JOIN pg_roles AS r ON r.oid = role" \
" CROSS JOIN LATERAL (SELECT CASE rolname WHEN 'pg_database_owner' THEN (SELECT datdba FROM pg_database WHERE datname = current_database()) ELSE role END) AS who(one)" \
" WHERE NOT pg_has_role(one, current_user, 'USAGE')" \
" UNION ALL SELECT format('%%s %%I.%%I', kind, schema, name), NULL, current_user FROM root WHERE objid IS NULL ORDER BY 1, 2 LIMIT 1"

/* Functions that are not all immutable, and call nothing but what their arguments' types have. */
static const char *const known_functions[] = {
	"age", "array_to_json", "array_to_string", "concat", "concat_ws", "current_setting", "date",
	"date_add", "date_part", "date_subtract", "date_trunc", "extract", "format", "json_build_array",
	"json_build_object", "json_to_tsvector", "jsonb_build_array", "jsonb_build_object",
	"jsonb_to_tsvector", "length", "now", "overlaps", "phraseto_tsquery", "plainto_tsquery",
	"quote_literal", "quote_nullable", "row_to_json", "statement_timestamp", "time", "timestamp",
	"timestamptz", "timetz", "timezone", "to_char", "to_date", "to_json", "to_jsonb", "to_number",
	"to_timestamp", "to_tsquery", "to_tsvector", "transaction_timestamp", "websearch_to_tsquery"
};

/* What a definition names. */
typedef struct Definition
{
	const ShuttleMove *move;
	List	   *table;			/* schema and name, */
	List	   *sequences;		/* and of each sequence: lists of two */
	StringInfoData named;		/* rows of kinds, schemas and names */
	const char *text;			/* that is looked at now */
	bool		is_made;		/* the table, by an earlier text */
	bool		is_last;		/* the texts come with the last commit */
	bool		is_default;		/* a part of the text, which is not evaluated */
} Definition;

pg_noreturn static void
refuse_text(const Definition *definition)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("storage node \"%s\" gave a statement that does not define table %s",
					GetForeignServer(definition->move->source)->servername, definition->move->remote),
			 errdetail("It is: %s", definition->text),
			 errhint("In expressions, fields of composite values, whole rows and SQL/JSON are not possible.")));
}

static void
need(const Definition *definition, bool is_so)
{
	if (!is_so)
		refuse_text(definition);
}

/* ---- names */

/* True if a function of PostgreSQL's own calls nothing else, whatever its arguments are. */
static bool
calls_nothing(const char *name)
{
	CatCList   *functions = SearchSysCacheList1(PROCNAMEARGSNSP, CStringGetDatum(name));
	bool		is_known = false;
	bool		is_immutable = true;
	int			nfound = 0;

	for (int i = 0; i < lengthof(known_functions); i++)
		is_known |= strcmp(name, known_functions[i]) == 0;
	for (int i = 0; i < functions->n_members; i++)
	{
		Form_pg_proc function = (Form_pg_proc) GETSTRUCT(&functions->members[i]->tuple);

		if (function->pronamespace != PG_CATALOG_NAMESPACE)
			continue;
		nfound++;
		is_immutable &= function->provolatile == PROVOLATILE_IMMUTABLE;
	}
	ReleaseSysCacheList(functions);
	return nfound > 0 && (is_immutable || is_known);
}

static void
note_name(Definition *definition, const char *kind, const List *names)
{
	const char *name;
	bool		is_own;

	need(definition, names != NIL && list_length(names) <= 2);
	name = strVal(llast(names));
	is_own = list_length(names) == 1 || strcmp(strVal(linitial(names)), "pg_catalog") == 0;
	if (!is_own)
		appendStringInfo(&definition->named, "%s('%s', %s, %s)", definition->named.len == 0 ? "" : ", ", kind,
						 quote_literal_cstr(strVal(linitial(names))), quote_literal_cstr(name));
	else if (strcmp(kind, "function") == 0 && !definition->is_default && !calls_nothing(name))
		shuttle_move_refuse_table(linitial_oid(definition->move->relids),
								  psprintf("Its definition there calls function %s(), which is not immutable.", name),
								  "Drop what calls it, and make it on the new node.");
}

/* names of a relation, or of one and a column of it */
static void
need_table(const Definition *definition, const Node *names, int nnames)
{
	need(definition, names != NULL && IsA(names, List) && list_length((const List *) names) == nnames &&
		 equal(list_truncate(list_copy((const List *) names), 2), definition->table));
}

static List *
names_of(const RangeVar *relation)
{
	return relation == NULL || relation->schemaname == NULL || relation->catalogname != NULL ? NIL :
		list_make2(makeString(relation->schemaname), makeString(relation->relname));
}

static void
need_table_of(const Definition *definition, const RangeVar *relation)
{
	need_table(definition, (const Node *) names_of(relation), 2);
	need(definition, definition->is_made);
}

static void
add_sequence(Definition *definition, const List *names)
{
	need(definition, list_length(names) == 2);
	definition->sequences = lappend(definition->sequences, (void *) names);
}

/* ---- expressions */

/* True for kinds that call nothing but what their parts do. */
static bool
is_known_part(const Node *node)
{
	switch (nodeTag(node))
	{
		case T_List:
		case T_A_Const:
		case T_A_Expr:
		case T_A_ArrayExpr:
		case T_A_Indices:
		case T_BoolExpr:
		case T_BooleanTest:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CoalesceExpr:
		case T_CollateClause:
		case T_FuncCall:
		case T_IndexElem:
		case T_Integer:			/* of an array type */
		case T_MinMaxExpr:
		case T_NamedArgExpr:
		case T_NullTest:
		case T_RowExpr:
		case T_SQLValueFunction:
		case T_TypeCast:
		case T_TypeName:
			return true;
		case T_ColumnRef:		/* a name behind the table's may be a
								 * function's */
			return list_length(((const ColumnRef *) node)->fields) == 1;
		default:
			return false;
	}
}

/* So may one behind a value. */
static void
need_subscripts(const Definition *definition, const A_Indirection *value)
{
	ListCell   *cell;

	foreach(cell, value->indirection)
		need(definition, IsA(lfirst(cell), A_Indices));
}

static bool
note_expression(Node *node, void *context)
{
	Definition *definition = context;

	if (node == NULL)
		return false;
	if (IsA(node, A_Indirection))
		need_subscripts(definition, (A_Indirection *) node);
	else
		need(definition, is_known_part(node));
	if (IsA(node, FuncCall))
		note_name(definition, "function", ((FuncCall *) node)->funcname);
	else if (IsA(node, A_Expr) && ((A_Expr *) node)->name != NIL)
		note_name(definition, "operator", ((A_Expr *) node)->name);
	else if (IsA(node, TypeName))
		note_name(definition, "type", ((TypeName *) node)->names);
	return raw_expression_tree_walker(node, note_expression, context);
}

/* The options of a sequence, also of one that belongs to an identity column. */
static void
note_sequence(Definition *definition, const List *options)
{
	ListCell   *cell;

	foreach(cell, options)
	{
		const DefElem *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "as") == 0)
			(void) note_expression(option->arg, definition);
		else if (strcmp(option->defname, "sequence_name") == 0)
		{
			need(definition, IsA(option->arg, List));
			add_sequence(definition, (const List *) option->arg);
		}
		else if (strcmp(option->defname, "owned_by") == 0)
			need_table(definition, option->arg, 3);
	}
}

static void
note_constraint(Definition *definition, const Constraint *constraint)
{
	ListCell   *cell;

	need(definition, constraint->contype != CONSTR_FOREIGN && constraint->contype != CONSTR_DEFAULT);
	(void) note_expression(constraint->raw_expr, definition);
	(void) note_expression(constraint->where_clause, definition);
	if (constraint->contype == CONSTR_IDENTITY)
		note_sequence(definition, constraint->options);
	foreach(cell, constraint->exclusions)
	{
		(void) note_expression(linitial(lfirst_node(List, cell)), definition);
		note_name(definition, "operator", lsecond(lfirst_node(List, cell)));
	}
}

static void
note_constraints(Definition *definition, const List *constraints)
{
	ListCell   *cell;

	foreach(cell, constraints)
	{
		need(definition, IsA(lfirst(cell), Constraint));
		note_constraint(definition, lfirst(cell));
	}
}

/* ---- statements */

static void
note_table(Definition *definition, const CreateStmt *statement)
{
	ListCell   *cell;

	need(definition, !definition->is_made && !statement->if_not_exists && statement->inhRelations == NIL && statement->partspec == NULL &&
		 statement->partbound == NULL && statement->ofTypename == NULL && statement->relation->relpersistence == RELPERSISTENCE_PERMANENT);
	definition->is_made = true;
	need_table_of(definition, statement->relation);
	foreach(cell, statement->tableElts)
	{
		const ColumnDef *column = lfirst(cell);

		need(definition, IsA(column, ColumnDef));
		(void) note_expression((Node *) column->typeName, definition);
		note_constraints(definition, column->constraints);
	}
}

static void
note_default(Definition *definition, Node *value)
{
	definition->is_default = true;
	(void) note_expression(value, definition);
	definition->is_default = false;
}

static void
note_action(Definition *definition, const AlterTableCmd *action)
{
	switch (action->subtype)
	{
		case AT_AddConstraint:
			need(definition, !definition->is_last);
			note_constraints(definition, list_make1(action->def));
			break;
		case AT_SetStorage:
		case AT_SetCompression:
		case AT_SetStatistics:
		case AT_SetOptions:
		case AT_ReplicaIdentity:
			need(definition, !definition->is_last);
			break;
		case AT_ColumnDefault:
			need(definition, definition->is_last);
			note_default(definition, action->def);
			break;
		case AT_ChangeOwner:
			need(definition, definition->is_last);
			break;
		default:
			refuse_text(definition);
	}
}

static void
note_change(Definition *definition, const AlterTableStmt *statement)
{
	ListCell   *cell;

	need(definition, statement->objtype == OBJECT_TABLE);
	need_table_of(definition, statement->relation);
	foreach(cell, statement->cmds)
		note_action(definition, lfirst_node(AlterTableCmd, cell));
}

static void
note_grant(const Definition *definition, const GrantStmt *statement)
{
	ListCell   *cell;

	need(definition, definition->is_last && statement->is_grant && statement->targtype == ACL_TARGET_OBJECT &&
		 (statement->objtype == OBJECT_TABLE || statement->objtype == OBJECT_SEQUENCE));
	foreach(cell, statement->objects)
	{
		const RangeVar *relation = lfirst_node(RangeVar, cell);

		if (statement->objtype == OBJECT_TABLE)
			need_table_of(definition, relation);
		else
			need(definition, list_member(definition->sequences, names_of(relation)));
	}
}

static void
note_index(Definition *definition, const IndexStmt *statement)
{
	need(definition, !statement->if_not_exists && !statement->concurrent);
	need_table_of(definition, statement->relation);
	(void) note_expression((Node *) statement->indexParams, definition);
	(void) note_expression((Node *) statement->indexIncludingParams, definition);
	(void) note_expression(statement->whereClause, definition);
}

static void
note_statistics(Definition *definition, const CreateStatsStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->relations)
	{
		need(definition, IsA(lfirst(cell), RangeVar));
		need_table_of(definition, lfirst(cell));
	}
	foreach(cell, statement->exprs)
	{
		need(definition, IsA(lfirst(cell), StatsElem));
		(void) note_expression(((StatsElem *) lfirst(cell))->expr, definition);
	}
}

static void
note_comment(const Definition *definition, const CommentStmt *statement)
{
	need(definition, definition->is_made && (statement->objtype == OBJECT_TABLE || statement->objtype == OBJECT_COLUMN));
	need_table(definition, statement->object, statement->objtype == OBJECT_TABLE ? 2 : 3);
}

static void
note_new_sequence(Definition *definition, const CreateSeqStmt *statement)
{
	need(definition, !statement->if_not_exists && !definition->is_last &&
		 statement->sequence->relpersistence == RELPERSISTENCE_PERMANENT);
	add_sequence(definition, names_of(statement->sequence));
	note_sequence(definition, statement->options);
}

static void
note_statement(Definition *definition, Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_CreateSeqStmt:
			note_new_sequence(definition, (CreateSeqStmt *) statement);
			break;
		case T_AlterSeqStmt:
			need(definition, list_member(definition->sequences, names_of(((AlterSeqStmt *) statement)->sequence)));
			note_sequence(definition, ((AlterSeqStmt *) statement)->options);
			break;
		case T_CreateStmt:
			note_table(definition, (CreateStmt *) statement);
			break;
		case T_AlterTableStmt:
			note_change(definition, (AlterTableStmt *) statement);
			break;
		case T_IndexStmt:
			note_index(definition, (IndexStmt *) statement);
			break;
		case T_CreateStatsStmt:
			note_statistics(definition, (CreateStatsStmt *) statement);
			break;
		case T_CommentStmt:
			note_comment(definition, (CommentStmt *) statement);
			break;
		case T_GrantStmt:
			note_grant(definition, (GrantStmt *) statement);
			break;
		default:
			refuse_text(definition);
	}
}

/* ---- all */

static void
check_named(const Definition *definition)
{
	const ShuttleMove *move = definition->move;
	List	   *strangers = definition->named.len == 0 ? NIL :
		shuttle_node_rows_with_nulls(shuttle_connection_get(move->target, GetUserId()), psprintf(STRANGER_QUERY, definition->named.data), 3, 1, InvalidOid);
	char	  **row;

	if (strangers == NIL)
		return;
	row = linitial(strangers);
	if (row[1] == NULL)
		shuttle_move_refuse_table(linitial_oid(move->relids),
								  psprintf("It needs %s, which storage node \"%s\" does not have.", row[0], GetForeignServer(move->target)->servername),
								  "Make it there first.");
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("foreign table \"%s\" cannot be moved", get_rel_name(linitial_oid(move->relids))),
			 errdetail("It needs %s, which role \"%s\" of storage node \"%s\" can change, and which could run with the rights of role \"%s\" there.",
					   row[0], row[1], GetForeignServer(move->target)->servername, row[2]),
			 errhint("Let a superuser own it there, and its schema.")));
}

static void
note_text(Definition *definition, char *text)
{
	List	   *parsed;

	definition->text = text;

	parsed = raw_parser(text, RAW_PARSE_DEFAULT);
	need(definition, list_length(parsed) == 1);
	note_statement(definition, linitial_node(RawStmt, parsed)->stmt);
}

static List *
check_texts(const ShuttleMove *move, const List *texts, List *sequences, bool is_last)
{
	Definition	definition = {
		.move = move,
		.table = list_make2(makeString(move->remote_schema), makeString(move->remote_table)),
		.sequences = sequences,
		.is_made = is_last,
		.is_last = is_last,
	};
	int			level = NewGUCNestLevel();
	ListCell   *cell;

	/* as the nodes read it */
	(void) set_config_option("standard_conforming_strings", "on", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	initStringInfo(&definition.named);
	foreach(cell, texts)
		note_text(&definition, lfirst(cell));
	AtEOXact_GUC(true, level);
	need(&definition, definition.is_made);
	check_named(&definition);
	return definition.sequences;
}

List *
shuttle_move_check_texts(const ShuttleMove *move, const List *texts)
{
	return check_texts(move, texts, NIL, false);
}

void
shuttle_move_check_last_texts(const ShuttleMove *move, const List *texts)
{
	(void) check_texts(move, texts, move->sequences, true);
}
