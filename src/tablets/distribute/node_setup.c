/*-------------------------------------------------------------------------
 * node_setup.c
 *	  shuttle.add_node(), shuttle.use_node() and shuttle.remove_node().
 *
 * A storage node is a foreign server of our wrapper with the option
 * shuttle_holds_tablets. Nodes know one role, which PUBLIC's user mapping leads
 * to; privileges are checked here.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_foreign_server.h"
#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "foreign/foreign.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "cluster/shuttle_cluster.h"
#include "storage/shuttle_storage.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/distribute/distribute.h"
#include "tablets/follow/follow.h"
#include "tablets/needs/routines.h"
#include "tablets/reference/reference.h"
#include "tablets/rights/user_code.h"

#define OLDEST_NODE 120000
#define NCOLUMNS 3
#define OTHERS_LIMIT_MS 5000

/* Columns of the query that looks at a node. */
enum
{
	LOOK_VERSION,
	LOOK_ENCODING,
	LOOK_COLLATION,
	LOOK_MAX_PREPARED,
	LOOK_EXCLUSION,
	LOOK_CAN_CREATE,
	LOOK_POWER,
	LOOK_IDENTITY,
	LOOK_NCOLUMNS
};

/* Databases of one server have its identifier and start; copies of a server have its identifier. */
#define IDENTITY \
	"(SELECT system_identifier FROM pg_catalog.pg_control_system())::text || ' ' ||" \
	" (extract(epoch FROM pg_catalog.pg_postmaster_start_time()) * 1000000)::pg_catalog.int8::text || ' ' ||" \
	" (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())::text"

/* Versions differ in where they keep it; before 15 they keep none of its version. */
#define COLLATION \
	"(coalesce(pg_catalog.to_jsonb(d) ->> 'datlocale', pg_catalog.to_jsonb(d) ->> 'daticulocale', d.datcollate)" \
	" || coalesce(' ' || (pg_catalog.to_jsonb(d) ->> 'datcollversion'), ''))"

static const char *const look_query =
"SELECT pg_catalog.current_setting('server_version_num'), pg_catalog.current_setting('server_encoding'),"
" " COLLATION ", pg_catalog.current_setting('max_prepared_transactions'),"
" pg_catalog.current_setting('constraint_exclusion'),"
" CASE WHEN pg_catalog.has_database_privilege(d.oid, 'CREATE') THEN 't'"
" WHEN d.datname IN ('postgres', 'template1') AND (SELECT rolcreatedb FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN 'databases' END,"
" " SHUTTLE_REMOTE_POWER ","
" " IDENTITY
" FROM pg_catalog.pg_database AS d WHERE d.datname = pg_catalog.current_database()";

/* A query for nodes of what differs there for tables of this database: extensions that columns, keys,
 * indexes or checks need, and schemas in which the remote user may create nothing. */
static const char *const differences_query =
"WITH e AS (SELECT DISTINCT e.extname, e.extversion FROM pg_extension AS e"
" JOIN pg_depend AS m ON m.refclassid = 'pg_extension'::regclass AND m.refobjid = e.oid AND m.deptype = 'e'"
" JOIN pg_depend AS d ON d.refclassid = m.classid AND d.refobjid = m.objid"
" LEFT JOIN pg_class AS c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid"
" WHERE (c.relkind IN ('r', 'p', 'i', 'I') OR d.classid = 'pg_constraint'::regclass) AND extname <> 'pg_shuttle')"
" SELECT format($sql$"
"SELECT 'extension ' || pg_catalog.quote_ident(here.name), coalesce(extversion || ', here ' || here.version, 'missing'),"
" CASE WHEN extversion IS NULL"
" THEN pg_catalog.format('Run CREATE EXTENSION %%I on the node, before tables that need it are distributed.', here.name)"
" ELSE pg_catalog.format('Bring it to one version with ALTER EXTENSION %%I UPDATE.', here.name) END"
" FROM ROWS FROM (pg_catalog.unnest(%L::text[]), pg_catalog.unnest(%L::text[])) AS here (name, version)"
" LEFT JOIN pg_catalog.pg_extension ON extname = here.name WHERE extversion IS DISTINCT FROM here.version"
" UNION ALL "
"SELECT 'schema ' || pg_catalog.quote_ident(nspname), 'closed',"
" pg_catalog.format('Run GRANT CREATE ON SCHEMA %%I TO %%I on the node, before its tables are distributed.', nspname, current_user)"
" FROM pg_catalog.pg_namespace WHERE nspname = ANY (%L) AND NOT pg_catalog.has_schema_privilege(oid, 'CREATE')"
" ORDER BY 1$sql$,"
" (SELECT array_agg(extname ORDER BY extname) FROM e), (SELECT array_agg(extversion ORDER BY extname) FROM e),"
" (SELECT array_agg(DISTINCT nspname) FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace"
" WHERE relkind IN ('r', 'p') AND nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'shuttle')))";

