/*-------------------------------------------------------------------------
 * shuttle_proof.h
 *	  Proofs that a text for a node means the statement that it was made of.
 *
 * proof.c reads a text as a node would, and compares; normal_query.c brings queries to
 * a form in which those that mean the same are equal; normal_expression.c does so with
 * their expressions; tree_place.c finds the place where two of them differ.
 *
 * In: a text, and the rewritten query, the clause or the expressions that it was made of.
 * Out: an error if the text means something else.
 *
 * Not proved: that a node computes what this server would. It may have other settings,
 * collations or rows.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PROOF_H
#define SHUTTLE_PROOF_H

#include "nodes/parsenodes.h"

#include "base/shuttle_settings.h"

/*
 * Raises ERRCODE_INTERNAL_ERROR if the text of a statement means something else than a
 * query, which has been rewritten, or is a CALL, and is not changed. values: the expressions of the
 * text's parameters $1, $2, ... Names of tablets in the text mean their tables.
 */
extern void shuttle_proof_check_statement(const char *text, const Query *meant, const List *values);

/*
 * The same for the ON CONFLICT clause of an INSERT, in whose text the rest does not matter.
 * target: the number of the table in the clause. values: of $1, $2, ...; of the clause's own
 * parameters, of which only the types are looked at.
 */
extern void shuttle_proof_check_conflict(const char *text, const OnConflictExpr *clause, Index target,
										 const List *values);

/* ---- for proofs of other kinds */

/* What a text means otherwise, in words; NULL: nothing. */
typedef char *(*ShuttleProofFind) (const char *text, void *arg);

/* Calls it with the settings of sessions on nodes, as a superuser, and raises
 * ERRCODE_INTERNAL_ERROR if it finds something. */
extern void shuttle_proof_run(const char *text, ShuttleProofFind find, void *arg);

/* Parses and analyzes a statement. change: a walker that gets its raw tree before, to put
 * names of here in the place of names of nodes; NULL is returned if it returns true. */
extern Query *shuttle_proof_read(const char *text, bool (*change) (Node *, void *), void *context);

/*
 * An expression in the form in which those that mean the same are equal, in which constants
 * are folded, and tables keep their numbers. values: what parameters stand for, if it was
 * read of a text; *wrong gets what cannot be right.
 */
extern Node *shuttle_normal_planned(Node *expression, bool is_text, const List *values, char **wrong);

/* What implicit casts and relabels are applied to. */
extern Node *shuttle_normal_uncast(Node *node);

/* Where two trees that are not equal differ, in words. */
extern char *shuttle_tree_place(const void *meant, const void *read);

#endif							/* SHUTTLE_PROOF_H */
