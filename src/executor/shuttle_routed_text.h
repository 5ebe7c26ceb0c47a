/*-------------------------------------------------------------------------
 * shuttle_routed_text.h
 *	  The text of a routed statement over the tablets of one number.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_ROUTED_TEXT_H
#define SHUTTLE_ROUTED_TEXT_H

#include "nodes/pg_list.h"

/* parts: Strings, and the tables between them, whose tablet's name goes there. In the
 * current context (routed_statement.c). */
extern char *shuttle_routed_text(const List *parts, int tablet);

#endif							/* SHUTTLE_ROUTED_TEXT_H */
