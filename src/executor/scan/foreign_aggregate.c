/*-------------------------------------------------------------------------
 * foreign_aggregate.c
 *	  Makes states of partial aggregates from a node's answers.
 *
 * A node is asked for ordinary aggregates: count, sum, sum of squares. Core
 * combines transition states, which are arrays or the output of core's
 * serialization functions. The latter's format was stable from 15 to 18: a
 * count, a sum as digits of a numeric, and so on; since 19 sums of integers
 * have 128 bits. What nodes are asked for does not depend on their version, so
 * versions may be mixed. For NaN and infinities the
 * sum is NaN or infinite, which is all that the state needs.
 *
 * Memory: states are made in the memory of the row being decoded.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "libpq/pqformat.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/scan/remote_values.h"
#include "executor/shuttle_executor.h"
#include "storage/shuttle_storage.h"

/* Fields before the digits in a numeric's binary format. */
#define NUMERIC_HEADER_FIELDS 4
#define NUMERIC_BASE 10000

/* A computed column. */
typedef struct StateColumn
{
	ShuttleStateKind kind;
	int			column;			/* from 0 */
	int			count;			/* source columns, from 0 */
	int			sum;			/* -1: none; also squares */
	int			squares;
	const struct varlena *delimiter;	/* for text; or NULL */
} StateColumn;

typedef struct StateColumns
{
	int			ncolumns;
	StateColumn columns[FLEXIBLE_ARRAY_MEMBER];
} StateColumns;

static const struct varlena *find_delimiter(const ForeignScan *plan, int column);
static void compute_states(void *arg, Datum *values, bool *nulls);
static bool copies_answer(ShuttleStateKind kind);
static void copy_answer(const StateColumn *column, Datum *values, bool *nulls);
static Datum make_state(const StateColumn *column, const Datum *values,
						const bool *nulls);

void
shuttle_foreign_states_add(ShuttleDecoder *decoder, const ForeignScan *plan,
						   MemoryContext owner)
{
	List	   *packed = shuttle_postgres_fdw_scan_states(plan);
	StateColumns *states;
	ListCell   *lc;

	if (packed == NIL)
		return;
	states = MemoryContextAlloc(owner, offsetof(StateColumns, columns) +
								list_length(packed) * sizeof(StateColumn));
	states->ncolumns = 0;
	foreach(lc, packed)
	{
		const List *numbers = lfirst(lc);
		StateColumn *column = &states->columns[states->ncolumns++];

		Assert(list_length(numbers) >= 3 && list_length(numbers) <= 5);
		column->kind = linitial_int(numbers);
		column->column = lsecond_int(numbers) - 1;
		column->count = lthird_int(numbers) - 1;
		column->sum = list_length(numbers) > 3 ? lfourth_int(numbers) - 1 : -1;
		column->squares = list_length(numbers) > 4 ? list_nth_int(numbers, 4) - 1 : -1;
		column->delimiter = column->kind == SHUTTLE_STATE_TEXT ?
			find_delimiter(plan, column->column) : NULL;
	}
	shuttle_row_decoder_set_finish(decoder, compute_states, states);
}

bool
shuttle_foreign_aggregate_collects(const ForeignScan *scan)
{
	ListCell   *lc;

	foreach(lc, shuttle_postgres_fdw_scan_states(scan))
	{
		if (copies_answer(linitial_int((const List *) lfirst(lc))))
			return true;
	}
	return false;
}

/* The constant delimiter of string_agg(). */
static const struct varlena *
find_delimiter(const ForeignScan *plan, int column)
{
	const TargetEntry *entry = list_nth_node(TargetEntry, plan->fdw_scan_tlist, column);
	const TargetEntry *argument = lsecond_node(TargetEntry,
											   castNode(Aggref, entry->expr)->args);
	const Const *delimiter = castNode(Const, argument->expr);

	return delimiter->constisnull ? NULL :
		PG_DETOAST_DATUM_PACKED(delimiter->constvalue);
}

static void
compute_states(void *arg, Datum *values, bool *nulls)
{
	const StateColumns *states = arg;

	for (int i = 0; i < states->ncolumns; i++)
	{
		const StateColumn *column = &states->columns[i];

		if (copies_answer(column->kind))
		{
			copy_answer(column, values, nulls);
			continue;
		}
		values[column->column] = make_state(column, values, nulls);
		nulls[column->column] = false;
	}
}

/* ---- what is collected */

static bool
copies_answer(ShuttleStateKind kind)
{
	return kind == SHUTTLE_STATE_ARRAY || kind == SHUTTLE_STATE_TEXT;
}

