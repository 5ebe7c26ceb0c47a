/*-------------------------------------------------------------------------
 * collected.c
 *	  Aggregates that collect values and whose parts can be combined:
 *	  array_agg, json_agg and string_agg over several nodes.
 *
 * Core combines array_agg and string_agg since 16, and json_agg never. Ours
 * replace core's in plans that combine parts
 * (planner/group/collected_aggregates.c), on all versions. A part is sent as
 * an array, or as text; JSON is made from the values at the end by core's
 * functions, so its format is core's.
 *
 * Memory: states live in the aggregate's context, with copies of what was
 * combined.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/shuttle_compat.h"
#include "executor/scan/remote_values.h"
#include "executor/shuttle_executor.h"

/* State for arrays; all parts have one element type. */
typedef struct Collected
{
	ArrayBuildStateAny *rows;	/* values added one by one; or NULL */
	List	   *parts;			/* of ArrayType */
} Collected;

/* State for text and bytea: each value preceded by its delimiter. */
typedef struct CollectedText
{
	StringInfoData text;
	int			skip;			/* bytes of the first delimiter, to be dropped */
} CollectedText;

SHUTTLE_SQL_FUNCTION(shuttle_collect_value);
SHUTTLE_SQL_FUNCTION(shuttle_collect_combine);
SHUTTLE_SQL_FUNCTION(shuttle_collect_write);
SHUTTLE_SQL_FUNCTION(shuttle_collect_read);
SHUTTLE_SQL_FUNCTION(shuttle_collect_array);
SHUTTLE_SQL_FUNCTION(shuttle_collect_json);
SHUTTLE_SQL_FUNCTION(shuttle_collect_jsonb);
SHUTTLE_SQL_FUNCTION(shuttle_collect_text_value);
SHUTTLE_SQL_FUNCTION(shuttle_collect_text_combine);
SHUTTLE_SQL_FUNCTION(shuttle_collect_text_write);
SHUTTLE_SQL_FUNCTION(shuttle_collect_text_read);
SHUTTLE_SQL_FUNCTION(shuttle_collect_text_finish);

static MemoryContext
aggregate_memory(FunctionCallInfo fcinfo)
{
	MemoryContext memory;

	if (!AggCheckCallContext(fcinfo, &memory))
		elog(ERROR, "aggregate function called in non-aggregate context");
	return memory;
}

static void *
state_argument(FunctionCallInfo fcinfo, int argument)
{
	return PG_ARGISNULL(argument) ? NULL : PG_GETARG_POINTER(argument);
}

/* ---- arrays */

/* Raises the error of core's array_agg() if arrays do not fit together. */
static void
check_alike(const ArrayType *first, const ArrayType *part)
{
	int			ndim = ARR_NDIM(first);

	Assert(ARR_ELEMTYPE(first) == ARR_ELEMTYPE(part));
	if (ARR_NDIM(part) != ndim ||
		memcmp(ARR_DIMS(first) + 1, ARR_DIMS(part) + 1, (ndim - 1) * sizeof(int)) != 0 ||
		memcmp(ARR_LBOUND(first) + 1, ARR_LBOUND(part) + 1,
			   (ndim - 1) * sizeof(int)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("cannot accumulate arrays of different dimensionality")));
}

static Size
data_bytes(const ArrayType *array)
{
	return ARR_SIZE(array) - ARR_DATA_OFFSET(array);
}

/* An array with room for the values of all parts. */
static ArrayType *
make_empty_for(const List *parts)
{
	const ArrayType *first = linitial(parts);
	int			ndim = ARR_NDIM(first);
	int64		length = 0;
	Size		bytes = 0;
	int			dims[MAXDIM];
	bool		any_null = false;
	ArrayType  *whole;
	ListCell   *lc;

	foreach(lc, parts)
	{
		const ArrayType *part = lfirst(lc);

		check_alike(first, part);
		length += ARR_DIMS(part)[0];
		bytes += data_bytes(part);
		any_null |= ARR_HASNULL(part);
	}
	memcpy(dims, ARR_DIMS(first), ndim * sizeof(int));
	dims[0] = (int) Min(length, PG_INT32_MAX);
	bytes += any_null ? ARR_OVERHEAD_WITHNULLS(ndim, ArrayGetNItems(ndim, dims)) :
		ARR_OVERHEAD_NONULLS(ndim);
	if (!AllocSizeIsValid(bytes))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("array size exceeds the maximum allowed (%d)",
						(int) MaxAllocSize)));

	whole = palloc0(bytes);
	SET_VARSIZE(whole, bytes);
	whole->ndim = ndim;
	whole->elemtype = ARR_ELEMTYPE(first);
	if (any_null)
		whole->dataoffset = ARR_OVERHEAD_WITHNULLS(ndim, ArrayGetNItems(ndim, dims));
	memcpy(ARR_DIMS(whole), dims, ndim * sizeof(int));
	memcpy(ARR_LBOUND(whole), ARR_LBOUND(first), ndim * sizeof(int));
	return whole;
}

