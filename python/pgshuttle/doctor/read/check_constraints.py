"""What pgshuttle doctor finds out about check constraints of nodes.

Catalogs have their conditions in no text that can be read. The information schema has, by
names that several may have; a node that may be asked to print them tells each.
"""

from collections import defaultdict

import psycopg
from psycopg import sql

from pgshuttle.base.connections import Connection, read_rows
from pgshuttle.doctor.facts import CheckFacts

CHECKS = """
SELECT k.oid, k.conrelid, n.nspname, k.conname, k.convalidated,
    ARRAY(SELECT a.attname::text FROM pg_temp.node_pg_attribute a
          WHERE a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey))
FROM pg_temp.node_pg_constraint k JOIN pg_temp.node_pg_namespace n ON n.oid = k.connamespace
WHERE k.conrelid = ANY (%s) AND k.contype = 'c'
ORDER BY k.conname
"""

CHECK_TEXTS = """
SELECT constraint_schema, constraint_name, check_clause FROM pg_temp.node_pg_checks
WHERE constraint_schema = ANY (%s)
"""

# what catalogs do not say in words can be asked of a node by our wrapper alone, and with a right
ASK = """
SELECT r->>'kind', (r->>'oid')::oid, r->>'text'
FROM shuttle.run_on_nodes(%s, ARRAY[%s::name]) n, json_array_elements(n.result) r
"""
ASKED = """
WITH asked AS (
    SELECT c.oid, c.relispartition
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY ({}::name[]) AND c.relname = ANY ({}::name[]))
SELECT 'check' AS kind, k.oid, pg_catalog.pg_get_expr(k.conbin, k.conrelid) AS text
FROM asked JOIN pg_catalog.pg_constraint k ON k.conrelid = asked.oid AND k.contype = 'c'
UNION ALL
SELECT 'bounds', oid, pg_catalog.pg_get_partition_constraintdef(oid) FROM asked WHERE relispartition
"""

Asked = dict[tuple[str, int], str]  # texts by kind, and OID of the constraint or relation


def ask(connection: Connection, server: str, schemas: list[str], names: list[str]) -> Asked:
    """Has a node print checks and bounds of relations.

    Nothing, where this user may not have it do so. Not in a transaction that uses the node.
    """
    try:
        with connection.transaction():
            query = sql.SQL(ASKED).format(sql.Literal(schemas), sql.Literal(names))
            rows = read_rows(connection, ASK, query.as_string(connection), server)
            return {(kind, oid): text for kind, oid, text in rows}
    except psycopg.Error:
        return {}


def read_checks(
    connection: Connection, asked: Asked, oids: list[int], schemas: list[str]
) -> dict[int, list[CheckFacts] | None]:
    """Checks by their relation; None where the node does not tell all of them."""
    rows = read_rows(connection, CHECKS, oids)
    texts = defaultdict(set)
    for schema, name, text in read_rows(connection, CHECK_TEXTS, schemas):
        # the view of older servers has what follows the condition, too
        condition = text.removesuffix(" NOT VALID").removesuffix(" NO INHERIT")
        texts[schema, name].add(condition)
    checks: dict[int, list[CheckFacts] | None] = {oid: [] for oid in oids}
    for oid, relation, schema, name, is_valid, columns in rows:
        found = checks[relation]
        known = {asked["check", oid]} if ("check", oid) in asked else set(texts[schema, name])
        if found is None or len(known) != 1:  # of another owner, or two have the name
            checks[relation] = None
        else:
            found.append(CheckFacts(name, known.pop(), frozenset(columns), is_valid))
    return checks
