/*-------------------------------------------------------------------------
 * decoders.h
 *	  How single values of an answer are read; shared by the decoders'
 *	  files.
 *
 * A node sends the values of an answer either as text, for input functions, or
 * in their types' binary formats; all columns alike. Both give the same values
 * bit for bit; a column for which they might not is never read in binary.
 *
 * Memory: by-reference values live in a ShuttleValueRoom, emptied before each
 * row.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_VALUES_DECODERS_H
#define SHUTTLE_STORAGE_VALUES_DECODERS_H

#include "fmgr.h"
#include "mb/pg_wchar.h"

#include "storage/shuttle_stored_values.h"

/* How a type's values are read. */
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
	VALUE_TEXT,					/* text, varchar; bpchar if it needs no
								 * padding */
	VALUE_PRINTED,				/* the binary format is the text as well */
	VALUE_JSONB					/* the binary format is a version and the text */
} ShuttleValueKind;

/* Memory for a row's values: what does not fit goes to overflow. */
typedef struct ShuttleValueRoom
{
	char	   *start;
	char	   *next;
	char	   *end;
	MemoryContext overflow;		/* reset by its owner */
	bool		overflowed;		/* overflow may be in use */
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

/* Every text in this server must be valid in the database's encoding, without
 * NUL. What a node sends is checked, not trusted. */
static inline void
shuttle_check_encoding(const char *text, int length)
{
	(void) pg_verify_mbstr(GetDatabaseEncoding(), text, length, false);
}

/* True for kinds whose values are text in either format. */
static inline bool
shuttle_value_is_text(ShuttleValueKind kind)
{
	return kind == VALUE_TEXT || kind == VALUE_PRINTED || kind == VALUE_JSONB;
}

/* How the values of one column are read. */
typedef struct ShuttleValueReader
{
	Oid			type;			/* base type of a domain, else the same */
	int32		typmod;
	ShuttleValueKind kind;
	ShuttleStoredType *stored;	/* for text, also in binary values */

	/* binary format */
	bool		in_binary;		/* may be requested in binary */
	bool		has_floats;		/* an array of float4 or float8 */
	bool		has_intervals;
	double		gain_ns;		/* time that binary saves both sides */
	FmgrInfo	receive;		/* of type, for VALUE_OTHER */
	Oid			receive_parameter;
	MemoryContext owner;
} ShuttleValueReader;

/* ---- binary_types.c */

/* Sets how values of the reader's type are read, and if they may be requested
 * in binary. */
extern void shuttle_binary_type_find(ShuttleValueReader *reader);

/* True if binary gives the same values as text for a column to which the node
 * gives this type and typmod. node_version: from PQserverVersion(). */
extern bool shuttle_binary_type_agrees(const ShuttleValueReader *reader,
									   Oid node_type, int32 node_typmod,
									   int node_version);

/* ---- binary_values.c, text_values.c */

/* Reads a value that is not NULL. value: length bytes and a NUL; need not be
 * aligned. Errors: 22P03 if the bytes are no value of the type. */
extern Datum shuttle_binary_value(ShuttleValueReader *reader, char *value,
								  int length, ShuttleValueRoom *room);

/* The same for a text, if that is faster than the input function. Returns false
 * if the input function must read it. */
extern bool shuttle_text_value(const ShuttleValueReader *reader,
							   const char *value, int length,
							   ShuttleValueRoom *room, Datum *result);

#endif							/* SHUTTLE_STORAGE_VALUES_DECODERS_H */
