"""What pgshuttle doctor finds out about enums, domains and composite types of columns."""

from collections import defaultdict
from collections.abc import Collection
from typing import Any

import psycopg

from pgshuttle.base.connections import Connection, read_rows
from pgshuttle.doctor.facts import TypeDefinition, TypeFacts
from pgshuttle.doctor.read.expressions import is_of_postgres

# catalogs of the node that are read besides those of relations, and their columns
NODE_TABLES = (("pg_enum", "pg_enum", "enumtypid oid, enumsortorder float4, enumlabel name"),)

# what columns of foreign tables are of, and what that is made of
USED = """
WITH RECURSIVE used(oid) AS (
    SELECT a.atttypid
    FROM pg_foreign_table t
        JOIN pg_foreign_server s ON s.oid = t.ftserver
        JOIN pg_class c ON c.oid = t.ftrelid
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
    WHERE s.srvname = %s AND c.relnamespace <> pg_my_temp_schema()
    UNION
    SELECT part.oid
    FROM used JOIN pg_type t ON t.oid = used.oid,
        LATERAL (SELECT t.typelem UNION ALL SELECT t.typbasetype
                 UNION ALL SELECT a.atttypid FROM pg_attribute a
                           WHERE a.attrelid = t.typrelid AND a.attnum > 0) part(oid))
SELECT n.nspname, t.typname, format('%%I.%%I', n.nspname, t.typname)
FROM used JOIN pg_type t USING (oid) JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE t.typtype IN ('e', 'd', 'c') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
"""

# of either side: of.pg_type is pg_catalog.pg_type or pg_temp.node_pg_type
TYPES = """
SELECT t.oid, n.nspname, t.typname, t.typtype, t.typnotnull,
    CASE WHEN b.oid IS NULL THEN ''
         ELSE coalesce(format_type(to_regtype(format('%%I.%%I', m.nspname, b.typname)),
                                   t.typtypmod), '') END
FROM of.pg_type t
    JOIN of.pg_namespace n ON n.oid = t.typnamespace
    LEFT JOIN of.pg_type b ON b.oid = t.typbasetype
    LEFT JOIN of.pg_namespace m ON m.oid = b.typnamespace
WHERE n.nspname = ANY (%s) AND t.typname = ANY (%s) AND t.typtype IN ('e', 'd', 'c')
"""
LABELS = """
SELECT enumtypid, enumlabel FROM of.pg_enum WHERE enumtypid = ANY (%s) ORDER BY 1, enumsortorder
"""
ATTRIBUTES = """
SELECT t.oid, a.attname,
    coalesce(format_type(to_regtype(format('%%I.%%I', n.nspname, x.typname)), a.atttypmod),
             format('%%I.%%I', n.nspname, x.typname))
FROM of.pg_type t
    JOIN of.pg_class c ON c.oid = t.typrelid AND c.relkind = 'c'
    JOIN of.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN of.pg_type x ON x.oid = a.atttypid
    JOIN of.pg_namespace n ON n.oid = x.typnamespace
WHERE t.oid = ANY (%s) ORDER BY t.oid, a.attnum
"""
CHECKS_HERE = """
SELECT contypid, conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE contypid = ANY (%s) AND contype = 'c' ORDER BY conname
"""
CHECKS_THERE = """
SELECT k.contypid, k.conname, v.check_clause
FROM pg_temp.node_pg_constraint k
    JOIN pg_temp.node_pg_namespace n ON n.oid = k.connamespace
    LEFT JOIN pg_temp.node_pg_checks v
        ON v.constraint_schema = n.nspname AND v.constraint_name = k.conname
WHERE k.contypid = ANY (%s) AND k.contype = 'c' ORDER BY k.conname
"""
CHECK_OF_DOCTOR = """
SELECT pg_get_constraintdef(oid) FROM pg_constraint
WHERE contypid = 'pg_temp.doctor_domain'::regtype AND contype = 'c'
"""
# columns of tables on the node; of partitions those of the whole
COLUMNS = """
SELECT a.atttypid, format('%%I.%%I', n.nspname, c.relname), a.attname
FROM pg_temp.node_pg_attribute a
    JOIN pg_temp.node_pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p')
    JOIN pg_temp.node_pg_namespace n ON n.oid = c.relnamespace
WHERE a.atttypid = ANY (%s) AND a.attinhcount = 0 AND NOT a.attisdropped
ORDER BY 2, 3
"""

