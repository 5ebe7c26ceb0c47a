"""What comparisons by pgshuttle doctor of many relations share, so that it is made once."""

from dataclasses import dataclass, field, replace

import psycopg

from pgshuttle.base.connections import Connection, quote, read_rows
from pgshuttle.doctor.facts import CheckFacts, RelationFacts
from pgshuttle.doctor.read.expressions import calls, is_of_postgres, make_table, translate

NAMES = """
SELECT c.relname FROM pg_temp.node_pg_class c
    JOIN pg_temp.node_pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s
"""

# The planner runs these when it estimates; some read the tables and views that a text names.
NOT_IMMUTABLE = """
SELECT DISTINCT proname::text FROM pg_proc
WHERE pronamespace = 'pg_catalog'::regnamespace AND provolatile <> 'i'
"""


def name_columns(relation: RelationFacts) -> tuple[str, ...]:
    """The table and the names of columns on both sides: equal for most partitions of a table."""
    return relation.root, *(f"{quote(one.name)} {one.remote_name}" for one in relation.columns)


@dataclass
class Comparisons:
    """What many comparisons on a connection share: temporary tables, and names of a node."""

    connection: Connection
    tables: dict[tuple[str, ...], str] = field(default_factory=dict)
    texts: dict[tuple[str, ...], str] = field(default_factory=dict)  # of checks
    names: dict[str, set[str]] = field(default_factory=dict)  # by schemas
    not_immutable: set[str] = field(default_factory=set)  # functions of PostgreSQL

    def get_table(self, relation: RelationFacts) -> str:
        """A table with the columns of a relation, by their names on the node."""
        key = name_columns(relation)
        if key not in self.tables:
            table = f"doctor_{len(self.tables)}"
            make_table(self.connection, relation, table=table)
            self.tables[key] = table
        return self.tables[key]

    def may_be_planned(self, relation: RelationFacts, text: str) -> bool:
        """Says if the planner computes nothing of a text but what is immutable and PostgreSQL's."""
        if not self.not_immutable:
            self.not_immutable = {name for (name,) in read_rows(self.connection, NOT_IMMUTABLE)}
        return is_of_postgres(text, relation.columns) and not calls(text, self.not_immutable)

    def print_check(self, relation: RelationFacts, check: CheckFacts) -> CheckFacts:
        """The check as this server prints it: servers may say the same in other words."""
        if not is_of_postgres(check.text, relation.columns):
            return check
        key = check.text, *name_columns(relation)
        if key not in self.texts:
            try:
                text = translate(self.connection, relation, check.text, to_there=False)
                self.texts[key] = text
            except psycopg.Error:
                self.texts[key] = check.text
        return replace(check, text=self.texts[key])

    def find_free_name(self, schema: str, name: str) -> str:
        """The name, with a number if another relation of the node has it."""
        if schema not in self.names:
            self.names[schema] = {taken for (taken,) in read_rows(self.connection, NAMES, schema)}
        taken = self.names[schema]
        names = [name, *(f"{name}{i}" for i in range(1, len(taken) + 1))]
        return next(one for one in names if one not in taken)


def prove(connection: Connection, table: str, conditions: list[str]) -> list[bool]:
    """Says of each condition if the planner sees that no row of the table can meet it."""
    queries = [f"EXISTS (SELECT FROM pg_temp.{table} WHERE {one})" for one in conditions]
    query = f"EXPLAIN (FORMAT JSON) SELECT {', '.join(queries)}"
    ((plans,),) = read_rows(connection, query)
    return [plan.get("One-Time Filter") == "false" for plan in plans[0]["Plan"]["Plans"]]
