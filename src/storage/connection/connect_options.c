/*-------------------------------------------------------------------------
 * connect_options.c
 *	  libpq's options from a server and a user mapping, and the password
 *	  rule.
 *
 * The rule, its SQLSTATE and texts are postgres_fdw's: a user who is not a
 * superuser must not use what this server's own account could (password files,
 * peer authentication). The mapping must give a password, and the node must
 * ask for it, unless a superuser set password_required to false.
 *
 * Memory: options are made in the current context; their values never appear
 * in messages.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "common/hashfn.h"
#include "foreign/foreign.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_libpq.h"
#include "storage/connection/connection.h"
#include "storage/request/pipeline.h"
#include "storage/shuttle_storage.h"

/* Defaults, to notice a silent node within half a minute. */
#define CONNECT_TIMEOUT_S 30
#define KEEPALIVES_IDLE_S 15
#define KEEPALIVES_INTERVAL_S 5
#define KEEPALIVES_COUNT 3

#define MOST_SECONDS 32767		/* the kernel's limit */

static bool is_libpq_option(const char *name);
static void add_option(ConnectOptions *options, const char *name,
					   const char *value);
static void remove_option(ConnectOptions *options, const char *name);
static void add_list(ConnectOptions *options, List *definitions);
static void add_liveness_limits(ConnectOptions *options, ShuttleNode *node,
								bool pipelined);
static const char *find_option(const ConnectOptions *options, const char *name);
static bool is_pooled(List *definitions);
static uint32 followed_hosts(const ShuttleNode *node, const ConnectOptions *options);
static bool find_switch(List *definitions, const char *name, bool otherwise);
static void add_scram_keys(ConnectOptions *options, ShuttleNode *node);
static bool used_own_credentials(const ShuttleNode *node);

/* postgres_fdw's hint names no server, but users name distributed tables. */
#define NODE_CREDENTIALS \
	"Give the user mapping of storage node \"%s\" a password that the node asks for; or a superuser adds the option password_required 'false'."

static void check_password(const ShuttleNode *node, Oid userid);

ConnectOptions *
shuttle_connect_options(ShuttleNode *node, Oid userid, Oid mapped, bool pipelined)
{
	ForeignServer *server = GetForeignServer(node->key.serverid);
	UserMapping *mapping = GetUserMapping(mapped, server->serverid);
	ConnectOptions *options = palloc0_object(ConnectOptions);
	int			most = list_length(server->options) +
		list_length(mapping->options) + 16;
	const char *password;
	const char *balance;

	options->keywords = palloc0_array(const char *, most);
	options->values = palloc0_array(const char *, most);
	add_list(options, server->options);
	add_list(options, mapping->options);
	if (find_switch(server->options, "shuttle_same_database", false))
		add_option(options, "dbname", get_database_name(MyDatabaseId));
	add_liveness_limits(options, node, pipelined);
	add_option(options, "application_name",
			   shuttle_session_name_begin(node, find_option(options, "application_name")));
	add_option(options, "client_encoding", GetDatabaseEncodingName());

	node->options.keep = find_switch(server->options, "keep_connections", true);
	node->options.pooled = is_pooled(server->options);
	node->options.two_phase = find_switch(server->options, "shuttle_two_phase", true);
	node->options.holds_tablets = find_switch(server->options, "shuttle_holds_tablets", false);
	node->options.needs_password = find_switch(mapping->options, "password_required", true);
	password = find_option(options, "password");
	node->options.has_password = password != NULL && password[0] != '\0';
	node->options.scram_passthrough =
		find_switch(mapping->options, "use_scram_passthrough",
					find_switch(server->options, "use_scram_passthrough", false));
	add_scram_keys(options, node);
	node->options.exempt = superuser_arg(userid);
	check_password(node, userid);

	options->role = find_option(options, "target_session_attrs");
	shuttle_epoch_begin(node, followed_hosts(node, options));
	balance = find_option(options, "load_balance_hosts");
	options->shuffle = balance != NULL && strcmp(balance, "random") == 0;
	shuttle_host_names_resolve(options, find_option(options, "host"),
							   find_option(options, "hostaddr"),
							   find_option(options, "port"));
	if (options->nhosts > 0)
	{
		remove_option(options, "host");
		remove_option(options, "hostaddr");
		remove_option(options, "port");
	}
	return options;
}

