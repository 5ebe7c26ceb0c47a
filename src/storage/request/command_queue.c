/*-------------------------------------------------------------------------
 * command_queue.c
 *	  A node's queue: adds, removes and frees commands, and looks for some.
 *
 * Memory: commands live in node->cxt until their answer was read.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "storage/connection/connection.h"
#include "storage/request/pipeline.h"
#include "storage/storage_types.h"

ShuttleCommand *
shuttle_command_make(ShuttleNode *node, CommandKind kind, const char *sql)
{
	Size		sql_size = sql != NULL ? strlen(sql) + 1 : 0;
	ShuttleCommand *command;

	command = MemoryContextAllocExtended(node->cxt,
										 sizeof(ShuttleCommand) + sql_size,
										 MCXT_ALLOC_NO_OOM | MCXT_ALLOC_HUGE);
	if (command == NULL)
		return NULL;
	memset(command, 0, sizeof(ShuttleCommand));
	command->kind = kind;
	if (sql != NULL)
	{
		command->sql = (char *) (command + 1);
		memcpy(command->sql, sql, sql_size);
	}
	return command;
}

void
shuttle_command_append(ShuttleNode *node, ShuttleCommand *command)
{
	command->packet = node->queue.packet;
	command->generation = node->transaction.generation;
	command->speculative = node->queue.adding_speculative;
	command->repeatable = node->queue.adding_repeatable;
	dlist_push_tail(&node->queue.commands, &command->link);
	if (node->queue.unsent == NULL)
		node->queue.unsent = command;
	node->queue.unsynced = command->kind != COMMAND_SYNC;
	if (command->kind == COMMAND_SYNC)
	{
		node->queue.nunsent_syncs++;
		node->queue.packet++;
		node->queue.goes_on = false;
	}
}

ShuttleCommand *
shuttle_command_try_add(ShuttleNode *node, CommandKind kind, const char *sql)
{
	ShuttleCommand *command = shuttle_command_make(node, kind, sql);

	if (command != NULL)
		shuttle_command_append(node, command);
	return command;
}

ShuttleCommand *
shuttle_command_add(ShuttleNode *node, CommandKind kind, const char *sql)
{
	ShuttleCommand *command = shuttle_command_try_add(node, kind, sql);

	if (command == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	return command;
}

void
shuttle_command_unlink(ShuttleNode *node, ShuttleCommand *command)
{
	if (node->queue.unsent == command)
		node->queue.unsent = dlist_has_next(&node->queue.commands, &command->link) ?
			dlist_container(ShuttleCommand, link,
							dlist_next_node(&node->queue.commands, &command->link)) :
			NULL;
	dlist_delete(&command->link);
	if (command->kind != COMMAND_SYNC)
	{
		if (command->sent)
			node->queue.nin_flight--;
	}
	else
	{
		if (!command->sent)
			node->queue.nunsent_syncs--;
		if (command->speculative)
			node->errors.nspeculative--;
	}
}

void
shuttle_command_free(ShuttleNode *node, ShuttleCommand *command)
{
	if (command->prepared != NULL)
		shuttle_prepared_release(command);
	PQclear(command->result);
	pfree(command);
}

bool
shuttle_command_queue_is_idle(ShuttleNode *node)
{
	dlist_iter	iter;

	dlist_foreach(iter, &node->queue.commands)
	{
		const ShuttleCommand *command = dlist_container(ShuttleCommand, link,
														iter.cur);

		if (command->kind == COMMAND_STATEMENT ||
			command->kind == COMMAND_DECLARE ||
			(command->kind == COMMAND_FETCH && !command->behind_end))
			return false;
	}
	return true;
}

bool
shuttle_command_queue_has_spared(ShuttleNode *node, int level)
{
	dlist_iter	iter;

	dlist_foreach(iter, &node->queue.commands)
	{
		const ShuttleCommand *command = dlist_container(ShuttleCommand, link,
														iter.cur);

		if (command->sent && command->spared_level > 0 &&
			command->spared_level <= level)
			return true;
	}
	return false;
}
