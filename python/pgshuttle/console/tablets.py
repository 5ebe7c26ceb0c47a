"""The map of tablets: tables and nodes, and what moves between them."""

from typing import Any

from pgshuttle.base.connections import Connection, read_rows, with_short_names
from pgshuttle.console.texts import Action, literal

# Sizes are those of the statistics: asking nodes would take a request for each tablet.
MAP = with_short_names("""
WITH cells AS (
    SELECT relation, node::text, count(*) AS tablets, sum(estimated_bytes)::int8 AS bytes,
        sum(estimated_rows)::int8 AS rows, max(estimated_bytes)::int8 AS largest
    FROM shuttle.tablets GROUP BY relation, node)
SELECT t.relation::oid::int8, SHORT_NAME(t.relation) AS name, t.kind, t.group_id,
    coalesce(a.attname, '')::text,
    coalesce(json_agg(json_build_object('node', node, 'tablets', cells.tablets, 'bytes', bytes,
        'rows', rows, 'largest', largest) ORDER BY node) FILTER (WHERE node IS NOT NULL), '[]'),
    CASE t.kind WHEN 'reference' THEN
        c.relpages::int8 * current_setting('block_size')::int8 END
FROM shuttle.tables t
    JOIN pg_class c ON c.oid = t.relation
    LEFT JOIN cells ON cells.relation = t.relation
    LEFT JOIN pg_partitioned_table s ON s.partrelid = t.relation
    LEFT JOIN pg_attribute a ON a.attrelid = t.relation AND a.attnum = s.partattrs[0]
WHERE t.kind <> 'partitioned'
GROUP BY t.relation, t.kind, t.group_id, a.attname, c.relpages
ORDER BY t.kind, t.group_id, name
""")

NODES = "SELECT node::text FROM shuttle.storage_nodes ORDER BY node"

TABLETS = """
SELECT quote_ident(relname), node::text, coalesce(bounds, ''), estimated_rows::int8, estimated_bytes
FROM shuttle.tablets JOIN pg_class ON oid = tablet
WHERE relation = %s::oid::regclass ORDER BY node, tablet
"""

MOVES = with_short_names("""
SELECT p.pid, SHORT_NAME(p.relation),
    coalesce((SELECT inhparent FROM pg_inherits WHERE inhrelid = p.relation), p.relation::oid)
        ::int8,
    p.command, p.phase, p.rows::int8, p.bytes, p.percent::float8,
    p.move, p.moves, coalesce(a.query, ''),
    extract(epoch FROM now() - a.query_start)::float8
FROM shuttle.progress p LEFT JOIN pg_stat_activity a ON a.pid = p.pid
ORDER BY p.pid
""")
MOVE_FIELDS = (
    "pid",
    "name",
    "table_id",
    "command",
    "phase",
    "rows",
    "bytes",
    "percent",
    "move",
    "moves",
    "query",
    "seconds",
)

ACTIONS = (
    Action("what a rebalancing would move", "SELECT * FROM shuttle.rebalance_plan();"),
    Action("move tablets so that nodes hold equal shares", "CALL shuttle.rebalance();"),
    Action(
        "add a node",
        "SELECT * FROM shuttle.add_node('node9', host => '10.0.0.9', dbname => 'shop');",
    ),
    Action("how other tables could be spread", "SELECT * FROM shuttle.advise();"),
    Action("sizes and rows by new statistics", "SELECT * FROM shuttle.analyze();"),
)
FIELDS = ("id", "name", "kind", "group", "key", "cells", "bytes")


def read_map(connection: Connection) -> dict[str, Any]:
    return {
        "nodes": [name for (name,) in read_rows(connection, NODES)],
        "tables": [dict(zip(FIELDS, row, strict=True)) for row in read_rows(connection, MAP)],
        "actions": [action.describe() for action in ACTIONS],
    }


def list_actions(tablet: str, nodes: list[str], own: str) -> list[dict[str, str]]:
    others = [name for name in nodes if name != own]
    name = literal(tablet)
    found = [
        Action(f"move it to {other}", f"CALL shuttle.move_tablet({name}, {literal(other)});")
        for other in others
    ]
    found += [
        Action(
            f"make two halves of it on {other}",
            f"CALL shuttle.split_tablet({name}, {literal(other)});",
        )
        for other in others[:1]
    ]
    return [action.describe() for action in found]


def read_tablets(connection: Connection, table_id: int) -> list[dict[str, Any]]:
    """Lists the tablets of one table, with what can be done with each."""
    nodes = [name for (name,) in read_rows(connection, NODES)]
    return [
        {
            "name": name,
            "node": node,
            "bounds": bounds,
            "rows": rows,
            "bytes": size,
            "actions": list_actions(name, nodes, node),
        }
        for name, node, bounds, rows, size in read_rows(connection, TABLETS, table_id)
    ]


def read_moves(connection: Connection) -> list[dict[str, Any]]:
    found = []
    for row in read_rows(connection, MOVES):
        move = dict(zip(MOVE_FIELDS, row, strict=True))
        cancel = Action("stop it, and undo what it began", f"SELECT pg_cancel_backend({row[0]});")
        found.append(move | {"actions": [cancel.describe()]})
    return found
