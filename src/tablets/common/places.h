/*-------------------------------------------------------------------------
 * places.h
 *	  Rules that say on which storage nodes tablets may lie.
 *
 * rule.c		texts of rules, and labels that meet them
 * places.c		the rules of a group or a table, and the nodes that they allow
 *
 * In: labels of nodes, the option shuttle_labels of servers; rules, the rows of
 * shuttle.placement_rules. Out: nodes for tablets, or an error that names rule and nodes.
 * The rules of a group are those of all of its tables, since tablets of one number lie
 * together.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_COMMON_PLACES_H
#define SHUTTLE_TABLETS_COMMON_PLACES_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

#include "base/shuttle_compat.h"

/* One label of a node. */
typedef struct ShuttleLabel
{
	char	   *name;
	char	   *value;
} ShuttleLabel;

/* Conditions that a node must meet, all of them; none: any node will do. */
typedef struct ShuttleRuleClause
{
	List	   *conditions;
	char	   *text;			/* of the conditions, as they are printed */
	Interval   *age;			/* of partitions; NULL: of any age */
} ShuttleRuleClause;

typedef struct ShuttleRule
{
	List	   *clauses;		/* of ShuttleRuleClause: that without an age
								 * first, then from the lowest age on */
} ShuttleRule;

/* The rules that hold for a table or a group. */
typedef struct ShuttlePlaces
{
	List	   *rules;			/* of ShuttlePlacesRule */
	char	   *text;			/* all of them, as one rule; empty: there are
								 * none. Tables with equal texts can be in one
								 * group */
} ShuttlePlaces;

typedef struct ShuttlePlacesRule
{
	Oid			source;			/* the table that the rule was given to */
	const ShuttleRuleClause *clause;
} ShuttlePlacesRule;

/* ---- rule.c */

/* Errors: ERRCODE_SYNTAX_ERROR. */
extern ShuttleRule *shuttle_rule_parse(const char *text);

/* The text of a rule in one spelling. */
extern char *shuttle_rule_text(const ShuttleRule *rule);

/* What holds for partitions of any age; NULL: nothing. */
extern const ShuttleRuleClause *shuttle_rule_base(const ShuttleRule *rule);

/* True if it speaks of ages. */
extern bool shuttle_rule_has_ages(const ShuttleRule *rule);

/* A label that a node lacks meets no condition. labels: of ShuttleLabel. */
extern bool shuttle_rule_allows(const ShuttleRuleClause *clause, const List *labels);

/* The labels of a server. */
extern List *shuttle_rule_labels(Oid serverid);

/* The names of servers with their labels, for messages. */
extern char *shuttle_rule_list_nodes(const List *servers);

/* ---- places.c */

extern ShuttlePlaces *shuttle_places_of_group(int group);

/* The rules of a table itself, whatever its group is; it need not be distributed yet. */
extern ShuttlePlaces *shuttle_places_of_table(Oid relid);

/* The table that the rule of a table was given to; InvalidOid: it has none. */
extern Oid	shuttle_places_source(Oid relid);

/* A partition that is about to leave its table: the rule that holds for it from above becomes its own. */
extern void shuttle_places_keep(Oid relid);

/* Forgets the rule of a table that is dropped. */
extern void shuttle_places_forget(Oid relid);

extern bool shuttle_places_allow(const ShuttlePlaces *places, Oid serverid);

/* Those of some servers that are allowed. */
extern List *shuttle_places_choose(const ShuttlePlaces *places, const List *servers);

/* The same of all storage nodes. Errors: none is allowed. */
extern List *shuttle_places_nodes(const ShuttlePlaces *places);

/* Errors: the tablets of a table, or of its group, may not lie there. */
extern void shuttle_places_check(const ShuttlePlaces *places, Oid relid, Oid serverid);

/* Errors: no storage node is allowed. */
pg_noreturn extern void shuttle_places_refuse_all(const ShuttlePlaces *places, Oid relid);

/* The rule that a server breaks, with its table, for messages; NULL: it breaks none. */
extern char *shuttle_places_broken(const ShuttlePlaces *places, Oid serverid);

#endif							/* SHUTTLE_TABLETS_COMMON_PLACES_H */
