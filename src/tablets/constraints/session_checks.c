/*-------------------------------------------------------------------------
 * session_checks.c
 *	  Check constraints that another session may decide otherwise.
 *
 * Sessions on nodes have another user, time, time zone and DateStyle. Functions that are not
 * immutable may go there only if they are known to depend on none of these, and so may
 * texts of values. Of functions of users nothing is known but what is declared. Other checks
 * are computed here (row_checks.c). A table's generated columns, and domains, are computed on
 * nodes, so that such ones are refused.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "base/shuttle_compat_expressions.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_expressions.h"
#include "base/shuttle_meanings.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/refusal.h"
#include "tablets/common/table_facts.h"
#include "tablets/constraints/constraints.h"

/* Alike for all values. The time is not: a node's transaction begins later, and its clock is another one. */
static const char *const alike[] = {"pg_column_size"};

/* Alike for values whose texts are. */
static const char *const alike_of_texts[] = {
	"anytextcat", "array_in", "array_out", "array_to_string", "concat", "concat_ws", "enum_in", "enum_out",
	"json_build_array", "json_build_object", "jsonb_build_array", "jsonb_build_object", "quote_literal",
	"quote_nullable", "string_to_array", "textanycat", "to_json", "to_jsonb",
};

/* True of types whose values are written alike in all sessions. */
static bool
is_written_alike(Oid type)
{
	if (OidIsValid(get_element_type(type)))
		type = get_element_type(type);
	type = getBaseType(type);
	switch (type)
	{
		case BOOLOID:
		case CHAROID:
		case NAMEOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case UUIDOID:
		case JSONOID:
		case JSONBOID:
		case OIDOID:
		case UNKNOWNOID:
		case INETOID:
		case CIDROID:
		case MACADDROID:
		case BITOID:
		case VARBITOID:
			return true;
		default:
			return type_is_enum(type);
	}
}

static bool
are_written_alike(const List *values)
{
	ListCell   *lc;

	foreach(lc, values)
	{
		if (!is_written_alike(exprType(lfirst(lc))))
			return false;
	}
	return true;
}

/* Only days and months are as long as the time zone says. */
static bool
adds_time(Oid function, const List *arguments)
{
	const Const *value = list_length(arguments) == 2 ? lsecond(arguments) : NULL;
	const Interval *interval;

	if ((function != F_TIMESTAMPTZ_PL_INTERVAL && function != F_TIMESTAMPTZ_MI_INTERVAL) ||
		value == NULL || !IsA(value, Const) || value->constisnull)
		return false;
	interval = DatumGetIntervalP(value->constvalue);
	return interval->month == 0 && interval->day == 0;
}

static bool
is_alike(Oid function, const List *arguments)
{
	const char *name;

	if (func_volatile(function) == PROVOLATILE_IMMUTABLE)
		return true;
	if (function >= FirstGenbkiObjectId)
		return false;
	name = get_func_name(function);
	return shuttle_meaning_is_named(name, alike, lengthof(alike)) || adds_time(function, arguments) ||
		(shuttle_meaning_is_named(name, alike_of_texts, lengthof(alike_of_texts)) && are_written_alike(arguments));
}

static bool
is_mutable(Oid function, void *context)
{
	return !is_alike(function, NIL);
}

static bool
node_depends_on_session(Node *node)
{
	switch (nodeTag(node))
	{
		case T_SQLValueFunction:
		case T_XmlExpr:
			return true;
		case T_CoerceViaIO:
			return !is_written_alike(exprType((Node *) ((CoerceViaIO *) node)->arg)) ||
				!is_written_alike(((CoerceViaIO *) node)->resulttype);
		case T_FuncExpr:
			return !is_alike(((FuncExpr *) node)->funcid, ((FuncExpr *) node)->args);
		case T_OpExpr:
			set_opfuncid((OpExpr *) node);
			return !is_alike(((OpExpr *) node)->opfuncid, ((OpExpr *) node)->args);
		default:
			return shuttle_is_json_query(node) || !are_written_alike(shuttle_json_arguments(node)) ||
				check_functions_in_node(node, is_mutable, NULL);
	}
}

static bool
depends_on_session(Node *node, void *context)
{
	return node != NULL &&
		(node_depends_on_session(node) || shuttle_meaning_is_computed_otherwise(node) ||
		 expression_tree_walker(node, depends_on_session, context));
}

static ShuttleRefusal *
refuse_tableoid(char *part)
{
	return shuttle_refusal(ERRCODE_FEATURE_NOT_SUPPORTED, psprintf("%s uses \"tableoid\"", part),
						   "The rows of a distributed table are in other tables, on storage nodes.",
						   "Leave \"tableoid\" out.");
}

static ShuttleRefusal *
refuse_check(Relation rel, const ConstrCheck *check)
{
	Node	   *condition = stringToNode(check->ccbin);
	char	   *part = psprintf("check constraint \"%s\" of table \"%s\"", check->ccname,
								RelationGetRelationName(rel));

	return shuttle_expression_has(condition, SHUTTLE_HAS_TABLEOID) ? refuse_tableoid(part) : NULL;
}

