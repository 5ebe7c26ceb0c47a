/*-------------------------------------------------------------------------
 * stored_values.c
 *	  Reads text of types whose input functions would run code of users.
 *
 * Input functions of domains evaluate their checks, which may call any function
 * of the domain's owner, as the reader; those of arrays, composite types and
 * ranges call the input functions of what they contain. A value that was stored
 * has passed them, and core does not check it again, whatever became of the
 * checks. So a domain is read as its base type, and other types are taken apart:
 * elements by array_in() with a function of ours for the element, columns and
 * bounds by record_in() as texts. The result has the type itself.
 *
 * A range's canonical function is not called either: what is stored is
 * canonical. Input functions of base types, and operator classes, are made by
 * superusers.
 *
 * Memory: all that is made here lives in its owner, values in the current
 * context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/multirangetypes.h"
#include "utils/rangetypes.h"
#include "utils/typcache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "storage/shuttle_stored_values.h"

struct ShuttleStoredType
{
	Oid			type;			/* a domain's base type */
	int32		typmod;
	Datum		(*read) (ShuttleStoredType *type, char *string);
	FmgrInfo	input;			/* of the type, or what takes it apart */
	Oid			parameter;
	int32		input_typmod;
	bool		runs_code;		/* the type's own input function would */
	int			nparts;
	ShuttleStoredType **parts;	/* NULL: a dropped column */
	TupleDesc	desc;			/* of a composite type */
	TupleDesc	texts;			/* of what it is split into */
	TypeCacheEntry range;		/* without a canonical function */
	MemoryContext owner;
};

static ShuttleStoredType *create_type(Oid type, int32 typmod, MemoryContext owner);
static void take_array(ShuttleStoredType *type, Oid element);
static void take_composite(ShuttleStoredType *type);
static void take_range(ShuttleStoredType *type, Oid range);
static Datum read_whole(ShuttleStoredType *type, char *string);
static Datum read_element(PG_FUNCTION_ARGS);
static Datum read_composite(ShuttleStoredType *type, char *string);
static Datum read_range(ShuttleStoredType *type, char *string);
static void read_bound(ShuttleStoredType *type, RangeBound *bound, char *string);
static Datum read_multirange(ShuttleStoredType *type, char *string);

ShuttleStoredType *
shuttle_stored_type_create(Oid type, int32 typmod, MemoryContext owner)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(owner);
	ShuttleStoredType *stored = create_type(type, typmod, owner);

	MemoryContextSwitchTo(old_cxt);
	return stored;
}

ShuttleStoredType *
shuttle_stored_array_create(Oid element, MemoryContext owner)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(owner);
	ShuttleStoredType *stored = palloc0_object(ShuttleStoredType);

	stored->owner = owner;
	stored->typmod = -1;
	take_array(stored, element);
	MemoryContextSwitchTo(old_cxt);
	return stored;
}

Datum
shuttle_stored_value(ShuttleStoredType *type, char *string)
{
	return type->read(type, string);
}

static ShuttleStoredType *
create_type(Oid type, int32 typmod, MemoryContext owner)
{
	ShuttleStoredType *stored = palloc0_object(ShuttleStoredType);
	Oid			input;

	check_stack_depth();
	stored->owner = owner;
	stored->typmod = typmod;
	stored->type = getBaseTypeAndTypmod(type, &stored->typmod);
	stored->read = read_whole;

	/* most types are not made by users, and consist of nothing that is */
	if (stored->type >= FirstNormalObjectId)
	{
		if (OidIsValid(get_element_type(stored->type)))
			take_array(stored, get_element_type(stored->type));
		else if (type_is_rowtype(stored->type))
			take_composite(stored);
		else if (type_is_range(stored->type))
			take_range(stored, stored->type);
		else if (type_is_multirange(stored->type))
			take_range(stored, get_multirange_range(stored->type));
	}
	if (!stored->runs_code)
	{
		stored->read = read_whole;
		stored->input_typmod = stored->typmod;
		getTypeInputInfo(stored->type, &input, &stored->parameter);
		fmgr_info_cxt(input, &stored->input, owner);
		stored->runs_code = stored->type != type;
	}
	return stored;
}

static ShuttleStoredType *
add_part(ShuttleStoredType *type, Oid part, int32 typmod)
{
	ShuttleStoredType *stored = create_type(part, typmod, type->owner);

	type->runs_code |= stored->runs_code;
	type->parts[type->nparts++] = stored;
	return stored;
}

/* array_in() finds the element's function looked up already: it is ours. */
static void
take_array(ShuttleStoredType *type, Oid element)
{
	ArrayMetaState *state = palloc0_object(ArrayMetaState);

	type->parts = palloc_array(ShuttleStoredType *, 1);
	state->proc.fn_extra = add_part(type, element, type->typmod);
	state->proc.fn_addr = read_element;
	state->proc.fn_nargs = 3;
	state->proc.fn_strict = true;
	state->proc.fn_mcxt = type->owner;
	state->element_type = element;
	get_type_io_data(element, IOFunc_input, &state->typlen, &state->typbyval, &state->typalign,
					 &state->typdelim, &state->typioparam, &state->typiofunc);
	fmgr_info_cxt(F_ARRAY_IN, &type->input, type->owner);
	type->input.fn_extra = state;
	type->parameter = element;
	type->input_typmod = -1;
	type->read = read_whole;
}

/* Has record_in() give a text for each of ncolumns columns. */
static void
take_columns(ShuttleStoredType *type, int ncolumns)
{
	type->texts = CreateTemplateTupleDesc(ncolumns);
	for (int i = 1; i <= ncolumns; i++)
		TupleDescInitEntry(type->texts, i, NULL, TEXTOID, -1, 0);
	type->parameter = RECORDOID;
	type->input_typmod = BlessTupleDesc(type->texts)->tdtypmod;
	fmgr_info_cxt(F_RECORD_IN, &type->input, type->owner);
}