/* True if postgres_fdw passes the option to libpq: both accept the same. */
static bool
is_libpq_option(const char *name)
{
	static PQconninfoOption *all = NULL;

	/* malloc'd once per session */
	if (all == NULL)
		all = PQconndefaults();
	if (all == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("Could not get libpq's default connection options.")));
	if (strcmp(name, "fallback_application_name") == 0 ||
		strcmp(name, "client_encoding") == 0 ||
		strncmp(name, "oauth_", strlen("oauth_")) == 0)
		return false;
	for (PQconninfoOption *option = all; option->keyword != NULL; option++)
	{
		if (strcmp(option->keyword, name) == 0)
			return strchr(option->dispchar, 'D') == NULL;
	}
	return false;
}

static void
add_option(ConnectOptions *options, const char *name, const char *value)
{
	/* Replace an equal name: libpq would take the last one. */
	for (int i = 0; i < options->noptions; i++)
	{
		if (strcmp(options->keywords[i], name) == 0)
		{
			options->values[i] = value;
			return;
		}
	}
	options->keywords[options->noptions] = name;
	options->values[options->noptions] = value;
	options->noptions++;
}

static void
remove_option(ConnectOptions *options, const char *name)
{
	for (int i = 0; i < options->noptions; i++)
	{
		if (strcmp(options->keywords[i], name) != 0)
			continue;
		options->noptions--;
		options->keywords[i] = options->keywords[options->noptions];
		options->values[i] = options->values[options->noptions];
		return;
	}
}

static void
add_list(ConnectOptions *options, List *definitions)
{
	ListCell   *cell;

	foreach(cell, definitions)
	{
		DefElem    *definition = lfirst_node(DefElem, cell);

		if (is_libpq_option(definition->defname))
			add_option(options, definition->defname, defGetString(definition));
	}
}

/* The value of a numeric option; added if missing. */
static int
number_option(ConnectOptions *options, const char *name, int otherwise)
{
	const char *value = find_option(options, name);

	if (value != NULL)
		return Max(0, Min(atoi(value), MOST_SECONDS));
	add_option(options, name, psprintf("%d", otherwise));
	return otherwise;
}

/*
 * Limits how long a host may be silent. TCP keepalives watch an idle
 * connection. For unacknowledged data there is tcp_user_timeout, but that also
 * ends a connection whose node is too busy with earlier requests to read. So it
 * is set only by options; else host_liveness.c watches.
 */
static void
add_liveness_limits(ConnectOptions *options, ShuttleNode *node, bool pipelined)
{
	const char *user_timeout = find_option(options, "tcp_user_timeout");
	int			user_timeout_s = user_timeout != NULL ? atoi(user_timeout) / 1000 : 0;
	HostLiveness *liveness = &node->liveness;
	int			idle_s = KEEPALIVES_IDLE_S;
	int			interval_s = KEEPALIVES_INTERVAL_S;
	int			silence_s;

	/* The kernel checks tcp_user_timeout when a keepalive is due. */
	if (user_timeout_s > 0)
	{
		idle_s = Max(1, Min(idle_s, user_timeout_s / 2));
		interval_s = Max(1, Min(interval_s, user_timeout_s / 4));
	}
	liveness->keepalives_idle_s = number_option(options, "keepalives_idle", idle_s);
	liveness->keepalives_interval_s =
		number_option(options, "keepalives_interval", interval_s);
	liveness->keepalives_count =
		number_option(options, "keepalives_count", KEEPALIVES_COUNT);
	options->connect_timeout_s =
		number_option(options, "connect_timeout", CONNECT_TIMEOUT_S);

	silence_s = (int) Min((double) MOST_SECONDS,
						  liveness->keepalives_idle_s +
						  (double) liveness->keepalives_interval_s * liveness->keepalives_count);
	if (silence_s <= 0)
		silence_s = KEEPALIVES_IDLE_S + KEEPALIVES_INTERVAL_S * KEEPALIVES_COUNT;
	liveness->silence_limit_ms = pipelined && user_timeout == NULL ? silence_s * 1000 : 0;
	if (!pipelined)
		(void) number_option(options, "tcp_user_timeout", silence_s * 1000);
}

static const char *
find_option(const ConnectOptions *options, const char *name)
{
	for (int i = 0; i < options->noptions; i++)
	{
		if (strcmp(options->keywords[i], name) == 0)
			return options->values[i];
	}
	return NULL;
}