/* What was found of a node. */
typedef struct NodeLook
{
	char	   *values[LOOK_NCOLUMNS];
} NodeLook;

SHUTTLE_SQL_FUNCTION(shuttle_add_node);
SHUTTLE_SQL_FUNCTION(shuttle_use_node);
SHUTTLE_SQL_FUNCTION(shuttle_remove_node);

static void
put_verdict(ReturnSetInfo *result, const char *subject, const char *verdict, const char *hint)
{
	Datum		values[NCOLUMNS] = {CStringGetTextDatum(subject), CStringGetTextDatum(verdict)};
	bool		nulls[NCOLUMNS] = {false, false, hint == NULL};

	if (hint != NULL)
		values[2] = CStringGetTextDatum(hint);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static void
take_look(void *arg, const ShuttleRow *row)
{
	NodeLook   *look = arg;

	for (int i = 0; i < LOOK_NCOLUMNS; i++)
		look->values[i] = row->values[i] == NULL ? "" : pstrdup(row->values[i]);
}

pg_noreturn static void
refuse_node(const char *name, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("server \"%s\" cannot be a storage node", name),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

/* What one of the other nodes says of itself. */
typedef struct OtherNode
{
	const char *identity;		/* that of the new node */
	bool		is_same;
} OtherNode;

static void
compare_identity(void *arg, const ShuttleRow *row)
{
	OtherNode  *other = arg;

	other->is_same = row->values[0] != NULL && strcmp(row->values[0], other->identity) == 0;
}

/* The storage node that leads to the same database; NULL: there is none among those that
 * answer in time. */
static const char *
find_same_node(Oid serverid, const char *identity)
{
	List	   *serverids = list_delete_oid(list_copy(shuttle_layout_nodes()), serverid);
	int			nservers = list_length(serverids);
	OtherNode  *others = palloc0_array(OtherNode, Max(nservers, 1));
	ShuttleOutsideRun *runs = palloc0_array(ShuttleOutsideRun, Max(nservers, 1));

	for (int i = 0; i < nservers; i++)
	{
		others[i].identity = identity;
		runs[i] = (ShuttleOutsideRun)
		{
			.serverid = list_nth_oid(serverids, i),
				.name = GetForeignServer(list_nth_oid(serverids, i))->servername,
				.ok = true,
				.row = compare_identity,
				.row_arg = &others[i],
				.ncolumns = 1,
		};
	}
	if (nservers > 0)
		shuttle_outside_run(SHUTTLE_RUN_AT_ONCE "SELECT " IDENTITY, GetUserId(), runs, nservers, OTHERS_LIMIT_MS);
	for (int i = 0; i < nservers; i++)
	{
		if (others[i].is_same)
			return runs[i].name;
	}
	return NULL;
}

/* Two tablets of a table have one parent on a node; and this database has the table itself. */
static void
check_identity(Oid serverid, const char *name, const char *identity)
{
	const char *same;

	if (strcmp(shuttle_local_text("SELECT " IDENTITY, InvalidOid), identity) == 0)
		refuse_node(name, "It leads to this database.",
					"Name another database, on this server or on another one.");
	same = find_same_node(serverid, identity);
	if (same != NULL)
		refuse_node(name, psprintf("It leads to the same database as storage node \"%s\".", same),
					"Name another database, or use that node.");
}

static void
put_difference(void *arg, const ShuttleRow *row)
{
	put_verdict(arg, shuttle_row_text(row, 0), shuttle_row_text(row, 1), row->values[2]);
}

/* What can make statements fail later, or slower. */
static void
put_differences(ReturnSetInfo *result, ShuttleNode *node, const char *collation)
{
	const char *here = shuttle_local_text("SELECT " COLLATION " FROM pg_database AS d WHERE datname = current_database()",
										  InvalidOid);
	int			length = strlen(collation);
	bool		is_same = strncmp(here, collation, length) == 0 && (here[length] == '\0' || here[length] == ' ');

	put_verdict(result, "collation", collation, is_same ? NULL :
				psprintf("Text is sorted on the query node, as its collation is %s; make both databases with one collation, or give columns COLLATE \"C\".", here));
	shuttle_query(node, shuttle_local_text(differences_query, InvalidOid), SHUTTLE_READS,
				  NCOLUMNS, put_difference, result);
}

/* Refuses what would give wrong answers or failing commits, and reports the rest. */
static void
check_node(ReturnSetInfo *result, Oid serverid, const char *name)
{
	ShuttleNode *node = shuttle_connection_get(serverid, GetUserId());
	NodeLook	look = {0};
	int			version;

	shuttle_query(node, look_query, SHUTTLE_READS,
				  LOOK_NCOLUMNS, take_look, &look);
	if (look.values[0] == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("storage node \"%s\" gave an answer that was not expected", name),
				 errdetail("It has no rows.")));
	version = pg_strtoint32(look.values[LOOK_VERSION]);
	if (version < OLDEST_NODE)
		refuse_node(name, "It is older than PostgreSQL 12.", "Upgrade it.");
	check_identity(serverid, name, look.values[LOOK_IDENTITY]);
	put_verdict(result, "version", psprintf("%d", version / 10000), NULL);

	/* hash values of texts are made of their bytes */
	if (strcmp(look.values[LOOK_ENCODING], GetDatabaseEncodingName()) != 0)
		refuse_node(name,
					psprintf("Its database has the encoding %s, this one has %s.",
							 look.values[LOOK_ENCODING], GetDatabaseEncodingName()),
					"Use a database with the same encoding.");
	put_verdict(result, "encoding", "ok", NULL);

	if (pg_strtoint32(look.values[LOOK_MAX_PREPARED]) == 0)
		refuse_node(name, "Its setting \"max_prepared_transactions\" is 0, so it cannot take part in a commit over several nodes.",
					"Set it to at least the number of connections, and restart the node.");
	put_verdict(result, "prepared transactions", "ok", NULL);

	if (strcmp(look.values[LOOK_EXCLUSION], "off") == 0)
		refuse_node(name, "Its setting \"constraint_exclusion\" is off.",
					"Set it to \"partition\", the default.");

	/* as for CREATE DATABASE, which nodes follow from there */
	if (strcmp(look.values[LOOK_CAN_CREATE], "databases") == 0)
		put_verdict(result, "schemas", "closed",
					"The remote user may create databases on the node. Grant it CREATE on this one before tables of this one are distributed.");
	else if (strcmp(look.values[LOOK_CAN_CREATE], "t") != 0)
		refuse_node(name, "The remote user may not create schemas in its database.",
					"Grant CREATE on the database to the remote user.");
	if (*look.values[LOOK_POWER] == '\0')
		put_verdict(result, "privileges", "ok", NULL);
	else
		put_verdict(result, "privileges", look.values[LOOK_POWER],
					"Only superusers may bring functions there. Map PUBLIC to a role that only owns the tables.");
	put_differences(result, node, look.values[LOOK_COLLATION]);
}

/* The remote user is the same for all, as nodes check no privileges. */
static void
check_mappings(Oid serverid, const char *name)
{
	static const char *const query =
		"SELECT usename::text FROM pg_user_mappings WHERE srvid = $1 AND umuser <> 0";
	char	   *user = shuttle_local_text(query, serverid);

	if (user != NULL)
		refuse_node(name, psprintf("Role \"%s\" has a user mapping of its own.", user),
					"Drop it: a storage node has one user mapping, for PUBLIC.");
	if (!shuttle_node_has_mapping(serverid, GetUserId()))
		refuse_node(name, "There is no user mapping for PUBLIC.",
					"Create it with CREATE USER MAPPING FOR PUBLIC.");
}

static void
set_option(const char *server, const char *action, const char *option, const char *value)
{
	(void) shuttle_local_run(psprintf("ALTER SERVER %s OPTIONS (%s %s %s)",
									  quote_identifier(server), action, option,
									  quote_literal_cstr(value)));
}

static char *
tags_text(ArrayType *tags)
{
	StringInfoData words;
	Datum	   *values;
	bool	   *nulls;
	int			nvalues;

	initStringInfo(&words);
	deconstruct_array(tags, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &nvalues);
	for (int i = 0; i < nvalues; i++)
	{
		if (nulls[i])
			continue;
		appendStringInfo(&words, "%s%s", words.len == 0 ? "" : ",",
						 quote_identifier(TextDatumGetCString(values[i])));
	}
	return words.data;
}

static void
hold_tablets(const char *server, ArrayType *tags)
{
	ForeignServer *known = GetForeignServerByName(server, false);
	const char *text = tags == NULL ? "" : tags_text(tags);

	if (shuttle_option_find(known->options, "shuttle_holds_tablets") == NULL)
	{
		set_option(server, "ADD", "shuttle_holds_tablets", "true");
		shuttle_reference_add_node(known->serverid);
		shuttle_routines_make(known->serverid);
	}
	if (*text !='\0')
		set_option(server, shuttle_option_find(known->options, "shuttle_tags") == NULL ? "ADD" : "SET",
				   "shuttle_tags", text);
}

void
shuttle_node_set_labels(const char *name, Datum labels)
{
	char	   *text = DatumGetCString(DirectFunctionCall1(jsonb_out, labels));

	set_option(name, shuttle_option_find(GetForeignServerByName(name, false)->options, "shuttle_labels") == NULL ? "ADD" : "SET",
			   "shuttle_labels", text);
}

/* CREATE DATABASE cannot be in a transaction, so it stays if this one fails. */
static void
create_database(ReturnSetInfo *result, Oid serverid, const char *name)
{
	const char *database = get_database_name(MyDatabaseId);
	ShuttleOutsideRun run = {.serverid = serverid,.name = name,.ok = true,.nrows = -1};
	char	   *sql = psprintf("CREATE DATABASE %s TEMPLATE template0 ENCODING %s%s",
							   quote_identifier(database),
							   quote_literal_cstr(GetDatabaseEncodingName()),
							   shuttle_follow_locale(database));

	shuttle_outside_run(sql, GetUserId(), &run, 1, 0);
	if (run.ok)
		put_verdict(result, "database", "created", NULL);
	else if (strcmp(run.sqlstate, "42P04") == 0)
		put_verdict(result, "database", "exists", NULL);
	else
		ereport(ERROR,
				(errcode(shuttle_outside_sqlstate(&run)),
				 errmsg("could not create database \"%s\" on storage node \"%s\": %s",
						database, name, run.error),
				 errhint("Or create it there, with the encoding %s, and leave create_database out.",
						 GetDatabaseEncodingName())));
}

static char *
mapping_options(FunctionCallInfo fcinfo)
{
	StringInfoData options;

	initStringInfo(&options);
	if (!PG_ARGISNULL(3))
		appendStringInfo(&options, "user %s", quote_literal_cstr(text_to_cstring(PG_GETARG_TEXT_PP(3))));
	if (!PG_ARGISNULL(4))
		appendStringInfo(&options, "%spassword %s", options.len == 0 ? "" : ", ",
						 quote_literal_cstr(text_to_cstring(PG_GETARG_TEXT_PP(4))));
	return options.len == 0 ? "" : psprintf(" OPTIONS (%s)", options.data);
}

/* A node that lacks the database refuses the connection. */
static void
check_existing_database(ReturnSetInfo *result, Oid serverid, const char *name)
{
	MemoryContext cxt = CurrentMemoryContext;

	PG_TRY();
	{
		check_node(result, serverid, name);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		FlushErrorState();
		if (error->sqlerrcode == ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION && error->hint != NULL)
			error->hint = psprintf("Pass create_database => true if the node lacks the database. %s", error->hint);
		ReThrowError(error);
	}
	PG_END_TRY();
}

/* shuttle.add_node(name, host, port, user_name, password, create_database, tags, labels) */
Datum
shuttle_add_node(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	const char *name;
	const char *database = get_database_name(MyDatabaseId);
	bool		create = !PG_ARGISNULL(5) && PG_GETARG_BOOL(5);
	Oid			serverid;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("name, host and port of a node must not be null")));
	name = NameStr(*PG_GETARG_NAME(0));
	(void) shuttle_local_run(psprintf("CREATE SERVER %s FOREIGN DATA WRAPPER shuttle OPTIONS (host %s, port '%d', dbname %s)",
									  quote_identifier(name),
									  quote_literal_cstr(text_to_cstring(PG_GETARG_TEXT_PP(1))),
									  PG_GETARG_INT32(2),
									  quote_literal_cstr(create ? "postgres" : database)));
	(void) shuttle_local_run(psprintf("CREATE USER MAPPING FOR PUBLIC SERVER %s%s",
									  quote_identifier(name), mapping_options(fcinfo)));
	serverid = GetForeignServerByName(name, false)->serverid;
	if (create)
	{
		create_database(result, serverid, name);
		set_option(name, "SET", "dbname", database);
		check_node(result, serverid, name);
	}
	else
		check_existing_database(result, serverid, name);
	hold_tablets(name, PG_ARGISNULL(6) ? NULL : PG_GETARG_ARRAYTYPE_P(6));
	if (!PG_ARGISNULL(7))
		shuttle_node_set_labels(name, PG_GETARG_DATUM(7));
	return (Datum) 0;
}

