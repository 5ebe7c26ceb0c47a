/*-------------------------------------------------------------------------
 * ddl_barrier.c
 *	  Statements that change what other query nodes have to know before they write: behind
 *	  a barrier (cluster/common/barrier.c).
 *
 * A name on a node never comes back with other contents, so nobody needs to be told that a table
 * has moved, or is gone. What has no trace on nodes is what matters: defaults, triggers, policies, privileges,
 * functions, foreign keys, options of servers. It is easier to say what does not matter: new objects,
 * dropped tables, and tables on this server.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "cluster/shuttle_cluster.h"
#include "tablets/ddl/ddl.h"
#include "tablets/ddl/ddl_barrier.h"

/* True if it adds a foreign key. */
static bool
refers(const List *constraints)
{
	ListCell   *cell;

	foreach(cell, constraints)
	{
		const Node *one = lfirst(cell);

		if (IsA(one, ColumnDef) ? refers(((const ColumnDef *) one)->constraints) :
			IsA(one, Constraint) && ((const Constraint *) one)->contype == CONSTR_FOREIGN)
			return true;
	}
	return false;
}

static bool
adds_reference(const AlterTableStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->cmds)
	{
		Node	   *definition = lfirst_node(AlterTableCmd, cell)->def;

		if (definition != NULL && refers(list_make1(definition)))
			return true;
	}
	return false;
}

/* True of a table whose rows are all on this server. */
static bool
is_here(const RangeVar *name)
{
	ShuttleTableKind kind;

	return name != NULL && !OidIsValid(shuttle_ddl_find(name, &kind)) &&
		get_rel_relkind(RangeVarGetRelid(name, NoLock, true)) == RELKIND_RELATION;
}

static bool
drop_matters(ObjectType type)
{
	return type != OBJECT_TABLE && type != OBJECT_INDEX && type != OBJECT_VIEW && type != OBJECT_MATVIEW;
}

static bool
matters(Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_AlterTableStmt:
			return !is_here(castNode(AlterTableStmt, statement)->relation) ||
				adds_reference(castNode(AlterTableStmt, statement));
		case T_CreateStmt:
			return castNode(CreateStmt, statement)->inhRelations != NIL ||
				refers(castNode(CreateStmt, statement)->tableElts) || refers(castNode(CreateStmt, statement)->constraints);
		case T_CreateTrigStmt:
			return !is_here(castNode(CreateTrigStmt, statement)->relation);
		case T_IndexStmt:
			return castNode(IndexStmt, statement)->unique && !castNode(IndexStmt, statement)->concurrent &&
				!is_here(castNode(IndexStmt, statement)->relation);
		case T_RenameStmt:
			return !is_here(castNode(RenameStmt, statement)->relation);
		case T_CreateFunctionStmt:
			return castNode(CreateFunctionStmt, statement)->replace;
		case T_ViewStmt:
			return castNode(ViewStmt, statement)->replace;
		case T_DropStmt:
			return drop_matters(castNode(DropStmt, statement)->removeType);
		case T_AlterDomainStmt:
		case T_AlterEnumStmt:
		case T_AlterExtensionStmt:
		case T_AlterFdwStmt:
		case T_AlterForeignServerStmt:
		case T_AlterFunctionStmt:
		case T_AlterObjectSchemaStmt:
		case T_AlterOwnerStmt:
		case T_AlterPolicyStmt:
		case T_AlterRoleSetStmt:
		case T_AlterRoleStmt:
		case T_AlterTSConfigurationStmt:
		case T_AlterTSDictionaryStmt:
		case T_AlterTypeStmt:
		case T_AlterUserMappingStmt:
		case T_CreateCastStmt:
		case T_CreatePolicyStmt:
		case T_CreateUserMappingStmt:
		case T_DropOwnedStmt:
		case T_DropRoleStmt:
		case T_DropUserMappingStmt:
		case T_GrantRoleStmt:
		case T_GrantStmt:
		case T_ReassignOwnedStmt:
		case T_RuleStmt:
			return true;
		default:
			return false;
	}
}

void
shuttle_ddl_barrier(Node *statement)
{
	if (!matters(statement))
		return;

	/* before a lock is refused, which tells less */
	PreventCommandIfReadOnly(CreateCommandName(statement));
	shuttle_barrier_raise();
}
