/*-------------------------------------------------------------------------
 * main.c
 *	  Puts a chosen round-trip time between a client and a server, and
 *	  counts the round trips.
 *
 * A link is one client connection and the connection to the server that
 * belongs to it.  It has two flows, up (to the server) and down (to the
 * client).  Whatever one read() returns is a piece; it is handed on half a
 * round-trip time after it was read.  Pieces wait side by side, as packets
 * on a long wire do: a piece is never delayed by the delay of an earlier
 * one, and there is no limit to the throughput.
 *
 * A round trip is a change of direction, seen at the client's side: a piece
 * from the client opens a new one only if bytes were delivered to that
 * client since its previous piece.
 *
 * Linux only: epoll, timerfd (timers without slack), signalfd.
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "delay_proxy.h"

#define MAX_EVENTS 64

typedef struct Options
{
	int			listen_port;
	const char *target;
	const char *control_path;
	long		rtt_us;
	bool		daemon;
	bool		with_parent;
} Options;

Proxy		proxy;

void
fail(const char *what)
{
	fprintf(stderr, "delay_proxy: %s: %s\n", what, strerror(errno));
	exit(1);
}

void *
allocate(size_t nbytes)
{
	void	   *memory = calloc(1, nbytes);

	if (memory == NULL)
		fail("out of memory");
	return memory;
}

void
watch_for(Watch *watch, uint32_t events)
{
	struct epoll_event event = {.events = events,.data.ptr = watch};
	int			operation;

	if (events == watch->events)
		return;
	if (events == 0)
		operation = EPOLL_CTL_DEL;
	else
		operation = watch->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
	if (epoll_ctl(proxy.epoll_fd, operation, watch->fd, &event) != 0)
		fail("epoll_ctl");
	watch->events = events;
}

/* Returns -1 and sets errno on failure. */
static int
listen_tcp(int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	int			fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int			on = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = htons(port);
	if (fd < 0)
		return -1;
	(void) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *) &address, sizeof(address)) != 0 ||
		listen(fd, SOMAXCONN) != 0)
	{
		close(fd);
		return -1;
	}
	return fd;
}

static void
handle_event(Watch *watch, uint32_t events)
{
	uint64_t	expirations;

	switch (watch->kind)
	{
		case WATCH_LISTEN:
			accept_link();
			break;
		case WATCH_CONTROL_LISTEN:
			accept_control();
			break;
		case WATCH_CONTROL:
			handle_control((Control *) watch);
			break;
		case WATCH_TIMER:
			if (read(watch->fd, &expirations, sizeof(expirations)) > 0)
				proxy.timer_ns = 0;
			break;
		case WATCH_SIGNAL:
			proxy.stopping = true;
			break;
		case WATCH_SIDE:
			handle_side((Side *) watch, events);
			break;
	}
}

static void
free_closed(void)
{
	Link	   *link;
	Control    *control;

	while ((link = TAILQ_FIRST(&proxy.closed_links)) != NULL)
	{
		TAILQ_REMOVE(&proxy.closed_links, link, in_links);
		free(link);
	}
	while ((control = TAILQ_FIRST(&proxy.closed_controls)) != NULL)
	{
		TAILQ_REMOVE(&proxy.closed_controls, control, in_controls);
		free(control);
	}
}

static void
run(void)
{
	struct epoll_event events[MAX_EVENTS];

	while (!proxy.stopping)
	{
		int			nevents = epoll_wait(proxy.epoll_fd, events, MAX_EVENTS, -1);

		if (nevents < 0 && errno != EINTR)
			fail("epoll_wait");
		for (int i = 0; i < nevents; i++)
			handle_event(events[i].data.ptr, events[i].events);
		release_due_pieces();
		free_closed();
	}
}

/* target: host:port, or the path of a unix socket. */
static void
resolve_target(const char *target)
{
	struct sockaddr_un *address = (struct sockaddr_un *) &proxy.target;
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	const char *colon = strrchr(target, ':');
	char	   *host;

	if (target[0] == '/')
	{
		address->sun_family = AF_UNIX;
		proxy.target_len = sizeof(*address);
		errno = ENAMETOOLONG;
		if (strlen(target) >= sizeof(address->sun_path))
			fail(target);
		strcpy(address->sun_path, target);
		return;
	}
	errno = EINVAL;
	if (colon == NULL)
		fail("--target is neither host:port nor the path of a socket");
	host = strndup(target, colon - target);
	if (host == NULL || getaddrinfo(host, colon + 1, &hints, &found) != 0)
		fail(target);
	memcpy(&proxy.target, found->ai_addr, found->ai_addrlen);
	proxy.target_len = found->ai_addrlen;
	freeaddrinfo(found);
	free(host);
}

