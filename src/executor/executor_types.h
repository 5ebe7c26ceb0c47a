/*-------------------------------------------------------------------------
 * executor_types.h
 *	  Names of the executor room's structs, so that headers that only pass
 *	  pointers need not include each other.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_EXECUTOR_TYPES_H
#define SHUTTLE_EXECUTOR_EXECUTOR_TYPES_H

/* All steps above a node. */
typedef struct ShuttleRowNeed ShuttleRowNeed;

/* What is started once the plan has computed something (early_start.c). */
typedef struct ShuttleLaterStart ShuttleLaterStart;

/* The different statements that a plan node sent to a node for one table, each
 * with its last values. */
typedef struct ShuttleAsked ShuttleAsked;

/* The tables on the node whose rows a statement's target has shown. */
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
typedef struct ShuttleWriteRun ShuttleWriteRun;
typedef struct ShuttleRemoteTable ShuttleRemoteTable;
typedef struct ShuttleOnConflict ShuttleOnConflict;

#endif							/* SHUTTLE_EXECUTOR_EXECUTOR_TYPES_H */
