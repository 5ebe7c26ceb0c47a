"""The checks of pgshuttle doctor that compare foreign tables with relations of nodes."""

from collections.abc import Iterator

from pgshuttle.base.connections import quote
from pgshuttle.doctor.check.access import check_access
from pgshuttle.doctor.check.alterations import alter_there
from pgshuttle.doctor.check.columns import check_columns
from pgshuttle.doctor.check.nodes import name_some
from pgshuttle.doctor.check.siblings import check_checks, check_keys, check_rules
from pgshuttle.doctor.check.types import check_types
from pgshuttle.doctor.facts import Facts, NodeFacts, RelationFacts
from pgshuttle.doctor.findings import Finding, Level, error, good, note, warning


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


def check_kinds(_facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Are tables there what writes can go to?"""
    for relation in node.relations:
        if relation.empty:
            schema, name = relation.remote
            part = f"{quote(schema)}.{quote(f'{name[:50]}_all')}"
            values = (
                "FOR VALUES WITH (MODULUS 1, REMAINDER 0)" if relation.empty == "h" else "DEFAULT"
            )
            yield error(
                f"{relation.remote_name}, behind {relation.name}, is partitioned there and has no "
                "partitions: it is empty, and INSERTs fail",
                f"Run on the node: CREATE TABLE {part} PARTITION OF {relation.remote_name} "
                f"{values}; Or attach the tables that have its rows.",
            )
    chained = [one.name for one in node.relations if one.kind == "f"]
    if chained:
        yield warning(
            "foreign tables there, too, so that a transaction that uses them and writes on another "
            f"node cannot commit: {name_some(chained)}",
            "Define them here for the server that has their rows.",
        )


RELATION_CHECKS = (
    check_columns,
    check_bounds,
    check_places,
    check_checks,
    check_keys,
    check_kinds,
    check_rules,
    check_access,
    check_types,
)


def check_relations(facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """All of them; says so if all is as it should be."""
    found = [one for check in RELATION_CHECKS for one in check(facts, node)]
    yield from found
    if node.relations and all(one.level is Level.NOTE for one in found):
        count = len(node.relations)
        text = f"{count} foreign table{'s have' if count > 1 else ' has'} the columns of the node's"
        yield good(text)
