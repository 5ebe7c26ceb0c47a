"""What pgshuttle doctor finds out about bounds of foreign partitions and checks behind them.

Bounds of ranges and lists are compared with constraints of the node by the planner, which says
what no row of a temporary table can meet; those of hashes by their numbers.
"""

import re
from dataclasses import dataclass
from math import gcd

import psycopg

from pgshuttle.base.connections import Connection, quote, read_rows
from pgshuttle.doctor.facts import BoundFacts, CheckFacts, RelationFacts
from pgshuttle.doctor.read.check_constraints import Asked
from pgshuttle.doctor.read.comparisons import Comparisons, prove
from pgshuttle.doctor.read.expressions import translate

# relations that are partitions there: of what, and their bounds as the server keeps them
PARTS = """
SELECT c.oid, format('%%I.%%I', n.nspname, p.relname), c.relpartbound, k.partstrat,
    ARRAY(SELECT a.attname::text FROM pg_temp.node_pg_attribute a
          WHERE a.attrelid = p.oid AND a.attnum = ANY (k.partattrs::int2[])
          ORDER BY array_position(k.partattrs::int2[], a.attnum))
FROM pg_temp.node_pg_class c
    JOIN pg_temp.node_pg_inherits i ON i.inhrelid = c.oid
    JOIN pg_temp.node_pg_class p ON p.oid = i.inhparent
    JOIN pg_temp.node_pg_namespace n ON n.oid = p.relnamespace
    JOIN pg_temp.node_pg_partitioned_table k ON k.partrelid = p.oid
WHERE c.oid = ANY (%s) AND c.relispartition
"""

# the bounds, the same as an expression, and what they are of; whether as usual: one level of
# partitions, by columns, and by the operators and collations that columns have without a word;
# all columns that they, and those of the tables above, are of. A default partition that is the
# only one has none. PostgreSQL computes what is constant in keys when it makes the expression, so
# those with expressions of other roles are left out
BOUNDS = """
WITH read AS MATERIALIZED (
    SELECT c.oid FROM pg_class c
    WHERE c.oid = ANY (%s) AND c.relispartition AND NOT EXISTS (
        SELECT FROM pg_partition_ancestors(c.oid) p(relid)
            JOIN pg_partitioned_table k ON k.partrelid = p.relid
            JOIN pg_class t ON t.oid = p.relid
            JOIN pg_roles r ON r.oid = t.relowner
        WHERE k.partexprs IS NOT NULL AND NOT r.rolsuper AND r.rolname <> current_user))
SELECT c.oid, pg_get_expr(c.relpartbound, c.oid), pg_get_partition_constraintdef(c.oid),
    k.partstrat,
    ARRAY(SELECT a.attname::text FROM unnest(k.partattrs::int2[]) WITH ORDINALITY u(attnum, n)
          JOIN pg_attribute a ON a.attrelid = k.partrelid AND a.attnum = u.attnum ORDER BY n),
    pg_partition_root(c.oid) = i.inhparent AND k.partexprs IS NULL
    AND NOT EXISTS (SELECT FROM unnest(k.partclass::oid[]) o(oid) JOIN pg_opclass p USING (oid)
                    WHERE NOT p.opcdefault),
    ARRAY(SELECT a.attname::text
          FROM pg_partition_ancestors(c.oid) p(relid)
              JOIN pg_partitioned_table k ON k.partrelid = p.relid
              JOIN pg_attribute a ON a.attrelid = p.relid AND a.attnum = ANY (k.partattrs::int2[]))
FROM read
    JOIN pg_class c ON c.oid = read.oid
    JOIN pg_inherits i ON i.inhrelid = c.oid
    JOIN pg_partitioned_table k ON k.partrelid = i.inhparent
WHERE pg_get_partition_constraintdef(c.oid) IS NOT NULL
"""

