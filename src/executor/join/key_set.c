/*-------------------------------------------------------------------------
 * key_set.c
 *	  The distinct keys of one batch, for a scan or for routing.
 *
 * Keys are compared by the bytes of their values, never by their types'
 * equality: 1.0 and 1.00, or two texts that a collation holds equal, are
 * different keys. Two images of one value only cost another key. Memory: all
 * of a set lives in its context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "executor/executor_types.h"
#include "executor/join/key_set.h"
#include "storage/shuttle_storage.h"

#define FIRST_SIZE 16

static void grow_keys(ShuttleKeySet *set);
static void rehash(ShuttleKeySet *set, int nslots);

void
shuttle_key_shape_init(ShuttleKeyShape *shape, int ncolumns, EState *estate)
{
	shape->ncolumns = ncolumns;
	shape->columns = palloc0(sizeof(ShuttleKeyColumn) * ncolumns);
	shape->econtext = CreateExprContext(estate);
	shape->values = palloc0(sizeof(Datum) * ncolumns);
	shape->nulls = palloc0(sizeof(bool) * ncolumns);
}

void
shuttle_key_shape_describe(ShuttleKeyShape *shape, int column, Expr *expr,
						   PlanState *parent)
{
	ShuttleKeyColumn *c = &shape->columns[column];

	c->expr = ExecInitExpr(expr, parent);
	c->type = exprType((Node *) expr);
	get_typlenbyvalalign(c->type, &c->length, &c->by_value, &c->align);
	while (IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	c->param = -1;
	if (IsA(expr, Param) && ((Param *) expr)->paramkind == PARAM_EXEC)
		c->param = ((Param *) expr)->paramid;

	/* varlena values may have to be detoasted */
	if (c->param < 0 || c->length == -1)
		shape->allocates = true;
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
	set->hashes = palloc(sizeof(uint32) * set->size);
	set->head = palloc(sizeof(int) * set->size);
	set->tail = palloc(sizeof(int) * set->size);
	while (nslots < set->size * 2)
		nslots *= 2;
	set->slots = palloc0(sizeof(int) * nslots);
	set->nslots = nslots;
	MemoryContextSwitchTo(old);
	return set;
}

/* The bytes of a by-reference value, without a varlena header. */
static const char *
find_image(const ShuttleKeyColumn *column, Datum value, Size *length)
{
	if (column->length == -1)
	{
		*length = VARSIZE_ANY_EXHDR(DatumGetPointer(value));
		return VARDATA_ANY(DatumGetPointer(value));
	}
	*length = datumGetSize(value, false, column->length);
	return DatumGetPointer(value);
}

/* Compares two values of a column that are not NULL. */
static inline bool
is_same_value(const ShuttleKeyColumn *column, Datum a, Datum b)
{
	const char *image_a;
	const char *image_b;
	Size		length_a;
	Size		length_b;

	if (column->by_value)
		return a == b;
	image_a = find_image(column, a, &length_a);
	image_b = find_image(column, b, &length_b);
	return length_a == length_b && memcmp(image_a, image_b, length_a) == 0;
}

/* Adds a value to the hash of the columns before it. */
static inline uint32
hash_value(const ShuttleKeyColumn *column, uint32 hash, Datum value)
{
	const char *image;
	Size		length;

	if (column->by_value)
		return hash_combine(hash, murmurhash32((uint32) value ^
											   (uint32) ((uint64) value >> 32)));
	image = find_image(column, value, &length);
	return hash_combine(hash, hash_bytes((const unsigned char *) image, length));
}

/* One value of a key. A parameter that is set is read directly; that of an
 * initplan that has not run is evaluated. */
static inline Datum
evaluate_column(const ShuttleKeyColumn *column, ExprContext *econtext,
				bool *is_null)
{
	const ParamExecData *param;

	if (column->param >= 0)
	{
		param = &econtext->ecxt_param_exec_vals[column->param];
		if (param->execPlan == NULL)
		{
			*is_null = param->isnull;
			return param->value;
		}
	}
	return ExecEvalExpr(column->expr, econtext, is_null);
}

/* Evaluates and hashes the columns; see evaluate_key(). */
static inline bool
evaluate_columns(ShuttleKeyShape *shape)
{
	bool		possible = true;
	uint32		hash = 0;

	for (int i = 0; i < shape->ncolumns; i++)
	{
		const ShuttleKeyColumn *column = &shape->columns[i];
		Datum		value = evaluate_column(column, shape->econtext,
											&shape->nulls[i]);

		if (shape->nulls[i])
		{
			possible = possible && !column->null_is_empty;
			hash = hash_combine(hash, 1);
		}
		else
		{
			if (!column->by_value && column->length == -1)
				value = PointerGetDatum(PG_DETOAST_DATUM_PACKED(value));
			hash = hash_value(column, hash, value);
		}
		shape->values[i] = value;
	}
	shape->hash = hash;
	return possible;
}

/* Evaluates the expressions of a key into its shape. Returns false if the key
 * has a NULL with which its scan has no rows. */