static void
take_composite(ShuttleStoredType *type)
{
	int			nlive = 0;

	type->desc = lookup_rowtype_tupdesc_copy(type->type, type->typmod);
	type->parts = palloc0_array(ShuttleStoredType *, Max(1, type->desc->natts));
	for (int i = 0; i < type->desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(type->desc, i);

		if (attribute->attisdropped)
			type->nparts++;
		else
		{
			(void) add_part(type, attribute->atttypid, attribute->atttypmod);
			nlive++;
		}
	}
	take_columns(type, nlive);
	type->read = read_composite;
}

static void
take_range(ShuttleStoredType *type, Oid range)
{
	const TypeCacheEntry *cached = lookup_type_cache(range, TYPECACHE_RANGE_INFO);

	type->range = *cached;
	type->range.rng_canonical_finfo.fn_oid = InvalidOid;
	type->runs_code = cached->rng_canonical_finfo.fn_oid >= FirstNormalObjectId;
	type->parts = palloc_array(ShuttleStoredType *, 1);
	(void) add_part(type, cached->rngelemtype->type_id, -1);
	take_columns(type, 2);
	type->read = type_is_range(type->type) ? read_range : read_multirange;
}

static Datum
read_whole(ShuttleStoredType *type, char *string)
{
	return InputFunctionCall(&type->input, string, type->parameter, type->input_typmod);
}

/* What array_in() calls for an element. */
static Datum
read_element(PG_FUNCTION_ARGS)
{
	return shuttle_stored_value(fcinfo->flinfo->fn_extra, PG_GETARG_CSTRING(0));
}

/* Texts of the columns of a row; NULL: no value. */
static char **
split_columns(ShuttleStoredType *type, char *row)
{
	int			ncolumns = type->texts->natts;
	HeapTupleHeader header = DatumGetHeapTupleHeader(read_whole(type, row));
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(header),.t_data = header};
	Datum	   *values = palloc_array(Datum, Max(1, ncolumns));
	bool	   *nulls = palloc_array(bool, Max(1, ncolumns));
	char	  **columns = palloc_array(char *, Max(1, ncolumns));

	heap_deform_tuple(&tuple, type->texts, values, nulls);
	for (int i = 0; i < ncolumns; i++)
		columns[i] = nulls[i] ? NULL : TextDatumGetCString(values[i]);
	return columns;
}

static Datum
read_composite(ShuttleStoredType *type, char *string)
{
	char	  **columns = split_columns(type, string);
	Datum	   *values = palloc0_array(Datum, Max(1, type->nparts));
	bool	   *nulls = palloc_array(bool, Max(1, type->nparts));

	for (int i = 0; i < type->nparts; i++)
	{
		char	   *column = type->parts[i] == NULL ? NULL : *columns++;

		nulls[i] = column == NULL;
		if (column != NULL)
			values[i] = shuttle_stored_value(type->parts[i], column);
	}
	/* array_in() frees it */
	return heap_copy_tuple_as_datum(heap_form_tuple(type->desc, values, nulls), type->desc);
}

/* Bounds are quoted as columns of a row are. */
static Datum
read_range(ShuttleStoredType *type, char *string)
{
	bool		is_empty = strcmp(string, "empty") == 0;
	RangeBound	lower = {.infinite = true,.lower = true,.inclusive = string[0] == '['};
	RangeBound	upper = {.infinite = true};

	if (!is_empty)
	{
		size_t		last = strlen(string) - 1;
		char	  **columns;

		string = pstrdup(string);
		upper.inclusive = last > 0 && string[last] == ']';
		if (lower.inclusive)
			string[0] = '(';
		if (upper.inclusive)
			string[last] = ')';
		columns = split_columns(type, string);
		read_bound(type, &lower, columns[0]);
		read_bound(type, &upper, columns[1]);
	}
	return RangeTypePGetDatum(range_serialize(&type->range, &lower, &upper, is_empty, NULL));
}

static void
read_bound(ShuttleStoredType *type, RangeBound *bound, char *string)
{
	bound->infinite = string == NULL;
	if (string != NULL)
		bound->val = shuttle_stored_value(type->parts[0], string);
}

/* Behind the bracket of the range that begins here. */
static char *
range_end(char *string)
{
	bool		is_quoted = false;

	for (; *string != '\0'; string++)
	{
		if (*string == '\\' && string[1] != '\0')
			string++;
		else if (*string == '"')
			is_quoted = !is_quoted;
		else if (!is_quoted && (*string == ')' || *string == ']'))
			return string + 1;
	}
	return string;
}

/* As it is printed: {[1,3),[5,8)} */
static Datum
read_multirange(ShuttleStoredType *type, char *string)
{
	RangeType **ranges = palloc_array(RangeType *, strlen(string) / 2 + 1);
	char	   *end = string;
	int			nranges = 0;

	if (strcmp(string, "{}") == 0)
		return MultirangeTypePGetDatum(make_empty_multirange(type->type, &type->range));
	for (char separator = '{'; *end == separator; separator = ',')
	{
		char	   *start = end + 1;

		end = range_end(start);
		ranges[nranges++] = DatumGetRangeTypeP(read_range(type, pnstrdup(start, end - start)));
	}
	if (nranges == 0 || strcmp(end, "}") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("malformed multirange literal: \"%s\"", string)));
	return MultirangeTypePGetDatum(make_multirange(type->type, &type->range, nranges, ranges));
}
