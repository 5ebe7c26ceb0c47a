/*-------------------------------------------------------------------------
 * call_texts.h
 *	  Queries that a PL/pgSQL function executes as texts that are known before.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_ROUTER_CALL_TEXTS_H
#define SHUTTLE_EXECUTOR_ROUTER_CALL_TEXTS_H

#include "nodes/parsenodes.h"

/*
 * The query that EXECUTE means. text, using: the analyzed expressions of EXECUTE and
 * USING. NULL: the text is not known, or has several statements. Errors: those of the
 * text.
 */
extern Query *shuttle_call_known_text(const Query *text, List *using);

#endif							/* SHUTTLE_EXECUTOR_ROUTER_CALL_TEXTS_H */