static inline bool
evaluate_key(ShuttleKeyShape *shape)
{
	MemoryContext old;
	bool		possible;

	if (!shape->allocates)
		return evaluate_columns(shape);
	ResetExprContext(shape->econtext);
	old = MemoryContextSwitchTo(shape->econtext->ecxt_per_tuple_memory);
	possible = evaluate_columns(shape);
	MemoryContextSwitchTo(old);
	return possible;
}

/* True if a key of the set equals the key evaluated last. */
static inline bool
is_same_key(const ShuttleKeySet *set, int key)
{
	const ShuttleKeyShape *shape = set->shape;

	if (set->hashes[key] != shape->hash)
		return false;
	for (int i = 0; i < shape->ncolumns; i++)
	{
		if (set->nulls[i][key] != shape->nulls[i] ||
			(!shape->nulls[i] &&
			 !is_same_value(&shape->columns[i], set->values[i][key],
							shape->values[i])))
			return false;
	}
	return true;
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
	set->hashes[key] = shape->hash;
	for (int i = 0; i < shape->ncolumns; i++)
	{
		const ShuttleKeyColumn *column = &shape->columns[i];

		set->nulls[i][key] = shape->nulls[i];
		if (shape->nulls[i])
			set->values[i][key] = (Datum) 0;
		else if (column->by_value)
			set->values[i][key] = shape->values[i];
		else
			set->values[i][key] = datumCopy(shape->values[i], false,
											column->length);
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
	if (!evaluate_key(set->shape))
		return SHUTTLE_KEY_EMPTY;
	return shuttle_key_set_find_evaluated(set, add);
}

void
shuttle_key_set_evaluate_as(const ShuttleKeySet *set, int key)
{
	ShuttleKeyShape *shape = set->shape;

	for (int i = 0; i < shape->ncolumns; i++)
	{
		shape->values[i] = set->values[i][key];
		shape->nulls[i] = set->nulls[i][key];
	}
	shape->hash = set->hashes[key];
}

void
shuttle_key_set_remember(ShuttleKeySet *set, int key, int entry)
{
	if (set->entries == NULL)
	{
		set->entries = MemoryContextAlloc(set->cxt, sizeof(int) * set->size);
		memset(set->entries, 0xff, sizeof(int) * set->size);
	}
	set->entries[key] = entry;
}

int
shuttle_key_set_find_evaluated(ShuttleKeySet *set, bool add)
{
	ShuttleKeyShape *shape = set->shape;
	int			slot;

	slot = shape->hash & (set->nslots - 1);
	while (set->slots[slot] != 0)
	{
		int			key = set->slots[slot] - 1;

		if (is_same_key(set, key))
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
	set->hashes = repalloc(set->hashes, sizeof(uint32) * set->size);
	set->head = repalloc(set->head, sizeof(int) * set->size);
	set->tail = repalloc(set->tail, sizeof(int) * set->size);
	if (set->entries != NULL)
	{
		set->entries = repalloc(set->entries, sizeof(int) * set->size);
		memset(set->entries + set->nkeys, 0xff,
			   sizeof(int) * (set->size - set->nkeys));
	}
}

static void
rehash(ShuttleKeySet *set, int nslots)
{
	pfree(set->slots);
	set->slots = palloc0(sizeof(int) * nslots);
	set->nslots = nslots;
	for (int key = 0; key < set->nkeys; key++)
	{
		int			slot = set->hashes[key] & (nslots - 1);

		while (set->slots[slot] != 0)
			slot = (slot + 1) & (nslots - 1);
		set->slots[slot] = key + 1;
	}
}

const char *
shuttle_key_column_type(const ShuttleKeyColumn *column)
{
	Oid			type = column->as_text ? TEXTARRAYOID : get_array_type(column->type);
	uint16		flags = FORMAT_TYPE_TYPEMOD_GIVEN;

	if (column->type >= FirstGenbkiObjectId)
		flags |= FORMAT_TYPE_FORCE_QUALIFY;

	/*
	 * With a type modifier of -1 given, arrays print as bpchar[] and "bit"[],
	 * not as character[], which would be character(1)[].
	 */
	return format_type_extended(type, -1, flags);
}

/* The keys as text[], for a type that cannot be unnested. */
static Datum
text_array(const ShuttleKeySet *set, int column, int first, int nkeys)
{
	FmgrInfo   *output = &set->shape->columns[column].output;
	const bool *nulls = set->nulls[column] + first;
	Datum	   *texts = palloc0(sizeof(Datum) * nkeys);
	int			dims[1] = {nkeys};
	int			bounds[1] = {1};
	int			nestlevel = shuttle_row_transmission_begin(SHUTTLE_PRINT_ALL);

	for (int i = 0; i < nkeys; i++)
	{
		Datum		value = set->values[column][first + i];

		if (!nulls[i])
			texts[i] = CStringGetTextDatum(OutputFunctionCall(output, value));
	}
	shuttle_row_transmission_end(nestlevel);
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

	/* a copy, as construct_md_array() detoasts values in place */
	values = palloc(sizeof(Datum) * nkeys);
	memcpy(values, set->values[column] + first, sizeof(Datum) * nkeys);
	return PointerGetDatum(construct_md_array(values,
											  set->nulls[column] + first, 1,
											  dims, bounds, c->type, c->length,
											  c->by_value, c->align));
}
