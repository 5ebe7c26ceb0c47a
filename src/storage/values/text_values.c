/*-------------------------------------------------------------------------
 * text_values.c
 *	  Reads text of common types faster than their input functions.
 *
 * Only what output functions print under the settings for transmission is read
 * here; all other text, and unusual values, are left to the input function,
 * which accepts or rejects them. So the result is the same.
 *
 * Memory: by-reference values are in the room of the row.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "base/shuttle_compat.h"
#include "storage/values/decoders.h"

/* So many digits fit in any case. */
#define INT2_DIGITS 4
#define INT4_DIGITS 9
#define INT8_DIGITS 18

#define DATE_LENGTH 10			/* 2024-02-29 */
#define TIME_LENGTH 8			/* 23:59:59 */
#define UUID_TEXT_LENGTH 36

static inline bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads an optional minus sign and at most most_digits digits. */
static inline bool
read_integer(const char *text, int length, int most_digits, int64 *result)
{
	const char *end = text +length;
	bool		negative = length > 0 && *text == '-';
	int64		number = 0;

	if (negative)
		text	  ++;

	if (text == end || end - text >most_digits)
		return false;
	for (; text <end; text ++)
	{
		if (!is_digit(*text))
			return false;
		number = number * 10 + (*text -'0');
	}
	*result = negative ? -number : number;
	return true;
}

/* A number of two digits; negative if there are none. */
static inline int
read_two(const char *text)
{
	if (!is_digit(text[0]) || !is_digit(text[1]))
		return -1;
	return (text[0] - '0') *10 + (text[1] - '0');
}

/* Days since 2000-01-01 of a date with four digits for the year. */
static bool
read_day(const char *text, int *day_number)
{
	int			century = read_two(text);
	int			year = read_two(text +2);
	int			month = read_two(text +5);
	int			day = read_two(text +8);

	if (century < 0 || year < 0 || text[4] != '-' || text[7] != '-' ||
		month < 1 || month > MONTHS_PER_YEAR)
		return false;
	year += century * 100;
	if (year < 1 || day < 1 || day > day_tab[isleap(year)][month - 1])
		return false;
	*day_number = date2j(year, month, day) - POSTGRES_EPOCH_JDATE;
	return true;
}

/* Reads a time of day, with up to six decimals of seconds. Returns its end, or
 * NULL. */
static const char *
read_clock(const char *text, const char *end, int64 *result)
{
	int			hour;
	int			minute;
	int			second;
	int64		fraction = 0;
	int			unit = USECS_PER_SEC / 10;

	if (end - text <TIME_LENGTH || text[2] != ':' || text[5] != ':')
		return NULL;
	hour = read_two(text);
	minute = read_two(text +3);
	second = read_two(text +6);
	if (hour < 0 || hour >= HOURS_PER_DAY ||
		minute < 0 || minute >= MINS_PER_HOUR ||
		second < 0 || second >= SECS_PER_MINUTE)
		return NULL;
	text	  +=TIME_LENGTH;

	if (text <end && *text == '.')
	{
		for (text ++; text <end && is_digit(*text); text ++)
		{
			if (unit == 0)
				return NULL;	/* would have to be rounded */
			fraction += (*text -'0') *unit;
			unit /= 10;
		}
	}
	*result = ((hour * MINS_PER_HOUR + minute) * SECS_PER_MINUTE + second) *
		USECS_PER_SEC + fraction;
	return text;
}

/* +HH, +HH:MM or +HH:MM:SS; the end of the text has to follow. */
static bool
read_zone(const char *text, const char *end, int64 *seconds)
{
	int			length = end - text;
	int			factor = SECS_PER_HOUR;

	if ((length != 3 && length != 6 && length != 9) ||
		(text[0] != '+' && text[0] != '-'))
		return false;
	*seconds = 0;
	for (int i = 0; i < length; i += 3, factor /= 60)
	{
		int			number = read_two(text +i + 1);

		if (number < 0 || number >= MINS_PER_HOUR || (i > 0 && text[i] != ':'))
			return false;
		*seconds += number * factor;
	}
	if (*seconds >= MAX_TZDISP_HOUR * SECS_PER_HOUR)
		return false;
	if (text[0] == '-')
		*seconds = -*seconds;
	return true;
}

static bool
read_timestamp(const char *text, int length, bool has_zone, Datum *result)
{
	const char *end = text +length;
	int			day;
	int64		time;
	int64		zone_seconds = 0;

	if (length < DATE_LENGTH + 1 + TIME_LENGTH || !read_day(text, &day) ||
		text[DATE_LENGTH] != ' ')
		return false;
	text = read_clock(text +DATE_LENGTH + 1, end, &time);

	if (text == NULL ||
		(has_zone ? !read_zone(text, end, &zone_seconds) : text !=end))
		return false;
	*result = TimestampGetDatum(day * USECS_PER_DAY + time -
								zone_seconds * USECS_PER_SEC);
	return true;
}

