"""The checks of pgshuttle doctor that compare foreign tables with what is behind them."""

from collections.abc import Callable, Iterator

from pgshuttle.facts import ColumnFacts, Facts, KeyFacts, NodeFacts, RelationFacts
from pgshuttle.findings import Finding, Level, error, good, note, warning
from pgshuttle.node_checks import name_some

# types whose values and operators mean the same, but for their range
FAMILIES = (frozenset({"int2", "int4", "int8"}), frozenset({"text", "varchar", "name"}))


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def alter_there(relation: RelationFacts, action: str) -> str:
    """The statement that changes the node's side."""
    return f"Run on the node: ALTER TABLE {relation.remote_name} {action};"


def alter_here(relation: RelationFacts, action: str) -> str:
    """The statement that changes this side."""
    return f"Run here: ALTER FOREIGN TABLE {relation.name} {action};"


def check_type(relation: RelationFacts, own: ColumnFacts, other: ColumnFacts) -> Iterator[Finding]:
    """Do values and comparisons mean the same?"""
    if own.base != other.base:
        alike = any({own.base, other.base} <= family for family in FAMILIES)
        level = Level.WARNING if alike else Level.ERROR
        meaning = "some values do not fit" if alike else "conditions mean something else there"
    elif own.type != other.type and "(" in own.type + other.type:
        level, meaning = Level.WARNING, "the limits of values differ"
    else:
        return
    name = quote(other.name)
    yield Finding(
        level,
        f"{relation.name}.{own.name} is {own.type} here and {other.type} there: {meaning}",
        alter_there(relation, f"ALTER {name} TYPE {own.type} USING {name}::{own.type}")
        if relation.is_part
        else alter_here(relation, f"ALTER {quote(own.name)} TYPE {other.type}"),
    )


def check_collation(
    facts: Facts, node: NodeFacts, relation: RelationFacts, own: ColumnFacts, other: ColumnFacts
) -> Iterator[Finding]:
    """Do both sides sort and compare alike?"""
    default_here, default_there = facts.query.collation, node.server.collation
    mine = default_here if own.collation == "default" else own.collation
    its = default_there if other.collation == "default" else other.collation
    if own.collation == other.collation or mine == its or not (mine and its):
        return
    collate = f'TYPE {own.type} COLLATE pg_catalog."{{}}"'
    yield error(
        f"{relation.name}.{own.name} has collation {own.collation} here and {other.collation} "
        "there: nodes sort and compare it in another way",
        alter_there(relation, f"ALTER {quote(other.name)} {collate.format(own.collation)}")
        if relation.is_part
        else alter_here(relation, f"ALTER {quote(own.name)} {collate.format(other.collation)}"),
    )


def check_values(
    relation: RelationFacts, own: ColumnFacts, other: ColumnFacts
) -> Iterator[Finding]:
    """Do both sides compute values, and allow NULL, alike?"""
    column = f"{relation.name}.{own.name}"
    if own.generated and not other.generated:
        yield error(
            f"{column} is generated here, and the node does not compute it: new rows lack it",
            alter_there(relation, f"DROP {quote(other.name)}, ADD {quote(other.name)} ... STORED"),
        )
    elif other.generated and not own.generated:
        yield warning(
            f"{column} is generated on the node: statements that write it fail",
            "Name it GENERATED ALWAYS AS (...) STORED here too, or never write it.",
        )
    if own.not_null and not other.not_null:
        yield warning(
            f"{column} is NOT NULL here only: the planner relies on it, and others can write NULL",
            alter_there(relation, f"ALTER {quote(other.name)} SET NOT NULL"),
        )


def missing_column(relation: RelationFacts, own: ColumnFacts) -> Finding:
    """The finding of a column that the node does not have."""
    # its rows have no value for it yet: NOT NULL is a finding of its own, later
    advice = alter_there(relation, f"ADD {quote(own.remote_name)} {own.type}")
    if not relation.is_part:
        advice += f" Or, without it: {alter_here(relation, f'DROP {quote(own.name)}')}"
    return error(
        f"{relation.remote_name} has no column {own.remote_name}, which {relation.name} has: "
        "statements that need it fail",
        advice,
    )


