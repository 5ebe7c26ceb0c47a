/*-------------------------------------------------------------------------
 * binary_values.c
 *	  Reads values in the binary format of their type.
 *
 * Formats are those of the types' send functions. Common types are read here,
 * others by their receive functions. A node is not trusted: a value of wrong
 * length or out of range is an error.
 *
 * Memory: by-reference values are in the room of the row; results of receive
 * functions in the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "lib/stringinfo.h"
#include "port/pg_bswap.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "base/shuttle_compat.h"
#include "storage/values/decoders.h"

/* As in jsonb_send(). */
#define JSONB_VERSION 1

static Datum read_printed(ShuttleValueReader *reader, char *value, int length);
static Datum receive_value(ShuttleValueReader *reader, char *value, int length);
static void make_nans_equal(ArrayType *array);
pg_noreturn static void refuse_value(void);
pg_noreturn static void refuse_time(const char *what);

/* Values may be unaligned. */
static inline uint16
read_uint16(const char *value)
{
	uint16		bits;

	memcpy(&bits, value, sizeof(bits));
	return pg_ntoh16(bits);
}

static inline uint32
read_uint32(const char *value)
{
	uint32		bits;

	memcpy(&bits, value, sizeof(bits));
	return pg_ntoh32(bits);
}

static inline uint64
read_uint64(const char *value)
{
	uint64		bits;

	memcpy(&bits, value, sizeof(bits));
	return pg_ntoh64(bits);
}

static inline void
check_length(int length, int expected)
{
	if (unlikely(length != expected))
		refuse_value();
}

/* As in text, there is only one NaN. */
static inline float4
read_float4(const char *value)
{
	uint32		bits = read_uint32(value);
	float4		number;

	memcpy(&number, &bits, sizeof(number));
	return isnan(number) ? get_float4_nan() : number;
}

static inline float8
read_float8(const char *value)
{
	uint64		bits = read_uint64(value);
	float8		number;

	memcpy(&number, &bits, sizeof(number));
	return isnan(number) ? get_float8_nan() : number;
}

static inline Datum
read_timestamp(const char *value)
{
	Timestamp	timestamp = (Timestamp) read_uint64(value);

	if (unlikely(!TIMESTAMP_NOT_FINITE(timestamp) &&
				 !IS_VALID_TIMESTAMP(timestamp)))
		refuse_time("timestamp");
	return TimestampGetDatum(timestamp);
}

static inline Datum
read_date(const char *value)
{
	DateADT		date = (DateADT) read_uint32(value);

	if (unlikely(!DATE_NOT_FINITE(date) && !IS_VALID_DATE(date)))
		refuse_time("date");
	return DateADTGetDatum(date);
}

static inline Datum
read_time(const char *value)
{
	TimeADT		time = (TimeADT) read_uint64(value);

	if (unlikely(time < 0 || time > USECS_PER_DAY))
		refuse_time("time");
	return TimeADTGetDatum(time);
}

static inline Datum
read_uuid(const char *value, ShuttleValueRoom *room)
{
	void	   *uuid = shuttle_room_take(room, UUID_LEN);

	memcpy(uuid, value, UUID_LEN);
	return PointerGetDatum(uuid);
}

/* Makes a varlena of the bytes. */
static inline Datum
read_bytes(const char *value, int length, ShuttleValueRoom *room)
{
	bytea	   *bytes = shuttle_room_take(room, VARHDRSZ + length);

	SET_VARSIZE(bytes, VARHDRSZ + length);
	memcpy(VARDATA(bytes), value, length);
	return PointerGetDatum(bytes);
}

Datum
shuttle_binary_value(ShuttleValueReader *reader, char *value, int length,
					 ShuttleValueRoom *room)
{
	switch (reader->kind)
	{
		case VALUE_BOOL:
			check_length(length, 1);
			return BoolGetDatum(value[0] != 0);

		case VALUE_INT2:
			check_length(length, 2);
			return Int16GetDatum((int16) read_uint16(value));

		case VALUE_INT4:
			check_length(length, 4);
			return Int32GetDatum((int32) read_uint32(value));

		case VALUE_INT8:
			check_length(length, 8);
			return Int64GetDatum((int64) read_uint64(value));

		case VALUE_OID:
			check_length(length, 4);
			return ObjectIdGetDatum(read_uint32(value));

		case VALUE_FLOAT4:
			check_length(length, 4);
			return Float4GetDatum(read_float4(value));

		case VALUE_FLOAT8:
			check_length(length, 8);
			return Float8GetDatum(read_float8(value));

		case VALUE_DATE:
			check_length(length, 4);
			return read_date(value);

		case VALUE_TIME:
			check_length(length, 8);
			return read_time(value);

		case VALUE_TIMESTAMP:
		case VALUE_TIMESTAMPTZ:
			check_length(length, 8);
			return read_timestamp(value);

		case VALUE_UUID:
			check_length(length, UUID_LEN);
			return read_uuid(value, room);

		case VALUE_TEXT:
			shuttle_check_encoding(value, length);
			return read_bytes(value, length, room);

		case VALUE_PRINTED:
			return read_printed(reader, value, length);

		case VALUE_JSONB:
			if (unlikely(length < 1 || value[0] != JSONB_VERSION))
				refuse_value();
			return read_printed(reader, value + 1, length - 1);

		case VALUE_BYTEA:
			return read_bytes(value, length, room);

		case VALUE_OTHER:
			break;
	}
	return receive_value(reader, value, length);
}

static Datum
read_printed(ShuttleValueReader *reader, char *value, int length)
{
	shuttle_check_encoding(value, length);
	return shuttle_stored_value(reader->stored, value);
}

static Datum
receive_value(ShuttleValueReader *reader, char *value, int length)
{
	StringInfoData message;
	Datum		result;

	initReadOnlyStringInfo(&message, value, length);
	result = ReceiveFunctionCall(&reader->receive, &message,
								 reader->receive_parameter, reader->typmod);
	if (unlikely(message.cursor != message.len))
		refuse_value();
	if (reader->has_floats)
		make_nans_equal(DatumGetArrayTypeP(result));
	return result;
}

/* For an array just made by array_recv(): its elements are adjacent. */
static void
make_nans_equal(ArrayType *array)
{
	char	   *data = ARR_DATA_PTR(array);
	char	   *end = (char *) array + VARSIZE(array);

	if (ARR_ELEMTYPE(array) == FLOAT8OID)
	{
		for (float8 *number = (float8 *) data; (char *) number < end; number++)
		{
			if (isnan(*number))
				*number = get_float8_nan();
		}
	}
	else
	{
		for (float4 *number = (float4 *) data; (char *) number < end; number++)
		{
			if (isnan(*number))
				*number = get_float4_nan();
		}
	}
}

static void
refuse_value(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("incorrect binary data format"),
			 errhint("Set \"shuttle.enable_binary_transfer\" to off if the storage node is no PostgreSQL server.")));
}

static void
refuse_time(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
			 errmsg("%s out of range", what)));
}
