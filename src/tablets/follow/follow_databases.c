/*-------------------------------------------------------------------------
 * follow_databases.c
 *	  CREATE DATABASE, DROP DATABASE and ALTER DATABASE ... RENAME on nodes.
 *
 * A database cannot be created or dropped in a transaction, here or there. So
 * nodes create it first, and drop it again if one of them or this server fails;
 * what cannot be dropped is named in a warning. It is dropped here first, since
 * this server knows who uses it, and that is committed before nodes are told.
 *
 * Nodes copy template0, with our encoding and locale. The remote user owns
 * the database there, and creates the tablets in it.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_database.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "storage/shuttle_storage.h"
#include "tablets/common/local_sql.h"
#include "tablets/follow/follow.h"

/* Dropping what a failed statement has created waits for no longer. */
#define UNDO_LIMIT_MS 30000

#define LEFT_HINT "Drop it there, for instance with shuttle.run_on_nodes()."

/* What a node says of a database. */
typedef struct NodeDatabase
{
	Oid			serverid;
	const char *name;			/* of the server */
	char		server[64];		/* tells PostgreSQL servers apart */
	bool		exists;
	bool		is_ours;
	bool		is_made;		/* by this statement */
} NodeDatabase;

static void
take_database(void *arg, const ShuttleRow *row)
{
	NodeDatabase *database = arg;

	strlcpy(database->server, row->values[0], sizeof(database->server));
	database->exists = strcmp(row->values[1], "t") == 0;
	database->is_ours = strcmp(row->values[2], "t") == 0;
}

static ShuttleOutsideRun *
make_runs(const NodeDatabase *databases, int n)
{
	ShuttleOutsideRun *runs = palloc0_array(ShuttleOutsideRun, n);

	for (int i = 0; i < n; i++)
		runs[i] = (ShuttleOutsideRun)
	{
		.serverid = databases[i].serverid,
			.name = databases[i].name,
			.ok = true,
			.nrows = -1,
	};
	return runs;
}

/* Asks all nodes. Errors: those of nodes that do not answer. */
static NodeDatabase *
look_at_nodes(const ShuttleFollowed *followed, const char *database)
{
	int			n = list_length(followed->servers);
	NodeDatabase *databases = palloc0_array(NodeDatabase, n);
	char	   *query = psprintf("SELECT " SHUTTLE_FOLLOW_SERVER ", EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = %s), %s",
								 quote_literal_cstr(database), shuttle_follow_is_ours(false, database));
	ShuttleOutsideRun *runs;

	for (int i = 0; i < n; i++)
	{
		databases[i].serverid = list_nth_oid(followed->servers, i);
		databases[i].name = GetForeignServer(databases[i].serverid)->servername;
	}
	runs = make_runs(databases, n);
	for (int i = 0; i < n; i++)
	{
		runs[i].row = take_database;
		runs[i].row_arg = &databases[i];
		runs[i].ncolumns = 3;
	}
	shuttle_outside_run(query, GetUserId(), runs, n, 0);
	for (int i = 0; i < n; i++)
	{
		if (!runs[i].ok)
			ereport(ERROR,
					(errcode(shuttle_outside_sqlstate(&runs[i])),
					 errmsg("%s on storage node \"%s\" failed: %s", followed->name, runs[i].name, runs[i].error),
					 errhint("Nothing was done. With shuttle.follow_databases off it is done on this server only.")));
	}
	return databases;
}

/* ---- CREATE DATABASE */

static bool
may_create(void)
{
	HeapTuple	tuple = SearchSysCache1(AUTHOID, ObjectIdGetDatum(GetUserId()));
	bool		may = superuser();

	if (!HeapTupleIsValid(tuple))
		return may;
	may |= ((Form_pg_authid) GETSTRUCT(tuple))->rolcreatedb;
	ReleaseSysCache(tuple);
	return may;
}

/* Two nodes on one server, or a node on this server, would have to share the database. */
static void
check_servers(const NodeDatabase *databases, int n)
{
	char	   *here = shuttle_local_text("SELECT " SHUTTLE_FOLLOW_SERVER, InvalidOid);

	for (int i = 0; i < n; i++)
	{
		const char *other = strcmp(databases[i].server, here) == 0 ? "this server" : NULL;

		for (int j = 0; j < i; j++)
		{
			if (strcmp(databases[i].server, databases[j].server) == 0)
				other = psprintf("the server of storage node \"%s\"", databases[j].name);
		}
		if (other != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("CREATE DATABASE cannot be followed by storage node \"%s\"", databases[i].name),
					 errdetail("It is on %s, which can have one database of the name only.", other),
					 errhint("Set shuttle.follow_databases to off.")));
	}
}

