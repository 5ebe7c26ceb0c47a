/*-------------------------------------------------------------------------
 * decoders.h
 *	  How single values of an answer are read; shared by the files of decoders.
 *
 * A node sends the values of a request either as texts, which input functions
 * take, or in their types' binary formats, all columns alike.  Both ways give
 * the same values bit for bit, or the column is not read in binary.
 *
 * Memory: values that are passed by reference live in a ShuttleValueRoom, which
 * is emptied before each row.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_VALUES_DECODERS_H
#define SHUTTLE_STORAGE_VALUES_DECODERS_H

#include "fmgr.h"
#include "mb/pg_wchar.h"

/* Types that are read without a call of their own functions. */
typedef enum ShuttleValueKind
{
	VALUE_OTHER,				/* by the type's input or receive function */
	VALUE_BOOL,
	VALUE_INT2,
	VALUE_INT4,
	VALUE_INT8,
	VALUE_OID,
	VALUE_FLOAT4,
	VALUE_FLOAT8,
	VALUE_DATE,
	VALUE_TIME,
	VALUE_TIMESTAMP,
	VALUE_TIMESTAMPTZ,
	VALUE_UUID,
	VALUE_BYTEA,
	VALUE_TEXT,					/* text, varchar; bpchar where nothing is to
								 * be padded */
	VALUE_PRINTED,				/* in binary it is its text as well */
	VALUE_JSONB					/* in binary a version, and its text */
} ShuttleValueKind;

/* Room for the values of one row: what does not fit goes to overflow. */
typedef struct ShuttleValueRoom
{
	char	   *start;
	char	   *next;
	char	   *end;
	MemoryContext overflow;		/* reset by its owner */
	bool		overflowed;		/* something may be there */
} ShuttleValueRoom;

static inline void *
shuttle_room_take(ShuttleValueRoom *room, Size size)
{
	char	   *taken = room->next;

	if (unlikely(size > (Size) (room->end - taken)))
	{
		room->overflowed = true;
		return MemoryContextAlloc(room->overflow, size);
	}
	room->next = taken + MAXALIGN(size);
	return taken;
}

/*
 * Every text of this server is valid in its encoding.  What a node sends is to
 * be; its word is not taken for it.  A NUL is not valid either.
 */
static inline void
shuttle_check_encoding(const char *text, int length)
{
	(void) pg_verify_mbstr(GetDatabaseEncoding(), text, length, false);
}

/* True for kinds whose values are texts in either format. */
static inline bool
shuttle_value_is_text(ShuttleValueKind kind)
{
	return kind == VALUE_TEXT || kind == VALUE_PRINTED || kind == VALUE_JSONB;
}

/* How the values of one column are read. */
typedef struct ShuttleValueReader
{
	Oid			column_type;
	int32		column_typmod;
	Oid			type;			/* the same below domains */
	int32		typmod;
	bool		is_domain;
	ShuttleValueKind kind;

	/* texts, also within binary values, and NULLs that functions look at */
	FmgrInfo	input;
	Oid			input_parameter;

	/* binary format */
	bool		in_binary;		/* may be asked for */
	bool		has_floats;		/* an array of float4 or float8 */
	bool		has_intervals;
	double		gain_ns;		/* that binary saves both sides, by type */
	FmgrInfo	receive;		/* of type; VALUE_OTHER */
	Oid			receive_parameter;
	void	   *domain;			/* what domain_check() keeps */
	MemoryContext owner;
} ShuttleValueReader;

/* ---- binary_types.c */

/* Says how values of the reader's type are read, and if they may be asked for
 * in binary. */
extern void shuttle_binary_type_find(ShuttleValueReader *reader);

/*
 * True where a column that a node describes by type and typmod has, in binary,
 * the values that its texts have.
 * node_version: as PQserverVersion() tells it.
 */
extern bool shuttle_binary_type_agrees(const ShuttleValueReader *reader,
									   Oid node_type, int32 node_typmod,
									   int node_version);

/* ---- binary_values.c, text_values.c */

/*
 * Reads a value that is not NULL.
 * value: length bytes, and a NUL that does not count; need not be aligned.
 * Errors: 22P03 where the bytes are no value of the type.
 */
extern Datum shuttle_binary_value(ShuttleValueReader *reader, char *value,
								  int length, ShuttleValueRoom *room);

/* The same for a text, where that is quicker than the input function.
 * Returns false where the input function has to look at it. */
extern bool shuttle_text_value(const ShuttleValueReader *reader,
							   const char *value, int length,
							   ShuttleValueRoom *room, Datum *result);

#endif							/* SHUTTLE_STORAGE_VALUES_DECODERS_H */
