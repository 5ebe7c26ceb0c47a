/*-------------------------------------------------------------------------
 * key_set.c
 *	  The distinct keys of one batch, for a scan or for routing.
 *
 * Keys are told apart by the image of their values, never by the types'
 * equality: 1.0 and 1.00, or two texts that a collation holds equal, are
 * different keys.  Two images of one value only cost a key more.
 * Memory: everything of a set lives in its context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "executor/look_ahead_internal.h"

#define FIRST_SIZE 16

static void grow_keys(ShuttleKeySet *set);
static void rehash(ShuttleKeySet *set, int nslots);

static uint32
hash_image(const char *image, int length)
{
	return hash_bytes((const unsigned char *) image, length);
}

void
shuttle_key_shape_init(ShuttleKeyShape *shape, int ncolumns, EState *estate)
{
	shape->ncolumns = ncolumns;
	shape->columns = palloc0(sizeof(ShuttleKeyColumn) * ncolumns);
	shape->econtext = CreateExprContext(estate);
	shape->values = palloc0(sizeof(Datum) * ncolumns);
	shape->nulls = palloc0(sizeof(bool) * ncolumns);
	initStringInfo(&shape->image);
}

ShuttleKeySet *
shuttle_key_set_create(ShuttleKeyShape *shape, int expected, MemoryContext cxt)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	ShuttleKeySet *set = palloc0(sizeof(ShuttleKeySet));
	int			nslots = FIRST_SIZE;

	set->cxt = cxt;
	set->shape = shape;
	set->size = Max(expected, 1);
	set->values = palloc(sizeof(Datum *) * shape->ncolumns);
	set->nulls = palloc(sizeof(bool *) * shape->ncolumns);
	for (int i = 0; i < shape->ncolumns; i++)
	{
		set->values[i] = palloc(sizeof(Datum) * set->size);
		set->nulls[i] = palloc(sizeof(bool) * set->size);
	}
	set->images = palloc(sizeof(char *) * set->size);
	set->image_lengths = palloc(sizeof(int) * set->size);
	set->head = palloc(sizeof(int) * set->size);
	set->tail = palloc(sizeof(int) * set->size);
	while (nslots < set->size * 2)
		nslots *= 2;
	set->slots = palloc0(sizeof(int) * nslots);
	set->nslots = nslots;
	MemoryContextSwitchTo(old);
	return set;
}

/* Appends one value to the image of the key that is being evaluated. */
static Datum
append_value(StringInfo image, const ShuttleKeyColumn *column, Datum value)
{
	Size		length;

	if (column->by_value)
	{
		appendBinaryStringInfo(image, (char *) &value, sizeof(Datum));
		return value;
	}
	if (column->length == -1)
	{
		value = PointerGetDatum(PG_DETOAST_DATUM_PACKED(value));
		length = VARSIZE_ANY_EXHDR(DatumGetPointer(value));
		appendBinaryStringInfo(image, (char *) &length, sizeof(length));
		appendBinaryStringInfo(image, VARDATA_ANY(DatumGetPointer(value)),
							   length);
		return value;
	}
	length = datumGetSize(value, false, column->length);
	appendBinaryStringInfo(image, (char *) &length, sizeof(length));
	appendBinaryStringInfo(image, DatumGetPointer(value), length);
	return value;
}

/*
 * Evaluates the expressions of a key into its shape.  Returns false if the key
 * has a NULL with which its scan has no rows.
 */
static bool
evaluate_key(ShuttleKeyShape *shape)
{
	MemoryContext old;
	bool		possible = true;

	ResetExprContext(shape->econtext);
	old = MemoryContextSwitchTo(shape->econtext->ecxt_per_tuple_memory);
	resetStringInfo(&shape->image);
	for (int i = 0; i < shape->ncolumns; i++)
	{
		const ShuttleKeyColumn *column = &shape->columns[i];
		Datum		value;

		value = ExecEvalExpr(column->expr, shape->econtext, &shape->nulls[i]);
		appendStringInfoChar(&shape->image, shape->nulls[i] ? 1 : 0);
		if (!shape->nulls[i])
			value = append_value(&shape->image, column, value);
		else if (column->null_is_empty)
			possible = false;
		shape->values[i] = value;
	}
	MemoryContextSwitchTo(old);
	return possible;
}