Name = tuple[str, str]


def print_check(connection: Connection, base: str, check: str, known: Collection[str]) -> str:
    """A domain's check as this server prints it; as it is, if it means nothing here.

    known: checks of this side. If the node's may call what a user wrote, it is one of these with
    the same words; before version 17 a node prints it with one more pair of parentheses.
    """
    if not is_of_postgres(check) or not is_of_postgres(base):
        whole = f"CHECK {check}"
        return whole if whole in known else f"CHECK ({check})"
    try:
        with connection.transaction(force_rollback=True):
            create = f"CREATE DOMAIN pg_temp.doctor_domain AS {base} CHECK ({check})"
            connection.execute(create.encode())
            ((text,),) = read_rows(connection, CHECK_OF_DOCTOR)
            return str(text)
    except psycopg.Error:
        return f"CHECK ({check})"


def read_checks(
    connection: Connection, catalogs: str, bases: dict[int, str], known: Collection[str]
) -> dict[int, dict[str, str] | None]:
    """Texts of checks and their names by domain; None: the node does not tell all of them.

    known: checks of this side, for those of a node.
    """
    checks: dict[int, dict[str, str] | None] = {oid: {} for oid in bases}
    is_here = catalogs == "pg_catalog."
    query = CHECKS_HERE if is_here else CHECKS_THERE
    for oid, name, text in read_rows(connection, query, list(bases)):
        found = checks[oid]
        if text is None or found is None:
            checks[oid] = None
        else:
            printed = text if is_here else print_check(connection, bases[oid], text, known)
            found[printed] = name
    return checks


def read_definitions(
    connection: Connection, catalogs: str, names: list[Name], known: Collection[str] = ()
) -> dict[Name, TypeDefinition]:
    """The types of a side. catalogs: what stands before their names. known: as read_checks()."""
    labels, attributes, types = (
        query.replace("of.", catalogs) for query in (LABELS, ATTRIBUTES, TYPES)
    )
    schemas, relnames = (sorted({name[i] for name in names}) for i in (0, 1))
    rows = read_rows(connection, types, schemas, relnames)
    oids = [oid for oid, *_ in rows]
    parts: dict[int, list[Any]] = defaultdict(list)
    for oid, label in read_rows(connection, labels, oids):
        parts[oid].append((label, ""))
    for oid, name, of in read_rows(connection, attributes, oids):
        parts[oid].append((name, of))
    bases = {oid: base for oid, _, _, kind, _, base in rows if kind == "d"}
    checks = read_checks(connection, catalogs, bases, known)
    return {
        (schema, name): TypeDefinition(oid, kind, parts[oid], base, not_null, checks.get(oid, {}))
        for oid, schema, name, kind, not_null, base in rows
    }


def read_types(connection: Connection, server: str) -> list[TypeFacts]:
    """The types of the columns of foreign tables that both sides have."""
    quoted = {(schema, name): text for schema, name, text in read_rows(connection, USED, server)}
    if not quoted:
        return []
    names = list(quoted)
    here = read_definitions(connection, "pg_catalog.", names)
    known = {text for one in here.values() for text in one.checks or {}}
    there = read_definitions(connection, "pg_temp.node_", names, known)
    columns = defaultdict(list)
    for oid, table, column in read_rows(connection, COLUMNS, [one.oid for one in there.values()]):
        columns[oid].append((table, column))
    return [
        TypeFacts(*name, quoted[name], here[name], there[name], columns[there[name].oid])
        for name in sorted(quoted.keys() & here.keys() & there.keys())
    ]
