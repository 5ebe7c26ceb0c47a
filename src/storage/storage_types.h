/*-------------------------------------------------------------------------
 * storage_types.h
 *	  Names of the storage room's structs, so that headers that only pass
 *	  pointers need not include each other.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_STORAGE_TYPES_H
#define SHUTTLE_STORAGE_STORAGE_TYPES_H

typedef struct ShuttleCommand ShuttleCommand;
typedef struct ShuttlePage ShuttlePage;
typedef struct ShuttlePrepared ShuttlePrepared;
typedef struct ShuttleStore ShuttleStore;
typedef struct ShuttleNodeError ShuttleNodeError;

#endif							/* SHUTTLE_STORAGE_STORAGE_TYPES_H */