/* Adds the key evaluated last. */
static int
add_key(ShuttleKeySet *set, int slot)
{
	ShuttleKeyShape *shape = set->shape;
	MemoryContext old = MemoryContextSwitchTo(set->cxt);
	int			key;

	if (set->nkeys == set->size)
		grow_keys(set);
	key = set->nkeys++;
	set->images[key] = palloc(shape->image.len);
	memcpy(set->images[key], shape->image.data, shape->image.len);
	set->image_lengths[key] = shape->image.len;
	for (int i = 0; i < shape->ncolumns; i++)
	{
		const ShuttleKeyColumn *column = &shape->columns[i];

		set->nulls[i][key] = shape->nulls[i];
		set->values[i][key] = shape->nulls[i] ? (Datum) 0 :
			datumCopy(shape->values[i], column->by_value, column->length);
	}
	set->head[key] = set->tail[key] = -1;
	set->slots[slot] = key + 1;
	if (set->nkeys * 2 > set->nslots)
		rehash(set, set->nslots * 2);
	MemoryContextSwitchTo(old);
	return key;
}

int
shuttle_key_set_find(ShuttleKeySet *set, bool add)
{
	ShuttleKeyShape *shape = set->shape;
	StringInfo	image = &shape->image;
	int			slot;

	if (!evaluate_key(shape))
		return SHUTTLE_KEY_EMPTY;
	slot = hash_image(image->data, image->len) & (set->nslots - 1);
	while (set->slots[slot] != 0)
	{
		int			key = set->slots[slot] - 1;

		if (set->image_lengths[key] == image->len &&
			memcmp(set->images[key], image->data, image->len) == 0)
			return key;
		slot = (slot + 1) & (set->nslots - 1);
	}
	return add ? add_key(set, slot) : SHUTTLE_KEY_UNKNOWN;
}

/* Makes room for twice as many keys. */
static void
grow_keys(ShuttleKeySet *set)
{
	set->size *= 2;
	for (int i = 0; i < set->shape->ncolumns; i++)
	{
		set->values[i] = repalloc(set->values[i], sizeof(Datum) * set->size);
		set->nulls[i] = repalloc(set->nulls[i], sizeof(bool) * set->size);
	}
	set->images = repalloc(set->images, sizeof(char *) * set->size);
	set->image_lengths = repalloc(set->image_lengths, sizeof(int) * set->size);
	set->head = repalloc(set->head, sizeof(int) * set->size);
	set->tail = repalloc(set->tail, sizeof(int) * set->size);
}

static void
rehash(ShuttleKeySet *set, int nslots)
{
	pfree(set->slots);
	set->slots = palloc0(sizeof(int) * nslots);
	set->nslots = nslots;
	for (int key = 0; key < set->nkeys; key++)
	{
		int			slot = hash_image(set->images[key],
									  set->image_lengths[key]) & (nslots - 1);

		while (set->slots[slot] != 0)
			slot = (slot + 1) & (nslots - 1);
		set->slots[slot] = key + 1;
	}
}

const char *
shuttle_key_column_type(const ShuttleKeyColumn *column)
{
	Oid			type = column->as_text ? TEXTARRAYOID : get_array_type(column->type);
	bits16		flags = FORMAT_TYPE_TYPEMOD_GIVEN;

	if (column->type >= FirstGenbkiObjectId)
		flags |= FORMAT_TYPE_FORCE_QUALIFY;

	/*
	 * With a type modifier of -1 given, arrays print as bpchar[] and "bit"[],
	 * not as character[], which would be character(1)[].
	 */
	return format_type_extended(type, -1, flags);
}

/* The keys' texts, for a type without an array type of its own. */
static Datum
text_array(const ShuttleKeySet *set, int column, int first, int nkeys)
{
	FmgrInfo   *output = &set->shape->columns[column].output;
	const bool *nulls = set->nulls[column] + first;
	Datum	   *texts = palloc0(sizeof(Datum) * nkeys);
	int			dims[1] = {nkeys};
	int			bounds[1] = {1};
	int			nestlevel = shuttle_transmission_begin();

	for (int i = 0; i < nkeys; i++)
	{
		Datum		value = set->values[column][first + i];

		if (!nulls[i])
			texts[i] = CStringGetTextDatum(OutputFunctionCall(output, value));
	}
	shuttle_transmission_end(nestlevel);
	return PointerGetDatum(construct_md_array(texts, (bool *) nulls, 1, dims,
											  bounds, TEXTOID, -1, false,
											  TYPALIGN_INT));
}

Datum
shuttle_key_set_array(const ShuttleKeySet *set, int column, int first, int nkeys)
{
	const ShuttleKeyColumn *c = &set->shape->columns[column];
	int			dims[1] = {nkeys};
	int			bounds[1] = {1};
	Datum	   *values;

	if (c->as_text)
		return text_array(set, column, first, nkeys);

	/* a copy, for values with a short header are replaced in there */
	values = palloc(sizeof(Datum) * nkeys);
	memcpy(values, set->values[column] + first, sizeof(Datum) * nkeys);
	return PointerGetDatum(construct_md_array(values,
											  set->nulls[column] + first, 1,
											  dims, bounds, c->type, c->length,
											  c->by_value, c->align));
}
