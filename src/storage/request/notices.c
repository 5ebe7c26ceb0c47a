/*-------------------------------------------------------------------------
 * notices.c
 *	  Notices and warnings of nodes: kept when they arrive, shown when it is
 *	  safe.
 *
 * libpq passes them while the pump reads, when the server must not allocate or
 * raise. They are shown in order after a wait. libpq also reports an error
 * that belongs to no command as a notice: it is kept as the reason why the
 * connection ended, as is the warning of a server that shuts down.
 *
 * Memory: malloc'd and limited; messages beyond the limit are only counted.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "storage/connection/connection.h"
#include "storage/request/pipeline.h"
#include "storage/shuttle_node_session.h"
#include "storage/shuttle_storage.h"

#define MOST_KEPT 256
#define MOST_KEPT_BYTES (256 * 1024)

typedef enum NoticeText
{
	NOTICE_MESSAGE,
	NOTICE_DETAIL,
	NOTICE_HINT,
	NOTICE_CONTEXT,
	NNOTICE_TEXTS
} NoticeText;

static const int text_fields[] = {
	[NOTICE_MESSAGE] = PG_DIAG_MESSAGE_PRIMARY,
	[NOTICE_DETAIL] = PG_DIAG_MESSAGE_DETAIL,
	[NOTICE_HINT] = PG_DIAG_MESSAGE_HINT,
	[NOTICE_CONTEXT] = PG_DIAG_CONTEXT,
};

typedef struct Notice
{
	dlist_node	link;
	char		node_name[NAMEDATALEN];
	int			level;
	int			sqlstate;
	Size		size;
	int			ordinal;		/* among those of the node that say the same */
	bool		is_shared;		/* other nodes say the same */
	bool		is_repeated;	/* it is one of theirs */
	char	   *texts[NNOTICE_TEXTS];	/* after the struct; NULL: none */
} Notice;

bool		shuttle_notices_waiting = false;
static dlist_head kept = DLIST_STATIC_INIT(kept);
static int	nkept = 0;
static Size kept_bytes = 0;
static int64 ndropped = 0;
static bool held = false;

static int	level_of(const char *severity);
static bool is_farewell(int sqlstate);
static bool is_about_standbys(const PGresult *result);
static bool concerns_us(int sqlstate);
static Notice *copy_notice(const PGresult *result);
static void show(const Notice *notice, bool as_ours);

/* How kept messages are shown. */
typedef enum ShowMode
{
	SHOW_AS_THEIRS,
	SHOW_AS_OURS,
	SHOW_ONCE
} ShowMode;

void
shuttle_notice_receive(void *arg, const PGresult *result)
{
	ShuttleNode *node = arg;
	const char *severity = PQresultErrorField(result,
											  PG_DIAG_SEVERITY_NONLOCALIZED);
	const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	int			level;
	int			sqlstate;
	Notice	   *notice;

	if (severity == NULL || message == NULL)
		return;
	level = level_of(severity);
	sqlstate = shuttle_node_error_result_sqlstate(result);
	if (strcmp(severity, "FATAL") == 0 || is_farewell(sqlstate))
	{
		strlcpy(node->connection.farewell, message, sizeof(node->connection.farewell));
		return;
	}
	if (is_about_standbys(result))
		node->commit.unreplicated = true;
	if (level == 0 || concerns_us(sqlstate))
		return;

	shuttle_notices_waiting = !held;
	notice = nkept < MOST_KEPT ? copy_notice(result) : NULL;
	if (notice == NULL)
	{
		ndropped++;
		return;
	}
	strlcpy(notice->node_name, node->name, sizeof(notice->node_name));
	notice->level = level;
	dlist_push_tail(&kept, &notice->link);
	nkept++;
	kept_bytes += notice->size;
}

/* The level to show a message at; 0: not shown. */
static int
level_of(const char *severity)
{
	if (strcmp(severity, "WARNING") == 0)
		return WARNING;
	if (strcmp(severity, "NOTICE") == 0)
		return NOTICE;
	if (strcmp(severity, "INFO") == 0)
		return INFO;
	if (strcmp(severity, "LOG") == 0 || strncmp(severity, "DEBUG", 5) == 0)
		return DEBUG1;
	return 0;
}

/* A server that crashes or shuts down immediately sends a warning. */
static bool
is_farewell(int sqlstate)
{
	return sqlstate == ERRCODE_ADMIN_SHUTDOWN ||
		sqlstate == ERRCODE_CRASH_SHUTDOWN;
}

/* A commit's wait for standbys was cancelled. The message is translated and has
 * no SQLSTATE of its own. */
static bool
is_about_standbys(const PGresult *result)
{
	const char *function = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);

	return function != NULL && strcmp(function, "SyncRepWaitForLSN") == 0;
}

/* Caused by our own commands, such as COMMIT after a skipped BEGIN. */
static bool
concerns_us(int sqlstate)
{
	return sqlstate == ERRCODE_NO_ACTIVE_SQL_TRANSACTION ||
		sqlstate == ERRCODE_ACTIVE_SQL_TRANSACTION;
}

