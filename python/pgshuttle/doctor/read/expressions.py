"""What pgshuttle doctor finds out about generated columns of foreign tables and of nodes.

Two servers may print one expression in other words, and a column may have another name
there. So both expressions are given to temporary tables here, whose columns have the
names of the node, and what this server prints for each is compared.

The server computes what is constant in an expression that it gets, and reads its literals, with
the rights of whoever runs the doctor. So it is not given a text of a node that may call what a
user wrote: such texts are compared as they are.
"""

import re
from collections.abc import Collection, Sequence

import psycopg
from psycopg import sql

from pgshuttle.base.connections import Connection, read_rows
from pgshuttle.doctor.facts import ColumnFacts, ExpressionFacts, RelationFacts

EXPRESSIONS = """
SELECT a.attname, pg_get_expr(d.adbin, d.adrelid)
FROM pg_attribute a JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = %s::regclass AND a.attgenerated <> ''
"""
CONDITION = """
SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint
WHERE contype = 'c' AND conrelid = 'pg_temp.doctor_columns'::regclass
"""
TABLE = "doctor_columns"
QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""")
CALLED = re.compile(r'("(?:[^"]|"")*"|\w+)\s*\(')
# literals of other kinds, which may hide the end of one, or that a name begins
HIDING = re.compile(r"[\\$]|[uU]&")
# comments, a second statement, temporary tables and their types
ODD = re.compile(r"--|/\*|;|doctor_")
# what is in no schema of the search path: functions, operators and types of users
QUALIFIED = re.compile(r'(?:\b[^\W\d]\w*|")\s*\.')


def without_literals(text: str) -> str:
    """Leaves out what literals say; a quoted name may have the quote of a literal in it."""
    return QUOTED.sub(lambda found: "''" if found[0][0] == "'" else found[0], text)


def is_of_postgres(text: str, columns: Sequence[ColumnFacts] = ()) -> bool:
    """Says if a node's text is no more than it seems, and can call only functions of PostgreSQL.

    Casts of a user's type need no name: so it has no column of such a type, either.
    """
    bare = without_literals(text)
    own_types = [one for one in columns if "." in one.type]
    names = [name.replace('"', '""') for one in own_types for name in (one.name, one.remote_name)]
    signs = HIDING.search(text) or ODD.search(bare) or QUALIFIED.search(bare)
    return not (signs or any(name.lower() in bare.lower() for name in names))


def calls(text: str, names: Collection[str]) -> bool:
    """Says if a text may call a function of one of these names."""
    words = CALLED.findall(without_literals(text))
    return any(word.strip('"').lower() in names for word in words)


def rename(connection: Connection, names: list[tuple[str, str]], table: str = TABLE) -> None:
    """Renames columns of a temporary table; two may change names with each other."""
    changed = [(f"doctor {i}", old, new) for i, (old, new) in enumerate(names) if old != new]
    for old, new in [(old, middle) for middle, old, _ in changed] + [
        (middle, new) for middle, _, new in changed
    ]:
        alter = sql.SQL("ALTER TABLE {} RENAME {} TO {}")
        names_of_all = (sql.Identifier("pg_temp", table), *map(sql.Identifier, (old, new)))
        connection.execute(alter.format(*names_of_all))


def make_table(
    connection: Connection, relation: RelationFacts, including: str = "", table: str = TABLE
) -> None:
    """Makes a temporary table, with the names that the node has for columns."""
    like = f"CREATE TABLE pg_temp.{table} (LIKE {relation.local_name}{including})"
    connection.execute(like.encode())
    rename(connection, [(own.name, own.remote_name) for own in relation.columns], table)


def translate(
    connection: Connection, relation: RelationFacts, condition: str, *, to_there: bool
) -> str:
    """A condition as this server prints it, by the other side's names of columns."""
    names = [(own.name, own.remote_name) for own in relation.columns]
    if to_there and all(own == other for own, other in names):
        return condition
    with connection.transaction(force_rollback=True):
        make_table(connection, relation)
        back = [(other, own) for own, other in names]
        if to_there:
            rename(connection, back)
        connection.execute(f"ALTER TABLE pg_temp.{TABLE} ADD CHECK ({condition})".encode())
        rename(connection, names if to_there else back)
        ((text,),) = read_rows(connection, CONDITION)
    return str(text)


def read_own(connection: Connection, relation: RelationFacts) -> dict[str, tuple[str, str]]:
    """The expressions of this side by their columns: by the names here, and by those there."""
    texts = dict(read_rows(connection, EXPRESSIONS, relation.local_name))
    with connection.transaction(force_rollback=True):
        make_table(connection, relation, " INCLUDING GENERATED")
        renamed = dict(read_rows(connection, EXPRESSIONS, f"pg_temp.{TABLE}"))
    return {
        own.name: (texts[own.name], renamed[own.remote_name])
        for own in relation.columns
        if own.name in texts
    }


def read_other(
    connection: Connection, relation: RelationFacts, own: ColumnFacts, text: str
) -> tuple[str, str]:
    """An expression of the node as this server prints it: by the names there, and here.

    As the node prints it, and not by the names here, if it may call what a user wrote.
    """
    name = sql.Identifier(own.remote_name)
    if not is_of_postgres(text, relation.columns) or "." in own.type:
        return text, ""
    try:
        with connection.transaction(force_rollback=True):
            make_table(connection, relation)
            alter = sql.SQL(
                "ALTER TABLE pg_temp.doctor_columns DROP {0}, "
                "ADD {0} {1} GENERATED ALWAYS AS ({2}) STORED"
            )
            texts = (sql.SQL(own.type), sql.SQL(text))
            connection.execute(alter.format(name, *texts))
            ((_, there),) = read_rows(connection, EXPRESSIONS, f"pg_temp.{TABLE}")
            rename(connection, [(one.remote_name, one.name) for one in relation.columns])
            ((_, here),) = read_rows(connection, EXPRESSIONS, f"pg_temp.{TABLE}")
            return there, here
    except psycopg.Error:
        return "", ""


def compare_expressions(
    connection: Connection, relation: RelationFacts, others: dict[str, str]
) -> None:
    """Notes the expressions of all columns that are generated on a side.

    others: those of the node, by its names.
    """
    mine = {}
    if any(own.generated for own in relation.columns):
        mine = read_own(connection, relation)
    for own in relation.columns:
        text = others.get(own.remote_name, "")
        if own.name in mine or text:
            there, here = read_other(connection, relation, own, text) if text else ("", "")
            relation.expressions[own.name] = ExpressionFacts(
                *mine.get(own.name, ("", "")),
                other_here=here,
                other_there=there,
                other_text=text,
            )