static void
check_is_new(const NodeDatabase *databases, int n, const char *database)
{
	for (int i = 0; i < n; i++)
	{
		if (databases[i].exists)
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_DATABASE),
					 errmsg("database \"%s\" already exists on storage node \"%s\"", database, databases[i].name),
					 errdetail("Nothing was created."),
					 errhint(LEFT_HINT)));
	}
}

/* The template's, for what the statement leaves open. */
char *
shuttle_follow_locale(const char *name)
{
	return shuttle_local_text(psprintf("SELECT format(' LC_COLLATE %%L LC_CTYPE %%L', datcollate, datctype) ||"
									   " CASE datlocprovider WHEN 'i' THEN format(' LOCALE_PROVIDER icu ICU_LOCALE %%L', coalesce(to_jsonb(d) ->> 'datlocale', to_jsonb(d) ->> 'daticulocale'))"
									   " WHEN 'b' THEN format(' LOCALE_PROVIDER builtin BUILTIN_LOCALE %%L', to_jsonb(d) ->> 'datlocale') ELSE '' END"
									   " FROM pg_database AS d WHERE datname = %s", quote_literal_cstr(name)), InvalidOid);
}

static char *
template_encoding(const char *name)
{
	return shuttle_local_text(psprintf("SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = %s",
									   quote_literal_cstr(name)), InvalidOid);
}

/* The statement for nodes; NULL if the template does not exist here. */
static char *
create_text(const CreatedbStmt *statement)
{
	static const char *const locales[] = {"locale", "lc_collate", "lc_ctype", "icu_locale", "icu_rules",
	"locale_provider", "builtin_locale"};
	const char *template = "template1";
	const char *encoding = NULL;
	char	   *locale = NULL;
	StringInfoData given;
	ListCell   *cell;

	initStringInfo(&given);
	foreach(cell, statement->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (option->arg == NULL)
			continue;
		if (strcmp(option->defname, "template") == 0)
			template = defGetString(option);
		else if (strcmp(option->defname, "encoding") == 0)
			encoding = IsA(option->arg, Integer) ? pg_encoding_to_char(intVal(option->arg)) : defGetString(option);
		for (int i = 0; i < lengthof(locales); i++)
		{
			if (strcmp(option->defname, locales[i]) == 0)
				appendStringInfo(&given, " %s %s", locales[i], quote_literal_cstr(defGetString(option)));
		}
	}
	locale = given.len > 0 ? given.data : shuttle_follow_locale(template);
	if (encoding == NULL)
		encoding = template_encoding(template);
	if (encoding == NULL || locale == NULL)
		return NULL;
	return psprintf("CREATE DATABASE %s TEMPLATE template0 ENCODING %s%s", quote_identifier(statement->dbname),
					quote_literal_cstr(encoding), locale);
}

/* Drops what nodes have created; what they keep is told. */
static void
undo_create(const NodeDatabase *databases, int n, const char *database)
{
	NodeDatabase *made = palloc0_array(NodeDatabase, n);
	ShuttleOutsideRun *runs;
	int			nmade = 0;

	for (int i = 0; i < n; i++)
	{
		if (databases[i].is_made)
			made[nmade++] = databases[i];
	}
	runs = make_runs(made, nmade);
	if (nmade > 0)
		shuttle_outside_run(psprintf("DROP DATABASE %s", quote_identifier(database)), GetUserId(), runs,
							nmade, UNDO_LIMIT_MS);
	for (int i = 0; i < nmade; i++)
	{
		if (!runs[i].ok)
			ereport(WARNING,
					(errmsg("database \"%s\" is left on storage node \"%s\": %s", database, runs[i].name, runs[i].error),
					 errhint(LEFT_HINT)));
	}
}

static void
raise_create(const ShuttleOutsideRun *runs, int n, const char *database)
{
	for (int i = 0; i < n; i++)
	{
		if (!runs[i].ok)
			ereport(ERROR,
					(errcode(shuttle_outside_sqlstate(&runs[i])),
					 errmsg("could not create database \"%s\" on storage node \"%s\": %s", database, runs[i].name, runs[i].error),
					 errdetail("It is created nowhere.")));
	}
}

