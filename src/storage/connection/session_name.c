/*-------------------------------------------------------------------------
 * session_name.c
 *	  The application_name of our sessions on nodes.
 *
 * By default it identifies the query node (by its number), the
 * backend, and the transaction, by its start in microseconds since 1970 and
 * its number in the backend. Every user of the node can read it, while
 * pg_stat_activity hides other roles' transaction start: the search for
 * deadlocks over nodes needs it (trap 32). The transaction's part is set
 * locally in the packet of BEGIN.
 *
 * In a name that the user gave, %x stands for that identity. The rest of the name is changed
 * where it looks like one, or goes on with ours: whoever reads names would take the session for
 * another one.
 *
 * A standby has the system identifier of its primary server, and may have a process with
 * the same PID. So the number of a query node with a name is a hash of both.
 *
 * Memory: the parts of a name are in the node.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "commands/dbcommands.h"
#include "common/hashfn.h"
#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat_session.h"
#include "base/shuttle_settings.h"
#include "storage/connection/connection.h"
#include "storage/shuttle_node_session.h"
#include "storage/shuttle_storage.h"

#define DEFAULT_NAME "pg_shuttle %x"

static void make_harmless(char *text, bool is_behind);
static char *make_name(const ShuttleNode *node, bool in_transaction);

/* Expands postgres_fdw's escapes up to our own, %x. Returns the text after %x;
 * NULL: there is none. */
static const char *
expand(StringInfo out, const char *name)
{
	for (; *name != '\0'; name++)
	{
		if (*name != '%')
		{
			appendStringInfoChar(out, *name);
			continue;
		}
		switch (*++name)
		{
			case '\0':
				return NULL;
			case '%':
				appendStringInfoChar(out, '%');
				break;
			case 'a':
				appendStringInfoString(out, application_name);
				break;
			case 'c':
				appendStringInfo(out, "%lx.%x", (long) MyStartTime, MyProcPid);
				break;
			case 'C':
				appendStringInfoString(out, cluster_name);
				break;
			case 'd':
				appendStringInfoString(out, get_database_name(MyDatabaseId));
				break;
			case 'p':
				appendStringInfo(out, "%d", MyProcPid);
				break;
			case 'u':
				appendStringInfoString(out, GetUserNameFromId(GetSessionUserId(), false));
				break;
			case 'x':
				return name + 1;
			default:
				break;
		}
	}
	return NULL;
}

char *
shuttle_session_name_begin(ShuttleNode *node, const char *option)
{
	const char *setting = GetConfigOption("postgres_fdw.application_name",
										  true, false);
	StringInfoData text;
	const char *rest;

	if (setting != NULL && setting[0] != '\0')
		option = setting;
	if (option == NULL)
		option = DEFAULT_NAME;

	initStringInfo(&text);
	rest = expand(&text, option);
	node->connection.names_transaction = rest != NULL;
	make_harmless(text.data, false);
	if (rest == NULL)
		return text.data;

	strlcpy(node->connection.name_before, text.data, NAMEDATALEN);
	resetStringInfo(&text);
	while (rest != NULL)
		rest = expand(&text, rest);
	make_harmless(text.data, true);
	strlcpy(node->connection.name_behind, text.data, NAMEDATALEN);
	pfree(text.data);
	return make_name(node, false);
}

/* An identity begins with 16 digits and a colon, and goes on with numbers. Nodes replace other than
 * printable ASCII, some by digits. */
static void
make_harmless(char *text, bool is_behind)
{
	int			ndigits = 0;
	char	   *first = text +strspn(text, " \t\n\r\v\f");

	for (char *at = text; *at != '\0'; at++)
	{
		if (*at < ' ' || *at > '~' || (*at == ':' && ndigits >= 16))
			*at = '?';
		ndigits = strchr("0123456789abcdef", *at) != NULL ? ndigits + 1 : 0;
	}
	if (is_behind && *first != '\0' && strchr("0123456789+-", *first) != NULL)
		*first = '?';
}

uint64
shuttle_session_server_named(const char *name)
{
	if (name[0] == '\0')
		return GetSystemIdentifier();
	return DatumGetUInt64(hash_any_extended((const unsigned char *) name, strlen(name),
											GetSystemIdentifier()));
}

uint64
shuttle_session_server(void)
{
	return shuttle_session_server_named(shuttle_settings.query_node_name);
}

void
shuttle_session_identity(char *to, int room)
{
	snprintf(to, room, "%016llx:%d " INT64_FORMAT "/%u",
			 (unsigned long long) shuttle_session_server(), MyProcPid,
			 GetCurrentTransactionStartTimestamp() +
			 (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY,
			 shuttle_my_lxid());
}

/* Nodes truncate names to 63 bytes: shortens the user's text. */
static char *
make_name(const ShuttleNode *node, bool in_transaction)
{
	char		identity[NAMEDATALEN];
	int			room;
	int			nbefore;
	int			nbehind;

	if (in_transaction)
		shuttle_session_identity(identity, sizeof(identity));
	else
		snprintf(identity, sizeof(identity), "%016llx:%d",
				 (unsigned long long) shuttle_session_server(), MyProcPid);

	room = NAMEDATALEN - 1 - (int) strlen(identity);
	nbefore = Min(room, (int) strlen(node->connection.name_before));
	nbehind = Min(room - nbefore, (int) strlen(node->connection.name_behind));
	return psprintf("%.*s%s%.*s", nbefore, node->connection.name_before, identity,
					nbehind, node->connection.name_behind);
}

char *
shuttle_session_name_now(const ShuttleNode *node)
{
	return node->connection.names_transaction ? make_name(node, true) : NULL;
}
