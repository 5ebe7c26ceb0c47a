/*-------------------------------------------------------------------------
 * delay_proxy.h
 *	  What the parts of the delay proxy share.
 *
 * main.c has the story.  Everything hangs on the one global "proxy".
 *-------------------------------------------------------------------------
 */
#ifndef DELAY_PROXY_H
#define DELAY_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#define READ_BYTES (256 * 1024)
#define COMMAND_BYTES 256
#define NS_PER_SECOND INT64_C(1000000000)

typedef struct Link Link;
typedef struct Flow Flow;

typedef enum WatchKind
{
	WATCH_LISTEN,
	WATCH_CONTROL_LISTEN,
	WATCH_CONTROL,
	WATCH_TIMER,
	WATCH_SIGNAL,
	WATCH_SIDE,
} WatchKind;

/* What epoll hands back to us. */
typedef struct Watch
{
	WatchKind	kind;
	int			fd;
	uint32_t	events;			/* what epoll watches for; 0 = not watched */
} Watch;

typedef struct Piece
{
	TAILQ_ENTRY(Piece) in_waiting;
	TAILQ_ENTRY(Piece) in_flow;
	Flow	   *flow;
	int64_t		arrived_ns;
	bool		due;			/* left the list of waiting pieces */
	size_t		nbytes;			/* 0 = end of the flow */
	size_t		nsent;
	char		bytes[];
} Piece;

typedef TAILQ_HEAD(PieceList, Piece) PieceList;

typedef enum Direction
{
	UP,
	DOWN,
} Direction;

typedef struct Side
{
	Watch		watch;			/* must be first */
	Link	   *link;
	Direction	reads;			/* the flow that begins at this side */
	bool		connected;
} Side;

struct Flow
{
	Link	   *link;
	Direction	direction;
	PieceList	pieces;
	size_t		nbytes_held;
	bool		read_all;		/* its source has no more to say */
	bool		finished;		/* its end was handed on, or can't be */
};

typedef struct Counts
{
	uint64_t	round_trips;
	uint64_t	nbytes[2];		/* by Direction, when delivered */
	uint64_t	npieces[2];		/* by Direction, when read */
} Counts;

struct Link
{
	TAILQ_ENTRY(Link) in_links;
	Side		side[2];		/* by the Direction that the side reads */
	Flow		flow[2];		/* by Direction */
	bool		answered;		/* delivered to the client since its piece */
	bool		closed;
};

typedef struct Control
{
	Watch		watch;			/* must be first */
				TAILQ_ENTRY(Control) in_controls;
	size_t		nbytes;
	char		bytes[COMMAND_BYTES];
	bool		closed;
} Control;

typedef TAILQ_HEAD(LinkList, Link) LinkList;
typedef TAILQ_HEAD(ControlList, Control) ControlList;

typedef struct Proxy
{
	int			epoll_fd;
	Watch		listener;
	Watch		control_listener;
	Watch		timer;
	Watch		signals;
	int			port;
	struct sockaddr_storage target;
	socklen_t	target_len;
	int64_t		delay_ns;		/* half of the round-trip time */
	int64_t		timer_ns;		/* what the timer is set to; 0 = not set */
	bool		stopping;
	PieceList	waiting;
	LinkList	links;
	LinkList	closed_links;
	ControlList controls;
	ControlList closed_controls;
	uint64_t	links_opened;
	uint64_t	links_open;
	Counts		total;
	char		read_buffer[READ_BYTES];
} Proxy;

extern Proxy proxy;

/* main.c: a failure ends the proxy. */
extern void fail(const char *what) __attribute__((noreturn));
extern void *allocate(size_t nbytes);
extern void watch_for(Watch *watch, uint32_t events);

/* links.c */
extern void accept_link(void);
extern void handle_side(Side *side, uint32_t events);
extern void release_due_pieces(void);
extern void drop_links(void);

/* control.c */
extern void accept_control(void);
extern void handle_control(Control *control);

#endif							/* DELAY_PROXY_H */
