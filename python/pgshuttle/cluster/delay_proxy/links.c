/*-------------------------------------------------------------------------
 * links.c
 *	  Connections of the delay proxy and the pieces that travel on them.
 *
 * All pieces wait equally long, so that one list of all waiting pieces in
 * order of arrival is also in order of their deadlines: a single timer
 * serves it.  A change of the round-trip time applies to the pieces that
 * wait, too, and keeps that order.
 *
 * The end of a flow travels as an empty piece.  When a side can't be written
 * to any more, the rest of its flow is discarded, but the flow that comes
 * from it goes on to its end: it may carry the reason.
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "delay_proxy.h"

#define FLOW_LIMIT_BYTES (64 * 1024 * 1024) /* then we stop reading */

static void flush_flow(Flow *flow);
static void watch_sides(Link *link);

static int64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

/* Has its first piece arrived? */
static bool
can_send(const Flow *flow)
{
	const Piece *first = TAILQ_FIRST(&flow->pieces);

	return first != NULL && first->due;
}

static void
discard_pieces(Flow *flow)
{
	Piece	   *piece;

	while ((piece = TAILQ_FIRST(&flow->pieces)) != NULL)
	{
		TAILQ_REMOVE(&flow->pieces, piece, in_flow);
		if (!piece->due)
			TAILQ_REMOVE(&proxy.waiting, piece, in_waiting);
		free(piece);
	}
	flow->nbytes_held = 0;
}

/*
 * Closes both connections; reset: with a RST, as a host that crashed.  The
 * memory is freed after the current events, some of which may point to it.
 */
static void
close_link(Link *link, bool reset)
{
	struct linger linger = {.l_onoff = 1,.l_linger = 0};

	if (link->closed)
		return;
	link->closed = true;
	for (int i = UP; i <= DOWN; i++)
	{
		Side	   *side = &link->side[i];

		discard_pieces(&link->flow[i]);
		watch_for(&side->watch, 0);
		if (reset)
			(void) setsockopt(side->watch.fd, SOL_SOCKET, SO_LINGER,
							  &linger, sizeof(linger));
		close(side->watch.fd);
	}
	TAILQ_REMOVE(&proxy.links, link, in_links);
	TAILQ_INSERT_TAIL(&proxy.closed_links, link, in_links);
	proxy.links_open--;
}

void
drop_links(void)
{
	while (!TAILQ_EMPTY(&proxy.links))
		close_link(TAILQ_FIRST(&proxy.links), true);
}

/* A flow that won't be handed on any further. */
static void
finish_flow(Flow *flow)
{
	discard_pieces(flow);
	flow->finished = true;
	flow->read_all = true;
	if (flow->link->flow[UP].finished && flow->link->flow[DOWN].finished)
		close_link(flow->link, false);
}

/* Watches the sides of a link for what it can make use of now. */
static void
watch_sides(Link *link)
{
	for (int i = UP; i <= DOWN && !link->closed; i++)
	{
		Side	   *side = &link->side[i];
		Flow	   *from = &link->flow[i];
		Flow	   *to = &link->flow[1 - i];
		uint32_t	events = 0;

		if (!side->connected)
			events = EPOLLOUT;
		else
		{
			if (!from->read_all && from->nbytes_held < FLOW_LIMIT_BYTES)
				events |= EPOLLIN;
			if (can_send(to))
				events |= EPOLLOUT;
		}
		watch_for(&side->watch, events);
	}
}

static void
count_piece(Flow *flow)
{
	Link	   *link = flow->link;

	proxy.total.npieces[flow->direction]++;
	if (flow->direction == UP && link->answered)
	{
		proxy.total.round_trips++;
		link->answered = false;
	}
}

static void
add_piece(Flow *flow, const char *bytes, size_t nbytes)
{
	Piece	   *piece = allocate(sizeof(Piece) + nbytes);

	piece->flow = flow;
	piece->arrived_ns = now_ns();
	piece->nbytes = nbytes;
	memcpy(piece->bytes, bytes, nbytes);
	flow->nbytes_held += nbytes;
	TAILQ_INSERT_TAIL(&flow->pieces, piece, in_flow);
	TAILQ_INSERT_TAIL(&proxy.waiting, piece, in_waiting);
	if (nbytes > 0)
		count_piece(flow);
	else
		flow->read_all = true;
}

