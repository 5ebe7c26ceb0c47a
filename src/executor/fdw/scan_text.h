/*-------------------------------------------------------------------------
 * scan_text.h
 *	  Reading the SELECT that postgres_fdw made for a scan.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_FDW_SCAN_TEXT_H
#define SHUTTLE_EXECUTOR_FDW_SCAN_TEXT_H

/* ---- reading SQL (remote_sql.c) */

/* True if a SELECT of postgres_fdw's locks rows; and its number of locking
 * clauses. */
extern bool shuttle_remote_sql_locks(const char *sql);
extern int	shuttle_remote_sql_count_locks(const char *sql);

/* Replaces the strength of each locking clause (UPDATE, KEY SHARE, ...) and
 * adds a policy (SKIP LOCKED, NOWAIT); NULL: unchanged. */
extern char *shuttle_remote_sql_change_locks(const char *sql, const char *strength,
											 const char *policy);

/* The SELECT of which the locking clauses, its end, are left out. */
extern char *shuttle_remote_sql_without_locks(const char *sql);

/* Finds the first table's name; false if the SELECT has another form. */
extern bool shuttle_remote_sql_find_table(const char *sql, const char **begin,
										  const char **end);

/* Adds a TABLESAMPLE clause to the table of alias r<alias>, or to the only one
 * (0); NULL if it is not found. */
extern char *shuttle_remote_sql_add_sample(const char *sql, int alias, const char *clause);

/* True if a SELECT has TABLESAMPLE. The second function adds REPEATABLE (seed) to those
 * that have none. */
extern bool shuttle_remote_sql_samples(const char *sql);
extern char *shuttle_remote_sql_add_seed(const char *sql, double seed);

/* Adds tableoid to a SELECT's list, for the table whose ctid is the given item
 * (from 1; 0: there is one table); NULL if that item is no ctid. */
extern char *shuttle_remote_sql_add_tableoid(const char *sql, int ctid_item);

/* Adds columns to a SELECT's list, or puts them in its place if it selects nothing; NULL if
 * the SELECT has another form. */
extern char *shuttle_remote_sql_add_columns(const char *sql, const char *columns, bool selects_nothing);

/* Adds "tableoid = $<parameter>" to an UPDATE or DELETE by ctid = $1; NULL if
 * it has another form. */
extern char *shuttle_remote_sql_compare_tableoid(const char *sql, int parameter);

/* A SELECT's own LIMIT; negative if it has none or it is not a number. */
extern double shuttle_remote_sql_limit(const char *sql);

/* True if a LIMIT can be appended: the SELECT has none and does not lock. */
extern bool shuttle_remote_sql_takes_limit(const char *sql);

/* True if a SELECT has a GROUP BY. */
extern bool shuttle_remote_sql_groups(const char *sql);

/* False if a SELECT only returns and compares columns, which cannot fail for a
 * table's row (a view may compute anything). */
extern bool shuttle_remote_sql_may_fail(const char *sql);

/* The C name of postgres_fdw's handler. */
#define SHUTTLE_POSTGRES_FDW_HANDLER "postgres_fdw_handler"

#endif							/* SHUTTLE_EXECUTOR_FDW_SCAN_TEXT_H */
