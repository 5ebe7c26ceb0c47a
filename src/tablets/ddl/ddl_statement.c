/*-------------------------------------------------------------------------
 * ddl_statement.c
 *	  What all that run a statement on a distributed table need: which table it
 *	  is on, how it is refused, and how a changed copy is run here.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "utils/lsyscache.h"

#include "tablets/ddl/ddl_statement.h"

Oid
shuttle_ddl_find(const RangeVar *name, ShuttleTableKind *kind)
{
	Oid			relid = name == NULL ? InvalidOid : RangeVarGetRelid(name, NoLock, true);
	char		relkind = OidIsValid(relid) ? get_rel_relkind(relid) : '\0';

	if (relkind == RELKIND_INDEX || relkind == RELKIND_PARTITIONED_INDEX)
		relid = IndexGetRelation(relid, true);
	*kind = OidIsValid(relid) ? shuttle_table_kind(relid) : SHUTTLE_TABLE_OTHER;
	return *kind == SHUTTLE_TABLE_OTHER ? InvalidOid : relid;
}

void
shuttle_ddl_refuse(Oid relid, const char *what, const char *instead)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s is not possible on %s table \"%s\"", what,
					shuttle_table_kind(relid) == SHUTTLE_TABLE_REFERENCE ? "reference" : "distributed",
					get_rel_name(relid)),
			 errhint("%s", instead)));
}

void
shuttle_ddl_refuse_tablet(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot change tablet \"%s\"", get_rel_name(relid)),
			 errhint("Name the distributed table \"%s\": its tablets follow.",
					 get_rel_name(get_partition_parent(relid, true)))));
}

void
shuttle_ddl_refuse_of_partition(Oid relid, const char *what)
{
	Oid			parent = get_rel_relispartition(relid) ? get_partition_parent(relid, true) : InvalidOid;

	if (OidIsValid(parent))
		shuttle_ddl_refuse(relid, psprintf("%s of a partition", what),
						   psprintf("Detach it first from table \"%s\".", get_rel_name(parent)));
}

void
shuttle_ddl_run_here(const ShuttleDdl *ddl, Node *statement)
{
	PlannedStmt *pstmt = copyObject(ddl->pstmt);

	pstmt->utilityStmt = statement;
	ddl->run(pstmt, ddl->query, false, ddl->context, ddl->params, ddl->env, ddl->dest,
			 ddl->completion);
}