static bool
is_pooled(List *definitions)
{
	ListCell   *cell;

	foreach(cell, definitions)
	{
		DefElem    *definition = lfirst_node(DefElem, cell);

		if (strcmp(definition->defname, "shuttle_pooler") == 0)
			return strcmp(defGetString(definition), "transaction") == 0;
	}
	return false;
}

/* Hash of the options that name hosts; 0: they need not lead to a primary. */
static uint32
followed_hosts(const ShuttleNode *node, const ConnectOptions *options)
{
	static const char *const names[] = {"host", "hostaddr", "port", "dbname"};
	uint32		hash = 0;

	if (options->role == NULL || node->options.pooled ||
		(strcmp(options->role, "read-write") != 0 && strcmp(options->role, "primary") != 0))
		return 0;
	for (int i = 0; i < lengthof(names); i++)
	{
		const char *value = find_option(options, names[i]);

		hash = hash_combine(hash, value == NULL ? 0 : string_hash(value, strlen(value) + 1));
	}
	return hash == 0 ? 1 : hash;
}

static bool
find_switch(List *definitions, const char *name, bool otherwise)
{
	ListCell   *cell;

	foreach(cell, definitions)
	{
		DefElem    *definition = lfirst_node(DefElem, cell);

		if (strcmp(definition->defname, name) == 0)
			return defGetBoolean(definition);
	}
	return otherwise;
}

/*
 * Adds the SCRAM keys of the client's login, if use_scram_passthrough is set.
 */
static void
add_scram_keys(ConnectOptions *options, ShuttleNode *node)
{
	char	   *client_key;
	char	   *server_key;

	if (node->options.scram_passthrough &&
		shuttle_get_scram_keys(&client_key, &server_key))
	{
		add_option(options, "scram_client_key", client_key);
		add_option(options, "scram_server_key", server_key);
		add_option(options, "require_auth", "scram-sha-256");
	}
	else
		node->options.scram_passthrough = false;
}

static void
check_password(const ShuttleNode *node, Oid userid)
{
	if (superuser_arg(userid) || node->options.has_password || !node->options.needs_password ||
		node->options.scram_passthrough || shuttle_gss_delegated())
		return;
	ereport(ERROR,
			(errcode(ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED),
			 errmsg(SHUTTLE_CREDENTIALS_REQUIRED),
			 errdetail(SHUTTLE_CREDENTIALS_MISSING),
			 node->options.holds_tablets ? errhint(NODE_CREDENTIALS, shuttle_node_name(node)) : 0));
}

bool
shuttle_connect_allowed(const ShuttleNode *node)
{
	return node->options.exempt || !node->options.needs_password || node->options.scram_passthrough ||
		used_own_credentials(node);
}

/* True if the node asked for the user's password, so does not simply trust this
 * server. */
static bool
used_own_credentials(const ShuttleNode *node)
{
#ifdef SHUTTLE_LIBPQ_TELLS_GSSAPI
	if (shuttle_gss_delegated() && PQconnectionUsedGSSAPI(node->connection.conn))
		return true;
#endif
	return node->options.has_password && node->connection.used_password;
}

void
shuttle_connect_fail_password(ShuttleNode *node)
{
	NodeFailure *failure = &node->connection.failure;

	*failure = (NodeFailure)
	{
		.sqlstate = ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED,
			.message = SHUTTLE_CREDENTIALS_REQUIRED,
			.detail = SHUTTLE_CREDENTIALS_UNUSED,
			.hint = "Target server's authentication method must be changed or password_required=false set in the user mapping attributes.",
	};
	if (node->options.holds_tablets)
		snprintf(failure->hint, sizeof(failure->hint), NODE_CREDENTIALS, shuttle_node_name(node));
}

/* Users of one mapping share its connection, which a superuser may have opened
 * before SET SESSION AUTHORIZATION. */
void
shuttle_connect_check_user(ShuttleNode *node, Oid userid)
{
	if (node->connection.state == NODE_CLOSED || superuser_arg(userid))
		return;
	check_password(node, userid);
	if (node->connection.state == NODE_CONNECTING)
		node->options.exempt = false;
	else if (node->options.needs_password && !node->options.scram_passthrough &&
			 !used_own_credentials(node))
	{
		shuttle_connect_fail_password(node);
		shuttle_node_error_raise_lost(node);
	}
}