def check_columns(facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Has each foreign table the columns of the relation behind it?"""
    for relation in node.relations:
        if relation.there is None:
            yield error(
                f"{relation.remote_name} is missing, the table behind {relation.name}",
                "Make it there, or set the options schema_name and table_name of the foreign "
                f"table: ALTER FOREIGN TABLE {relation.name} OPTIONS (SET table_name '...');",
            )
            continue
        there = {column.name: column for column in relation.there}
        for own in relation.columns:
            other = there.pop(own.remote_name, None)
            if other is None:
                yield missing_column(relation, own)
                continue
            yield from check_type(relation, own, other)
            yield from check_collation(facts, node, relation, own, other)
            yield from check_values(relation, own, other)
        for other in there.values():
            if other.required:
                yield warning(
                    f"{relation.name} lacks {other.name}, which is NOT NULL and without a default "
                    "there: INSERTs fail",
                    alter_there(relation, f"ALTER {quote(other.name)} SET DEFAULT ...")
                    if relation.is_part
                    else alter_here(relation, f"ADD {quote(other.name)} {other.type} NOT NULL"),
                )


def check_bounds(_facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Take nodes the rows of a partition's bounds, and no others?"""
    loose = []
    for relation in node.relations:
        bound = relation.bound
        if bound is None:
            continue
        for names, level, rows in (
            (bound.refused_by, Level.ERROR, "every row"),
            (bound.narrowed_by, Level.WARNING, "some rows"),
        ):
            if names:
                yield Finding(
                    level,
                    f"{relation.remote_name} refuses, by {name_some(names)}, {rows} of the bounds "
                    f"of {relation.name}",
                    alter_there(relation, f"DROP CONSTRAINT {quote(names[0])}")
                    + f" Or attach {relation.name} with other bounds.",
                )
        if not bound.is_kept and not bound.refused_by:
            loose.append((relation, bound))
    if loose:
        relation, bound = loose[0]
        yield note(
            "nothing there keeps rows out that are not of the bounds; queries would miss them: "
            f"{name_some([one.name for one, _ in loose])}",
            alter_there(relation, f"ADD CHECK ({bound.text})"),
        )


def missing_keys(facts: Facts, relation: RelationFacts) -> Iterator[tuple[KeyFacts, str]]:
    """Yields keys that it lacks, each with a partition of the same table that has it."""
    if relation.keys is None or not relation.root:
        return
    known = {frozenset(key.columns) for key in relation.keys}
    for other in (other for node in facts.nodes for other in node.relations):
        if other.root == relation.root:
            for key in other.keys or []:
                if frozenset(key.columns) not in known:
                    known.add(frozenset(key.columns))
                    yield key, other.name


def check_keys(facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Can rows be found by a key, by the same one in each partition?"""
    lacking = []
    for relation in node.relations:
        keys = list(missing_keys(facts, relation))
        for key, other in keys:
            columns = ", ".join(quote(name) for name in key.columns)
            there = {own.name: own.remote_name for own in relation.columns}
            add = ", ".join(quote(there[name]) for name in key.columns if name in there)
            has_primary = any(own.is_primary for own in relation.keys or [])
            kind = "PRIMARY KEY" if key.is_primary and not has_primary else "UNIQUE"
            yield error(
                f"{relation.remote_name} has no unique key ({columns}), which there is behind "
                f"{other}: equal rows can come in, and ON CONFLICT fails",
                alter_there(relation, f"ADD {kind} ({add})"),
            )
        if relation.lacks_key and not keys:
            lacking.append(relation)
    if lacking:
        yield warning(
            "no primary key or unique index there: equal rows can come in, ON CONFLICT fails, and "
            f"look-ups may read the whole table: {name_some([one.name for one in lacking])}",
            alter_there(lacking[0], "ADD PRIMARY KEY (...)"),
        )


def check_same(_facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Says so if all is as it should be."""
    checks = (check_columns, check_bounds, check_keys)
    if node.relations and not any(
        found.level is not Level.NOTE for check in checks for found in check(_facts, node)
    ):
        count = len(node.relations)
        text = f"{count} foreign table{'s have' if count > 1 else ' has'} the columns of the node's"
        yield good(text)


RELATION_CHECKS: tuple[Callable[[Facts, NodeFacts], Iterator[Finding]], ...] = (
    check_columns,
    check_bounds,
    check_keys,
    check_same,
)
