/*-------------------------------------------------------------------------
 * shuttle_stored_values.h
 *	  Values that a node has stored, read from their text without running code
 *	  of users: no checks of domains, no functions of range types.
 *
 * In: text as output functions print it under the settings for transmission.
 * Out: Datums, as input functions would have made them.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORED_VALUES_H
#define SHUTTLE_STORED_VALUES_H

/* How values of a type are read; lives in owner. */
typedef struct ShuttleStoredType ShuttleStoredType;

extern ShuttleStoredType *shuttle_stored_type_create(Oid type, int32 typmod, MemoryContext owner);

/* The same for arrays of a type, which may have no array type. */
extern ShuttleStoredType *shuttle_stored_array_create(Oid element, MemoryContext owner);

/* Allocates in the current context. Errors: those of input functions. */
extern Datum shuttle_stored_value(ShuttleStoredType *type, char *string);

#endif							/* SHUTTLE_STORED_VALUES_H */
