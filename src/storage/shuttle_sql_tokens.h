/*-------------------------------------------------------------------------
 * shuttle_sql_tokens.h
 *	  Where the tokens of a statement end.
 *
 * In: a place in a statement. Out: the place behind its token (sql_tokens.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_SQL_TOKENS_H
#define SHUTTLE_STORAGE_SQL_TOKENS_H

/* The end of the token at from: a literal, a quoted name, a comment, a word, a
 * parameter, or one character. */
extern const char *shuttle_sql_skip_token(const char *from);

#endif							/* SHUTTLE_STORAGE_SQL_TOKENS_H */
