"""What pgshuttle doctor finds out about foreign tables and the relations behind them.

The relations are read by the temporary foreign tables that find_facts makes.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from pgshuttle.catalog import Connection, read_rows
from pgshuttle.facts import BoundFacts, ColumnFacts, KeyFacts, RelationFacts

# catalogs of the node that are read, and their columns
CATALOGS = (
    ("pg_class", 'oid oid, relname name, relnamespace oid, relkind "char"'),
    ("pg_namespace", "oid oid, nspname name"),
    (
        "pg_attribute",
        "attrelid oid, attname name, atttypid oid, atttypmod int4, attnum int2, attnotnull bool, "
        'atthasdef bool, attidentity "char", attgenerated "char", attisdropped bool, '
        "attcollation oid",
    ),
    ("pg_type", "oid oid, typname name, typnamespace oid, typbasetype oid"),
    ("pg_collation", "oid oid, collname name"),
    (
        "pg_index",
        "indrelid oid, indisunique bool, indisvalid bool, indisprimary bool, indkey int2vector, "
        "indnkeyatts int2, indpred text, indexprs text",
    ),
    (
        "pg_constraint",
        'conname name, connamespace oid, contype "char", conrelid oid, convalidated bool, '
        "conkey int2[]",
    ),
)
# name here and there, columns
NODE_TABLES = (
    *((name, name, columns) for name, columns in CATALOGS),
    (
        "pg_checks",
        "information_schema.check_constraints",
        "constraint_schema text, constraint_name text, check_clause text",
    ),
)

# of this server too, with the option that names the copies of a reference table
TABLES = """
SELECT c.oid, c.oid::regclass::text, coalesce(o.schema, n.nspname), coalesce(o.name, c.relname),
    format('%%I.%%I', coalesce(o.schema, n.nspname), coalesce(o.name, c.relname)),
    EXISTS (SELECT FROM pg_inherits i WHERE i.inhrelid = c.oid),
    coalesce(pg_partition_root(c.oid)::text, ''),
    CASE WHEN c.relispartition THEN pg_get_partition_constraintdef(c.oid) END
FROM pg_foreign_table t
    JOIN pg_class c ON c.oid = t.ftrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_foreign_server s ON s.oid = t.ftserver,
    LATERAL (SELECT max(o.option_value) FILTER (WHERE o.option_name = 'schema_name') AS schema,
                 max(o.option_value) FILTER (WHERE o.option_name = 'table_name') AS name,
                 max(o.option_value) FILTER (WHERE o.option_name = 'shuttle_replicated_on') AS nodes
             FROM pg_options_to_table(t.ftoptions) o) o
WHERE %s IN (SELECT s.srvname UNION SELECT btrim(trim(w), '"')
             FROM string_to_table(o.nodes, ',') w)
    AND c.relnamespace <> pg_my_temp_schema()
    AND coalesce(o.schema, n.nspname) NOT IN ('pg_catalog', 'information_schema')
ORDER BY 2
"""

# columns of both sides: of which relation, name, name on the other side, type, ...
HERE = """
SELECT a.attrelid, a.attname,
    coalesce((SELECT o.option_value FROM pg_options_to_table(a.attfdwoptions) o
              WHERE o.option_name = 'column_name'), a.attname),
    format_type(a.atttypid, a.atttypmod), coalesce(b.typname, t.typname),
    coalesce(c.collname, ''), a.attnotnull, a.attgenerated <> '', false
FROM pg_attribute a
    JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_type b ON b.oid = t.typbasetype
    LEFT JOIN pg_collation c ON c.oid = a.attcollation
WHERE a.attrelid = ANY (%s) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attrelid, a.attnum
"""

# a type that is missing here is printed by its name
THERE = """
SELECT a.attrelid, a.attname, a.attname,
    coalesce(format_type(to_regtype(format('%%I.%%I', n.nspname, t.typname)), a.atttypmod),
             format('%%I.%%I', n.nspname, t.typname)),
    coalesce(b.typname, t.typname), coalesce(c.collname, ''), a.attnotnull,
    a.attgenerated <> '',
    a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AND a.attgenerated = ''