ShuttleRefusal *
shuttle_session_checks_refuse(Relation rel, const char *only)
{
	const TupleConstr *constraints = RelationGetDescr(rel)->constr;
	ShuttleRefusal *refusal = NULL;

	for (int i = 0; refusal == NULL && constraints != NULL && i < constraints->num_check; i++)
	{
		const ConstrCheck *check = &constraints->check[i];

		if (only == NULL || strcmp(quote_identifier(check->ccname), only) == 0)
			refusal = refuse_check(rel, check);
	}
	return refusal;
}

static bool
is_listed(const List *columns, AttrNumber number)
{
	return columns == NIL || list_member_int(columns, number);
}

ShuttleRefusal *
shuttle_session_checks_refuse_generated(Relation rel, const List *columns)
{
	const TupleConstr *constraints = RelationGetDescr(rel)->constr;

	for (int i = 0; constraints != NULL && i < constraints->num_defval; i++)
	{
		const AttrDefault *value = &constraints->defval[i];
		const FormData_pg_attribute *column = TupleDescAttr(RelationGetDescr(rel), value->adnum - 1);
		Node	   *expression = column->attgenerated == '\0' || !is_listed(columns, value->adnum) ? NULL : stringToNode(value->adbin);
		char	   *part = psprintf("generated column \"%s\" of table \"%s\"",
									NameStr(column->attname), RelationGetRelationName(rel));

		if (shuttle_expression_has(expression, SHUTTLE_HAS_TABLEOID))
			return refuse_tableoid(part);
		if (shuttle_expression_has(expression, SHUTTLE_HAS_COMPUTED_OTHERWISE))
			return shuttle_refusal(ERRCODE_FEATURE_NOT_SUPPORTED, psprintf("%s depends on the session", part),
								   "Storage nodes compute it, and may come to another value.",
								   "Leave out casts of users, abbreviations of time zones, age() and quote_ident(), or compute the column in a BEFORE trigger.");
	}
	return NULL;
}

/* The first check of a domain that depends on the session. The cache of types would have computed what is constant in it. */
static const char *
find_session_check(Oid domain)
{
	static const char *const query =
		"SELECT conname::text, conbin::text FROM pg_constraint WHERE contypid = $1 AND conbin IS NOT NULL ORDER BY conname";
	ListCell   *cell;

	foreach(cell, shuttle_local_rows(query, domain))
	{
		char	  **check = lfirst(cell);

		if (depends_on_session(stringToNode(check[1]), NULL))
			return check[0];
	}
	return NULL;
}

/* The domain that has such a check, if the type is one or has one in it. */
static Oid
find_session_domain(Oid type, const char **check)
{
	Oid			found = InvalidOid;
	ListCell   *cell;

	if (get_typtype(type) == TYPTYPE_DOMAIN)
	{
		*check = find_session_check(type);
		if (*check != NULL)
			return type;
	}
	foreach(cell, shuttle_table_type_parts(type))
	{
		found = find_session_domain(lfirst_oid(cell), check);
		if (OidIsValid(found))
			break;
	}
	return found;
}

ShuttleRefusal *
shuttle_session_checks_refuse_domains(Relation rel, const List *columns)
{
	for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
	{
		const FormData_pg_attribute *column = TupleDescAttr(RelationGetDescr(rel), i);
		const char *check;
		Oid			domain;

		if (column->attisdropped || !is_listed(columns, column->attnum))
			continue;
		domain = find_session_domain(column->atttypid, &check);
		if (OidIsValid(domain))
			return shuttle_refusal(ERRCODE_FEATURE_NOT_SUPPORTED,
								   psprintf("check \"%s\" of domain %s, of column \"%s\" of table \"%s\", depends on the session",
											check, format_type_be(domain), NameStr(column->attname), RelationGetRelationName(rel)),
								   "Storage nodes check values of domains, in sessions with another user and other settings, such as the time zone.",
								   "Make it a check constraint of the table, or use immutable functions.");
	}
	return NULL;
}

bool
shuttle_session_check_stays_here(Oid relid, const char *name)
{
	Relation	rel = table_open(relid, AccessShareLock);
	const TupleConstr *constraints = RelationGetDescr(rel)->constr;
	bool		stays = false;

	for (int i = 0; !stays && constraints != NULL && i < constraints->num_check; i++)
		stays = SHUTTLE_CHECK_IS_ENFORCED(&constraints->check[i]) && (name == NULL || strcmp(quote_identifier(constraints->check[i].ccname), name) == 0) &&
			depends_on_session(stringToNode(constraints->check[i].ccbin), NULL);
	table_close(rel, NoLock);
	return stays;
}

bool
shuttle_session_checks_stay_here(Oid relid)
{
	return shuttle_session_check_stays_here(relid, NULL);
}