/* Databases are marked as made as soon as their node may have them. */
static void
create_on_nodes(NodeDatabase *databases, int n, const char *database, const char *text)
{
	ShuttleOutsideRun *runs = make_runs(databases, n);

	for (int i = 0; i < n; i++)
		databases[i].is_made = true;
	shuttle_outside_run(text, GetUserId(), runs, n, 0);
	for (int i = 0; i < n; i++)
		databases[i].is_made = runs[i].ok;
	raise_create(runs, n, database);
	runs = make_runs(databases, n);
	shuttle_outside_run(psprintf("COMMENT ON DATABASE %s IS %s", quote_identifier(database), shuttle_follow_mark()),
						GetUserId(), runs, n, 0);
	raise_create(runs, n, database);
}

void
shuttle_follow_create_database(const ShuttleFollowed *followed, const CreatedbStmt *statement)
{
	MemoryContext cxt = CurrentMemoryContext;
	int			n = list_length(followed->servers);
	const char *name = statement->dbname;
	NodeDatabase *databases;
	char	   *text;

	PreventInTransactionBlock(followed->is_toplevel, followed->name);
	text = create_text(statement);

	if (!may_create() || OidIsValid(get_database_oid(name, true)) || text == NULL)
	{
		followed->run(followed->arg);	/* raises its error */
		return;
	}
	databases = look_at_nodes(followed, name);
	check_servers(databases, n);
	check_is_new(databases, n, name);
	PG_TRY();					/* to undo it talks to nodes */
	{
		create_on_nodes(databases, n, name, text);
		followed->run(followed->arg);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		FlushErrorState();
		undo_create(databases, n, name);
		ReThrowError(error);
	}
	PG_END_TRY();
}

/* ---- DROP DATABASE */

static char *
drop_text(const DropdbStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->options)
	{
		if (strcmp(lfirst_node(DefElem, cell)->defname, "force") == 0)
			return psprintf("DROP DATABASE %s WITH (FORCE)", quote_identifier(statement->dbname));
	}
	return psprintf("DROP DATABASE %s", quote_identifier(statement->dbname));
}

/* The database is gone here. */
static void
drop_on_nodes(const NodeDatabase *databases, int n, const char *database, const char *text)
{
	ShuttleOutsideRun *runs = make_runs(databases, n);

	for (int i = 0; i < n; i++)
	{
		if (!databases[i].is_ours)
			runs[i].error = "";
		if (databases[i].exists && !databases[i].is_ours)
			ereport(NOTICE,
					(errmsg("storage node \"%s\" keeps its database \"%s\", which was not created from here", databases[i].name, database)));
	}
	shuttle_outside_run(text, GetUserId(), runs, n, 0);
	for (int i = 0; i < n; i++)
	{
		if (!runs[i].ok)
			ereport(WARNING,
					(errcode(shuttle_outside_sqlstate(&runs[i])),
					 errmsg("database \"%s\" is left on storage node \"%s\": %s", database, runs[i].name, runs[i].error),
					 errhint(LEFT_HINT)));
	}
}

void
shuttle_follow_drop_database(const ShuttleFollowed *followed, const DropdbStmt *statement)
{
	MemoryContext cxt = CurrentMemoryContext;
	NodeDatabase *databases;
	char	   *text = drop_text(statement);

	PreventInTransactionBlock(followed->is_toplevel, followed->name);
	if (!OidIsValid(get_database_oid(statement->dbname, true)))
	{
		followed->run(followed->arg);	/* raises its error, or a notice */
		return;
	}
	databases = look_at_nodes(followed, statement->dbname);
	followed->run(followed->arg);

	/* a cancel from now on must not undo half of it */
	if (ActiveSnapshotSet())
		PopActiveSnapshot();
	CommitTransactionCommand();
	StartTransactionCommand();
	MemoryContextSwitchTo(cxt);
	drop_on_nodes(databases, list_length(followed->servers), statement->dbname, text);
}

/* ---- ALTER DATABASE ... RENAME */

void
shuttle_follow_rename_database(const ShuttleFollowed *followed, const RenameStmt *statement)
{
	followed->run(followed->arg);
	shuttle_follow_on_nodes(followed->servers,
							psprintf("IF %s THEN ALTER DATABASE %s RENAME TO %s; END IF;",
									 shuttle_follow_is_ours(false, statement->subname),
									 quote_identifier(statement->subname), quote_identifier(statement->newname)),
							NULL);
}
