"""What pgshuttle doctor says of relations and columns that are on one side only."""

from pgshuttle.base.connections import quote
from pgshuttle.doctor.check.alterations import (
    alter_here,
    alter_there,
    define_there,
    need_type,
    write_type,
)
from pgshuttle.doctor.facts import ColumnFacts, RelationFacts
from pgshuttle.doctor.findings import Finding, error


def rename(relation: RelationFacts, own: ColumnFacts, other: ColumnFacts) -> str:
    """Has both sides know a column by one name again."""
    if relation.is_part:
        return alter_there(relation, f"RENAME {quote(other.name)} TO {quote(own.remote_name)}")
    word = "ADD" if own.name == own.remote_name else "SET"
    name = other.name.replace("'", "''")
    return alter_here(relation, f"ALTER {quote(own.name)} OPTIONS ({word} column_name '{name}')")


def missing_column(
    relation: RelationFacts, own: ColumnFacts, renamed: ColumnFacts | None, major: int
) -> Finding:
    """The finding of a column that the node does not have. renamed: it may be that one there."""
    # its rows have no value for it yet: NOT NULL is a finding of its own, later
    if own.has_type:
        advice = alter_there(relation, f"ADD {define_there(relation, own, major)}")
    else:
        advice = need_type(own, "on the node")
    if not relation.is_part:
        advice += f" Or, without it: {alter_here(relation, f'DROP {quote(own.name)}')}"
    text = f"{relation.remote_name} has no column {own.remote_name}, which {relation.name} has"
    if renamed is not None:
        text += f"; it may be {renamed.name}, renamed"
        advice = (
            f"{rename(relation, own, renamed)} Or, if {renamed.name} is another column: {advice}"
        )
    return error(f"{text}: statements that need it fail", advice)


def find_renamed(relation: RelationFacts) -> dict[str, ColumnFacts]:
    """By names of columns that the node lacks: one there of that type that is not known here."""
    there = relation.there or []
    names, known = {other.name for other in there}, {own.remote_name for own in relation.columns}
    unknown = [other for other in there if other.name not in known]
    found: dict[str, ColumnFacts] = {}
    for own in relation.columns:
        alike = [
            other
            for other in unknown
            if (other.type, other.collation, bool(other.generated))
            == (own.type, own.collation, bool(own.generated))
        ]
        if own.remote_name not in names and alike:
            found[own.name] = alike[0]
            unknown.remove(alike[0])
    return found


def same_column(relation: RelationFacts, first: ColumnFacts, second: ColumnFacts) -> Finding:
    """The finding of two columns here that stand for one there."""
    return error(
        f"{relation.name}.{first.name} and {relation.name}.{second.name} are both "
        f"{second.remote_name} there: INSERTs fail",
        "Correct the option column_name of one of them.",
    )


def rename_relation(relation: RelationFacts, other: tuple[str, str]) -> str:
    """Gives a table of the node the name and schema that it has by the foreign table."""
    (schema, name), (old_schema, old) = relation.remote, other
    statements = []
    if schema != old_schema:
        move = f"ALTER TABLE {quote(old_schema)}.{quote(old)} SET SCHEMA {quote(schema)};"
        statements = [*([] if relation.has_schema else [f"CREATE SCHEMA {quote(schema)};"]), move]
    if name != old:
        statements.append(f"ALTER TABLE {quote(schema)}.{quote(old)} RENAME TO {quote(name)};")
    return f"Run on the node: {' '.join(statements)}"


def missing_relation(relation: RelationFacts, major: int) -> Finding:
    """The finding of a foreign table with nothing behind it that can be read."""
    if relation.kind:
        return error(
            f"{relation.remote_name}, behind {relation.name}, is no table and no view",
            "Rename it there, and run pgshuttle doctor again, or correct the options schema_name "
            "and table_name of the foreign table.",
        )
    columns = ", ".join(
        define_there(relation, own, major) + (" NOT NULL" if own.not_null else "")
        for own in relation.columns
    )
    statement = f"CREATE TABLE {relation.remote_name} ({columns});"
    if not relation.has_schema:
        statement = f"CREATE SCHEMA {quote(relation.remote[0])}; {statement}"
    unknown = [own for own in relation.columns if not own.has_type]
    advice = need_type(unknown[0], "on the node") if unknown else f"Run on the node: {statement}"
    text = f"{relation.remote_name} is missing, the table behind {relation.name}"
    options = "correct the options schema_name and table_name of the foreign table"
    if relation.renamed is None:
        return error(text, f"{advice} Or, if it was renamed, name it as before, or {options}.")
    other = ".".join(map(quote, relation.renamed))
    return error(
        f"{text}; it may be {other}, renamed",
        f"{rename_relation(relation, relation.renamed)} Or, if that is to be its name, {options}. "
        f"Or, if that is another table: {advice}",
    )


def lacking_here(relation: RelationFacts, other: ColumnFacts) -> Finding:
    """The finding of a column that the node wants a value for and the foreign table lacks."""
    if not relation.is_part:
        advice = alter_here(relation, f"ADD {quote(other.name)} {write_type(other)} NOT NULL")
        advice = advice if other.has_type else need_type(other, "here")
    elif other.is_key:
        advice = f"Decide which value new rows get, and make it the default of {other.name} there."
    else:
        advice = alter_there(relation, f"ALTER {quote(other.name)} DROP NOT NULL")
    return error(
        f"{relation.name} lacks {other.name}, which is NOT NULL and without a default there: "
        "INSERTs fail",
        advice,
    )
