/*-------------------------------------------------------------------------
 * shuttle_subtransaction.h
 *	  Work whose errors the caller handles.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_SUBTRANSACTION_H
#define SHUTTLE_SUBTRANSACTION_H

/*
 * Calls work in a subtransaction: only its abort gives back what is held at an
 * error, here and on nodes. Returns NULL, or the error, in the current memory
 * context; a cancel is one, too. Not allowed while the transaction is in parallel
 * mode, unless nothing was written in it.
 */
extern ErrorData *shuttle_subtransaction_run(void (*work) (void *arg), void *arg);

#endif							/* SHUTTLE_SUBTRANSACTION_H */
