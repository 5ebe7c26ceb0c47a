"""The checks of pgshuttle doctor that compare columns of foreign tables with those of nodes.

Each finding has the statement that mends it, as it can be typed. A partition's columns are
those of the whole table, so the node is changed; otherwise the definition here is.
"""

from collections.abc import Iterator

from pgshuttle.base.connections import quote
from pgshuttle.doctor.check.alterations import (
    TABLES,
    alter_here,
    alter_there,
    define_there,
    need_type,
    write_generated,
    write_type,
)
from pgshuttle.doctor.check.lost_columns import (
    find_renamed,
    lacking_here,
    missing_column,
    missing_relation,
    same_column,
)
from pgshuttle.doctor.facts import ColumnFacts, Facts, NodeFacts, RelationFacts
from pgshuttle.doctor.findings import Finding, Level, error, warning

# types whose values and operators mean the same, but for their range
FAMILIES = (frozenset({"int2", "int4", "int8"}), frozenset({"text", "varchar", "name"}))
FIRST_WITH_SET_EXPRESSION = 17


def set_type_there(relation: RelationFacts, own: ColumnFacts, other: ColumnFacts) -> str:
    """Gives a column of the node the type and collation that it has here."""
    if not own.has_type:
        return need_type(own, "on the node")
    name = quote(other.name)
    action = f"ALTER {name} TYPE {write_type(own)}"
    if other.type != own.type and not other.generated:
        action += f" USING {name}::{own.type}"
    default = relation.defaults.get(other.name)
    if default and other.base != own.base:  # no cast of it may be automatic
        action = f"ALTER {name} DROP DEFAULT, {action}, ALTER {name} SET DEFAULT "
        action += f"CAST({default} AS {own.type})"
    return alter_there(relation, action)


def set_type_here(relation: RelationFacts, own: ColumnFacts, other: ColumnFacts) -> str:
    """Gives a column of the foreign table the type and collation that it has there."""
    if not other.has_type:
        return need_type(other, "here")
    return alter_here(relation, f"ALTER {quote(own.name)} TYPE {write_type(other)}")


def set_type(relation: RelationFacts, own: ColumnFacts, other: ColumnFacts) -> str:
    change = set_type_there if relation.is_part else set_type_here
    return change(relation, own, other)


def check_type(relation: RelationFacts, own: ColumnFacts, other: ColumnFacts) -> Iterator[Finding]:
    """Do values and comparisons mean the same?"""
    if own.type == other.type:  # types compares what that is on both sides
        return
    if own.base != other.base:
        alike = any({own.base, other.base} <= family for family in FAMILIES)
        level = Level.WARNING if alike else Level.ERROR
        meaning = "some values do not fit" if alike else "conditions mean something else there"
    elif own.type != other.type and "(" in own.type + other.type:
        level, meaning = Level.WARNING, "the limits of values differ"
    else:
        return
    text = f"{relation.name}.{own.name} is {own.type} here and {other.type} there: {meaning}"
    yield Finding(level, text, set_type(relation, own, other))


def check_collation(
    facts: Facts, node: NodeFacts, relation: RelationFacts, own: ColumnFacts, other: ColumnFacts
) -> Iterator[Finding]:
    """Do both sides sort and compare alike?"""
    # a database's own collation is known by the name of one in pg_catalog
    names = [
        default if column.collation == "default" else column.collation.rpartition(".")[2].strip('"')
        for column, default in ((own, facts.query.collation), (other, node.server.collation))
    ]
    if own.collation == other.collation or names[0] == names[1] or not all(names):
        return
    yield error(
        f"{relation.name}.{own.name} has collation {own.collation} here and {other.collation} "
        "there: nodes sort and compare it in another way",
        set_type(relation, own, other),
    )


def generate_there(
    relation: RelationFacts, own: ColumnFacts, other: ColumnFacts, major: int
) -> str:
    """Has the node compute a column as this side does."""
    name, expression = quote(other.name), relation.expressions[own.name].own_there
    if other.generated and major >= FIRST_WITH_SET_EXPRESSION:
        return alter_there(relation, f"ALTER {name} SET EXPRESSION AS ({expression})")
    define = define_there(relation, own, major) + (" NOT NULL" if other.not_null else "")
    return alter_there(relation, f"DROP {name}, ADD {define}")


