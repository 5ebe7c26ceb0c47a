/*-------------------------------------------------------------------------
 * cursor.c
 *	  Names of cursors on a node.
 *
 * Names are used again, so that texts repeat. A cursor is closed only after
 * its DECLARE was answered: CLOSE of a missing cursor would fail the
 * transaction.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/memutils.h"

#include "storage/connection/connection.h"
#include "storage/request/pipeline.h"
#include "storage/request/request.h"
#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"

int
shuttle_cursor_allocate(ShuttleNode *node)
{
	int			cursor = 0;

	while (cursor < node->requests.ncursors &&
		   node->requests.cursors[cursor].state != CURSOR_FREE)
		cursor++;
	if (cursor == node->requests.ncursors)
	{
		int			ncursors = Max(8, node->requests.ncursors * 2);

		if (node->requests.cursors == NULL)
			node->requests.cursors = MemoryContextAlloc(node->cxt,
														sizeof(CursorSlot) * ncursors);
		else
			node->requests.cursors = repalloc(node->requests.cursors,
											  sizeof(CursorSlot) * ncursors);
		memset(node->requests.cursors + node->requests.ncursors, 0,
			   sizeof(CursorSlot) * (ncursors - node->requests.ncursors));
		node->requests.ncursors = ncursors;
	}
	node->requests.cursors[cursor] = (CursorSlot)
	{
		.state = CURSOR_USED,
			.level = node->transaction.level,
			.packet = node->queue.packet,
	};
	return cursor;
}

void
shuttle_cursor_release(ShuttleNode *node, int cursor)
{
	if (node->requests.cursors[cursor].state == CURSOR_USED)
		node->requests.cursors[cursor].state = CURSOR_UNWANTED;
}

void
shuttle_cursor_answer(ShuttleNode *node, ShuttleCommand *command, bool failed)
{
	CursorSlot *slot = &node->requests.cursors[command->cursor];

	/* Cursors of an earlier transaction are already forgotten. */
	if (command->dropped || slot->packet != command->packet)
		return;
	if (!failed)
		slot->answered = true;
	else if (slot->state == CURSOR_UNWANTED)
		slot->state = CURSOR_FREE;
}

void
shuttle_cursor_close_unwanted(ShuttleNode *node)
{
	for (int i = 0; i < node->requests.ncursors; i++)
	{
		char		sql[32];

		if (node->requests.cursors[i].state != CURSOR_UNWANTED ||
			!node->requests.cursors[i].answered)
			continue;
		snprintf(sql, sizeof(sql), "CLOSE c%d", i);
		shuttle_command_add(node, COMMAND_CONTROL, sql);
		node->requests.cursors[i].state = CURSOR_FREE;
	}
}

bool
shuttle_cursor_can_close_unwanted(void *arg)
{
	ShuttleNode *node = arg;
	dlist_iter	iter;

	if (node->connection.state != NODE_READY)
		return true;
	dlist_foreach(iter, &node->queue.commands)
	{
		const ShuttleCommand *command = dlist_container(ShuttleCommand, link, iter.cur);
		const CursorSlot *slot;

		if (command->kind != COMMAND_DECLARE || command->dropped)
			continue;
		slot = &node->requests.cursors[command->cursor];
		if (slot->state == CURSOR_UNWANTED && slot->packet == command->packet)
			return false;
	}
	return true;
}

void
shuttle_cursor_forget_level(ShuttleNode *node, int level)
{
	for (int i = 0; i < node->requests.ncursors; i++)
	{
		if (node->requests.cursors[i].level >= level)
			node->requests.cursors[i].state = CURSOR_FREE;
	}
}

void
shuttle_cursor_forget_packet(ShuttleNode *node, uint64 packet)
{
	dlist_iter	iter;

	/* Their requests must not release slots that were assigned again. */
	dlist_foreach(iter, &node->requests.all)
	{
		ShuttleRequest *request = dlist_container(ShuttleRequest, link, iter.cur);

		if (request->cursor >= 0 && request->generation == node->transaction.generation &&
			node->requests.cursors[request->cursor].packet == packet)
			request->cursor = -1;
	}
	for (int i = 0; i < node->requests.ncursors; i++)
	{
		if (node->requests.cursors[i].packet == packet)
			node->requests.cursors[i].state = CURSOR_FREE;
	}
}

void
shuttle_cursor_release_level(ShuttleNode *node, int level)
{
	for (int i = 0; i < node->requests.ncursors; i++)
		node->requests.cursors[i].level = Min(node->requests.cursors[i].level, level - 1);
}
