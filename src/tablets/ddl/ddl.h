/*-------------------------------------------------------------------------
 * ddl.h
 *	  DDL on distributed tables, which nodes follow.
 *
 * ddl.c			the statements that need more than core's work here
 * ddl_table.c		ALTER TABLE; ddl_index.c, ddl_constraints.c, ddl_foreign_keys.c,
 *					ddl_types.c, ddl_create.c, ddl_copy.c, ddl_truncate.c,
 *					ddl_drop.c and ddl_grant.c: what their names say
 * ddl_changes.c	compares what nodes have of a table before and after core has
 *					run the statement, and sends the differences
 *
 * In: a utility statement, before and after core runs it. Out: statements
 * for nodes, in the same transaction.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_DDL_DDL_H
#define SHUTTLE_TABLETS_DDL_DDL_H

#include "catalog/objectaccess.h"
#include "nodes/parsenodes.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_utility.h"
#include "tablets/tablets_internal.h"

/* A utility statement and how it is run here. */
typedef struct ShuttleDdl
{
	ProcessUtility_hook_type run;
	PlannedStmt *pstmt;
	const char *query;
	bool		is_read_only;	/* the tree may not be changed */
	ProcessUtilityContext context;
	ParamListInfo params;
	QueryEnvironment *env;
	DestReceiver *dest;
	QueryCompletion *completion;
	const char *name;			/* of the statement, for messages */
	Oid			relid;			/* the distributed table */
	Oid			targetid;		/* the table, or one of its indexes */
} ShuttleDdl;

/* ---- ddl.c */

/* Runs a statement here, and on nodes what it means for distributed tables.
 * Errors: those of the statement and of nodes; 0A000 for what is not possible. */
extern void shuttle_ddl_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS);

/* Runs a changed copy of the statement here. */
extern void shuttle_ddl_run_here(const ShuttleDdl *ddl, Node *statement);

/* Raises 0A000 for a statement on a distributed table. what: as the user would
 * write it; instead: a hint. */
pg_noreturn extern void shuttle_ddl_refuse(Oid relid, const char *what, const char *instead);
extern void shuttle_ddl_refuse_tablet(Oid relid);

/* The name of the column that spreads a distributed table. */
extern char *shuttle_ddl_key(Oid relid);

/* Refuses a key or unique index that lacks this column.
 * what: as the user would write it; columns: names or IndexElem. */
extern void shuttle_ddl_check_unique(Oid relid, const char *what, const List *columns);

/* The distributed table or tablet of that name, or the one that the index of
 * that name belongs to; InvalidOid: none. */
extern Oid	shuttle_ddl_find(const RangeVar *name, ShuttleTableKind *kind);

/* ---- ddl_changes.c */

/* Notes what nodes have of a distributed table, if a statement under way is to
 * be followed and has not noted it yet. */
extern void shuttle_ddl_changes_note(Oid relid);

/* The same, and the expression by which nodes are to convert a column to its new type;
 * NULL: none. */
extern void shuttle_ddl_changes_convert(Oid relid, const char *column, const char *expression);

/* What a statement under way has noted. */
typedef struct ShuttleDdlChanges
{
	MemoryContext cxt;
	List	   *tables;
	struct ShuttleDdlChanges *outer;	/* of the statement around it */
} ShuttleDdlChanges;

/* Begins and ends a statement. */
extern void shuttle_ddl_changes_enter(ShuttleDdlChanges *changes);
extern void shuttle_ddl_changes_leave(void);

/* Makes the tables on nodes as they are here now, by a statement for each thing
 * that has changed. cascade: drops are.
 * Errors: those of nodes. */
extern void shuttle_ddl_changes_send(bool cascade);

/* ---- ddl_table.c */

extern void shuttle_ddl_alter_table(const ShuttleDdl *ddl);
extern void shuttle_ddl_rename(const ShuttleDdl *ddl);

/* ---- ddl_using.c */

/* The expression behind USING of ALTER COLUMN ... TYPE, for nodes; NULL if its type does
 * not fit. query: the statement, for errors; differs: set if nodes might compute other
 * values. Errors: those of the expression. */
extern char *shuttle_ddl_using_text(Oid relid, const ColumnDef *column, const char *query,
									bool *differs);

/* Runs such subcommands (of AlterTableCmd) on a distributed table, while it has no
 * tablets. */
extern void shuttle_ddl_using_run(Oid relid, List *commands,
								  void (*run) (void *arg, List *commands), void *arg);