/* NULL stays NULL. An array is its own state. */
static void
copy_answer(const StateColumn *column, Datum *values, bool *nulls)
{
	Datum		answer = values[column->count];

	nulls[column->column] = nulls[column->count];
	if (nulls[column->count])
		return;
	if (column->kind == SHUTTLE_STATE_TEXT)
		answer = PointerGetDatum(shuttle_collected_text(column->delimiter,
														PG_DETOAST_DATUM_PACKED(answer)));
	values[column->column] = answer;
}

/* ---- numbers */

/* NULL (no values) becomes zero in a state. */
static Datum
or_zero(const Datum *values, const bool *nulls, int column, Datum zero)
{
	return nulls[column] ? zero : values[column];
}

static Datum
numeric_or_zero(const Datum *values, const bool *nulls, int column)
{
	if (nulls[column])
		return DirectFunctionCall1(int8_numeric, Int64GetDatum(0));
	return values[column];
}

/* Reads a numeric's header: number of digits, weight, sign, scale; the digits
 * follow in *fields. */
static void
read_number(Datum number, StringInfo fields, int header[NUMERIC_HEADER_FIELDS])
{
	bytea	   *bytes = DatumGetByteaPP(DirectFunctionCall1(numeric_send, number));

	initReadOnlyStringInfo(fields, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
	for (int i = 0; i < NUMERIC_HEADER_FIELDS; i++)
		header[i] = (int16) pq_getmsgint(fields, sizeof(int16));
}

/* Writes a numeric as core's serialization does; returns its scale. */
static int
send_number(StringInfo state, Datum number)
{
	StringInfoData fields;
	int			header[NUMERIC_HEADER_FIELDS];

	read_number(number, &fields, header);
	for (int i = 0; i < NUMERIC_HEADER_FIELDS; i++)
		pq_sendint32(state, header[i]);
	for (int i = 0; i < header[0]; i++)
		pq_sendint16(state, pq_getmsgint(&fields, sizeof(int16)));
	return header[NUMERIC_HEADER_FIELDS - 1];
}

/* Writes a numeric without fraction as 128 bits, the highest first. */
static void
send_int128(StringInfo state, Datum number)
{
	uint32		parts[4] = {0}; /* the lowest first */
	StringInfoData fields;
	int			header[NUMERIC_HEADER_FIELDS];
	uint64		carry;

	read_number(number, &fields, header);
	for (int i = 0; i <= header[1]; i++)
	{
		carry = i < header[0] ? pq_getmsgint(&fields, sizeof(int16)) : 0;
		for (int j = 0; j < lengthof(parts); j++)
		{
			carry += (uint64) parts[j] * NUMERIC_BASE;
			parts[j] = (uint32) carry;
			carry >>= 32;
		}
	}
	carry = header[2] != 0;		/* negative: the two's complement */
	for (int j = 0; j < lengthof(parts) && header[2] != 0; j++)
	{
		carry += (uint32) ~parts[j];
		parts[j] = (uint32) carry;
		carry >>= 32;
	}
	for (int j = lengthof(parts) - 1; j >= 0; j--)
		pq_sendint32(state, parts[j]);
}

static void
send_integer(StringInfo state, Datum number)
{
	if (SHUTTLE_STATES_HAVE_INT128)
		send_int128(state, number);
	else
		(void) send_number(state, number);
}

/* Sums, and sums of squares, of integers. */
static Datum
make_int_state(const StateColumn *column, const Datum *values, const bool *nulls)
{
	StringInfoData state;

	pq_begintypsend(&state);
	pq_sendint64(&state, DatumGetInt64(values[column->count]));
	send_integer(&state, numeric_or_zero(values, nulls, column->sum));
	if (column->squares >= 0)
		send_integer(&state, numeric_or_zero(values, nulls, column->squares));
	return PointerGetDatum(pq_endtypsend(&state));
}

/* The same for numerics. Core counts NaN and infinities separately; for the
 * result only the sum matters, so all values count as what the sum is. */
static Datum
make_numeric_state(const StateColumn *column, const Datum *values, const bool *nulls)
{
	Datum		zero = DirectFunctionCall1(int8_numeric, Int64GetDatum(0));
	Datum		sum = numeric_or_zero(values, nulls, column->sum);
	int64		count = DatumGetInt64(values[column->count]);
	bool		is_nan = numeric_is_nan(DatumGetNumeric(sum));
	bool		is_infinite = numeric_is_inf(DatumGetNumeric(sum));
	bool		has_digits = !is_nan && !is_infinite;
	bool		is_positive;
	StringInfoData state;
	int			scale;

	is_positive = is_infinite &&
		DatumGetBool(DirectFunctionCall2(numeric_gt, sum, zero));

	pq_begintypsend(&state);
	pq_sendint64(&state, has_digits ? count : 0);
	scale = send_number(&state, has_digits ? sum : zero);
	if (column->squares >= 0)
		(void) send_number(&state, has_digits ?
						   numeric_or_zero(values, nulls, column->squares) : zero);
	pq_sendint32(&state, scale);
	pq_sendint64(&state, has_digits ? count : 0);
	pq_sendint64(&state, is_nan ? count : 0);
	pq_sendint64(&state, is_infinite && is_positive ? count : 0);
	pq_sendint64(&state, is_infinite && !is_positive ? count : 0);
	return PointerGetDatum(pq_endtypsend(&state));
}

static Datum
make_int_average(const StateColumn *column, const Datum *values, const bool *nulls)
{
	Datum		elements[2];

	elements[0] = values[column->count];
	elements[1] = or_zero(values, nulls, column->sum, Int64GetDatum(0));
	return PointerGetDatum(construct_array(elements, lengthof(elements), INT8OID,
										   sizeof(int64), FLOAT8PASSBYVAL,
										   TYPALIGN_DOUBLE));
}

/* The third element is N times the variance. */
static Datum
make_float_squares(const StateColumn *column, const Datum *values, const bool *nulls)
{
	Datum		zero = Float8GetDatum(0);
	double		count = DatumGetInt64(values[column->count]);
	Datum		variance = or_zero(values, nulls, column->squares, zero);
	Datum		elements[3];

	elements[0] = Float8GetDatum(count);
	elements[1] = or_zero(values, nulls, column->sum, zero);
	elements[2] = Float8GetDatum(DatumGetFloat8(variance) * count);
	return PointerGetDatum(construct_array(elements, lengthof(elements), FLOAT8OID,
										   sizeof(float8), FLOAT8PASSBYVAL,
										   TYPALIGN_DOUBLE));
}

/* ---- intervals */

/* Until 16: the sum, and the count as an interval's time. */
static Datum
make_interval_average(const StateColumn *column, const Datum *values,
					  const bool *nulls)
{
	Interval	zero = {0};
	Interval	count = {0};
	Datum		elements[2];

	count.time = DatumGetInt64(values[column->count]);
	elements[0] = or_zero(values, nulls, column->sum, IntervalPGetDatum(&zero));
	elements[1] = IntervalPGetDatum(&count);
	return PointerGetDatum(construct_array(elements, lengthof(elements), INTERVALOID,
										   sizeof(Interval), false, TYPALIGN_DOUBLE));
}

/* Since 17: infinite intervals are counted separately. */
static Datum
make_interval_sum(const StateColumn *column, const Datum *values, const bool *nulls)
{
	Interval	zero = {0};
	Interval   *sum;
	int64		count = DatumGetInt64(values[column->count]);
	bool		is_negative;
	bool		is_positive;
	StringInfoData state;

	sum = DatumGetIntervalP(or_zero(values, nulls, column->sum,
									IntervalPGetDatum(&zero)));
	is_negative = INTERVAL_IS_NOBEGIN(sum);
	is_positive = !is_negative && INTERVAL_NOT_FINITE(sum);
	if (is_negative || is_positive)
		sum = &zero;

	pq_begintypsend(&state);
	pq_sendint64(&state, is_negative || is_positive ? 0 : count);
	pq_sendint64(&state, sum->time);
	pq_sendint32(&state, sum->day);
	pq_sendint32(&state, sum->month);
	pq_sendint64(&state, is_positive ? count : 0);
	pq_sendint64(&state, is_negative ? count : 0);
	return PointerGetDatum(pq_endtypsend(&state));
}

static Datum
make_state(const StateColumn *column, const Datum *values, const bool *nulls)
{
	if (nulls[column->count])
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INCONSISTENT_DESCRIPTOR_INFORMATION),
				 errmsg("a storage node counted rows and answered NULL")));
	switch (column->kind)
	{
		case SHUTTLE_STATE_INT_AVERAGE:
			return make_int_average(column, values, nulls);
		case SHUTTLE_STATE_FLOAT_SQUARES:
			return make_float_squares(column, values, nulls);
		case SHUTTLE_STATE_INT_SUM:
		case SHUTTLE_STATE_INT_SQUARES:
			return make_int_state(column, values, nulls);
		case SHUTTLE_STATE_NUMERIC_SUM:
		case SHUTTLE_STATE_NUMERIC_SQUARES:
			return make_numeric_state(column, values, nulls);
		case SHUTTLE_STATE_INTERVAL_AVERAGE:
			return make_interval_average(column, values, nulls);
		case SHUTTLE_STATE_INTERVAL_SUM:
			return make_interval_sum(column, values, nulls);
		case SHUTTLE_STATE_AS_IS:
		case SHUTTLE_STATE_ARRAY:
		case SHUTTLE_STATE_TEXT:
			break;
	}
	elog(ERROR, "unexpected state of a partial aggregate");
}
