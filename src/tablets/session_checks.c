/*-------------------------------------------------------------------------
 * session_checks.c
 *	  Check constraints that another session may decide otherwise.
 *
 * Nodes check rows in sessions with another user, time zone and DateStyle. Functions
 * that are not immutable may go there only if they are known to depend on none of
 * these, and so may texts of values; functions of users are not looked at, since most
 * that are immutable are not declared so.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "tablets/distribute.h"

/* Alike for all values. */
static const char *const alike[] = {
	"now", "pg_column_size", "statement_timestamp", "transaction_timestamp",
};

/* Alike for values whose texts are. */
static const char *const alike_of_texts[] = {
	"anytextcat", "array_in", "array_out", "array_to_string", "concat", "concat_ws", "enum_in", "enum_out", "format",
	"json_build_array", "json_build_object", "jsonb_build_array", "jsonb_build_object", "quote_literal",
	"quote_nullable", "string_to_array", "textanycat", "to_json", "to_jsonb",
};

static bool
is_named(const char *name, const char *const *names, int nnames)
{
	for (int i = 0; i < nnames; i++)
	{
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

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

	if (function >= FirstGenbkiObjectId || func_volatile(function) == PROVOLATILE_IMMUTABLE)
		return true;
	name = get_func_name(function);
	return is_named(name, alike, lengthof(alike)) || adds_time(function, arguments) ||
		(is_named(name, alike_of_texts, lengthof(alike_of_texts)) && are_written_alike(arguments));
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
			return ((SQLValueFunction *) node)->op != SVFOP_CURRENT_TIMESTAMP;
		case T_CoerceViaIO:
			return !is_written_alike(exprType((Node *) ((CoerceViaIO *) node)->arg)) ||
				!is_written_alike(((CoerceViaIO *) node)->resulttype);
		case T_FuncExpr:
			return !is_alike(((FuncExpr *) node)->funcid, ((FuncExpr *) node)->args);
		case T_OpExpr:
			set_opfuncid((OpExpr *) node);
			return !is_alike(((OpExpr *) node)->opfuncid, ((OpExpr *) node)->args);
		default:
			return check_functions_in_node(node, is_mutable, NULL);
	}
}

static bool
depends_on_session(Node *node, void *context)
{
	return node != NULL &&
		(node_depends_on_session(node) || expression_tree_walker(node, depends_on_session, context));
}

ShuttleRefusal *
shuttle_refuse_session_checks(Relation rel, const char *only)
{
	const TupleConstr *constraints = RelationGetDescr(rel)->constr;
	ShuttleRefusal *refusal = NULL;

	for (int i = 0; refusal == NULL && constraints != NULL && i < constraints->num_check; i++)
	{
		const ConstrCheck *check = &constraints->check[i];

		if ((only == NULL || strcmp(quote_identifier(check->ccname), only) == 0) &&
			depends_on_session(stringToNode(check->ccbin), NULL))
			refusal = shuttle_refusal(ERRCODE_FEATURE_NOT_SUPPORTED,
									  psprintf("check constraint \"%s\" of table \"%s\" depends on the session",
											   check->ccname, RelationGetRelationName(rel)),
									  "Storage nodes check rows, in sessions with another user and other settings, such as the time zone.",
									  "Use immutable functions only, as in (at AT TIME ZONE 'UTC')::date, or check the rows in a BEFORE trigger.");
	}
	return refusal;
}