/* shuttle.use_node(server, tags) */
Datum
shuttle_use_node(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	const char *name;
	Oid			serverid;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("name of a server must not be null")));
	name = NameStr(*PG_GETARG_NAME(0));
	serverid = shuttle_server_find(name);
	check_mappings(serverid, name);
	check_node(result, serverid, name);
	hold_tablets(name, PG_ARGISNULL(1) ? NULL : PG_GETARG_ARRAYTYPE_P(1));
	return (Datum) 0;
}

Oid
shuttle_node_find(const char *name)
{
	Oid			serverid = shuttle_server_find(name);

	if (!shuttle_option_get_bool(serverid, InvalidOid, "shuttle_holds_tablets", false))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("server \"%s\" is not a storage node", name),
				 errhint("Make it one with shuttle.use_node().")));
	return serverid;
}

/* shuttle.remove_node(name): drops the server if nothing needs it */
Datum
shuttle_remove_node(PG_FUNCTION_ARGS)
{
	const char *name = NameStr(*PG_GETARG_NAME(0));
	static const char *const query =
		"SELECT ftrelid::regclass::text FROM pg_foreign_table JOIN pg_class AS c ON c.oid = ftrelid"
		" WHERE ftserver = $1 AND relnamespace IS DISTINCT FROM to_regnamespace('pg_shuttle_copies') ORDER BY 1 LIMIT 1";
	Oid			serverid = shuttle_node_find(name);
	char	   *table = shuttle_local_text(query, serverid);

	if (table != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("storage node \"%s\" has tables, for example \"%s\"", name, table),
				 errhint("Move its tablets away with CALL shuttle.drain_node() first, or bring its tables back with shuttle.local_table().")));
	shuttle_reference_remove_node(serverid);
	(void) shuttle_local_run(psprintf("DROP SERVER %s CASCADE", quote_identifier(name)));
	PG_RETURN_VOID();
}
