"""What pgshuttle doctor finds out about foreign tables and the relations behind them.

The relations are read by the temporary foreign tables that query_node makes.
"""

from collections import defaultdict
from contextlib import suppress
from dataclasses import replace
from typing import Any

import psycopg

from pgshuttle.base.connections import Connection, read_rows
from pgshuttle.doctor.facts import ColumnFacts, KeyFacts, RelationFacts
from pgshuttle.doctor.read import access, check_constraints, comparisons, relation_kinds
from pgshuttle.doctor.read import bounds as read_bounds
from pgshuttle.doctor.read.expressions import compare_expressions

# catalogs of the node that are read, and their columns
CATALOGS = (
    (
        "pg_class",
        'oid oid, relname name, relnamespace oid, relkind "char", relispartition bool, '
        "relpartbound text, relowner oid, relacl text[], relrowsecurity bool, "
        "relforcerowsecurity bool",
    ),
    ("pg_inherits", "inhrelid oid, inhparent oid"),
    ("pg_partitioned_table", 'partrelid oid, partstrat "char", partattrs int2vector'),
    ("pg_namespace", "oid oid, nspname name, nspowner oid, nspacl text[]"),
    (
        "pg_attribute",
        "attrelid oid, attname name, atttypid oid, atttypmod int4, attnum int2, attnotnull bool, "
        'atthasdef bool, attidentity "char", attgenerated "char", attisdropped bool, '
        "attcollation oid, attacl text[], attinhcount int4",
    ),
    (
        "pg_type",
        'oid oid, typname name, typnamespace oid, typbasetype oid, typtype "char", '
        "typrelid oid, typnotnull bool, typtypmod int4",
    ),
    ("pg_collation", "oid oid, collname name, collnamespace oid"),
    (
        "pg_index",
        "indexrelid oid, indrelid oid, indisunique bool, indisvalid bool, indisprimary bool, "
        "indimmediate bool, indkey int2vector, indnkeyatts int2, indpred text, indexprs text",
    ),
    (
        "pg_constraint",
        'oid oid, conname name, connamespace oid, contype "char", conrelid oid, convalidated bool, '
        "conkey int2[], contypid oid, conexclop oid[]",
    ),
)
# name here and there, columns
NODE_TABLES = (
    *((name, name, columns) for name, columns in CATALOGS),
    ("pg_nulls", "pg_index", "indexrelid oid, indrelid oid, indnullsnotdistinct bool"),
    (
        "pg_checks",
        "information_schema.check_constraints",
        "constraint_schema text, constraint_name text, check_clause text",
    ),
    (
        "pg_columns",
        "information_schema.columns",
        "table_schema text, table_name text, column_name text, generation_expression text, "
        "column_default text",
    ),
)

# of this server too, with the option that names the copies of a reference table
TABLES = """
SELECT c.oid, c.oid::regclass::text, format('%%I.%%I', n.nspname, c.relname),
    coalesce(o.schema, n.nspname), coalesce(o.name, c.relname),
    format('%%I.%%I', coalesce(o.schema, n.nspname), coalesce(o.name, c.relname)),
    EXISTS (SELECT FROM pg_inherits i WHERE i.inhrelid = c.oid),
    coalesce(pg_partition_root(c.oid)::text, '')
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
    CASE WHEN c.collname = 'default' THEN c.collname WHEN c.collname IS NOT NULL
         THEN format('%%I.%%I', k.nspname, c.collname) ELSE '' END,
    a.attnotnull, a.attgenerated,
    EXISTS (SELECT FROM pg_temp.node_pg_type x
                JOIN pg_temp.node_pg_namespace y ON y.oid = x.typnamespace
            WHERE x.typname = t.typname AND y.nspname = n.nspname),
    false, '', false
FROM pg_attribute a
    JOIN pg_type t ON t.oid = a.atttypid
    JOIN pg_namespace n ON n.oid = t.typnamespace
    LEFT JOIN pg_type b ON b.oid = t.typbasetype
    LEFT JOIN pg_collation c ON c.oid = a.attcollation
    LEFT JOIN pg_namespace k ON k.oid = c.collnamespace
WHERE a.attrelid = ANY (%s) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attrelid, a.attnum
"""

