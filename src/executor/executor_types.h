/*-------------------------------------------------------------------------
 * executor_types.h
 *	  Declares structs of the executor room, so that headers that only pass
 *	  pointers need not include each other.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_EXECUTOR_TYPES_H
#define SHUTTLE_EXECUTOR_EXECUTOR_TYPES_H

/* How many rows the nodes above a scan need (row_need.c). */
typedef struct ShuttleRowNeed ShuttleRowNeed;

/* Scans to start once the plan has computed something (early_start.c). */
typedef struct ShuttleLaterStart ShuttleLaterStart;

/* The SQL texts that a plan node sent to a node for one table, with their last
 * values, for EXPLAIN. */
typedef struct ShuttleAsked ShuttleAsked;

/* Remote tables whose rows a statement's target contains. */
typedef struct ShuttleTargetRows ShuttleTargetRows;
typedef struct ShuttleParameters ShuttleParameters;
typedef struct ShuttleKeySet ShuttleKeySet;
typedef struct ShuttleKeyCache ShuttleKeyCache;
typedef struct ShuttleBatch ShuttleBatch;
typedef struct ShuttleRange ShuttleRange;
typedef struct ShuttleServedScan ShuttleServedScan;
typedef struct ShuttleChannel ShuttleChannel;
typedef struct ShuttleAnswer ShuttleAnswer;
typedef struct ShuttleRoutedAppend ShuttleRoutedAppend;
typedef struct ShuttleLocalScan ShuttleLocalScan;
typedef struct ShuttleLocalKeys ShuttleLocalKeys;
typedef struct LookAheadState LookAheadState;
typedef struct ShuttleWrite ShuttleWrite;
typedef struct ShuttleWriteBuffer ShuttleWriteBuffer;
typedef struct ShuttleModify ShuttleModify;
typedef struct ShuttleRemoteTable ShuttleRemoteTable;
typedef struct ShuttleOnConflict ShuttleOnConflict;
typedef struct ShuttleUpsert ShuttleUpsert;

#endif							/* SHUTTLE_EXECUTOR_EXECUTOR_TYPES_H */