/* Value of a hexadecimal digit, plus one; output functions print lower case. */
static const uint8 hex_digits[256] = {
	['0'] = 1,['1'] = 2,['2'] = 3,['3'] = 4,['4'] = 5,['5'] = 6,['6'] = 7,
	['7'] = 8,['8'] = 9,['9'] = 10,['a'] = 11,['b'] = 12,['c'] = 13,
	['d'] = 14,['e'] = 15,['f'] = 16,
};

static inline bool
read_hex(const char *text, int nbytes, uint8 *bytes)
{
	bool		all_digits = true;

	for (int i = 0; i < nbytes; i++)
	{
		uint8		high = hex_digits[(uint8) text[2 * i]];
		uint8		low = hex_digits[(uint8) text[2 * i + 1]];

		all_digits &= high != 0 && low != 0;
		bytes[i] = ((high - 1) << 4) | (low - 1);
	}
	return all_digits;
}

static bool
read_uuid(const char *text, int length, ShuttleValueRoom *room, Datum *result)
{
	uint8	   *uuid;

	if (length != UUID_TEXT_LENGTH || text[8] != '-' || text[13] != '-' ||
		text[18] != '-' || text[23] != '-')
		return false;
	uuid = shuttle_room_take(room, UUID_LEN);
	*result = PointerGetDatum(uuid);
	return read_hex(text, 4, uuid) && read_hex(text +9, 2, uuid + 4) &&
		read_hex(text +14, 2, uuid + 6) && read_hex(text +19, 2, uuid + 8) &&
		read_hex(text +24, 6, uuid + 10);
}

static bool
read_bytea(const char *text, int length, ShuttleValueRoom *room, Datum *result)
{
	int			nbytes = (length - 2) / 2;
	bytea	   *bytes;

	if (length < 2 || length % 2 != 0 || text[0] != '\\' || text[1] != 'x')
		return false;
	bytes = shuttle_room_take(room, VARHDRSZ + nbytes);
	SET_VARSIZE(bytes, VARHDRSZ + nbytes);
	*result = PointerGetDatum(bytes);
	return read_hex(text +2, nbytes, (uint8 *) VARDATA(bytes));
}

static bool
read_text(const ShuttleValueReader *reader, const char *text, int length,
		  ShuttleValueRoom *room, Datum *result)
{
	struct varlena *copy;

	/* a text has at most as many characters as bytes */
	if (reader->typmod >= 0 &&
		(reader->type == BPCHAROID || length > reader->typmod - VARHDRSZ))
		return false;
	shuttle_check_encoding(text, length);
	copy = shuttle_room_take(room, VARHDRSZ + length);
	SET_VARSIZE(copy, VARHDRSZ + length);
	memcpy(VARDATA(copy), text, length);
	*result = PointerGetDatum(copy);
	return true;
}

bool
shuttle_text_value(const ShuttleValueReader *reader, const char *text,
				   int length, ShuttleValueRoom *room, Datum *result)
{
	int64		number;
	int			day;

	switch (reader->kind)
	{
		case VALUE_BOOL:
			*result = BoolGetDatum(text[0] == 't');
			return length == 1 && (text[0] == 't' || text[0] == 'f');

		case VALUE_INT2:
			if (!read_integer(text, length, INT2_DIGITS, &number))
				return false;
			*result = Int16GetDatum((int16) number);
			return true;

		case VALUE_INT4:
			if (!read_integer(text, length, INT4_DIGITS, &number))
				return false;
			*result = Int32GetDatum((int32) number);
			return true;

		case VALUE_INT8:
			if (!read_integer(text, length, INT8_DIGITS, &number))
				return false;
			*result = Int64GetDatum(number);
			return true;

		case VALUE_OID:
			if (!read_integer(text, length, INT4_DIGITS, &number) || number < 0)
				return false;
			*result = ObjectIdGetDatum((Oid) number);
			return true;

		case VALUE_DATE:
			if (length != DATE_LENGTH || !read_day(text, &day))
				return false;
			*result = DateADTGetDatum(day);
			return true;

		case VALUE_TIMESTAMP:
		case VALUE_TIMESTAMPTZ:
			return reader->typmod < 0 &&
				read_timestamp(text, length, reader->kind == VALUE_TIMESTAMPTZ,
							   result);

		case VALUE_UUID:
			return read_uuid(text, length, room, result);

		case VALUE_BYTEA:
			return read_bytea(text, length, room, result);

		case VALUE_TEXT:
			return read_text(reader, text, length, room, result);

		case VALUE_PRINTED:
		case VALUE_JSONB:
		case VALUE_OTHER:
		case VALUE_FLOAT4:
		case VALUE_FLOAT8:
		case VALUE_TIME:
			break;
	}
	return false;
}
