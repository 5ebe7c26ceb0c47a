/*-------------------------------------------------------------------------
 * control.c
 *	  Commands that the delay proxy takes on its control socket.
 *
 * A command is a line and its answer is a line: "ok", "ok" and a number,
 * "error: ..." or, for stats, JSON.
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "delay_proxy.h"

typedef struct Command
{
	const char *name;
	void		(*run) (Control *control, const char *argument);
} Command;

static void
__attribute__((format(printf, 2, 3)))
answer(Control *control, const char *format,...)
{
	char	   *line = NULL;
	va_list		args;
	int			nbytes;

	va_start(args, format);
	nbytes = vasprintf(&line, format, args);
	va_end(args);
	if (nbytes < 0)
		fail("out of memory");
	/* a reader that leaves so much unread is not worth waiting for */
	if (send(control->watch.fd, line, nbytes, MSG_NOSIGNAL | MSG_DONTWAIT) != nbytes)
		control->closed = true;
	free(line);
}

static void
run_rtt(Control *control, const char *argument)
{
	if (*argument != '\0')
	{
		char	   *end;
		long long	rtt_us = strtoll(argument, &end, 10);

		if (*end != '\0' || rtt_us < 0 || rtt_us > INT32_MAX)
		{
			answer(control, "error: rtt takes microseconds\n");
			return;
		}
		proxy.delay_ns = rtt_us * 500;
	}
	answer(control, "ok %" PRId64 "\n", proxy.delay_ns / 500);
}

static void
run_stats(Control *control, const char *argument)
{
	const Counts *total = &proxy.total;

	(void) argument;
	answer(control, "{\"rtt_us\": %" PRId64 ", \"connections_opened\": %" PRIu64
		   ", \"connections_open\": %" PRIu64 ", \"total\": {\"round_trips\": %" PRIu64
		   ", \"sent_bytes\": %" PRIu64 ", \"received_bytes\": %" PRIu64
		   ", \"sent_pieces\": %" PRIu64 ", \"received_pieces\": %" PRIu64 "}}\n",
		   proxy.delay_ns / 500, proxy.links_opened, proxy.links_open, total->round_trips,
		   total->nbytes[UP], total->nbytes[DOWN], total->npieces[UP], total->npieces[DOWN]);
}

static void
run_drop(Control *control, const char *argument)
{
	(void) argument;
	drop_links();
	answer(control, "ok\n");
}

static const Command commands[] = {
	{"rtt", run_rtt},
	{"stats", run_stats},
	{"drop", run_drop},
};

static void
run_command(Control *control, const char *line)
{
	size_t		length = strcspn(line, " ");

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
	{
		if (strlen(commands[i].name) == length &&
			strncmp(commands[i].name, line, length) == 0)
		{
			commands[i].run(control, line + length + strspn(line + length, " "));
			return;
		}
	}
	answer(control, "error: unknown command\n");
}

static void
run_lines(Control *control)
{
	char	   *end;

	while (!control->closed &&
		   (end = memchr(control->bytes, '\n', control->nbytes)) != NULL)
	{
		size_t		nbytes = end - control->bytes + 1;

		*end = '\0';
		run_command(control, control->bytes);
		control->nbytes -= nbytes;
		memmove(control->bytes, end + 1, control->nbytes);
	}
	if (control->nbytes == COMMAND_BYTES)
		control->closed = true;
}

void
handle_control(Control *control)
{
	ssize_t		n;

	if (control->closed)
		return;
	n = recv(control->watch.fd, control->bytes + control->nbytes,
			 COMMAND_BYTES - control->nbytes, MSG_DONTWAIT);
	if (n > 0)
	{
		control->nbytes += n;
		run_lines(control);
	}
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		control->closed = true;
	if (control->closed)
	{
		watch_for(&control->watch, 0);
		close(control->watch.fd);
		TAILQ_REMOVE(&proxy.controls, control, in_controls);
		TAILQ_INSERT_TAIL(&proxy.closed_controls, control, in_controls);
	}
}

void
accept_control(void)
{
	int			fd = accept4(proxy.control_listener.fd, NULL, NULL, SOCK_CLOEXEC);
	int			send_bytes = 1024 * 1024;
	Control    *control;

	if (fd < 0)
		return;
	(void) setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof(send_bytes));
	control = allocate(sizeof(Control));
	control->watch.kind = WATCH_CONTROL;
	control->watch.fd = fd;
	TAILQ_INSERT_TAIL(&proxy.controls, control, in_controls);
	watch_for(&control->watch, EPOLLIN);
}