static Notice *
copy_notice(const PGresult *result)
{
	Size		size = sizeof(Notice);
	Notice	   *notice;
	char	   *place;

	for (int i = 0; i < NNOTICE_TEXTS; i++)
	{
		const char *text = PQresultErrorField(result, text_fields[i]);

		size += text !=NULL ? strlen(text) + 1 : 0;
	}
	if (kept_bytes + size > MOST_KEPT_BYTES || (notice = malloc(size)) == NULL)
		return NULL;
	notice->size = size;
	notice->is_shared = notice->is_repeated = false;
	notice->sqlstate = shuttle_node_error_result_sqlstate(result);
	place = (char *) (notice + 1);
	for (int i = 0; i < NNOTICE_TEXTS; i++)
	{
		const char *text = PQresultErrorField(result, text_fields[i]);
		int			length = text == NULL ? 0 :
			i == NOTICE_CONTEXT ? shuttle_node_error_context_length(text) : (int) strlen(text);

		notice->texts[i] = NULL;
		if (text == NULL || (i == NOTICE_CONTEXT && length == 0))
			continue;
		notice->texts[i] = place;
		strlcpy(place, text, length + 1);
		place += length + 1;
	}
	return notice;
}

static bool
is_same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* True if both say the same of the statement. What code says of a row has a context. */
static bool
says_the_same(const Notice *a, const Notice *b)
{
	for (int i = 0; i < NNOTICE_TEXTS; i++)
	{
		if (!is_same_text(a->texts[i], b->texts[i]))
			return false;
	}
	return a->level == b->level && a->sqlstate == b->sqlstate && a->texts[NOTICE_CONTEXT] == NULL;
}

/* Finds what several nodes say alike. What a node says several times stays so. */
static void
find_shared(void)
{
	dlist_iter	iter;
	dlist_iter	before;

	dlist_foreach(iter, &kept)
	{
		Notice	   *notice = dlist_container(Notice, link, iter.cur);

		notice->ordinal = 1;
		dlist_foreach(before, &kept)
		{
			Notice	   *first = dlist_container(Notice, link, before.cur);

			if (first == notice)
				break;
			if (!says_the_same(first, notice))
				continue;
			if (strcmp(first->node_name, notice->node_name) == 0)
				notice->ordinal++;
			else if (!first->is_repeated && first->ordinal == notice->ordinal)
				first->is_shared = notice->is_repeated = true;
		}
	}
}

static void
show_all(ShowMode mode)
{
	int64		nothers = ndropped;

	if (mode == SHOW_ONCE)
		find_shared();
	shuttle_notices_waiting = false;
	ndropped = 0;
	while (!dlist_is_empty(&kept))
	{
		Notice	   *notice = dlist_container(Notice, link,
											 dlist_pop_head_node(&kept));

		nkept--;
		kept_bytes -= notice->size;
		if (!notice->is_repeated)
			show(notice, mode == SHOW_AS_OURS ||
				 (mode == SHOW_ONCE && (notice->is_shared || notice->level < WARNING)));
		free(notice);
	}
	if (nothers > 0)
		ereport(NOTICE,
				(errmsg_plural("%lld further message of storage nodes is not shown",
							   "%lld further messages of storage nodes are not shown",
							   (unsigned long) nothers, (long long) nothers)));
}

void
shuttle_notices_show(void)
{
	show_all(SHOW_AS_THEIRS);
}

void
shuttle_notices_hold(void)
{
	show_all(SHOW_AS_THEIRS);
	held = true;
}

bool
shuttle_notices_are_kept(void)
{
	return ndropped == 0;
}

void
shuttle_notices_release(bool show)
{
	held = false;
	if (show)
	{
		show_all(SHOW_AS_OURS);
		return;
	}
	while (!dlist_is_empty(&kept))
		free(dlist_container(Notice, link, dlist_pop_head_node(&kept)));
	nkept = 0;
	kept_bytes = 0;
	ndropped = 0;
}

void
shuttle_notices_release_once(void)
{
	held = false;
	show_all(SHOW_ONCE);
}

static void
show(const Notice *notice, bool as_ours)
{
	char	   *const *texts = notice->texts;

	ereport(notice->level,
			(notice->sqlstate != 0 ? errcode(notice->sqlstate) : 0,
			 as_ours ? errmsg_internal("%s", texts[NOTICE_MESSAGE]) :
			 errmsg("storage node \"%s\": %s", notice->node_name,
					texts[NOTICE_MESSAGE]),
			 texts[NOTICE_DETAIL] != NULL ?
			 errdetail_internal("%s", texts[NOTICE_DETAIL]) : 0,
			 texts[NOTICE_HINT] != NULL ?
			 errhint("%s", texts[NOTICE_HINT]) : 0,
			 texts[NOTICE_CONTEXT] != NULL ?
			 errcontext("%s", texts[NOTICE_CONTEXT]) : 0));
}

/* Leaves only what every client encoding has. */
static void
keep_ascii(char *name)
{
	for (; *name != '\0'; name++)
	{
		if (IS_HIGHBIT_SET(*name))
			*name = '?';
	}
}

void
shuttle_notices_warn_of_node(const ShuttleNode *node, void (*warn) (const char *name))
{
	MemoryContext cxt = CurrentMemoryContext;
	uint32		nholds = InterruptHoldoffCount;
	uint32		ncancel_holds = QueryCancelHoldoffCount;
	volatile bool told = false;
	char		name[NAMEDATALEN];

	strlcpy(name, node->name, sizeof(name));
	for (int i = 0; i < 2 && !told; i++)
	{
		PG_TRY();
		{
			warn(name);
			told = true;
		}
		PG_CATCH();
		{
			/* an error resets interrupt holdoff */
			MemoryContextSwitchTo(cxt);
			FlushErrorState();
			InterruptHoldoffCount = nholds;
			QueryCancelHoldoffCount = ncancel_holds;
			keep_ascii(name);
		}
		PG_END_TRY();
	}
}