FROM pg_temp.node_pg_attribute a
    JOIN pg_temp.node_pg_type t ON t.oid = a.atttypid
    JOIN pg_temp.node_pg_namespace n ON n.oid = t.typnamespace
    LEFT JOIN pg_temp.node_pg_type b ON b.oid = t.typbasetype
    LEFT JOIN pg_temp.node_pg_collation c ON c.oid = a.attcollation
WHERE a.attrelid = ANY (%s) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attrelid, a.attnum
"""

RELATIONS = """
SELECT n.nspname, c.relname, c.oid, c.relkind
FROM pg_temp.node_pg_class c JOIN pg_temp.node_pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = ANY (%s) AND c.relname = ANY (%s)
    AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""

# unique indexes of all rows; the columns of INCLUDE are not of the key
KEYS = """
SELECT i.indrelid, i.indisprimary,
    ARRAY(SELECT a.attname::text FROM pg_temp.node_pg_attribute a
          WHERE a.attrelid = i.indrelid
              AND a.attnum = ANY ((i.indkey::int2[])[:i.indnkeyatts - 1])
          ORDER BY array_position(i.indkey::int2[], a.attnum))
FROM pg_temp.node_pg_index i
WHERE i.indrelid = ANY (%s) AND i.indisunique AND i.indisvalid
    AND i.indpred IS NULL AND i.indexprs IS NULL
ORDER BY i.indisprimary DESC, 3
"""

CHECKS = """
SELECT k.conrelid, n.nspname, k.conname, k.convalidated,
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

# columns that the bounds of a partition, and of those above it, are of
KEY_COLUMNS = """
SELECT a.attname
FROM pg_partition_ancestors(%s) p(relid)
    JOIN pg_partitioned_table k ON k.partrelid = p.relid
    JOIN pg_attribute a ON a.attrelid = k.partrelid AND a.attnum = ANY (k.partattrs::int2[])
