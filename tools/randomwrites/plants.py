"""Bugs that are planted to see whether random transactions find them."""

from __future__ import annotations

from randomqueries.plants import Edit, Plants

PLANTS: Plants = {
    # a function that reads a node does not find what its statement has written so far
    "no_flush_before_read": (
        Edit(
            "src/executor/write/write_run.c",
            "if (run->estate != estate && has_rows_for(run, node))",
            "if (false && run->estate != estate && has_rows_for(run, node))",
        ),
    ),
    # rows of a savepoint stay when it is rolled back
    "savepoint_stays": (
        Edit(
            "src/storage/transaction/transaction_abort.c",
            '"ROLLBACK TO SAVEPOINT s%d"',
            '"RELEASE SAVEPOINT s%d"',
        ),
    ),
    # a row that moves to another partition is counted here and there
    "move_counts_twice": (
        Edit(
            "src/executor/write/write_run.c",
            "if (run->node->canSetTag && !shuttle_write_takes_out(write))",
            "if (run->node->canSetTag)",
        ),
    ),
    # nobody looks at what is written through a view
    "check_option_lost": (
        Edit(
            "src/executor/write/write_pieces.c",
            "if (write->target->ri_WithCheckOptions != NIL && write->operation != CMD_DELETE)",
            "if (false && write->operation != CMD_DELETE)",
        ),
    ),
    # AFTER ROW triggers are queued within another statement, and fire when that ends
    "trigger_too_early": (
        Edit(
            "src/executor/write/write_run.c",
            "if (in_turn)\n\t\tfollow_up(run);",
            "if (in_turn || true)\n\t\tfollow_up(run);",
        ),
    ),
    # what a statement has begun to read is asked for behind its first write
    "read_behind_write": (
        Edit(
            "src/executor/scan/remote_scan.c",
            "if (unsent->node == node && unsent->number <= begun)",
            "if (false && unsent->node == node && unsent->number <= begun)",
        ),
    ),
}