# a type that is missing here is printed by its name
THERE = """
SELECT a.attrelid, a.attname, a.attname,
    coalesce(format_type(to_regtype(format('%%I.%%I', n.nspname, t.typname)), a.atttypmod),
             format('%%I.%%I', n.nspname, t.typname)),
    coalesce(b.typname, t.typname),
    CASE WHEN c.collname = 'default' THEN c.collname WHEN c.collname IS NOT NULL
         THEN format('%%I.%%I', k.nspname, c.collname) ELSE '' END,
    a.attnotnull, a.attgenerated,
    to_regtype(format('%%I.%%I', n.nspname, t.typname)) IS NOT NULL,
    a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AND a.attgenerated = '',
    a.attidentity,
    EXISTS (SELECT FROM pg_temp.node_pg_index i
            WHERE i.indrelid = a.attrelid AND i.indisprimary
                AND a.attnum = ANY ((i.indkey::int2[])[:i.indnkeyatts - 1]))
FROM pg_temp.node_pg_attribute a
    JOIN pg_temp.node_pg_type t ON t.oid = a.atttypid
    JOIN pg_temp.node_pg_namespace n ON n.oid = t.typnamespace
    LEFT JOIN pg_temp.node_pg_type b ON b.oid = t.typbasetype
    LEFT JOIN pg_temp.node_pg_collation c ON c.oid = a.attcollation
    LEFT JOIN pg_temp.node_pg_namespace k ON k.oid = c.collnamespace
WHERE a.attrelid = ANY (%s) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attrelid, a.attnum
"""

RELATIONS = """
SELECT n.nspname, c.relname, c.oid, c.relkind
FROM pg_temp.node_pg_class c JOIN pg_temp.node_pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = ANY (%s) AND c.relname = ANY (%s)
"""

SCHEMAS = "SELECT nspname FROM pg_temp.node_pg_namespace WHERE nspname = ANY (%s)"

# unique indexes of all rows; the columns of INCLUDE are not of the key
KEYS = """
SELECT i.indrelid, i.indisprimary, i.indimmediate, i.indexrelid,
    ARRAY(SELECT a.attname::text FROM pg_temp.node_pg_attribute a
          WHERE a.attrelid = i.indrelid
              AND a.attnum = ANY ((i.indkey::int2[])[:i.indnkeyatts - 1])
          ORDER BY array_position(i.indkey::int2[], a.attnum))
FROM pg_temp.node_pg_index i
WHERE i.indrelid = ANY (%s) AND i.indisunique AND i.indisvalid
    AND i.indpred IS NULL AND i.indexprs IS NULL
ORDER BY i.indisprimary DESC, 5
"""

# from 15 on
NULLS = """
SELECT indexrelid FROM pg_temp.node_pg_nulls WHERE indrelid = ANY (%s) AND indnullsnotdistinct
"""

# by the names there; only what this user may see of them
VALUES = """
SELECT table_schema, table_name, column_name, generation_expression, column_default
FROM pg_temp.node_pg_columns
WHERE table_schema = ANY (%s) AND table_name = ANY (%s)
    AND (generation_expression IS NOT NULL OR column_default IS NOT NULL)
"""

READABLE = "rpfvmS"  # kinds of relations that a query can read
Values = tuple[dict[str, str], dict[str, str]]  # expressions and defaults, by columns


def read_columns(connection: Connection, query: str, oids: list[int]) -> dict[int, Any]:
    """Columns by their relation."""
    columns = defaultdict(list)
    for relation, *column in read_rows(connection, query, oids):
        columns[relation].append(ColumnFacts(*column))
    return columns


def read_keys(connection: Connection, oids: list[int]) -> dict[int, list[KeyFacts]]:
    """Unique keys by their relation, the primary key first."""
    keys, nulls_equal = defaultdict(list), set()
    with suppress(psycopg.Error), connection.transaction():
        nulls_equal = {index for (index,) in read_rows(connection, NULLS, oids)}
    for relation, is_primary, is_immediate, index, columns in read_rows(connection, KEYS, oids):
        key = KeyFacts(tuple(columns), is_primary, is_immediate, index in nulls_equal)
        keys[relation].append(key)
    return keys