OWN_BOUNDS = "its bounds there"  # in the place of a constraint's name
HASH_CHECK = re.compile(
    r"\(*satisfies_hash_partition\(.*?, (?P<modulus>\d+), (?P<remainder>\d+), (?P<columns>.*?)\)+"
)
HASH_BOUND = re.compile(r".*:modulus (?P<modulus>\d+) :remainder (?P<remainder>\d+).*", re.DOTALL)
HASH_VALUES = re.compile(r"\D+(?P<modulus>\d+)\D+(?P<remainder>\d+)\)")


@dataclass(frozen=True)
class PartFacts:
    """A relation that is a partition on its node."""

    parent: str
    bound: str
    strategy: str
    columns: list[str]
    text: str  # the bounds as an expression; empty: not known


@dataclass(frozen=True)
class OwnBounds:
    """The bounds of a foreign partition; columns by their names here."""

    values: str
    text: str
    strategy: str
    columns: list[str]
    is_usual: bool
    keys: list[str]  # of the tables above, too


@dataclass(frozen=True)
class Hash:
    """Bounds of a hash."""

    modulus: int
    remainder: int
    columns: tuple[str, ...]  # by their names on the node


def read_bounds(connection: Connection, oids: list[int]) -> dict[int, OwnBounds]:
    """The bounds of those foreign tables that are partitions."""
    return {oid: OwnBounds(*own) for oid, *own in read_rows(connection, BOUNDS, oids)}


def read_parts(connection: Connection, asked: Asked, oids: list[int]) -> dict[int, PartFacts]:
    """Those of the relations that are partitions there."""
    return {
        oid: PartFacts(parent, bound, strategy, columns, asked.get(("bounds", oid)) or "")
        for oid, parent, bound, strategy, columns in read_rows(connection, PARTS, oids)
    }


def allow(check: CheckFacts, not_null: set[str]) -> str:
    """What rows meet that a check lets in: one that gives NULL does, too."""
    nulls = [f"{quote(name)} IS NULL" for name in sorted(check.columns - not_null)]
    return f"({' OR '.join([check.text, *nulls])})"


def compare_ranges(
    shared: Comparisons, relation: RelationFacts, own: OwnBounds, checks: list[CheckFacts]
) -> None:
    """Has the planner compare bounds of ranges or lists with constraints."""
    bound = relation.bound
    assert bound is not None
    there = {one.name: one.remote_name for one in relation.columns}
    not_null = {one.name for one in relation.there or [] if one.not_null} & {*there.values()}
    text = translate(shared.connection, relation, own.text, to_there=True)
    outside = " AND ".join(
        [
            f"NOT ({text})",
            *(allow(check, not_null) for check in checks if check.is_valid),
            *(f"{quote(name)} IS NOT NULL" for name in not_null),
        ]
    )
    conditions = [
        outside,
        *(f"({text}) AND {quote(there[name])} IS NULL" for name in own.keys),
        *(f"({text}) AND {word} ({one.text})" for one in checks for word in ("", "NOT")),
    ]
    table = shared.get_table(relation)
    with shared.connection.transaction():
        proven = iter(prove(shared.connection, table, conditions))
    bound.is_kept = next(proven)
    relation.never_null = {name for name in own.keys if next(proven)}
    for check in checks:
        is_refused, is_met = next(proven), next(proven)
        if is_refused:
            bound.refused_by.append(check.name)
        elif not is_met:
            bound.narrowed_by.append(check.name)
    bound.make_check = f"ALTER TABLE {relation.remote_name} ADD CHECK ({text});"


def read_hash(pattern: re.Pattern[str], text: str, columns: list[str] | None = None) -> Hash | None:
    """The bounds that a text tells; None: it is of something else."""
    found = pattern.fullmatch(text)
    if found is None:
        return None
    names = columns or [name.strip('"') for name in found["columns"].split(", ")]
    return Hash(int(found["modulus"]), int(found["remainder"]), tuple(names))


def compare_hashes(relation: RelationFacts, own: Hash, others: dict[str, Hash | None]) -> None:
    """Compares bounds of a hash with others of the same columns."""
    bound = relation.bound
    assert bound is not None
    bound.is_kept = False
    for name, other in others.items():
        if other is None or other.columns != own.columns:
            bound.is_kept = True  # perhaps
            continue
        common = gcd(own.modulus, other.modulus)
        if own.remainder % common != other.remainder % common:
            bound.refused_by.append(name)
        elif own.modulus % other.modulus:
            bound.narrowed_by.append(name)
        bound.is_kept |= common == own.modulus


