"""The commands about tables that are spread over nodes: distribute, tables."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bars
from rich.table import Table

from pgshuttle.commands.options import DirOption, DsnOption, JsonOption
from pgshuttle.look import distribute, target

KeysArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TABLE.COLUMN", help="Tables and their columns. Without any: as is advised."
    ),
]


def make_advice_table(advice: list[distribute.Advice]) -> Table:
    table = Table("table", "advice", "by column", "because")
    for one in advice:
        table.add_row(one.table, one.kind, one.key, one.because)
    return table


def make_tables_table(tables: list[distribute.SpreadTable]) -> Table:
    table = Table("table", "kind", "by column", "tablets", "nodes", "rows", "size")
    for one in tables:
        rows = "?" if one.rows is None else f"{one.rows:,}"
        size = "?" if one.bytes is None else decimal(one.bytes)
        tablets = str(one.tablets or "")
        table.add_row(one.table, one.kind, one.key, tablets, ", ".join(one.nodes), rows, size)
    return table


@contextmanager
def show_bars(console: Console) -> Iterator[Callable[[distribute.Progress], None]]:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
    with Bars(*columns, console=console, transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def show(progress: distribute.Progress) -> None:
            if progress.table not in tasks:
                tasks[progress.table] = bars.add_task(progress.table)
            text = f"{progress.table}: {progress.phase}, {progress.rows:,} rows"
            bars.update(tasks[progress.table], description=text, completed=progress.percent)

        yield show


def run_distribute(
    ctx: typer.Context,
    keys: KeysArgument = None,
    references: Annotated[
        list[str] | None,
        typer.Option("--reference", help="A table that each node gets a copy of; may be repeated."),
    ] = None,
    tablets: Annotated[
        int | None, typer.Option(min=1, help="Tablets of each table; shuttle.tablets if not given.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dsn: DsnOption = None,
    directory: DirOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the advice as JSON, and change nothing.")
    ] = False,
) -> None:
    """Shows how tables could be spread over nodes, and does it, in one transaction."""
    place = target.find_target(dsn, directory)
    with target.connect(place) as connection, target.connect(place) as watcher:
        target.require_extension(connection)
        if as_json:
            advice = distribute.read_advice(connection)
            ctx.obj.tell([dataclasses.asdict(one) for one in advice], as_json=True)
            return
        steps = distribute.make_steps(keys or [], references or [], tablets)
        if not steps:
            advice = distribute.read_advice(connection)
            ctx.obj.out.print(make_advice_table(advice))
            steps = distribute.follow_advice(advice, tablets)
        if not steps:
            ctx.obj.out.print("There is nothing to distribute.")
            return
        if not yes:
            typer.confirm("Distribute them? Others wait for the tables meanwhile.", abort=True)
        with show_bars(ctx.obj.err) as show:
            distribute.run_steps(connection, watcher, steps, show)
        ctx.obj.out.print(make_tables_table(distribute.read_tables(watcher)))


def run_tables(
    ctx: typer.Context,
    dsn: DsnOption = None,
    directory: DirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Lists distributed and reference tables, where they are and how large."""
    with target.connect(target.find_target(dsn, directory)) as connection:
        target.require_extension(connection)
        tables = distribute.read_tables(connection)
    nothing = "No table is distributed. Try pgshuttle distribute."
    described = [dataclasses.asdict(table) for table in tables]
    shown = make_tables_table(tables) if tables else nothing
    ctx.obj.tell(described, shown, as_json=as_json)