static int
listen_control(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int			fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	errno = ENAMETOOLONG;
	if (strlen(path) >= sizeof(address.sun_path))
		fail(path);
	strcpy(address.sun_path, path);
	(void) unlink(path);
	umask(0077);
	if (fd < 0 || bind(fd, (struct sockaddr *) &address, sizeof(address)) != 0 ||
		listen(fd, 16) != 0)
		fail(path);
	return fd;
}

static void
read_options(Options *options, int argc, char **argv)
{
	static const struct option known[] = {
		{"listen", required_argument, NULL, 'l'},
		{"target", required_argument, NULL, 't'},
		{"control", required_argument, NULL, 'c'},
		{"rtt-us", required_argument, NULL, 'r'},
		{"daemon", no_argument, NULL, 'd'},
		{"with-parent", no_argument, NULL, 'p'},
		{0}
	};
	int			option;
	bool		good = true;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1)
	{
		if (option == 'l')
			options->listen_port = atoi(optarg);
		else if (option == 't')
			options->target = optarg;
		else if (option == 'c')
			options->control_path = optarg;
		else if (option == 'r')
			options->rtt_us = atol(optarg);
		else if (option == 'd')
			options->daemon = true;
		else if (option == 'p')
			options->with_parent = true;
		else
			good = false;
	}
	if (good && optind == argc && options->target && options->control_path)
		return;
	fprintf(stderr, "usage: delay_proxy --target HOST:PORT|SOCKET --control PATH\n"
			"           [--listen PORT] [--rtt-us N] [--daemon | --with-parent]\n"
			"Prints \"port N pid N\". Commands, a line each, go to the control socket:\n"
			"  rtt [US], stats, drop\n");
	exit(2);
}

static void
add_watch(Watch *watch, WatchKind kind, int fd)
{
	if (fd < 0)
		fail("could not make a descriptor");
	watch->kind = kind;
	watch->fd = fd;
	watch_for(watch, EPOLLIN);
}

static void
open_sockets(const Options *options)
{
	struct sockaddr_in address;
	socklen_t	len = sizeof(address);
	int			fd = listen_tcp(options->listen_port);

	if (fd < 0)
		fail("could not listen");
	if (getsockname(fd, (struct sockaddr *) &address, &len) != 0)
		fail("getsockname");
	proxy.port = ntohs(address.sin_port);
	proxy.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (proxy.epoll_fd < 0)
		fail("epoll_create1");
	add_watch(&proxy.listener, WATCH_LISTEN, fd);
	add_watch(&proxy.control_listener, WATCH_CONTROL_LISTEN,
			  listen_control(options->control_path));
}

/* Goes on in a child of its own session; the parent ends. */
static void
become_daemon(void)
{
	pid_t		pid = fork();
	int			null_fd;

	if (pid < 0)
		fail("fork");
	if (pid > 0)
	{
		printf("port %d pid %d\n", proxy.port, (int) pid);
		exit(0);
	}
	setsid();
	null_fd = open("/dev/null", O_RDWR);
	for (int fd = 0; fd <= 2; fd++)
		dup2(null_fd, fd);
	if (null_fd > 2)
		close(null_fd);
}

int
main(int argc, char **argv)
{
	Options		options = {0};
	sigset_t	signals;

	read_options(&options, argc, argv);
	proxy.delay_ns = options.rtt_us * 500;
	TAILQ_INIT(&proxy.waiting);
	TAILQ_INIT(&proxy.links);
	TAILQ_INIT(&proxy.closed_links);
	TAILQ_INIT(&proxy.controls);
	TAILQ_INIT(&proxy.closed_controls);
	resolve_target(options.target);
	open_sockets(&options);
	if (options.daemon)
		become_daemon();
	else
	{
		printf("port %d pid %d\n", proxy.port, (int) getpid());
		fflush(stdout);
	}

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	add_watch(&proxy.signals, WATCH_SIGNAL, signalfd(-1, &signals, SFD_CLOEXEC));
	add_watch(&proxy.timer, WATCH_TIMER,
			  timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	if (options.with_parent)
		prctl(PR_SET_PDEATHSIG, SIGTERM);
	run();
	(void) unlink(options.control_path);
	return 0;
}