/* ---- ddl_foreign_keys.c: constraints that exist on nodes only */

/* The statement that adds a foreign key on nodes; the constraint is as parsed.
 * Errors: 0A000 and 42830 for keys that nodes cannot check. */
extern char *shuttle_ddl_foreign_key(Oid relid, const Constraint *constraint);

/* Refuses a row trigger that would have to fire for what a foreign key does on nodes. */
extern void shuttle_ddl_check_trigger(const ShuttleDdl *ddl, const CreateTrigStmt *statement);

/* The statement that adds any foreign key. */
extern char *shuttle_ddl_foreign_key_text(Oid relid, const Constraint *constraint);

/* Takes the foreign keys that pass a filter out of the definition of a column, with
 * their clauses, as constraints of the table. */
typedef bool (*ShuttleDdlKeyFilter) (const void *arg, Constraint *constraint);
extern List *shuttle_ddl_take_column_keys(ColumnDef *column, ShuttleDdlKeyFilter filter,
										  const void *arg);

/* True if a foreign key relates a column to the distribution column of the table that
 * it refers to. */
extern bool shuttle_ddl_foreign_key_pairs(const char *key, Oid referred, const Constraint *constraint);

/* True if the table has a constraint of that name here. */
extern bool shuttle_ddl_constraint_is_here(Oid relid, const char *name);

/* Runs statements on all nodes of a table. */
extern void shuttle_ddl_on_nodes(Oid relid, List *texts);

/* ---- ddl_constraints.c */

/* SET CONSTRAINTS here and on all nodes. Errors: 42704, and those of constraints that
 * are checked now. */
extern void shuttle_ddl_set_constraints(const ShuttleDdl *ddl);

/* COMMENT ON CONSTRAINT: on nodes, if the table has no such constraint here. */
extern void shuttle_ddl_comment(const ShuttleDdl *ddl);

/* ---- ddl_index.c */

extern void shuttle_ddl_create_index(const ShuttleDdl *ddl);
extern void shuttle_ddl_drop_index(const ShuttleDdl *ddl);
extern void shuttle_ddl_reindex(const ShuttleDdl *ddl);
extern void shuttle_ddl_vacuum(const ShuttleDdl *ddl);

/* ---- ddl_types.c */

/* Runs a statement that changes a type, function or schema here, and on the nodes of
 * tables that need it. */
extern void shuttle_ddl_types_run(const ShuttleDdl *ddl);

/* Makes functions of that name on nodes as they are here now, if tables need them. */
extern void shuttle_ddl_types_function(const char *name);

/* ---- ddl_create.c: tables that are distributed when they are made */

/* Notes a table that is made; called by the object access hook. */
extern void shuttle_ddl_create_note(ObjectAccessType access, Oid classid,
									Oid objectid, int subid, void *arg);

/* Runs a statement, and distributes the tables that it made by the column that
 * shuttle.auto_distribute chooses. A table that cannot be distributed stays here.
 * Errors: those of the statement and of nodes; 0A000 if a table that stays here
 * refers to a distributed one. */
extern void shuttle_ddl_create_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS);

/* ---- ddl_grant.c */

/* Takes from tablets what GRANT ON ALL TABLES IN SCHEMA has given. */
extern void shuttle_ddl_revoke_in_schemas(const GrantStmt *statement);

/* ---- ddl_truncate.c */

/* Runs a TRUNCATE, with CASCADE also of tables that refer to others on nodes. */
extern void shuttle_ddl_truncate(const ShuttleDdl *ddl);

/* ---- ddl_copy.c */

/* Runs a COPY that core refuses for partitioned tables. */
extern void shuttle_ddl_copy(const ShuttleDdl *ddl);

/* The table, if the statement is COPY ... FROM with FREEZE, or COPY ... TO of a
 * distributed table. */
extern List *shuttle_ddl_copied(const CopyStmt *statement);

/* ---- ddl_drop.c */

/* Notes a relation, or a part of one, that is dropped; called by the object
 * access hook. */
extern void shuttle_ddl_drop_note(ObjectAccessType access, Oid classid,
								  Oid objectid, int subid, void *arg);

/* Runs a statement, and drops on nodes the tables that it dropped here.
 * Errors: those of the statement and of nodes; 0A000 for a tablet alone. */
extern void shuttle_ddl_drop_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS);

/* True if a statement drops what depends on what it names. */
extern bool shuttle_ddl_is_cascade(Node *statement);

#endif							/* SHUTTLE_TABLETS_DDL_DDL_H */
