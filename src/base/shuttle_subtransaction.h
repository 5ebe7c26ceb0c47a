/*-------------------------------------------------------------------------
 * shuttle_subtransaction.h
 *	  Work whose errors the caller handles.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_SUBTRANSACTION_H
#define SHUTTLE_SUBTRANSACTION_H

/*
 * Calls work in a subtransaction: only a subtransaction's abort releases what an
 * error leaves held, here and on nodes. Returns NULL or the error, also of a cancel,
 * in the current memory context. Not allowed in parallel mode, unless the
 * transaction has written nothing.
 */
extern ErrorData *shuttle_subtransaction_run(void (*work) (void *arg), void *arg);

#endif							/* SHUTTLE_SUBTRANSACTION_H */
