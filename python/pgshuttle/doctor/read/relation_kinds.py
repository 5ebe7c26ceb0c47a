"""What pgshuttle doctor finds out about what nodes have in the place of tables, and at them."""

from collections import defaultdict

from pgshuttle.base.connections import Connection, quote, read_rows
from pgshuttle.doctor.facts import RelationFacts, RuleFacts

# catalogs of the node that are read besides those of relations, and their columns
NODE_TABLES = (
    (
        "pg_trigger",
        "pg_trigger",
        'tgrelid oid, tgname name, tgfoid oid, tgtype int2, tgenabled "char", tgisinternal bool',
    ),
    ("pg_proc", "pg_proc", "oid oid, proname name, pronamespace oid"),
    ("pg_operator", "pg_operator", "oid oid, oprname name"),
)

# tables that nobody here knows may be those that are missed, if they have the same columns
TABLES = """
SELECT n.nspname, c.relname,
    array_agg(a.attname || ' ' || coalesce(b.typname, t.typname))
FROM pg_temp.node_pg_class c
    JOIN pg_temp.node_pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_temp.node_pg_attribute a ON a.attrelid = c.oid
    JOIN pg_temp.node_pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_temp.node_pg_type b ON b.oid = t.typbasetype
WHERE c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
    AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
GROUP BY 1, 2
"""

# by what they are partitioned
EMPTY = """
SELECT k.partrelid, k.partstrat FROM pg_temp.node_pg_partitioned_table k
WHERE k.partrelid = ANY (%s)
    AND NOT EXISTS (SELECT FROM pg_temp.node_pg_inherits i WHERE i.inhparent = k.partrelid)
"""

EXCLUSIONS = """
SELECT k.conrelid, k.conname,
    array_agg(ARRAY[coalesce(a.attname, ''), o.oprname]::text[] ORDER BY u.n)
FROM pg_temp.node_pg_constraint k
    CROSS JOIN unnest(k.conkey, k.conexclop) WITH ORDINALITY u(attnum, operator, n)
    JOIN pg_temp.node_pg_operator o ON o.oid = u.operator
    LEFT JOIN pg_temp.node_pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.attnum
WHERE k.conrelid = ANY (%s) AND k.contype = 'x'
GROUP BY 1, 2 ORDER BY 2
"""

# those that may change a row, or leave it out, before it is written
TRIGGERS = """
SELECT t.tgrelid, t.tgname,
    concat_ws(' OR ', CASE WHEN t.tgtype & 4 > 0 THEN 'INSERT' END,
              CASE WHEN t.tgtype & 16 > 0 THEN 'UPDATE' END,
              CASE WHEN t.tgtype & 8 > 0 THEN 'DELETE' END),
    format('%%I.%%I', n.nspname, p.proname)
FROM pg_temp.node_pg_trigger t
    JOIN pg_temp.node_pg_proc p ON p.oid = t.tgfoid
    JOIN pg_temp.node_pg_namespace n ON n.oid = p.pronamespace
WHERE t.tgrelid = ANY (%s) AND NOT t.tgisinternal AND t.tgenabled IN ('O', 'A')
    AND t.tgtype & 3 = 3
ORDER BY 2
"""

Name = tuple[str, str]


def find_renamed(connection: Connection, relations: list[RelationFacts]) -> None:
    """Notes which table of the node one that is missing may be, if there is but one."""
    missing = [one for one in relations if not one.kind and one.columns]
    if not missing:
        return
    known = {one.remote for one in relations}
    tables: dict[frozenset[str], list[Name]] = defaultdict(list)
    for schema, name, columns in read_rows(connection, TABLES):
        if (schema, name) not in known:
            tables[frozenset(columns)].append((schema, name))
    wanted: dict[frozenset[str], list[RelationFacts]] = defaultdict(list)
    for relation in missing:
        columns = (f"{own.remote_name} {own.base}" for own in relation.columns)
        wanted[frozenset(columns)].append(relation)
    for names, lost in wanted.items():
        if len({one.remote for one in lost}) == len(tables[names]) == 1:
            for relation in lost:
                (relation.renamed,) = tables[names]


def read_rules(connection: Connection, oids: list[int]) -> dict[int, list[RuleFacts]]:
    """What refuses or changes rows, but checks and keys; columns by their names there."""
    rules = defaultdict(list)
    for oid, name, parts in read_rows(connection, EXCLUSIONS, oids):
        members = (
            f"{quote(column) if column else 'an expression'} WITH {operator}"
            for column, operator in parts
        )
        rules[oid].append(RuleFacts(name, f"EXCLUDE ({', '.join(members)})"))
    for oid, name, events, function in read_rows(connection, TRIGGERS, oids):
        text = f"BEFORE {events} FOR EACH ROW EXECUTE FUNCTION {function}"
        rules[oid].append(RuleFacts(name, text, is_trigger=True))
    return rules


def read_kinds(connection: Connection, found: list[tuple[int, int, RelationFacts]]) -> None:
    """Notes partitioned tables without partitions, and rules. found: with OIDs here and there."""
    oids = [other for _, other, _ in found]
    empty = dict(read_rows(connection, EMPTY, oids))
    rules = read_rules(connection, [other for _, other, one in found if one.root])
    for _, other, relation in found:
        relation.empty = empty.get(other, "")
        relation.rules = rules.get(other, [])
