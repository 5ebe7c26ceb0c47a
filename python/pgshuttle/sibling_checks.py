"""The checks of pgshuttle doctor that compare partitions of one table with each other."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from pgshuttle.alterations import alter_there
from pgshuttle.catalog import quote
from pgshuttle.facts import Facts, KeyFacts, NodeFacts, RelationFacts
from pgshuttle.findings import Finding, error, warning
from pgshuttle.node_checks import name_some

Kind = tuple[frozenset[str], bool]  # columns of a key, and if ON CONFLICT takes it


@dataclass
class Siblings:
    """What the partitions of one table have."""

    checks: list[tuple[str, set[str]]] = field(default_factory=list)  # by names, if they are known
    counts: Counter[str] = field(default_factory=Counter)  # of partitions, by check
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
            for key in relation.keys or []:
                kind = frozenset(key.columns), key.is_immediate
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


def missing_keys(siblings: Siblings, relation: RelationFacts) -> Iterator[tuple[KeyFacts, str]]:
    """Yields keys that it lacks, each with a partition of the same table that has it."""
    if relation.keys is None:
        return
    # a deferrable key does not stand for one that ON CONFLICT takes
    known = {(frozenset(key.columns), False) for key in relation.keys}
    known |= {(frozenset(key.columns), True) for key in relation.keys if key.is_immediate}
    for (columns, is_immediate), (key, other) in siblings.keys.items():
        if (columns, is_immediate) not in known:
            known |= {(columns, False), (columns, is_immediate)}
            yield key, other


def describe_lack(relation: RelationFacts, key: KeyFacts, columns: str, other: str) -> str:
    """Says what a relation has in the place of a key that is behind another partition."""
    if any(frozenset(own.columns) == frozenset(key.columns) for own in relation.keys or []):
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