def generate_here(relation: RelationFacts, own: ColumnFacts, other: ColumnFacts, major: int) -> str:
    """Has this side compute a column as the node does."""
    name, expression = quote(own.name), relation.expressions[own.name].other_here
    if not expression:
        return f"Name {own.name} here GENERATED, by an expression that means what the node's does."
    if own.generated and major >= FIRST_WITH_SET_EXPRESSION:
        return alter_here(relation, f"ALTER {name} SET EXPRESSION AS ({expression})")
    option = other.name.replace("'", "''")
    options = f" OPTIONS (column_name '{option}')" if own.name != other.name else ""
    define = f"{name} {write_type(own)}{options}{write_generated(other, expression, major)}"
    define += " NOT NULL" if own.not_null else ""
    return alter_here(relation, f"DROP {name}, ADD {define}")


def check_generated(
    facts: Facts, node: NodeFacts, relation: RelationFacts, own: ColumnFacts, other: ColumnFacts
) -> Iterator[Finding]:
    """Do both sides compute values alike?"""
    column, expression = f"{relation.name}.{own.name}", relation.expressions.get(own.name)
    if relation.kind not in TABLES:  # its columns don't tell
        return
    if own.generated and not other.generated:
        text = f"{column} is generated here, and the node does not compute it: new rows lack it"
        advice = generate_there(relation, own, other, node.server.major)
    elif other.generated and not own.generated:
        text = f"{column} is generated on the node: statements that write it fail"
        if not relation.is_part:
            advice = generate_here(relation, own, other, facts.query.major)
        elif other.generated == "v":
            name = quote(other.name)
            advice = alter_there(relation, f"DROP {name}, ADD {name} {write_type(own)}")
        else:
            advice = alter_there(relation, f"ALTER {quote(other.name)} DROP EXPRESSION")
    elif expression is None or not expression.other_text:  # the user may not see it
        return
    elif expression.own_there != expression.other_there:
        text = (
            f"{column} is generated as {expression.own_here} here and as "
            f"{expression.other_here or expression.other_text} there: "
            "conditions and results follow one or the other"
        )
        if relation.is_part:
            advice = generate_there(relation, own, other, node.server.major)
        else:
            advice = generate_here(relation, own, other, facts.query.major)
    else:
        return
    yield error(text, advice)


def check_null(relation: RelationFacts, own: ColumnFacts, other: ColumnFacts) -> Iterator[Finding]:
    """Do both sides allow NULL alike?"""
    column = f"{relation.name}.{own.name}"
    if own.not_null and not other.not_null:
        if relation.kind not in TABLES:  # its columns don't tell
            return
        advice = alter_there(relation, f"ALTER {quote(other.name)} SET NOT NULL")
        if not relation.is_part:
            drop = alter_here(relation, f"ALTER {quote(own.name)} DROP NOT NULL")
            advice += f" Or, if rows there have NULL: {drop}"
        yield warning(
            f"{column} is NOT NULL here only: the planner relies on it, and others can write NULL",
            advice,
        )
    elif other.not_null and not own.not_null and own.name not in relation.never_null:
        is_key = bool(other.identity) or other.is_key
        set_here = f"ALTER {quote(own.name)} SET NOT NULL"
        if relation.is_part and not is_key:
            level = Level.ERROR
            advice = alter_there(relation, f"ALTER {quote(other.name)} DROP NOT NULL")
        else:
            level = Level.WARNING
            advice = (
                f"Run here: ALTER TABLE {relation.root} {set_here};"
                if relation.root
                else alter_here(relation, set_here)
            )
        text = f"{column} is NOT NULL there only: an INSERT of NULL fails"
        yield Finding(level, text, advice)


def check_identity(
    relation: RelationFacts, own: ColumnFacts, other: ColumnFacts
) -> Iterator[Finding]:
    """Takes the node the values that INSERTs send?"""
    if other.identity == "a":
        yield error(
            f"{relation.name}.{own.name} is GENERATED ALWAYS AS IDENTITY there: INSERTs fail",
            alter_there(relation, f"ALTER {quote(other.name)} SET GENERATED BY DEFAULT"),
        )


def check_columns(facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Has each foreign table the columns of the relation behind it?"""
    for relation in node.relations:
        if relation.there is None:
            yield missing_relation(relation, node.server.major)
            continue
        there = {column.name: column for column in relation.there}
        renamed = find_renamed(relation)
        owners: dict[str, ColumnFacts] = {}
        for own in relation.columns:
            other = there.get(own.remote_name)
            first = owners.setdefault(own.remote_name, own)
            if other is None:
                yield missing_column(relation, own, renamed.get(own.name), node.server.major)
                continue
            if first is not own:
                yield same_column(relation, first, own)
                continue
            yield from check_type(relation, own, other)
            yield from check_collation(facts, node, relation, own, other)
            yield from check_generated(facts, node, relation, own, other)
            yield from check_null(relation, own, other)
            yield from check_identity(relation, own, other)
        for name, other in there.items():
            if other.required and name not in owners and other not in renamed.values():
                yield lacking_here(relation, other)
