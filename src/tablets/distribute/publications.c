/*-------------------------------------------------------------------------
 * publications.c
 *	  Publications and subscriptions of tables whose rows are on nodes.
 *
 * This server has no changes of them to publish, and its workers cannot write into
 * them. distribute_table() refuses a table that a publication names, or that a
 * subscription writes (distribute_checks.c), and a publication cannot name a distributed table.
 * One of all tables, or of a schema, has the others, and each statement that takes
 * a table from it says so. Which tables a subscription writes is known only when the
 * statement has asked the publisher.
 *
 * What is published of a partitioned table is published of its partitions, too.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_publication.h"
#include "catalog/pg_subscription.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/distribute/distribute.h"

/* Since 19 those of all tables name tables that they leave out. */
static const char *const publications_query =
"WITH family (relation) AS (SELECT $1 UNION SELECT relid::oid FROM pg_partition_ancestors($1) UNION SELECT relid::oid FROM pg_partition_tree($1))"
" SELECT string_agg(quote_ident(pubname), ', ' ORDER BY pubname) FROM pg_publication AS p"
" WHERE puballtables <> EXISTS (SELECT FROM pg_publication_rel JOIN family ON relation = prrelid WHERE prpubid = p.oid)"
" OR EXISTS (SELECT FROM pg_publication_namespace JOIN pg_class AS c ON relnamespace = pnnspid JOIN family ON relation = c.oid WHERE pnpubid = p.oid)";

/* Distributed tables that publication $1 would have; of their partitions the upmost. */
static const char *const unpublished_query =
"SELECT string_agg(t.relation::text, ', ' ORDER BY t.relation::text) FROM pg_publication AS p JOIN shuttle.tables AS t ON kind <> 'reference',"
" LATERAL (SELECT array_agg(relid::oid) || t.relation::oid AS relids FROM (SELECT relid FROM pg_partition_ancestors(t.relation)"
" UNION ALL SELECT relid FROM pg_partition_tree(t.relation)) AS r) AS family"
" WHERE p.oid = $1 AND NOT EXISTS (SELECT FROM pg_inherits JOIN shuttle.tables AS parent ON parent.relation = inhparent WHERE inhrelid = t.relation)"
" AND (puballtables <> EXISTS (SELECT FROM pg_publication_rel WHERE prpubid = p.oid AND prrelid = ANY (relids))"
" OR EXISTS (SELECT FROM pg_publication_namespace JOIN pg_class AS c ON relnamespace = pnnspid WHERE pnpubid = p.oid AND c.oid = ANY (relids)))";

static const char *const unwritten_query =
"SELECT string_agg(t.relation::text, ', ' ORDER BY t.relation::text) FROM shuttle.tables AS t WHERE kind <> 'reference'"
" AND EXISTS (SELECT FROM pg_subscription_rel WHERE srsubid = $1 AND (srrelid = t.relation"
" OR srrelid IN (SELECT relid FROM pg_partition_ancestors(t.relation))))";

/* The table itself, or a partition of it that is distributed. */
static const char *const distributed_query =
"SELECT c.relname::text FROM shuttle.tables AS t JOIN pg_class AS c ON c.oid = t.relation WHERE kind <> 'reference'"
" AND (relation = $1 OR relation IN (SELECT relid FROM pg_partition_tree($1))) ORDER BY relation <> $1, relname LIMIT 1";

static const char *const hint = "Publish the tablets on their storage nodes, with shuttle.run_on_nodes().";

char *
shuttle_publications_of(Oid relid)
{
	return shuttle_local_text(publications_query, relid);
}

void
shuttle_publications_warn(Oid relid)
{
	char	   *names = shuttle_publications_of(relid);

	if (names != NULL)
		ereport(WARNING,
				(errmsg("publication %s has no changes of distributed table \"%s\"", names, get_rel_name(relid)),
				 errhint("%s", hint)));
}

/* ---- statements */

static void
refuse_table(const RangeVar *name)
{
	Oid			relid = RangeVarGetRelid(name, NoLock, true);
	const char *table;

	if (!OidIsValid(relid))
		return;
	table = shuttle_table_kind(relid) == SHUTTLE_TABLE_TABLET ? get_rel_name(relid) : shuttle_local_text(distributed_query, relid);
	if (table != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot publish distributed table \"%s\"", table),
				 errdetail("Its rows are written on storage nodes."),
				 errhint("Publish the tablets there, with shuttle.run_on_nodes().")));
}

/* Since 19 a publication of all tables can name those that it leaves out. */
static void
refuse_tables(const List *objects)
{
	const ListCell *cell;

	foreach(cell, objects)
	{
		const PublicationObjSpec *object = lfirst_node(PublicationObjSpec, cell);

		if (object->pubobjtype == PUBLICATIONOBJ_TABLE)
			refuse_table(object->pubtable->relation);
	}
}

void
shuttle_publications_refuse(Node *statement)
{
	if (IsA(statement, CreatePublicationStmt))
		refuse_tables(castNode(CreatePublicationStmt, statement)->pubobjects);
	else if (IsA(statement, AlterPublicationStmt) && castNode(AlterPublicationStmt, statement)->action != AP_DropObjects)
		refuse_tables(castNode(AlterPublicationStmt, statement)->pubobjects);
}

static void
warn_of_unpublished(const char *publication)
{
	char	   *names = shuttle_local_text(unpublished_query, get_publication_oid(publication, false));

	if (names != NULL)
		ereport(WARNING,
				(errmsg("publication %s has no changes of distributed tables", quote_identifier(publication)),
				 errdetail("Their rows are written on storage nodes: %s.", names),
				 errhint("%s", hint)));
}

static void
warn_of_unwritten(const char *subscription)
{
	char	   *names = shuttle_local_text(unwritten_query, get_subscription_oid(subscription, false));

	if (names != NULL)
		ereport(WARNING,
				(errmsg("subscription %s cannot write into distributed tables", quote_identifier(subscription)),
				 errdetail("Their rows are on storage nodes: %s.", names),
				 errhint("Leave the tables out of its publications, or bring them back with shuttle.local_table().")));
}

static bool
changes_tables(const AlterSubscriptionStmt *statement)
{
	switch (statement->kind)
	{
		case ALTER_SUBSCRIPTION_OPTIONS:
		case ALTER_SUBSCRIPTION_CONNECTION:
		case ALTER_SUBSCRIPTION_ENABLED:
		case ALTER_SUBSCRIPTION_SKIP:
			return false;
		default:
			return true;
	}
}

static void
follow_alter(const AlterPublicationStmt *statement)
{
	if (statement->action != AP_DropObjects && (statement->pubobjects != NIL || statement->for_all_tables))
		warn_of_unpublished(statement->pubname);
}

void
shuttle_publications_follow(Node *statement)
{
	CommandCounterIncrement();

	/* a table may have been distributed while the statement waited for it */
	shuttle_publications_refuse(statement);
	if (IsA(statement, CreatePublicationStmt))
		warn_of_unpublished(castNode(CreatePublicationStmt, statement)->pubname);
	else if (IsA(statement, AlterPublicationStmt))
		follow_alter(castNode(AlterPublicationStmt, statement));
	else if (IsA(statement, CreateSubscriptionStmt))
		warn_of_unwritten(castNode(CreateSubscriptionStmt, statement)->subname);
	else if (IsA(statement, AlterSubscriptionStmt) && changes_tables(castNode(AlterSubscriptionStmt, statement)))
		warn_of_unwritten(castNode(AlterSubscriptionStmt, statement)->subname);
}
