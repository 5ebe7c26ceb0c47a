"""SQL as a tree, so that it can be written for each side, and made smaller."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias


@dataclass(frozen=True)
class Place:
    """A table; the foreign side of a comparison reads a foreign table there if asked to."""

    table: str
    foreign: bool
    number: int
    only: bool = False  # ONLY stands before it


@dataclass(frozen=True)
class Argument:
    """A parameter of a prepared statement, from 1, and its values one after the other."""

    number: int
    type: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Many:
    """Items that can be left out; all of them where empty says what stands there then."""

    items: tuple["Sql", ...]
    separator: str
    prefix: str = ""
    empty: str | None = None


Sql: TypeAlias = str | Place | Argument | Many | tuple["Sql", ...]


@dataclass(frozen=True)
class Side:
    """How a query is written for one side."""

    schema_of: Callable[[Place], str]
    argument: Callable[[Argument], str]

    def write(self, sql: Sql) -> str:
        if isinstance(sql, str):
            return sql
        if isinstance(sql, Place):
            return f"{'ONLY ' if sql.only else ''}{self.schema_of(sql)}.{sql.table}"
        if isinstance(sql, Argument):
            return self.argument(sql)
        if isinstance(sql, Many):
            if not sql.items:
                return sql.empty or ""
            return sql.prefix + sql.separator.join(self.write(item) for item in sql.items)
        return "".join(self.write(part) for part in sql)


def all_of(*conditions: Sql) -> Many:
    return Many(tuple(conditions), " AND ", empty="true")


def where(conditions: list[Sql]) -> Many:
    return Many(tuple(conditions), " AND ", prefix=" WHERE ", empty="")


def optional(sql: Sql) -> Many:
    return Many((sql,), "", empty="")


def smaller(sql: Sql) -> Iterator[Sql]:
    """All trees with one item less, those that lose most first."""
    if isinstance(sql, Many):
        if len(sql.items) > 1 or sql.empty is not None:
            for i in range(len(sql.items)):
                yield replace(sql, items=sql.items[:i] + sql.items[i + 1 :])
        for i, item in enumerate(sql.items):
            for less in smaller(item):
                yield replace(sql, items=(*sql.items[:i], less, *sql.items[i + 1 :]))
    elif isinstance(sql, tuple):
        for i, part in enumerate(sql):
            for less in smaller(part):
                yield (*sql[:i], less, *sql[i + 1 :])


def swapped(sql: Sql, old: Sql, new: Sql) -> Sql:
    """A tree with another one in place of a part of it."""
    if sql == old:
        return new
    if isinstance(sql, Many):
        return replace(sql, items=tuple(swapped(item, old, new) for item in sql.items))
    return tuple(swapped(part, old, new) for part in sql) if isinstance(sql, tuple) else sql


def arguments(sql: Sql) -> set[Argument]:
    """The parameters that are used in a tree."""
    if isinstance(sql, Argument):
        return {sql}
    parts: tuple[Sql, ...] = ()
    if isinstance(sql, Many):
        parts = sql.items
    elif isinstance(sql, tuple):
        parts = sql
    return {found for part in parts for found in arguments(part)}
