"""The checks of pgshuttle doctor that compare privileges here with the remote user's on nodes."""

from collections import defaultdict
from collections.abc import Iterator

from pgshuttle.base.connections import quote
from pgshuttle.doctor.check.nodes import name_some
from pgshuttle.doctor.facts import AccessFacts, Facts, NodeFacts, RelationFacts
from pgshuttle.doctor.findings import Finding, Level, error, warning

Found = list[tuple[RelationFacts, AccessFacts]]


def name_user(node: NodeFacts) -> str:
    return node.remote_user or "the remote user"


def grant(node: NodeFacts, what: str) -> str:
    """The statement that gives the remote user a privilege."""
    if not node.remote_user:
        return f"Have the node's owner grant {what} to the user that it is asked as."
    return f"Run on the node: GRANT {what} TO {quote(node.remote_user)};"


def write_lacks(lacks: dict[str, list[str]]) -> str:
    """Privileges as GRANT takes them."""
    return ", ".join(
        privilege + (f" ({', '.join(map(quote, columns))})" if columns else "")
        for privilege, columns in lacks.items()
    )


def check_schemas(node: NodeFacts, found: Found) -> Iterator[Finding]:
    """May the remote user look for names there?"""
    closed = defaultdict(list)
    for relation, access in found:
        if not access.has_schema:
            closed[relation.remote[0]].append(relation.name)
    for schema, names in closed.items():
        yield error(
            f"{name_user(node)} may not use schema {schema} there: statements fail for "
            f"{name_some(names)}",
            grant(node, f"USAGE ON SCHEMA {quote(schema)}"),
        )


def check_privileges(node: NodeFacts, found: Found) -> Iterator[Finding]:
    """May the remote user do what this user may? One who writes nothing is meant to."""
    lacking: dict[tuple[Level, str], list[RelationFacts]] = defaultdict(list)
    is_reader = not any(access.may_write for _, access in found)
    for relation, access in found:
        if access.lacks:
            level = Level.NOTE if is_reader else Level.WARNING
            level = Level.ERROR if "SELECT" in access.lacks else level
            lacking[level, write_lacks(access.lacks)].append(relation)
    for (level, what), relations in lacking.items():
        names = list(dict.fromkeys(relation.remote_name for relation in relations))
        yield Finding(
            level,
            f"{name_user(node)} lacks {what} there, so that statements fail, for "
            f"{name_some([relation.name for relation in relations])}",
            grant(node, f"{what} ON {', '.join(names)}"),
        )


def check_sequences(node: NodeFacts, found: Found) -> Iterator[Finding]:
    """May the remote user take numbers that columns have by default?"""
    for relation, access in found:
        if access.sequences and "INSERT" not in access.lacks and access.may_write:
            names = ", ".join(access.sequences)
            yield error(
                f"{name_user(node)} may not use {names} there, which gives new rows of "
                f"{relation.name} their numbers: INSERTs fail",
                grant(node, f"USAGE ON SEQUENCE {names}"),
            )


def check_access(_facts: Facts, node: NodeFacts) -> Iterator[Finding]:
    """Do statements fail there, or find less, because of who the remote user is?"""
    found = [(one, one.access) for one in node.relations if one.access is not None]
    yield from check_schemas(node, found)
    yield from check_privileges(node, found)
    yield from check_sequences(node, found)
    hidden = [relation for relation, access in found if access.hides_rows]
    if hidden:
        policies = [
            f"CREATE POLICY all_rows ON {name} TO {quote(node.remote_user)} USING (true);"
            for name in dict.fromkeys(relation.remote_name for relation in hidden)
        ]
        yield warning(
            f"row security there may hide rows from {name_user(node)}, and answers lack them: "
            f"{name_some([relation.name for relation in hidden])}",
            f"Run on the node: {' '.join(policies)} Or leave it so, if they are not for those who "
            "ask here."
            if node.remote_user
            else "If they are for those who ask here, make a policy there that shows all rows to "
            "the user that the node is asked as.",
        )
