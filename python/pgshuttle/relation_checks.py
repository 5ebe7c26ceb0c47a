"""The checks of pgshuttle doctor that compare bounds, checks and keys with those of nodes."""

from collections.abc import Callable, Iterator

from pgshuttle.alterations import alter_there
from pgshuttle.catalog import quote
from pgshuttle.column_checks import check_columns
from pgshuttle.facts import CheckFacts, Facts, KeyFacts, NodeFacts, RelationFacts
from pgshuttle.findings import Finding, Level, error, good, note, warning
from pgshuttle.node_checks import name_some


def check_bounds(_facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Take nodes the rows of a partition's bounds, and no others?"""
    loose = []
    for relation in node.relations:
        bound = relation.bound
        if bound is None:
            continue
        for names, rows in ((bound.refused_by, "every row"), (bound.narrowed_by, "some rows")):
            if names:
                yield error(
                    f"{relation.remote_name} refuses, by {name_some(names)}, {rows} of the bounds "
                    f"of {relation.name}",
                    alter_there(
                        relation, ", ".join(f"DROP CONSTRAINT {quote(name)}" for name in names)
                    )
                    + f" Or attach {relation.name} with other bounds.",
                )
        if not bound.is_kept and not bound.refused_by and not bound.parent:
            loose.append((relation, bound))
    if loose:
        relation, bound = loose[0]
        yield note(
            "nothing there keeps rows out that are not of the bounds; queries would miss them: "
            f"{name_some([one.name for one, _ in loose])}",
            f"Run on the node: {bound.make_check}"
            if bound.make_check
            else "Keep others from writing to these tables there.",
        )


def check_places(_facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Have relations that are partitions on the node, too, the bounds that they have here?"""
    parents: dict[str, list[RelationFacts]] = {}
    for relation in node.relations:
        if relation.bound is not None and relation.bound.parent:
            parents.setdefault(relation.bound.parent, []).append(relation)
    for parent, relations in parents.items():
        # two may have changed places: all are detached before one is attached
        statements = [
            f"ALTER TABLE {parent} DETACH PARTITION {one.remote_name};" for one in relations
        ]
        statements += [
            f"ALTER TABLE {parent} ATTACH PARTITION {one.remote_name} {one.bound.values};"
            for one in relations
            if one.bound is not None and one.bound.can_attach
        ]
        names = name_some([f"{one.remote_name} ({one.name} here)" for one in relations])
        yield error(
            f"partitions of {parent} refuse rows, as their bounds are not those here: {names}",
            f"Run on the node: {' '.join(statements)}",
        )


def others_without(facts: Facts, relation: RelationFacts, check: CheckFacts) -> list[str]:
    """The partitions of the same table whose nodes do not have a check."""
    return [
        f"{other.name} on {node.name}"
        for node in facts.nodes
        for other in node.relations
        if other.root == relation.root and other is not relation and other.checks is not None
        if check.text not in {one.text for one in other.checks}
    ]


def check_checks(facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Refuses one partition alone what the others take?"""
    for relation in node.relations:
        if not relation.root:
            continue
        for check in relation.checks or []:
            others = others_without(facts, relation, check)
            if others:
                yield error(
                    f"{relation.remote_name}, behind {relation.name}, refuses rows by "
                    f"{check.name}, CHECK ({check.text}), which others of {relation.root} do not "
                    f"have: {name_some(others)}",
                    alter_there(relation, f"DROP CONSTRAINT {quote(check.name)}"),
                )


def keys_of_conflicts(relation: RelationFacts) -> set[frozenset[str]]:
    """The unique keys that ON CONFLICT takes."""
    return {frozenset(key.columns) for key in relation.keys or [] if key.is_immediate}


def missing_keys(facts: Facts, relation: RelationFacts) -> Iterator[tuple[KeyFacts, str]]:
    """Yields keys that it lacks, each with a partition of the same table that has it."""
    if relation.keys is None or not relation.root:
        return
    # a deferrable key does not stand for one that ON CONFLICT takes
    known = {(frozenset(key.columns), False) for key in relation.keys}
    known |= {(columns, True) for columns in keys_of_conflicts(relation)}
    for other in (other for node in facts.nodes for other in node.relations):
        if other.root == relation.root:
            for key in other.keys or []:
                columns = frozenset(key.columns)
                if (columns, key.is_immediate) not in known:
                    known |= {(columns, False), (columns, key.is_immediate)}
                    yield key, other.name


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


def check_same(_facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Says so if all is as it should be."""
    checks = (check_columns, check_bounds, check_places, check_checks, check_keys)
    if node.relations and not any(
        found.level is not Level.NOTE for check in checks for found in check(_facts, node)
    ):
        count = len(node.relations)
        text = f"{count} foreign table{'s have' if count > 1 else ' has'} the columns of the node's"
        yield good(text)


RELATION_CHECKS: tuple[Callable[[Facts, NodeFacts], Iterator[Finding]], ...] = (
    check_columns,
    check_bounds,
    check_places,
    check_checks,
    check_keys,
    check_same,
)
