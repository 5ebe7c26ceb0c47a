/*-------------------------------------------------------------------------
 * host_names.c
 *	  Looks up host addresses, once per session, and passes them to libpq.
 *
 * libpq would look them up in PQconnectStart(), where a name server that does
 * not answer blocks the session against cancel (trap 33).
 *
 * Memory: a list in the session's context "shuttle host names".
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "base/shuttle_wait_events.h"
#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"

#define MOST_ADDRESSES_BYTES 2048
#define MOST_ADDRESSES 8

typedef struct HostName
{
	dlist_node	link;
	char	   *name;
	List	   *addresses;		/* C strings; NIL: libpq looks the name up */
} HostName;

static MemoryContext names_cxt = NULL;
static dlist_head names = DLIST_STATIC_INIT(names);

static List *split_list(const char *text);
static bool needs_look_up(const char *host);
static List *find_addresses(const char *host);
static void look_up(void *arg, int fd);
static int	read_addresses(const char *host, char *buffer);

/* Each address becomes a host with its original name, since libpq checks
 * certificates and password files by name. */
void
shuttle_host_names_resolve(const char **host, const char **hostaddr,
						   const char **port)
{
	List	   *hosts = split_list(*host);
	List	   *ports = *port != NULL ? split_list(*port) : NIL;
	StringInfoData new_host;
	StringInfoData new_hostaddr;
	StringInfoData new_port;
	bool		resolved = false;
	ListCell   *cell;

	/* libpq reports the mismatch. */
	if (list_length(ports) > 1 && list_length(ports) != list_length(hosts))
		return;

	initStringInfo(&new_host);
	initStringInfo(&new_hostaddr);
	initStringInfo(&new_port);
	foreach(cell, hosts)
	{
		const char *name = lfirst(cell);
		const char *own_port = ports == NIL ? "" : list_length(ports) == 1 ?
			linitial(ports) : list_nth(ports, foreach_current_index(cell));
		List	   *addresses = needs_look_up(name) ? find_addresses(name) : NIL;
		int			naddresses = Max(1, list_length(addresses));

		for (int i = 0; i < naddresses; i++)
		{
			const char *comma = new_port.cursor++ > 0 ? "," : "";

			appendStringInfo(&new_host, "%s%s", comma, name);
			appendStringInfo(&new_port, "%s%s", comma, own_port);
			appendStringInfo(&new_hostaddr, "%s%s", comma,
							 addresses != NIL ? (char *) list_nth(addresses, i) : "");
			resolved |= addresses != NIL;
		}
	}
	if (!resolved)
		return;
	*host = new_host.data;
	*hostaddr = new_hostaddr.data;
	if (*port != NULL)
		*port = new_port.data;
}

static List *
split_list(const char *text)
{
	List	   *parts = NIL;
	const char *comma;

	while ((comma = strchr(text, ',')) != NULL)
	{
		parts = lappend(parts, pnstrdup(text, comma - text));
		text = comma + 1;
	}
	return lappend(parts, pstrdup(text));
}

/* False for addresses, and for the paths of local sockets. */
static bool
needs_look_up(const char *host)
{
	struct addrinfo hint = {.ai_flags = AI_NUMERICHOST,.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;

	if (host[0] == '\0' || host[0] == '/' || host[0] == '@')
		return false;
	if (getaddrinfo(host, NULL, &hint, &found) != 0)
		return true;
	freeaddrinfo(found);
	return false;
}

static List *
find_addresses(const char *host)
{
	char		buffer[MOST_ADDRESSES_BYTES];
	HostName   *name;
	dlist_iter	iter;
	MemoryContext old_cxt;

	dlist_foreach(iter, &names)
	{
		name = dlist_container(HostName, link, iter.cur);
		if (strcmp(name->name, host) == 0)
			return name->addresses;
	}

	/* libpq reports what is wrong with an unknown name. */
	if (read_addresses(host, buffer) == 0)
		return NIL;

	if (names_cxt == NULL)
		names_cxt = AllocSetContextCreate(TopMemoryContext, "shuttle host names",
										  ALLOCSET_SMALL_SIZES);
	old_cxt = MemoryContextSwitchTo(names_cxt);
	name = palloc0(sizeof(HostName));
	name->name = pstrdup(host);
	name->addresses = split_list(buffer);
	dlist_push_tail(&names, &name->link);
	MemoryContextSwitchTo(old_cxt);
	return name->addresses;
}

/* Looks up the name in a child process and waits for it. Fills buffer with
 * addresses separated by commas and returns their length. */
static int
read_addresses(const char *host, char *buffer)
{
	HelperProcess helper;
	volatile int size = 0;

	ReserveExternalFD();
	if (!shuttle_helper_start(&helper, look_up, unconstify(char *, host)))
	{
		ReleaseExternalFD();
		return 0;
	}

	/* PG_TRY: a memory context callback could not wait for a child. */
	PG_TRY();
	{
		for (;;)
		{
			int			nread;

			(void) WaitLatchOrSocket(MyLatch,
									 WL_LATCH_SET | WL_SOCKET_READABLE |
									 WL_EXIT_ON_PM_DEATH,
									 helper.fd, -1,
									 shuttle_wait_event(SHUTTLE_WAIT_HOST_NAME));
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
			nread = read(helper.fd, buffer + size, MOST_ADDRESSES_BYTES - 1 - size);
			if (nread == 0 || (nread < 0 && errno != EAGAIN && errno != EINTR))
				break;
			size += Max(nread, 0);
		}
	}
	PG_FINALLY();
	{
		shuttle_helper_end(&helper);
		ReleaseExternalFD();
	}
	PG_END_TRY();
	buffer[size] = '\0';
	return size;
}

/* Runs in the child. */
static void
look_up(void *arg, int fd)
{
	struct addrinfo hint = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	char		addresses[MOST_ADDRESSES_BYTES / 2] = "";
	int			naddresses = 0;

	if (getaddrinfo(arg, NULL, &hint, &found) != 0)
		return;
	for (struct addrinfo *one = found; one != NULL; one = one->ai_next)
	{
		char		address[NI_MAXHOST];
		Size		used = strlen(addresses);

		if (naddresses == MOST_ADDRESSES ||
			getnameinfo(one->ai_addr, one->ai_addrlen, address, sizeof(address),
						NULL, 0, NI_NUMERICHOST) != 0 ||
			used + strlen(address) + 2 > sizeof(addresses))
			continue;
		snprintf(addresses + used, sizeof(addresses) - used, "%s%s",
				 naddresses++ > 0 ? "," : "", address);
	}
	if (write(fd, addresses, strlen(addresses)) < 0)
		return;
}

void
shuttle_host_names_forget(void)
{
	dlist_init(&names);
	if (names_cxt != NULL)
		MemoryContextReset(names_cxt);
}
