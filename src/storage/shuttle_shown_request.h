/*-------------------------------------------------------------------------
 * shuttle_shown_request.h
 *	  Statements for nodes, as messages show them.
 *
 * In: a statement as a node gets it. Out: the same without its constants, which may be values of
 * rows and variables (shown_request.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_SHOWN_REQUEST_H
#define SHUTTLE_STORAGE_SHOWN_REQUEST_H

/* A statement with "..." for each constant, and without comments; in the current context. Any
 * text is taken, also one that is not SQL. Errors: none. */
extern char *shuttle_shown_request(const char *sql);

#endif							/* SHUTTLE_STORAGE_SHOWN_REQUEST_H */
