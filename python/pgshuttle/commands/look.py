"""The commands that look at a server that is there: doctor, explain, top."""

import dataclasses
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import psycopg
import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pgshuttle.base.connections import Connection, read_rows
from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.commands.options import DirOption, DsnOption, JsonOption
from pgshuttle.doctor.check import query_node as check_query_node
from pgshuttle.doctor.findings import Finding, Level
from pgshuttle.doctor.read import query_node as read_query_node
from pgshuttle.doctor.read import storage_nodes
from pgshuttle.look import node_rates, plan_page, plan_view, target
from pgshuttle.look.explain import FOREIGN_TABLES, explain_query, name_server

STYLES = {Level.OK: "green", Level.NOTE: "cyan", Level.WARNING: "yellow", Level.ERROR: "red"}


def make_findings_table(found: list[Finding]) -> Table:
    table = Table("where", "", "what", "found", "what to do")
    for finding in found:
        level = Text(finding.level, style=STYLES[finding.level])
        table.add_row(finding.where, level, finding.check, finding.text, finding.advice)
    return table


def run_doctor(
    ctx: typer.Context,
    dsn: DsnOption = None,
    directory: DirOption = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail for warnings, too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Checks an installation, and says what to do. Exit code 1: something does not work."""
    with target.connect(target.find_target(dsn, directory)) as connection:
        was_loaded = target.is_loaded(connection)
        facts = read_query_node.read_facts(
            connection, target.load_library(connection), was_loaded=was_loaded
        )
        storage_nodes.read_storage(connection, facts)
        found = check_query_node.find_all(facts)
    nbad = sum(finding.level in (Level.ERROR, Level.WARNING) for finding in found)
    verdict = "All is well." if not nbad else f"{nbad} to look at."
    described = [dataclasses.asdict(finding) for finding in found]
    ctx.obj.tell(described, make_findings_table(found), verdict, as_json=as_json)
    failing = (Level.ERROR, Level.WARNING) if strict else (Level.ERROR,)
    if any(finding.level in failing for finding in found):
        raise typer.Exit(ExitCode.FAILED)


def change_settings(connection: Connection, words: list[str]) -> None:
    for word in words:
        name, _, value = word.partition("=")
        try:
            connection.execute("SELECT pg_catalog.set_config(%s, %s, false)", [name, value])
        except psycopg.Error as error:
            raise ToolError(f"--set {word}: {target.first_line(error)}") from None


def run_explain(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="A statement, or - to read it from the input.")],
    dsn: DsnOption = None,
    directory: DirOption = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="name=value, for this statement; may be repeated."),
    ] = None,
    page: Annotated[Path | None, typer.Option("--html", help="Write a page to this file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Runs a statement, shows its plan with time and requests; its changes are rolled back."""
    typed = sys.stdin.buffer.read() if query == "-" else os.fsencode(query)
    text = typed.decode("utf-8", "replace")  # whatever the locale
    if not text.strip(" \t\n;"):
        raise ToolError("there is no statement", exit_code=ExitCode.USAGE)
    with target.connect(target.find_target(dsn, directory)) as connection:
        servers = dict(read_rows(connection, FOREIGN_TABLES))
        has_dist = target.load_library(connection) is None
        connection.execute("RESET search_path")
        change_settings(connection, setting or [])
        answer = explain_query(connection, text.strip().rstrip(";"), has_dist=has_dist)
        where = name_server(connection)
    if page is not None:
        origin = plan_page.Origin(text.strip(), datetime.now(UTC), where)
        page.write_text(plan_page.write_page(origin, answer, servers), encoding="utf-8")
    if as_json:
        typer.echo(json.dumps([answer], indent=2))
        return
    ctx.obj.out.print(plan_view.make_plan_table(answer, servers))
    for name, value in plan_view.list_totals(answer):
        ctx.obj.out.print(f"{name}: {value}", highlight=False)
    if not has_dist:
        ctx.obj.err.print("pg_shuttle could not be loaded: requests are not counted.")
    if page is not None:
        ctx.obj.out.print(f"Page: {page}", soft_wrap=True, highlight=False)


def watch(connection: Connection, interval_s: float, count: int) -> Iterator[node_rates.Moment]:
    """Yields what the nodes were asked for since the last look; count 0: for ever."""
    last = node_rates.read_moment(connection)
    nlooks = 0
    while count == 0 or nlooks < count:
        time.sleep(interval_s)
        now = node_rates.read_moment(connection)
        yield node_rates.find_rates(last, now)
        last, nlooks = now, nlooks + 1


def run_top(
    ctx: typer.Context,
    dsn: DsnOption = None,
    directory: DirOption = None,
    interval_s: Annotated[float, typer.Option("--interval", min=0.1, help="Seconds.")] = 2.0,
    count: Annotated[int, typer.Option(min=0, help="Looks; 0 goes on until Ctrl-C.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Shows what nodes are asked for, a second: shuttle.node_stats, live."""
    out: Console = ctx.obj.out
    with target.connect(target.find_target(dsn, directory)) as connection:
        target.require_extension(connection)
        if not node_rates.sees_all(connection):
            ctx.obj.err.print(
                "pg_shuttle is not in shared_preload_libraries: each session sees itself alone."
            )
        moments = watch(connection, interval_s, count)
        try:
            if as_json:
                for moment in moments:
                    typer.echo(json.dumps([dataclasses.asdict(rate) for rate in moment.nodes]))
            elif out.is_terminal and shutil.get_terminal_size().columns >= out.width:
                with Live(console=out, auto_refresh=False) as live:
                    for moment in moments:
                        live.update(node_rates.make_rates_table(moment), refresh=True)
            else:
                for moment in moments:
                    out.print(node_rates.make_rates_table(moment))
        except KeyboardInterrupt:
            return
