/*-------------------------------------------------------------------------
 * meanings.c
 *	  Expressions that are marked immutable, and mean something else on a node.
 *
 * A value as text depends on settings, though PostgreSQL marks output functions
 * immutable, and sessions on nodes have settings of their own. An operator of a user
 * calls a function that nodes may have, and has a name that they have not. So has a cast
 * of a user: it is printed with the names of its types, which may mean another cast.
 *
 * AT TIME ZONE 'IST' is immutable, too. What IST means is told by timezone_abbreviations,
 * and since 18 first by TimeZone. Names with other characters than letters, such as
 * Europe/Berlin, are no abbreviations. age() takes days and months in TimeZone.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_cast.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "base/shuttle_compat_planner.h"
#include "base/shuttle_meanings.h"

bool
shuttle_meaning_is_named(const char *name, const char *const *names, int nnames)
{
	for (int i = 0; i < nnames; i++)
	{
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

/* extra_float_digits, bytea_output, and quote_all_identifiers. */
bool
shuttle_meaning_writes_as_set(Oid function, void *context)
{
	switch (function)
	{
		case F_FLOAT4OUT:
		case F_FLOAT8OUT:
		case F_POINT_OUT:
		case F_LSEG_OUT:
		case F_LINE_OUT:
		case F_BOX_OUT:
		case F_PATH_OUT:
		case F_POLY_OUT:
		case F_CIRCLE_OUT:
		case F_BYTEAOUT:
		case F_QUOTE_IDENT:
			return true;
		default:
			return false;
	}
}

static bool
is_built_in(Oid oid)
{
	return oid < FirstGenbkiObjectId;
}

bool
shuttle_meaning_is_users_operator(const Node *node)
{
	ListCell   *lc;

	switch (nodeTag(node))
	{
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			return !is_built_in(((const OpExpr *) node)->opno);
		case T_ScalarArrayOpExpr:
			return !is_built_in(((const ScalarArrayOpExpr *) node)->opno);
		case T_RowCompareExpr:
			foreach(lc, ((const RowCompareExpr *) node)->opnos)
			{
				if (!is_built_in(lfirst_oid(lc)))
					return true;
			}
			return false;
		default:
			return false;
	}
}

bool
shuttle_meaning_sorts_by_users_operator(const List *clauses)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		const SortGroupClause *clause = lfirst_node(SortGroupClause, lc);

		if (!is_built_in(clause->eqop) || !is_built_in(clause->sortop))
			return true;
	}
	return false;
}

/* ---- time zones */

/* True if the name of a zone means the same with all settings. */
static bool
is_settled_zone(const Node *node)
{
	const Const *zone = (const Const *) node;
	const char *name;

	if (!IsA(node, Const))
		return false;
	if (zone->constisnull)
		return true;
	name = TextDatumGetCString(zone->constvalue);
	return pg_strcasecmp(name, "UTC") == 0 ||
		strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") < strlen(name);
}

bool
shuttle_meaning_depends_on_zone(const Node *node)
{
	const FuncExpr *call = (const FuncExpr *) node;

	if (!IsA(node, FuncExpr))
		return false;
	switch (call->funcid)
	{
		case F_AGE_TIMESTAMPTZ_TIMESTAMPTZ:
			return true;
		case F_TIMEZONE_TEXT_TIMESTAMP:
		case F_TIMEZONE_TEXT_TIMESTAMPTZ:
			return !is_settled_zone(linitial(call->args));
		case F_DATE_ADD_TIMESTAMPTZ_INTERVAL_TEXT:
		case F_DATE_SUBTRACT_TIMESTAMPTZ_INTERVAL_TEXT:
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT:
		case F_GENERATE_SERIES_TIMESTAMPTZ_TIMESTAMPTZ_INTERVAL_TEXT:
			return !is_settled_zone(llast(call->args));
		default:
			return false;
	}
}

/* ---- casts */