"""


@dataclass(frozen=True)
class Check:
    name: str
    text: str
    columns: set[str]
    is_valid: bool  # of the rows that are there, too, and not only of new ones


def read_columns(connection: Connection, query: str, oids: list[int]) -> dict[int, Any]:
    """Columns by their relation."""
    columns = defaultdict(list)
    for relation, *column in read_rows(connection, query, oids):
        columns[relation].append(ColumnFacts(*column))
    return columns


def read_checks(
    connection: Connection, oids: list[int], schemas: list[str]
) -> dict[int, list[Check] | None]:
    """Checks by their relation; None where the node does not tell all of them."""
    texts = defaultdict(list)
    for schema, name, text in read_rows(connection, CHECK_TEXTS, schemas):
        # the view of older servers has what follows the condition, too
        condition = text.removesuffix(" NOT VALID").removesuffix(" NO INHERIT")
        texts[schema, name].append(condition)
    checks: dict[int, list[Check] | None] = {oid: [] for oid in oids}
    for oid, schema, name, is_valid, columns in read_rows(connection, CHECKS, oids):
        found, known = checks[oid], texts[schema, name]
        if found is None or len(known) != 1:  # of another owner, or two have the name
            checks[oid] = None
        else:
            found.append(Check(name, known[0], set(columns), is_valid))
    return checks


def read_keys(connection: Connection, oids: list[int]) -> dict[int, list[KeyFacts]]:
    """Unique keys by their relation, the primary key first."""
    keys = defaultdict(list)
    for relation, is_primary, columns in read_rows(connection, KEYS, oids):
        keys[relation].append(KeyFacts(tuple(columns), is_primary))
    return keys


def rename_keys(keys: list[KeyFacts], columns: list[ColumnFacts]) -> list[KeyFacts]:
    """Names the columns as this side does; keys with columns that it lacks are left out."""
    names = {column.remote_name: column.name for column in columns}
    return [
        KeyFacts(tuple(names[name] for name in key.columns), key.is_primary)
        for key in keys
        if all(name in names for name in key.columns)
    ]


def proves(connection: Connection, table: str, condition: str) -> bool:
    """Says if the planner sees that no row that the table may have meets a condition."""
    query = f"EXPLAIN (FORMAT JSON) SELECT FROM pg_temp.{table} WHERE {condition}"
    ((plans,),) = read_rows(connection, query)
    return bool(plans[0]["Plan"].get("One-Time Filter") == "false")


def compare_bounds(
    connection: Connection, oid: int, relation: RelationFacts, text: str, checks: list[Check]
) -> BoundFacts:
    """Has the planner compare bounds with constraints, on two tables that have them."""
    bound = BoundFacts(text)
    connection.execute("SET LOCAL constraint_exclusion = on")
    for table in ("node_allows", "bounds_allow"):
        connection.execute(f"CREATE TEMP TABLE {table} (LIKE {relation.name})".encode())
    for column in relation.there or []:
        if column.not_null and any(own.name == column.name for own in relation.columns):
            alter = sql.SQL("ALTER TABLE pg_temp.node_allows ALTER {} SET NOT NULL")
            connection.execute(alter.format(sql.Identifier(column.name)))
    connection.execute(f"ALTER TABLE pg_temp.bounds_allow ADD CHECK ({text})".encode())
    keys = {name for (name,) in read_rows(connection, KEY_COLUMNS, oid)}
    for check in checks:
        if not check.columns <= keys:
            continue
        if check.is_valid:
            add = f"ALTER TABLE pg_temp.node_allows ADD CHECK ({check.text})"
            connection.execute(add.encode())
        if proves(connection, "bounds_allow", f"({check.text})"):
            bound.refused_by.append(check.name)
        elif not proves(connection, "bounds_allow", f"NOT ({check.text})"):
            bound.narrowed_by.append(check.name)
    bound.is_kept = proves(connection, "node_allows", f"NOT ({text})")
    return bound


def try_bounds(
    connection: Connection, oid: int, relation: RelationFacts, text: str, checks: list[Check] | None
) -> BoundFacts | None:
    """Compares bounds, unless they are of a hash or their texts mean nothing here."""
    renamed = any(column.name != column.remote_name for column in relation.columns)
    if checks is None or renamed or "satisfies_hash_partition" in text:
        return None
    try:
        with connection.transaction(force_rollback=True):
            return compare_bounds(connection, oid, relation, text, checks)
    except psycopg.Error:
        return None


def read_relations(connection: Connection, server: str) -> list[RelationFacts]:
    tables = read_rows(connection, TABLES, server)
    schemas = sorted({schema for _, _, schema, *_ in tables})
    names = sorted({name for _, _, _, name, *_ in tables})
    behind = {
        (schema, name): (oid, kind)
        for schema, name, oid, kind in read_rows(connection, RELATIONS, schemas, names)
    }
    oids = [oid for oid, _ in behind.values()]
    here = read_columns(connection, HERE, [oid for oid, *_ in tables])
    there = read_columns(connection, THERE, oids)
    keys = read_keys(connection, oids)
    checks = read_checks(connection, oids, schemas)
    found = []
    for oid, name, schema, relname, remote_name, is_part, root, bound in tables:
        relation = RelationFacts(name, remote_name, is_part, here[oid], root)
        found.append(relation)
        if (schema, relname) not in behind:
            continue
        other, kind = behind[schema, relname]
        relation.there = there[other]
        if kind in ("r", "p"):
            relation.lacks_key = not keys[other]
            relation.keys = rename_keys(keys[other], relation.columns)
        if bound and kind == "r":
            relation.bound = try_bounds(connection, oid, relation, bound, checks[other])
    return found
