/*-------------------------------------------------------------------------
 * call_functions.c
 *	  Built-in functions that give the same value on a node as here.
 *
 * Immutable ones do, as nodes are not older than this server. Others do if they
 * only depend on settings that go with the call (time zone, formats of dates),
 * on the clock, or on chance. All that is not named here is refused.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "base/shuttle_meanings.h"
#include "executor/router/call.h"

static const char *const clocks[] = {
	"clock_timestamp", "now", "statement_timestamp", "timeofday", "transaction_timestamp",
};

static const char *const others[] = {
	"age", "anytextcat", "array_in", "array_out", "array_to_json", "array_to_string", "concat",
	"concat_ws", "domain_in", "enum_in", "enum_out", "format", "gen_random_uuid", "json_agg",
	"json_agg_finalfn", "json_agg_transfn", "json_build_array", "json_build_object",
	"json_object_agg", "jsonb_agg", "jsonb_agg_finalfn", "jsonb_agg_transfn",
	"jsonb_build_array", "jsonb_build_object", "jsonb_object_agg", "make_timestamptz",
	"pg_sleep", "quote_literal", "quote_nullable", "random", "random_normal", "record_in",
	"record_out", "row_to_json", "string_to_array", "textanycat", "to_char", "to_date",
	"to_json", "to_jsonb", "to_number", "to_timestamp", "uuidv4", "uuidv7",
};

static bool
is_time(Oid type)
{
	return type == DATEOID || type == TIMEOID || type == TIMETZOID || type == TIMESTAMPOID ||
		type == TIMESTAMPTZOID || type == INTERVALOID;
}

/* Casts, comparisons and sums of dates and times depend on the time zone. */
static bool
is_about_time(const FormData_pg_proc *function)
{
	bool		is_about = is_time(function->prorettype);

	if (strncmp(NameStr(function->proname), "pg_", 3) == 0)
		return false;
	for (int i = 0; i < function->pronargs; i++)
		is_about |= is_time(function->proargtypes.values[i]);
	return is_about && function->provolatile == PROVOLATILE_STABLE;
}

bool
shuttle_call_function_is_alike(Oid function, bool *uses_clock)
{
	HeapTuple	tuple;
	const FormData_pg_proc *form;
	const char *name;
	bool		is_alike;

	if (function >= FirstGenbkiObjectId)
		return false;
	if (func_volatile(function) == PROVOLATILE_IMMUTABLE)
		return true;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	form = (const FormData_pg_proc *) GETSTRUCT(tuple);
	name = NameStr(form->proname);
	is_alike = shuttle_meaning_is_named(name, others, lengthof(others)) || is_about_time(form);
	if (shuttle_meaning_is_named(name, clocks, lengthof(clocks)) ||
		(strcmp(name, "age") == 0 && form->pronargs == 1))
		*uses_clock = is_alike = true;
	ReleaseSysCache(tuple);
	return is_alike;
}

bool
shuttle_call_type_is_alike(Oid type)
{
	if (OidIsValid(get_element_type(type)))
		type = get_element_type(type);
	switch (type)
	{
		case REGPROCOID:
		case REGPROCEDUREOID:
		case REGOPEROID:
		case REGOPERATOROID:
		case REGCLASSOID:
		case REGTYPEOID:
		case REGROLEOID:
		case REGNAMESPACEOID:
		case REGCONFIGOID:
		case REGDICTIONARYOID:
		case REGCOLLATIONOID:
		case OIDOID:
		case XIDOID:
		case XID8OID:
		case CIDOID:
		case TIDOID:
		case MONEYOID:
		case XMLOID:
		case REFCURSOROID:
			return false;
		default:
			return type < FirstGenbkiObjectId;
	}
}
