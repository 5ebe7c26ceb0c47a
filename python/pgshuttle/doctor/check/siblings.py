"""The checks of pgshuttle doctor that compare partitions of one table with each other."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from pgshuttle.base.connections import quote
from pgshuttle.doctor.check.alterations import TABLES, alter_there
from pgshuttle.doctor.check.nodes import name_some
from pgshuttle.doctor.facts import Facts, KeyFacts, NodeFacts, RelationFacts
from pgshuttle.doctor.findings import Finding, error, warning

# columns of a key, if ON CONFLICT takes it, and if NULL is equal to NULL
Kind = tuple[frozenset[str], bool, bool]

VIEWS = {"v": "view", "m": "materialized view"}


@dataclass
class Siblings:
    """What the partitions of one table have."""

    checks: list[tuple[str, set[str]]] = field(default_factory=list)  # by names, if they are known
    counts: Counter[str] = field(default_factory=Counter)  # of partitions, by check
    rules: list[tuple[str, set[str]]] = field(default_factory=list)  # by names
    has_tables: bool = False
    keys: dict[Kind, tuple[KeyFacts, str]] = field(default_factory=dict)  # who has it first


def group(facts: Facts) -> dict[str, Siblings]:
    """The partitions of all nodes by the tables above them."""
    found: dict[str, Siblings] = {}
    for node in facts.nodes:
        for relation in node.relations:
            if not relation.root:
                continue
            siblings = found.setdefault(relation.root, Siblings())
            if relation.checks is not None:
                texts = {one.text for one in relation.checks}
                siblings.checks.append((f"{relation.name} on {node.name}", texts))
                siblings.counts.update(texts)
            if relation.there is not None:
                texts = {one.text for one in relation.rules}
                siblings.rules.append((f"{relation.name} on {node.name}", texts))
            siblings.has_tables |= bool(relation.kind) and relation.kind in TABLES
            for key in relation.keys or []:
                kind = frozenset(key.columns), key.is_immediate, key.nulls_equal
                siblings.keys.setdefault(kind, (key, relation.name))
    return found


def check_checks(facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Refuses one partition alone what the others take?"""
    tables = group(facts)
    for relation in node.relations:
        if not relation.root:
            continue
        siblings = tables[relation.root]
        for check in relation.checks or []:
            if siblings.counts[check.text] < len(siblings.checks):
                others = [name for name, texts in siblings.checks if check.text not in texts]
                yield error(
                    f"{relation.remote_name}, behind {relation.name}, refuses rows by "
                    f"{check.name}, CHECK ({check.text}), which others of {relation.root} do not "
                    f"have: {name_some(others)}",
                    alter_there(relation, f"DROP CONSTRAINT {quote(check.name)}"),
                )


def check_rules(facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Has one partition alone what refuses or changes rows, or something else than a table?"""
    tables = group(facts)
    for relation in node.relations:
        siblings = tables.get(relation.root, Siblings())
        if relation.kind in VIEWS and siblings.has_tables:
            yield warning(
                f"{relation.remote_name}, behind {relation.name}, is a {VIEWS[relation.kind]} "
                f"there, and other partitions of {relation.root} are tables: it has no keys, and "
                "writes may fail",
                "Give the table there its name again.",
            )
        for rule in relation.rules:
            others = [name for name, texts in siblings.rules if rule.text not in texts]
            if not others:
                continue
            lack = f"which others of {relation.root} do not have: {name_some(others)}"
            name, table = quote(rule.name), relation.remote_name
            if rule.is_trigger:
                yield warning(
                    f"{table}, behind {relation.name}, has the trigger {rule.name}, {rule.text}, "
                    f"{lack}; it may change rows or leave them out",
                    f"Run on the node: DROP TRIGGER {name} ON {table};",
                )
            else:
                yield error(
                    f"{table}, behind {relation.name}, refuses rows by {rule.name}, {rule.text}, "
                    f"{lack}",
                    alter_there(relation, f"DROP CONSTRAINT {name}"),
                )


def stand_for(key: KeyFacts) -> set[Kind]:
    """A deferrable key does not stand for one that ON CONFLICT takes; a stricter one does."""
    columns = frozenset(key.columns)
    return {
        (columns, is_immediate, nulls_equal)
        for is_immediate in {False, key.is_immediate}
        for nulls_equal in {False, key.nulls_equal}
    }


def missing_keys(siblings: Siblings, relation: RelationFacts) -> Iterator[tuple[KeyFacts, str]]:
    """Yields keys that it lacks, each with a partition of the same table that has it."""
    if relation.keys is None:
        return
    known = {kind for key in relation.keys for kind in stand_for(key)}
    # the strictest first, which stand for others
    for kind, (key, other) in sorted(siblings.keys.items(), key=lambda one: sum(one[0][1:]) < 2):
        if kind not in known:
            known |= stand_for(key)
            yield key, other


def describe_lack(relation: RelationFacts, key: KeyFacts, columns: str, other: str) -> str:
    """Says what a relation has in the place of a key that is behind another partition."""
    alike = [one for one in relation.keys or [] if frozenset(one.columns) == frozenset(key.columns)]
    if key.nulls_equal and any(not one.nulls_equal for one in alike):
        return (
            f"a unique key ({columns}) that takes NULL again and again, which {other} has with "
            "NULLS NOT DISTINCT: equal rows can come in"
        )
    if alike:
        return (
            f"a deferrable unique key ({columns}), which is not deferrable behind {other}: "
            "ON CONFLICT fails"
        )
    return (
        f"no unique key ({columns}), which there is behind {other}: equal rows can come in, "
        "and ON CONFLICT fails"
    )


def check_keys(facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Can rows be found by a key, by the same one in each partition?"""
    lacking, tables = [], group(facts)
    for relation in node.relations:
        siblings = tables.get(relation.root, Siblings())
        keys = list(missing_keys(siblings, relation))
        for key, other in keys:
            columns = ", ".join(quote(name) for name in key.columns)
            there = {own.name: own.remote_name for own in relation.columns}
            add = ", ".join(quote(there[name]) for name in key.columns if name in there)
            has_primary = any(own.is_primary for own in relation.keys or [])
            kind = "PRIMARY KEY" if key.is_primary and not has_primary else "UNIQUE"
            kind += " NULLS NOT DISTINCT" if key.nulls_equal else ""
            yield error(
                f"{relation.remote_name} has {describe_lack(relation, key, columns, other)}",
                alter_there(relation, f"ADD {kind} ({add})"),
            )
        if relation.lacks_key and not keys:
            lacking.append(relation)
    if lacking:
        yield warning(
            "no primary key or unique index there: equal rows can come in, ON CONFLICT fails, and "
            f"look-ups may read the whole table: {name_some([one.name for one in lacking])}",
            "Decide which columns tell rows apart, and make them the primary key there.",
        )