/* Concatenates parts; at least one, none empty. */
static ArrayType *
concatenate(const List *parts)
{
	ArrayType  *whole;
	char	   *data;
	int			nvalues = 0;
	ListCell   *lc;

	if (list_length(parts) == 1)
		return linitial(parts);
	whole = make_empty_for(parts);
	data = ARR_DATA_PTR(whole);
	foreach(lc, parts)
	{
		ArrayType  *part = lfirst(lc);
		int			count = ArrayGetNItems(ARR_NDIM(part), ARR_DIMS(part));

		memcpy(data, ARR_DATA_PTR(part), data_bytes(part));
		data += data_bytes(part);
		if (ARR_HASNULL(whole))
			array_bitmap_copy(ARR_NULLBITMAP(whole), nvalues, ARR_NULLBITMAP(part), 0,
							  count);
		nvalues += count;
	}
	return whole;
}

/* All values of a state, possibly the state's own array; NULL: none. */
static ArrayType *
all_values(const Collected *state)
{
	List	   *parts = state->parts;

	if (state->rows != NULL)
		parts = lappend(list_copy(parts),
						DatumGetArrayTypeP(makeArrayResultAny(state->rows,
															  CurrentMemoryContext,
															  false)));
	return parts != NIL ? concatenate(parts) : NULL;
}

Datum
shuttle_collect_value(PG_FUNCTION_ARGS)
{
	MemoryContext memory = aggregate_memory(fcinfo);
	Collected  *state = state_argument(fcinfo, 0);
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 1);

	if (!OidIsValid(type))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("could not determine input data type")));
	if (state == NULL)
		state = MemoryContextAllocZero(memory, sizeof(Collected));
	if (state->rows == NULL)
		state->rows = initArrayResultAny(type, memory, false);
	state->rows = accumArrayResultAny(state->rows,
									  PG_ARGISNULL(1) ? (Datum) 0 : PG_GETARG_DATUM(1),
									  PG_ARGISNULL(1), type, memory);
	PG_RETURN_POINTER(state);
}

