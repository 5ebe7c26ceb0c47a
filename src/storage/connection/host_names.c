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

#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "base/shuttle_compat.h"
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
static List *find_addresses(const char *host, int limit_s);
static void look_up(void *arg, int fd);
static int	read_addresses(const char *host, int limit_s, char *buffer);

/* The i-th part, the only one, or an empty one. */
static const char *
part(List *parts, int i)
{
	return parts == NIL ? "" : list_nth(parts, list_length(parts) == 1 ? 0 : i);
}

static void
add_host(ConnectOptions *options, const char *host, const char *hostaddr,
		 const char *port, bool unknown)
{
	ConnectHost *one = &options->hosts[options->nhosts++];
	char	   *text = psprintf("%s,%s,%s", host, hostaddr, port);

	one->host = host;
	one->hostaddr = hostaddr;
	one->port = port;
	one->unknown = unknown;
	one->hash = DatumGetUInt32(hash_any((unsigned char *) text, strlen(text)));
}

/* Each address becomes a host with its original name, since libpq checks
 * certificates and password files by name. */
void
shuttle_host_names_resolve(ConnectOptions *options, const char *host,
						   const char *hostaddr, const char *port)
{
	List	   *hosts = host != NULL ? split_list(host) : NIL;
	List	   *given = hostaddr != NULL ? split_list(hostaddr) : NIL;
	List	   *ports = port != NULL ? split_list(port) : NIL;
	int			nhosts = Max(list_length(hosts), list_length(given));

	options->nhosts = 0;
	if (nhosts > SHUTTLE_MOST_HOSTS / MOST_ADDRESSES ||
		(hosts != NIL && given != NIL && list_length(hosts) != list_length(given)) ||
		(list_length(ports) > 1 && list_length(ports) != nhosts))
		return;
	options->hosts = palloc_array(ConnectHost, SHUTTLE_MOST_HOSTS);
	for (int i = 0; i < nhosts; i++)
	{
		const char *name = part(hosts, i);
		bool		by_name = given == NIL && needs_look_up(name);
		List	   *addresses = by_name ?
			find_addresses(name, nhosts > 1 ? options->connect_timeout_s : 0) :
			list_make1(unconstify(char *, part(given, i)));
		ListCell   *cell;

		/* libpq reports what is wrong with the name of an only host. */
		if (addresses == NIL)
			add_host(options, name, "", part(ports, i), nhosts > 1);
		foreach(cell, addresses)
			add_host(options, name, lfirst(cell), part(ports, i), false);
	}
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
find_addresses(const char *host, int limit_s)
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

	if (read_addresses(host, limit_s, buffer) == 0)
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

/* Looks up the name in a child process and waits for it, limit_s if that is not
 * 0. Fills buffer with addresses separated by commas and returns their length. */
static int
read_addresses(const char *host, int limit_s, char *buffer)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													   (int64) limit_s * 1000);
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
			long		rest_ms = limit_s == 0 ? -1 :
				TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);
			int			nread;

			if (rest_ms == 0)
				break;
			(void) WaitLatchOrSocket(MyLatch,
									 WL_LATCH_SET | WL_SOCKET_READABLE |
									 WL_EXIT_ON_PM_DEATH |
									 (limit_s == 0 ? 0 : WL_TIMEOUT),
									 helper.fd, rest_ms,
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