/* Reads what a side has to say; an error is the end of its flow. */
static void
read_side(Side *side)
{
	Flow	   *flow = &side->link->flow[side->reads];

	while (!flow->read_all && flow->nbytes_held < FLOW_LIMIT_BYTES)
	{
		ssize_t		n = recv(side->watch.fd, proxy.read_buffer, READ_BYTES, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		add_piece(flow, proxy.read_buffer, n > 0 ? (size_t) n : 0);
		if (n < READ_BYTES)
			break;
	}
}

static void
count_delivered(Flow *flow, size_t nbytes)
{
	proxy.total.nbytes[flow->direction] += nbytes;
	if (flow->direction == DOWN)
		flow->link->answered = true;
}

/*
 * Hands on the rest of one piece.  Returns true if the piece is done and the
 * flow may go on.
 */
static bool
send_piece(Flow *flow, Piece *piece)
{
	int			fd = flow->link->side[1 - flow->direction].watch.fd;
	size_t		nbytes = piece->nbytes - piece->nsent;
	ssize_t		n;

	if (piece->nbytes == 0)
	{
		(void) shutdown(fd, SHUT_WR);
		finish_flow(flow);
		return false;
	}
	n = send(fd, piece->bytes + piece->nsent, nbytes, MSG_NOSIGNAL);
	if (n < 0)
	{
		if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
			finish_flow(flow);
		return false;
	}
	piece->nsent += n;
	count_delivered(flow, n);
	if (piece->nsent < piece->nbytes)
		return false;
	flow->nbytes_held -= piece->nbytes;
	TAILQ_REMOVE(&flow->pieces, piece, in_flow);
	free(piece);
	return true;
}

/* Hands on the pieces that are due, as far as the other side takes them. */
static void
flush_flow(Flow *flow)
{
	Link	   *link = flow->link;
	Piece	   *piece;

	if (link->side[1 - flow->direction].connected)
	{
		while (!link->closed && can_send(flow))
		{
			piece = TAILQ_FIRST(&flow->pieces);
			if (!send_piece(flow, piece))
				break;
		}
	}
	if (!link->closed)
		watch_sides(link);
}

static void
set_timer(int64_t when_ns)
{
	struct itimerspec spec = {0};

	if (when_ns == proxy.timer_ns)
		return;
	spec.it_value.tv_sec = when_ns / NS_PER_SECOND;
	spec.it_value.tv_nsec = when_ns % NS_PER_SECOND;
	if (timerfd_settime(proxy.timer.fd, TFD_TIMER_ABSTIME, &spec, NULL) != 0)
		fail("timerfd_settime");
	proxy.timer_ns = when_ns;
}

/* Hands on all pieces whose time has come; sets the timer for the next. */
void
release_due_pieces(void)
{
	Piece	   *piece;
	int64_t		next_ns = 0;

	while ((piece = TAILQ_FIRST(&proxy.waiting)) != NULL)
	{
		if (piece->arrived_ns + proxy.delay_ns > now_ns())
		{
			next_ns = piece->arrived_ns + proxy.delay_ns;
			break;
		}
		TAILQ_REMOVE(&proxy.waiting, piece, in_waiting);
		piece->due = true;
		flush_flow(piece->flow);
	}
	set_timer(next_ns);
}

static void
init_side(Link *link, Direction reads, int fd, bool connected)
{
	Side	   *side = &link->side[reads];
	Flow	   *flow = &link->flow[reads];
	int			on = 1;

	side->watch.kind = WATCH_SIDE;
	side->watch.fd = fd;
	side->link = link;
	side->reads = reads;
	side->connected = connected;
	flow->link = link;
	flow->direction = reads;
	TAILQ_INIT(&flow->pieces);
	/* fails on a unix socket, which needs none of it */
	(void) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void
accept_link(void)
{
	int			client = accept4(proxy.listener.fd, NULL, NULL,
								 SOCK_NONBLOCK | SOCK_CLOEXEC);
	int			server;
	int			result;
	Link	   *link;

	if (client < 0)
		return;
	server = socket(proxy.target.ss_family,
					SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (server < 0)
	{
		close(client);
		return;
	}
	result = connect(server, (struct sockaddr *) &proxy.target,
					 proxy.target_len);
	if (result != 0 && errno != EINPROGRESS)
	{
		close(server);
		close(client);
		return;
	}
	link = allocate(sizeof(Link));
	proxy.links_opened++;
	proxy.links_open++;
	link->answered = true;		/* the first piece opens a round trip */
	init_side(link, UP, client, true);
	init_side(link, DOWN, server, result == 0);
	TAILQ_INSERT_TAIL(&proxy.links, link, in_links);
	watch_sides(link);
}

void
handle_side(Side *side, uint32_t events)
{
	Link	   *link = side->link;

	if (link->closed)
		return;
	if (!side->connected)
	{
		int			error = 0;
		socklen_t	len = sizeof(error);

		(void) getsockopt(side->watch.fd, SOL_SOCKET, SO_ERROR, &error, &len);
		if (error != 0)
		{
			close_link(link, true);
			return;
		}
		side->connected = true;
	}
	/* a broken connection is reported even where we don't want to read */
	if (events & (EPOLLERR | EPOLLHUP) && link->flow[side->reads].read_all)
		finish_flow(&link->flow[1 - side->reads]);
	else if (events & (EPOLLIN | EPOLLERR | EPOLLHUP))
		read_side(side);
	if (!link->closed)
		flush_flow(&link->flow[1 - side->reads]);
}