def make_hash_check(shared: Comparisons, relation: RelationFacts, own: Hash) -> str:
    """The statements that keep other rows out: the function wants a table with that hash."""
    types = {one.name: one for one in relation.there or []}
    if any(name not in types for name in own.columns):
        return ""
    schema, table = relation.remote
    parent = f"{quote(schema)}.{quote(shared.find_free_name(schema, f'{table[:50]}_hash'))}"
    collations = [types[name].collation for name in own.columns]
    defined = ", ".join(
        f"{quote(name)} {types[name].type}"
        + ("" if collation in ("", "default") else f" COLLATE {collation}")
        for name, collation in zip(own.columns, collations, strict=True)
    )
    columns = ", ".join(map(quote, own.columns))
    literal = "'" + parent.replace("'", "''") + "'"
    return (
        f"CREATE TABLE {parent} ({defined}) PARTITION BY HASH ({columns}); "
        f"ALTER TABLE {relation.remote_name} ADD CHECK (satisfies_hash_partition("
        f"{literal}::regclass, {own.modulus}, {own.remainder}, {columns}));"
    )


def note_part(relation: RelationFacts, own: OwnBounds, part: PartFacts, columns: list[str]) -> None:
    """Keeps what refuses rows because of the relation's own bounds there apart."""
    bound = relation.bound
    assert bound is not None
    for names in (bound.refused_by, bound.narrowed_by):
        if OWN_BOUNDS in names:
            names.remove(OWN_BOUNDS)
            bound.parent = part.parent
            bound.can_attach = (own.strategy, columns) == (part.strategy, part.columns)


def compare(
    shared: Comparisons,
    relation: RelationFacts,
    own: OwnBounds,
    checks: list[CheckFacts] | None,
    part: PartFacts | None,
) -> None:
    """Compares the bounds with the checks that are of their columns, and with bounds there."""
    bound = relation.bound = BoundFacts(own.values)
    there = {one.name: one.remote_name for one in relation.columns}
    columns = [there[name] for name in own.columns if name in there]
    if "satisfies_hash_partition" not in own.text:
        known = list(checks or [])
        if part is not None and part.text:
            known.append(CheckFacts(OWN_BOUNDS, part.text, frozenset()))
        read = [one for one in known if shared.may_be_planned(relation, one.text)]
        compare_ranges(shared, relation, own, read)
        is_known = checks is not None and len(read) == len(known)
        bound.is_kept |= not is_known or (part is not None and not part.text)
    elif own.strategy == "h":
        hashed = read_hash(HASH_VALUES, own.values, columns)
        others = {one.name: read_hash(HASH_CHECK, one.text) for one in checks or []}
        if part is not None:
            is_hash = part.strategy == "h"
            others[OWN_BOUNDS] = (
                read_hash(HASH_BOUND, part.bound, part.columns) if is_hash else None
            )
        if hashed is not None:
            compare_hashes(relation, hashed, others)
            if own.is_usual and not bound.is_kept:
                bound.make_check = make_hash_check(shared, relation, hashed)
        bound.is_kept |= checks is None or not own.is_usual
    if part is not None:
        note_part(relation, own, part, columns)


def try_bounds(
    shared: Comparisons,
    relation: RelationFacts,
    own: OwnBounds,
    checks: list[CheckFacts] | None,
    part: PartFacts | None,
) -> None:
    """Notes the bounds of a partition, unless texts mean nothing here; and other checks."""
    there = {one.name: one.remote_name for one in relation.columns}
    keys = {there[name] for name in own.keys}
    of_keys = None if checks is None else [one for one in checks if one.columns <= keys]
    if checks is not None:
        relation.checks = [
            shared.print_check(relation, one) for one in checks if not one.columns <= keys
        ]
    try:
        compare(shared, relation, own, of_keys, part)
    except psycopg.Error:
        relation.bound = None