/* What a cast is applied to; NULL: the node is no cast. */
static const Expr *
cast_argument(const Node *node)
{
	const FuncExpr *call = (const FuncExpr *) node;

	switch (nodeTag(node))
	{
		case T_RelabelType:
			return ((const RelabelType *) node)->arg;
		case T_CoerceViaIO:
			return ((const CoerceViaIO *) node)->arg;
		case T_FuncExpr:
			return call->funcformat == COERCE_EXPLICIT_CAST || call->funcformat == COERCE_IMPLICIT_CAST ?
				linitial(call->args) : NULL;
		default:
			return NULL;
	}
}

bool
shuttle_meaning_is_users_cast(const Node *node)
{
	const Expr *argument = cast_argument(node);
	HeapTuple	tuple;
	bool		is_users;

	if (argument == NULL)
		return false;
	tuple = SearchSysCache2(CASTSOURCETARGET, ObjectIdGetDatum(getBaseType(exprType((const Node *) argument))),
							ObjectIdGetDatum(getBaseType(exprType(node))));
	if (!HeapTupleIsValid(tuple))
		return false;
	is_users = ((Form_pg_cast) GETSTRUCT(tuple))->oid >= FirstNormalObjectId;
	ReleaseSysCache(tuple);
	return is_users;
}

/* ---- what postgres_fdw would ship */

/* Since 16 postgres_fdw looks at the object. */
static bool
names_users_object(const Node *node)
{
	const Const *name = (const Const *) node;

	return !SHUTTLE_NAMES_ARE_LOOKED_AT && IsA(node, Const) && !name->constisnull &&
		(name->consttype == REGCONFIGOID || name->consttype == REGDICTIONARYOID) &&
		DatumGetObjectId(name->constvalue) >= FirstNormalObjectId;
}

/* Any of an operator's arguments is of type name, or an array of it. */
static bool
has_names(const List *args)
{
	ListCell   *lc;

	foreach(lc, args)
	{
		Oid			type = getBaseType(exprType(lfirst(lc)));

		if (type == NAMEOID || type == NAMEARRAYOID)
			return true;
	}
	return false;
}

/* A value that is sent as $1::name has the collation "C", and brings it into a comparison with a
 * column of another one. Beside the default collation that changes all but what is equal; any
 * other one is in conflict with it there. */
static bool
compares_names_otherwise(const Node *node)
{
	const OpExpr *comparison = (const OpExpr *) node;
	const ScalarArrayOpExpr *with_any = (const ScalarArrayOpExpr *) node;
	bool		is_array = IsA(node, ScalarArrayOpExpr);
	const List *args;
	Oid			operator;
	Oid			collation;
	Oid			negator;
	Oid			type;

	if (!is_array && !IsA(node, OpExpr) && !IsA(node, DistinctExpr) && !IsA(node, NullIfExpr))
		return false;
	args = is_array ? with_any->args : comparison->args;
	operator = is_array ? with_any->opno : comparison->opno;
	collation = is_array ? with_any->inputcollid : comparison->inputcollid;
	if (!OidIsValid(collation) || collation == C_COLLATION_OID || !has_names(args))
		return false;
	if (collation != DEFAULT_COLLATION_OID)
		return true;
	type = exprType(linitial(args));
	negator = get_negator(operator);
	return !op_hashjoinable(operator, type) &&
		!(OidIsValid(negator) && op_hashjoinable(negator, type));
}

bool
shuttle_meaning_is_computed_otherwise(const Node *node)
{
	return shuttle_meaning_depends_on_zone(node) || shuttle_meaning_is_users_cast(node) ||
		(IsA(node, FuncExpr) && ((const FuncExpr *) node)->funcid == F_QUOTE_IDENT);
}

bool
shuttle_meaning_is_known_here_only(const Node *node)
{
	return names_users_object(node) || compares_names_otherwise(node) ||
		shuttle_meaning_is_computed_otherwise(node);
}
