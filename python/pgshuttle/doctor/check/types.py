"""The checks of pgshuttle doctor that compare enums, domains and composite types."""

from collections.abc import Iterator

from pgshuttle.base.connections import quote
from pgshuttle.doctor.check.nodes import name_some
from pgshuttle.doctor.facts import Facts, NodeFacts, TypeDefinition, TypeFacts
from pgshuttle.doctor.findings import Finding, error, warning

KINDS = {"e": "TYPE", "c": "TYPE", "d": "DOMAIN"}  # words of SQL


def write_literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def define(name: str, definition: TypeDefinition) -> str:
    """The statement that makes a type."""
    if definition.kind == "e":
        labels = ", ".join(write_literal(label) for label, _ in definition.parts)
        return f"CREATE TYPE {name} AS ENUM ({labels});"
    if definition.kind == "c":
        attributes = ", ".join(f"{quote(part)} {of}" for part, of in definition.parts)
        return f"CREATE TYPE {name} AS ({attributes});"
    rules = [*(["NOT NULL"] if definition.not_null else []), *(definition.checks or {})]
    return f"CREATE DOMAIN {' '.join([name, 'AS', definition.base, *rules])};"


def rebuild(found: TypeFacts) -> str:
    """Makes a type of the node anew, and has all columns have it."""
    word, old = KINDS[found.there.kind], f"{found.name} as it was"
    changes = [
        f"ALTER TABLE {table} ALTER {quote(column)} TYPE {found.quoted} "
        f"USING {quote(column)}::text::{found.quoted};"
        for table, column in found.columns
    ]
    statements = [
        f"ALTER {word} {found.quoted} RENAME TO {quote(old)};",
        define(found.quoted, found.here),
        *changes,
        f"DROP {word} {quote(found.schema)}.{quote(old)};",
    ]
    return f"Run on the node: {' '.join(statements)}"


def add_labels(found: TypeFacts, labels: list[str], known: list[str]) -> str:
    """Adds labels that a side lacks where the other has them. known: all of the other."""
    statements = []
    for label in labels:
        place = known.index(label)
        after = [f" AFTER {write_literal(known[place - 1])}"] if place else []
        before = [f" BEFORE {write_literal(one)}" for one in known if one not in labels]
        where = (after or before or [""])[0]
        statements.append(f"ALTER TYPE {found.quoted} ADD VALUE {write_literal(label)}{where};")
    return " ".join(statements)


def check_enum(found: TypeFacts) -> Iterator[Finding]:
    """Have both sides the same labels in the same order?"""
    here, there = ([label for label, _ in side.parts] for side in (found.here, found.there))
    lacks_there = [label for label in here if label not in there]
    lacks_here = [label for label in there if label not in here]
    if [one for one in here if one in there] != [one for one in there if one in here]:
        yield warning(
            f"the labels of {found.quoted} have another order there: the node sorts and compares "
            "them in another way",
            rebuild(found),
        )
        return
    if lacks_there:
        advice = f"Run on the node: {add_labels(found, lacks_there, here)}"
        changed = [(old, new) for old, new in zip(there, here, strict=False) if old != new]
        if len(here) == len(there) and len(changed) == 1:
            old, new = map(write_literal, changed[0])
            rename = f"Run on the node: ALTER TYPE {found.quoted} RENAME VALUE {old} TO {new};"
            advice = f"{rename} Or, if {old} means something else: {advice}"
        yield error(
            f"{found.quoted} lacks {name_some(lacks_there)} there: statements that have it fail",
            advice,
        )
    elif lacks_here:
        yield error(
            f"{found.quoted} lacks {name_some(lacks_here)} here: rows that have it cannot be read",
            f"Run here: {add_labels(found, lacks_here, there)}",
        )


def add_attributes(found: TypeFacts, parts: list[tuple[str, str]]) -> str:
    actions = ", ".join(f"ADD ATTRIBUTE {quote(name)} {of}" for name, of in parts)
    return f"ALTER TYPE {found.quoted} {actions};"


def check_composite(found: TypeFacts) -> Iterator[Finding]:
    """Are the values of both sides made of the same?"""
    here, there = found.here.parts, found.there.parts
    changed = [(old, new) for old, new in zip(there, here, strict=False) if old != new]
    if here == there:
        return
    if not changed and len(here) > len(there):
        advice = f"Run on the node: {add_attributes(found, here[len(there) :])}"
    elif not changed:
        advice = f"Run here: {add_attributes(found, there[len(here) :])}"
    elif len(here) == len(there) and len(changed) == 1 and changed[0][0][1] == changed[0][1][1]:
        old, new = (name for name, _ in changed[0])
        yield warning(
            f"{found.quoted} has {old} there in the place of {new}: the node knows it by that name",
            f"Run on the node: ALTER TYPE {found.quoted} RENAME ATTRIBUTE {quote(old)} TO "
            f"{quote(new)};",
        )
        return
    else:
        advice = rebuild(found)
    yield error(
        f"{found.quoted} has other attributes there: its values cannot be read or written", advice
    )


def check_domain(found: TypeFacts) -> Iterator[Finding]:
    """Do both sides allow the same values?"""
    here, there = found.here, found.there
    if here.base != there.base:
        yield error(
            f"{found.quoted} is a domain over {here.base} here and over "
            f"{there.base or 'a type that is not known here'} there: conditions mean something "
            "else, or values do not fit",
            rebuild(found),
        )
        return
    actions, sides = [], set()
    if here.not_null != there.not_null:
        actions.append(f"{'SET' if here.not_null else 'DROP'} NOT NULL")
        sides.add("here" if here.not_null else "there")
    if here.checks is not None and there.checks is not None:
        drop = [name for text, name in there.checks.items() if text not in here.checks]
        add = [text for text in here.checks if text not in there.checks]
        actions += [f"DROP CONSTRAINT {quote(name)}" for name in drop]
        actions += [f"ADD {text}" for text in add]
        sides |= ({"there"} if drop else set()) | ({"here"} if add else set())
    if actions:
        side = sides.pop() if len(sides) == 1 else "each side"
        statements = " ".join(f"ALTER DOMAIN {found.quoted} {action};" for action in actions)
        yield error(
            f"{found.quoted} refuses values {side} that the other side takes: rows cannot be "
            f"{'read' if side == 'here' else 'written'}",
            f"Run on the node: {statements}",
        )


CHECKS = {"e": check_enum, "c": check_composite, "d": check_domain}


def check_types(_facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Are the types of columns the same on both sides?"""
    for found in node.types:
        if found.here.kind == found.there.kind:
            yield from CHECKS[found.here.kind](found)
        else:
            yield error(
                f"{found.quoted} is of another kind there: its values cannot be read or written",
                rebuild(found),
            )
