/*-------------------------------------------------------------------------
 * ddl.h
 *	  DDL on distributed tables, which nodes follow.
 *
 * ddl.c			the statements that need more than core's work here; ddl_statement.c: what
 *					all that run one need
 * table/ddl_table.c	ALTER TABLE, and its parts; see ddl_table.h
 * ddl_index.c, ddl_constraints.c, ddl_foreign_keys.c,
 *					ddl_types.c, ddl_create.c, ddl_copy.c, ddl_truncate.c, ddl_schema.c,
 *					ddl_drop.c and those of table: what their names say
 * ddl_partitioned.c, ddl_attach.c: see ddl_partitioned.h
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

#include "base/shuttle_utility.h"
#include "tablets/ddl/ddl_changes.h"
#include "tablets/ddl/ddl_statement.h"

/* ---- ddl.c */

/* Runs a statement here, and on nodes what it means for distributed tables.
 * Errors: those of the statement and of nodes; 0A000 for what is not possible. */
extern void shuttle_ddl_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS);

/* ---- ddl_global.c: unique indexes that lack the distribution column */

/* The name of the column that spreads a distributed table. */
extern char *shuttle_ddl_key(Oid relid);

/* True if these columns of a unique index do; names or IndexElem. */
extern bool shuttle_ddl_global_is(Oid relid, const List *columns);

/* True if a statement makes one in a distributed table of that name, which it has to lock. */
extern bool shuttle_ddl_global_makes(const IndexStmt *statement, const RangeVar *name);

/* The name that a statement gives a trigger, and its table; NULL: none, or it is ours. */
extern const char *shuttle_ddl_global_trigger(const Node *statement, const RangeVar **table);

/* Make one here; nodes, and its entries, follow behind the statement. Errors: 0A000. */
extern void shuttle_ddl_global_index(const ShuttleDdl *ddl, IndexStmt *statement);
extern void shuttle_ddl_global_constraint(const ShuttleDdl *ddl, Oid relid, const Constraint *constraint);

/* The same for CREATE UNIQUE INDEX or ALTER TABLE ... ADD CONSTRAINT in SQL. */
extern void shuttle_ddl_global_run_text(const ShuttleDdl *ddl, const char *sql);

/* Runs a statement while shuttle.enable_ddl is off: a dump makes such indexes, too. */
extern void shuttle_ddl_global_restore(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS);

/* ---- ddl_key.c */

/* Does ALTER TABLE if it changes the type of the distribution column, drops this column, or adds
 * what core takes without tablets only; false: it does not. */
extern bool shuttle_ddl_key_change(const ShuttleDdl *ddl);

/* ---- ddl_schema.c */

extern void shuttle_ddl_set_schema(const ShuttleDdl *ddl);

/* ---- ddl_cluster.c */

extern void shuttle_ddl_cluster(const ShuttleDdl *ddl);
extern void shuttle_ddl_alter_index(const ShuttleDdl *ddl, AlterTableStmt *statement);

/* ALTER TABLE ... CLUSTER ON, for nodes. Errors: those of the index. */
extern char *shuttle_ddl_cluster_on_text(Oid relid, const char *index);

/* True for the database's own. Errors: 42704. */
extern bool shuttle_ddl_is_default_tablespace(const char *name);

/* ---- ddl_using_index.c */

/* Makes a constraint with the columns of the index that it names, and drops the index.
 * Errors: core's for indexes that do not fit. */
extern void shuttle_ddl_using_index(Oid relid, Constraint *constraint);

/* ---- ddl_table.c */

extern void shuttle_ddl_alter_table(const ShuttleDdl *ddl);
extern void shuttle_ddl_rename(const ShuttleDdl *ddl);

/* SET or RESET of storage options, as the user wrote it. */
extern char *shuttle_ddl_options_text(const AlterTableCmd *command);

/* ---- ddl_foreign_keys.c */

/* Adds a foreign key, as parsed: on nodes, or here. Errors: those of nodes and of
 * shuttle_foreign_key_create(). */
extern void shuttle_ddl_add_foreign_key(Oid relid, const Constraint *constraint);

/* The distributed table that a constraint refers to; InvalidOid: none. */
extern Oid	shuttle_ddl_referred(const Constraint *constraint);

/* Takes the foreign keys to distributed tables, which core would refuse, out of the
 * statement. */
extern List *shuttle_ddl_take_references(AlterTableStmt *statement);

/* Drops our foreign keys from and to a table whose columns the statement changes, since core
 * cannot make them again, but for those that the statement drops itself. Returns them for
 * shuttle_foreign_key_kept_give(). */
extern List *shuttle_ddl_take_changed_keys(Oid relid, const AlterTableStmt *statement);

/* While DDL stays here: makes the foreign keys of an ALTER TABLE, as dumps have it, that core
 * would refuse. False: the statement is another one. */
extern bool shuttle_ddl_restore_keys(Node *statement);

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

/* The OIDs of functions of that name that are immutable, as an array's text. */
extern const char *shuttle_ddl_types_immutable(const char *name);

/* Makes functions of that name on nodes as they are here now, if tables need them. immutable:
 * those that were immutable before. */
extern void shuttle_ddl_types_function(const char *name, const char *immutable);

/* ---- ddl_create.c: tables that are distributed when they are made */

/* Notes a table that is made; called by the object access hook. */
extern void shuttle_ddl_create_note(ObjectAccessType access, Oid classid,
									Oid objectid, int subid, void *arg);

/* Runs a statement, and distributes the tables that it made by the column that
 * shuttle.auto_distribute chooses. A table that cannot be distributed stays here.
 * Errors: those of the statement and of nodes; 0A000 if a table that stays here
 * refers to a distributed one. */
extern void shuttle_ddl_create_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS);

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