def rename_keys(keys: list[KeyFacts], columns: list[ColumnFacts]) -> list[KeyFacts]:
    """Names the columns as this side does; keys with columns that it lacks are left out."""
    names = {column.remote_name: column.name for column in columns}
    return [
        replace(key, columns=tuple(names[name] for name in key.columns))
        for key in keys
        if all(name in names for name in key.columns)
    ]


def read_values(
    connection: Connection, schemas: list[str], names: list[str]
) -> dict[tuple[str, str], Values]:
    """Expressions and defaults of columns, by schema and name of their relation there."""
    found: dict[tuple[str, str], Values] = defaultdict(lambda: ({}, {}))
    for schema, name, column, *texts in read_rows(connection, VALUES, schemas, names):
        for known, text in zip(found[schema, name], texts, strict=True):
            if text:
                known[column] = text
    return found


def ask_texts(connection: Connection, server: str) -> check_constraints.Asked:
    """What check_constraints.ask() tells of relations behind partitions."""
    parts = [row for row in read_rows(connection, TABLES, server) if row[-1]]
    schemas, names = ({row[i] for row in parts} for i in (3, 4))
    return (
        check_constraints.ask(connection, server, sorted(schemas), sorted(names)) if parts else {}
    )


def read_behind(
    connection: Connection,
    found: list[tuple[int, int, RelationFacts]],
    asked: check_constraints.Asked,
) -> None:
    """Notes what relations of the node have. found: with OIDs here and there."""
    oids = [other for _, other, _ in found]
    schemas = sorted({relation.remote[0] for _, _, relation in found})
    there = read_columns(connection, THERE, oids)
    keys = read_keys(connection, oids)
    checks = check_constraints.read_checks(connection, asked, oids, schemas)
    parts = read_bounds.read_parts(connection, asked, oids)
    bounds = read_bounds.read_bounds(connection, [oid for oid, _, _ in found])
    shared = comparisons.Comparisons(connection)
    for oid, other, relation in found:
        relation.there = there[other]
        if relation.kind in ("r", "p"):
            relation.lacks_key = not keys[other]
            relation.keys = rename_keys(keys[other], relation.columns)
        if relation.kind == "r" and oid in bounds:
            behind_it = checks[other], parts.get(other)
            read_bounds.try_bounds(shared, relation, bounds[oid], *behind_it)
    access.read_access(connection, found)
    relation_kinds.read_kinds(connection, found)


def read_relations(
    connection: Connection, server: str, asked: check_constraints.Asked
) -> list[RelationFacts]:
    """Reads the foreign tables of a server, and what is behind them. asked: by ask_texts()."""
    tables = read_rows(connection, TABLES, server)
    # texts get the names of schemas
    connection.execute("SET LOCAL search_path = pg_catalog, pg_temp")
    connection.execute("SET LOCAL constraint_exclusion = on")
    schemas, names = (sorted({row[i] for row in tables}) for i in (3, 4))
    behind = {
        (schema, name): (oid, kind)
        for schema, name, oid, kind in read_rows(connection, RELATIONS, schemas, names)
    }
    known = {name for (name,) in read_rows(connection, SCHEMAS, schemas)}
    here = read_columns(connection, HERE, [oid for oid, *_ in tables])
    values = read_values(connection, schemas, names)
    relations, found = [], []
    for oid, name, local_name, schema, relname, remote_name, is_part, root in tables:
        remote = schema, relname
        relation = RelationFacts(name, local_name, remote, remote_name, is_part, root, here[oid])
        relation.has_schema = schema in known
        relations.append(relation)
        generated, relation.defaults = values[remote]
        compare_expressions(connection, relation, generated)
        other, relation.kind = behind.get(remote, (0, ""))
        if relation.kind and relation.kind in READABLE:
            found.append((oid, other, relation))
    read_behind(connection, found, asked)
    relation_kinds.find_renamed(connection, relations)
    return relations
