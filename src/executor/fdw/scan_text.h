/*-------------------------------------------------------------------------
 * scan_text.h
 *	  Reading the SELECT that postgres_fdw wrote for a scan.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_FDW_SCAN_TEXT_H
#define SHUTTLE_EXECUTOR_FDW_SCAN_TEXT_H

/* ---- reading SQL (sql_words.c) */

/* The end of the token that begins here: a literal, a quoted name, a comment,
 * a word, a parameter, or one character. */
extern const char *shuttle_sql_skip_token(const char *from);

/* True where a SELECT made by postgres_fdw locks rows. */
extern bool shuttle_sql_locks(const char *sql);
extern int	shuttle_sql_count_locks(const char *sql);

/* Gives each of its locking clauses another strength (UPDATE, KEY SHARE, ...)
 * and adds a policy (SKIP LOCKED, NOWAIT); NULL leaves the one or the other. */
extern char *shuttle_sql_change_locks(const char *sql, const char *strength,
									  const char *policy);

/* Where the name of the first table stands; false: the SELECT is of another form. */
extern bool shuttle_sql_find_table(const char *sql, const char **begin,
								   const char **end);

/* Adds a TABLESAMPLE clause to the table of alias r<alias>, or to the only one
 * (0); NULL where it is not found. */
extern char *shuttle_sql_add_sample(const char *sql, int alias, const char *clause);

/* True where a SELECT samples; gives the samples without a seed this one. */
extern bool shuttle_sql_samples(const char *sql);
extern char *shuttle_sql_add_seed(const char *sql, double seed);

/* Adds tableoid to a SELECT's list, of the table whose ctid is an item of the
 * list (from 1; 0: there is one table); NULL where that is not what it is. */
extern char *shuttle_sql_add_tableoid(const char *sql, int ctid_item);

/* Adds a condition on tableoid to an UPDATE or DELETE of the row of ctid $1;
 * NULL where it is none. */
extern char *shuttle_sql_compare_tableoid(const char *sql, int parameter);

/* Value of a SELECT's own LIMIT; negative where there is none, or where it is
 * not a number. */
extern double shuttle_sql_limit(const char *sql);

/* True where a LIMIT can stand behind a SELECT: it neither has one nor locks. */
extern bool shuttle_sql_takes_limit(const char *sql);

/* True where a SELECT has a GROUP BY of its own. */
extern bool shuttle_sql_groups(const char *sql);

/* False where a SELECT does nothing but take columns and compare them, which
 * cannot fail for a row (of a table; a view may compute anything). */
extern bool shuttle_sql_may_fail(const char *sql);

/* The handler of postgres_fdw, as its library calls it. */
#define SHUTTLE_POSTGRES_FDW_HANDLER "postgres_fdw_handler"

#endif							/* SHUTTLE_EXECUTOR_FDW_SCAN_TEXT_H */
