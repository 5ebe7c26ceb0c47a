/*-------------------------------------------------------------------------
 * local_sql.h
 *	  Statements of ours on this server.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_COMMON_LOCAL_SQL_H
#define SHUTTLE_TABLETS_COMMON_LOCAL_SQL_H

/* Sets search_path to pg_catalog, so that names of other schemas are qualified.
 * Returns a level for AtEOXact_GUC(true, ..), which sets it back. */
extern int	shuttle_local_qualify_names(void);

/*
 * Runs a query with one parameter of type oid under search_path pg_catalog, so
 * that names of other schemas are qualified, and returns the first column as
 * strings in the current context; NULL values are left out.
 * Errors: those of the query.
 */
extern List *shuttle_local_texts(const char *sql, Oid relid);

/* The same with all columns: a list of arrays of strings. */
extern List *shuttle_local_rows(const char *sql, Oid relid);

/* The same under the active snapshot: several such queries see one state. */
extern List *shuttle_local_rows_seen(const char *sql, Oid relid);
extern List *shuttle_local_texts_seen(const char *sql, Oid relid);

/* The same of what is committed now, also under REPEATABLE READ: for decisions that follow a lock. */
extern List *shuttle_local_rows_now(const char *sql, Oid relid);

/* The single string of such a query; NULL: no row. */
extern char *shuttle_local_text(const char *sql, Oid relid);

/* Runs a statement with the caller's rights under search_path pg_catalog. Our
 * own ProcessUtility hook lets it pass. Returns the number of rows. */
extern uint64 shuttle_local_run(const char *sql);

/* Runs a statement that changes rows of a table, with the caller's rights under the search_path of the
 * session; it is planned as the table's owner, see shuttle_local_read_as_owner(). No triggers fire. Our
 * ProcessUtility hook sees what functions of users in it execute. */
extern uint64 shuttle_local_change_rows(Oid relid, const char *sql);

/* The same under search_path pg_catalog; our own ProcessUtility hook lets pass what it executes. */
extern uint64 shuttle_local_load_rows(Oid relid, const char *sql);

/* shuttle_local_run() with all rights, for what the caller may do by our checks only. */
extern uint64 shuttle_local_run_as_superuser(const char *sql);

/*
 * Runs a query that reads all rows of its tables, whatever their owners may read, under search_path
 * pg_catalog. It is planned and executed as the owner of one of them, in a security-restricted operation:
 * functions of owners get no rights of the caller. Returns the number of rows. row: for the texts of
 * the first row's values, in the current context, or NULL. Errors: those of the query.
 */
extern uint64 shuttle_local_read_as_owner(Oid relid, const char *sql, char ***row);

/* True while shuttle_local_run() runs a statement. */
extern bool shuttle_local_is_running(void);

/* True also of shuttle_local_change_rows(). */
extern bool shuttle_local_is_own(void);

/* A quoted name with its schema, in the current context. */
extern char *shuttle_local_name(Oid relid);

/* The same of a collation. */
extern char *shuttle_local_collation(Oid collation);

/* The same of several relations, separated by commas. */
extern char *shuttle_local_names(const List *relids);

/* The role that owns a relation. */
extern Oid	shuttle_local_owner(Oid relid);

/* Quoted. */
extern const char *shuttle_local_owner_name(Oid relid);

/* Statements that take a relation's privileges from all but its owner; NIL: nobody has any. */
extern List *shuttle_local_granted(Oid relid);

/* Runs them: default privileges, for one, give some to what is made here. */
extern void shuttle_local_revoke(Oid relid);

#endif							/* SHUTTLE_TABLETS_COMMON_LOCAL_SQL_H */
