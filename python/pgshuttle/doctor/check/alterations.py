"""Statements that pgshuttle doctor prints to mend a foreign table or the relation behind it."""

from pgshuttle.base.connections import quote
from pgshuttle.doctor.facts import ColumnFacts, ExpressionFacts, RelationFacts

TABLES = "rpf"  # kinds of relations that ALTER TABLE changes
FIRST_WITH_VIRTUAL = 18


def alter_there(relation: RelationFacts, action: str) -> str:
    """The statement that changes the node's side."""
    if relation.kind not in TABLES:
        return f"{relation.remote_name} is a view there: define it anew."
    return f"Run on the node: ALTER TABLE {relation.remote_name} {action};"


def alter_here(relation: RelationFacts, action: str) -> str:
    """The statement that changes this side."""
    return f"Run here: ALTER FOREIGN TABLE {relation.name} {action};"


def write_type(column: ColumnFacts) -> str:
    """Type and collation."""
    if not column.collation:
        return column.type
    named = 'pg_catalog."default"' if column.collation == "default" else column.collation
    return f"{column.type} COLLATE {named}"


def write_generated(column: ColumnFacts, expression: str, major: int) -> str:
    """What makes a column a generated one, on a server of that version."""
    is_virtual = column.generated == "v" and major >= FIRST_WITH_VIRTUAL
    return f" GENERATED ALWAYS AS ({expression}) {'VIRTUAL' if is_virtual else 'STORED'}"


def define_there(relation: RelationFacts, own: ColumnFacts, major: int) -> str:
    """Defines a column of the foreign table for the node."""
    text = f"{quote(own.remote_name)} {write_type(own)}"
    expression = relation.expressions.get(own.name, ExpressionFacts()).own_there
    return text + (write_generated(own, expression, major) if expression else "")


def need_type(column: ColumnFacts, place: str) -> str:
    """What to do first if a server has no such type."""
    return f"Create the type {column.type} {place}, and run pgshuttle doctor again."
