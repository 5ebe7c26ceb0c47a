/*-------------------------------------------------------------------------
 * node_texts.c
 *	  Statements that are run here, or on another node, with a text of a storage node in them.
 *
 * What a node sends is no more trusted than what a user types. SPI runs as many statements
 * as a text has, so the text is parsed first: it must not end ours and begin another one.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "parser/parser.h"

#include "tablets/common/local_sql.h"
#include "tablets/rights/node_texts.h"

static void
refuse(const char *statement)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("a storage node sent a text that is not a part of one statement"),
			 errdetail("It made: %s", statement)));
}

/* How many actions a text has; 0: it is not one statement. */
static int
count_actions(const List *parsed)
{
	Node	   *node;

	if (list_length(parsed) != 1)
		return 0;
	node = linitial_node(RawStmt, parsed)->stmt;
	return IsA(node, AlterTableStmt) ? list_length(((AlterTableStmt *) node)->cmds) : 1;
}

void
shuttle_node_text_run(const char *statement, const char *like)
{
	if (count_actions(raw_parser(statement, RAW_PARSE_DEFAULT)) != count_actions(raw_parser(like, RAW_PARSE_DEFAULT)))
		refuse(statement);
	(void) shuttle_local_run(statement);
}

/* The only action of a statement, which adds a foreign key to a table. */
static const Constraint *
parse_key(const char *statement, Oid relid)
{
	List	   *parsed = raw_parser(statement, RAW_PARSE_DEFAULT);
	const AlterTableCmd *action;
	const Constraint *key;

	if (count_actions(parsed) != 1 || !IsA(linitial_node(RawStmt, parsed)->stmt, AlterTableStmt))
		refuse(statement);
	action = linitial_node(AlterTableCmd, ((AlterTableStmt *) linitial_node(RawStmt, parsed)->stmt)->cmds);
	key = (const Constraint *) action->def;
	if (action->subtype != AT_AddConstraint || key->contype != CONSTR_FOREIGN ||
		RangeVarGetRelid(((AlterTableStmt *) linitial_node(RawStmt, parsed)->stmt)->relation, NoLock, true) != relid)
		refuse(statement);
	return key;
}

char *
shuttle_node_text_add_key(Oid relid, Oid referred, const char *name, const char *definition)
{
	char	   *statement = psprintf("ALTER TABLE %s ADD CONSTRAINT %s %s", shuttle_local_name(relid), name, definition);

	if (RangeVarGetRelid(parse_key(statement, relid)->pktable, NoLock, true) != referred)
		refuse(statement);
	return statement;
}

char *
shuttle_node_text_check_key(Oid relid, char *statement)
{
	(void) parse_key(statement, relid);
	return statement;
}