Datum
shuttle_collect_combine(PG_FUNCTION_ARGS)
{
	MemoryContext memory = aggregate_memory(fcinfo);
	Collected  *state = state_argument(fcinfo, 0);
	const Collected *other = state_argument(fcinfo, 1);
	ArrayType  *part = other != NULL ? all_values(other) : NULL;

	if (part != NULL)
	{
		MemoryContext before = MemoryContextSwitchTo(memory);

		if (state == NULL)
			state = palloc0_object(Collected);
		state->parts = lappend(state->parts, DatumGetArrayTypePCopy(PointerGetDatum(part)));
		MemoryContextSwitchTo(before);
	}
	if (state == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(state);
}

/* Serializes: the array as bytea. */
Datum
shuttle_collect_write(PG_FUNCTION_ARGS)
{
	(void) aggregate_memory(fcinfo);
	PG_RETURN_POINTER(all_values((Collected *) PG_GETARG_POINTER(0)));
}

/* Deserializes; copies, since data in a tuple may not be aligned. */
Datum
shuttle_collect_read(PG_FUNCTION_ARGS)
{
	Collected  *state = palloc0_object(Collected);
	ArrayType  *part;

	(void) aggregate_memory(fcinfo);
	part = (ArrayType *) PG_GETARG_BYTEA_P_COPY(0);
	if (ARR_NDIM(part) > 0)
		state->parts = list_make1(part);
	PG_RETURN_POINTER(state);
}

Datum
shuttle_collect_array(PG_FUNCTION_ARGS)
{
	const Collected *state = state_argument(fcinfo, 0);
	ArrayType  *values = state != NULL ? all_values(state) : NULL;

	(void) aggregate_memory(fcinfo);
	if (values == NULL)
		PG_RETURN_NULL();
	PG_RETURN_ARRAYTYPE_P(values);
}

/* ---- JSON of the values of an array */

/* Runs core's transition and final functions over values. */
static Datum
aggregate_values(FunctionCallInfo fcinfo, const ArrayType *values, Oid transition,
				 Oid final)
{
	LOCAL_FCINFO(step, 2);
	FmgrInfo	function;
	ArrayIterator iterator;
	Node	   *call;

	fmgr_info(transition, &function);
	call = (Node *) makeFuncExpr(transition, INTERNALOID,
								 list_make2(makeNullConst(INTERNALOID, -1, InvalidOid),
											makeNullConst(ARR_ELEMTYPE(values), -1,
														  InvalidOid)),
								 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
	fmgr_info_set_expr(call, &function);
	InitFunctionCallInfoData(*step, &function, 2, PG_GET_COLLATION(), fcinfo->context,
							 NULL);
	step->args[0].value = (Datum) 0;
	step->args[0].isnull = true;
	iterator = array_create_iterator((ArrayType *) values, 0, NULL);
	while (array_iterate(iterator, &step->args[1].value, &step->args[1].isnull))
	{
		CHECK_FOR_INTERRUPTS();
		step->isnull = false;
		step->args[0].value = FunctionCallInvoke(step);
		step->args[0].isnull = step->isnull;
	}
	array_free_iterator(iterator);

	fmgr_info(final, &function);
	InitFunctionCallInfoData(*step, &function, 1, InvalidOid, fcinfo->context, NULL);
	return FunctionCallInvoke(step);
}

static Datum
make_json(FunctionCallInfo fcinfo, Oid transition, Oid final)
{
	const Collected *state = state_argument(fcinfo, 0);
	const ArrayType *values = state != NULL ? all_values(state) : NULL;

	(void) aggregate_memory(fcinfo);
	if (values == NULL)
		PG_RETURN_NULL();
	return aggregate_values(fcinfo, values, transition, final);
}

Datum
shuttle_collect_json(PG_FUNCTION_ARGS)
{
	return make_json(fcinfo, F_JSON_AGG_TRANSFN, F_JSON_AGG_FINALFN);
}

Datum
shuttle_collect_jsonb(PG_FUNCTION_ARGS)
{
	return make_json(fcinfo, F_JSONB_AGG_TRANSFN, F_JSONB_AGG_FINALFN);
}

/* ---- texts and bytea */

static CollectedText *
make_text(MemoryContext memory, int skip)
{
	MemoryContext before = MemoryContextSwitchTo(memory);
	CollectedText *state = palloc_object(CollectedText);

	initStringInfo(&state->text);
	state->skip = skip;
	MemoryContextSwitchTo(before);
	return state;
}

static void
append_varlena(CollectedText *state, const struct varlena *value)
{
	appendBinaryStringInfo(&state->text, VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
}

Datum
shuttle_collect_text_value(PG_FUNCTION_ARGS)
{
	MemoryContext memory = aggregate_memory(fcinfo);
	CollectedText *state = state_argument(fcinfo, 0);
	const struct varlena *delimiter = NULL;

	if (!PG_ARGISNULL(2))
		delimiter = PG_GETARG_VARLENA_PP(2);
	if (!PG_ARGISNULL(1))
	{
		if (state == NULL)
			state = make_text(memory,
							  delimiter != NULL ? VARSIZE_ANY_EXHDR(delimiter) : 0);
		if (delimiter != NULL)
			append_varlena(state, delimiter);
		append_varlena(state, PG_GETARG_VARLENA_PP(1));
	}
	if (state == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(state);
}

Datum
shuttle_collect_text_combine(PG_FUNCTION_ARGS)
{
	MemoryContext memory = aggregate_memory(fcinfo);
	CollectedText *state = state_argument(fcinfo, 0);
	const CollectedText *other = state_argument(fcinfo, 1);

	if (other != NULL)
	{
		if (state == NULL)
			state = make_text(memory, other->skip);
		appendBinaryStringInfo(&state->text, other->text.data, other->text.len);
	}
	if (state == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(state);
}

/* Serialized form: length of the first delimiter, then the text. */
static bytea *
make_text_part(const char *delimiter, int32 skip, const char *text, Size length)
{
	Size		bytes = VARHDRSZ + sizeof(int32) + skip + length;
	bytea	   *part = palloc(bytes);
	char	   *at = VARDATA(part);

	SET_VARSIZE(part, bytes);
	memcpy(at, &skip, sizeof(int32));
	at += sizeof(int32);
	if (skip > 0)
		memcpy(at, delimiter, skip);
	memcpy(at + skip, text, length);
	return part;
}

bytea *
shuttle_collected_text(const struct varlena *delimiter, const struct varlena *text)
{
	if (delimiter == NULL)
		return make_text_part(NULL, 0, VARDATA_ANY(text), VARSIZE_ANY_EXHDR(text));
	return make_text_part(VARDATA_ANY(delimiter), VARSIZE_ANY_EXHDR(delimiter),
						  VARDATA_ANY(text), VARSIZE_ANY_EXHDR(text));
}

Datum
shuttle_collect_text_write(PG_FUNCTION_ARGS)
{
	const CollectedText *state = (CollectedText *) PG_GETARG_POINTER(0);

	(void) aggregate_memory(fcinfo);
	PG_RETURN_BYTEA_P(make_text_part(state->text.data, state->skip,
									 state->text.data + state->skip,
									 state->text.len - state->skip));
}

Datum
shuttle_collect_text_read(PG_FUNCTION_ARGS)
{
	const bytea *part = PG_GETARG_BYTEA_PP(0);
	CollectedText *state;
	int32		skip;

	(void) aggregate_memory(fcinfo);
	memcpy(&skip, VARDATA_ANY(part), sizeof(int32));
	state = make_text(CurrentMemoryContext, skip);
	appendBinaryStringInfo(&state->text, VARDATA_ANY(part) + sizeof(int32),
						   VARSIZE_ANY_EXHDR(part) - sizeof(int32));
	PG_RETURN_POINTER(state);
}

/* For text and bytea, which have the same layout. */
Datum
shuttle_collect_text_finish(PG_FUNCTION_ARGS)
{
	const CollectedText *state = state_argument(fcinfo, 0);

	(void) aggregate_memory(fcinfo);
	if (state == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text_with_len(state->text.data + state->skip,
											  state->text.len - state->skip));
}
