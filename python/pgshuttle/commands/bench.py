"""The commands pgshuttle bench ...: measurements that answer one question each."""

import json
from pathlib import Path
from typing import Annotated

import typer

from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.base.json_files import read_json
from pgshuttle.base.screen import PlainConsole, Screen
from pgshuttle.bench import (
    choice_cases,
    choice_report,
    choices,
    consistency,
    planning,
    planning_tables,
    routed,
    suites,
    transfer,
    writes,
)
from pgshuttle.bench.suite_data import TITLES, Suite
from pgshuttle.bench.tpcc import report as tpcc_report
from pgshuttle.bench.tpcc import run as tpcc_run
from pgshuttle.bench.tpcc.statements import Style
from pgshuttle.bench.tpcc.tables import Way
from pgshuttle.commands.measuring import Measure, make_command
from pgshuttle.commands.options import JsonOption, PgOption, ResultsOption

RoundsOption = Annotated[int, typer.Option("--rounds", min=1, help="Runs of each.")]
QueriesOption = Annotated[list[int] | None, typer.Argument(help="Only these queries.")]
ScaleOption = Annotated[float, typer.Option("--scale", min=0.001, help="1 is about a gigabyte.")]
RttOption = Annotated[float, typer.Option("--rtt", min=0, help="Round trip, in ms.")]
SeedOption = Annotated[
    int | None, typer.Option("--seed", help="Draws the queries' literals anew, by this seed.")
]
StockOption = Annotated[bool, typer.Option(help="Time stock postgres_fdw, too.")]
RttsOption = Annotated[
    list[float] | None, typer.Option("--rtt", help="Only with such a round trip, in ms.")
]
ALL = "all"

app = typer.Typer(
    help="Answers one question by measuring.", no_args_is_help=True, add_completion=False
)


@make_command(app, "choices", choice_report)
def prepare_choices(
    only: Annotated[
        list[str] | None, typer.Argument(help="Only joins whose label contains one of these.")
    ] = None,
    rtts_ms: RttsOption = None,
    scale: Annotated[
        float, typer.Option(min=0.00001, max=1, help="Of the tables' sizes; 1: to 1 million rows.")
    ] = 1.0,
) -> Measure:
    """Compares the planner's choice of a join with each way to join, forced."""
    cases = choice_cases.pick_cases(only or [], rtts_ms or [])
    if not cases:
        raise typer.BadParameter("no join has such a label, or such a round trip")
    return lambda cluster, on_step: choices.run_choices(cluster, cases, scale, on_step)


@make_command(app, "consistency", consistency, nnodes=consistency.NNODES)
def prepare_consistency(
    nrounds: RoundsOption = consistency.NROUNDS,
    seconds: Annotated[float, typer.Option(min=0.1, help="Of each round.")] = consistency.SECONDS,
) -> Measure:
    """Times reads over three nodes with each read consistency, while amounts are moved."""
    return lambda cluster, on_step: consistency.run_consistency(
        cluster, on_step, nrounds=nrounds, seconds=seconds
    )


@make_command(app, "planning", planning)
def prepare_planning(
    npartitions: Annotated[
        int, typer.Option("--partitions", min=2, help="Of each table.")
    ] = planning_tables.NPARTITIONS,
    nrounds: RoundsOption = planning.NROUNDS,
) -> Measure:
    """Times the planning of queries over many partitions, beside PostgreSQL without the library."""
    return lambda cluster, on_step: planning.run_planning(
        cluster, on_step, npartitions=npartitions, nrounds=nrounds
    )


@make_command(app, "routed", routed)
def prepare_routed(
    nrounds: RoundsOption = routed.NROUNDS,
    ncalls: Annotated[int, typer.Option("--calls", min=1, help="Of each round.")] = routed.NCALLS,
) -> Measure:
    """Counts the query node's processor time of statements by key: routed, and by hand."""
    return lambda cluster, on_step: routed.run_routed(
        cluster, on_step, nrounds=nrounds, ncalls=ncalls
    )


@make_command(app, "tpcc", tpcc_report, nnodes=tpcc_run.NNODES, has_figure=True)
def prepare_tpcc(
    nwarehouses: Annotated[int, typer.Option("--warehouses", min=1, help="Loaded.")] = 3,
    nclients: Annotated[int, typer.Option("--clients", min=1, help="Processes.")] = 4,
    seconds: Annotated[float, typer.Option(min=1, help="That are measured.")] = 45,
    ramp_s: Annotated[float, typer.Option("--ramp", min=0, help="Seconds before them.")] = 10,
    rtt_ms: Annotated[float, typer.Option("--rtt", min=0, help="Round trip, in ms.")] = 1,
    with_keying: Annotated[
        bool, typer.Option("--keying", help="Ten terminals a warehouse that key in and think.")
    ] = False,
    style: Annotated[Style, typer.Option("--as", help="What clients send.")] = Style.FUNCTIONS,
    relaxed: Annotated[
        bool, typer.Option("--relaxed", help="Ours with shuttle.strict_savepoints off.")
    ] = False,
    scale: Annotated[
        float, typer.Option(min=0.001, max=1, help="Of customers and items, for quick looks.")
    ] = 1,
    ways: Annotated[list[Way] | None, typer.Option("--way", help="Only this one.")] = None,
) -> Measure:
    """Runs TPC-C's transactions over three nodes: ours, stock postgres_fdw, one local server."""
    load = tpcc_report.Load(
        nwarehouses=nwarehouses,
        nclients=nclients,
        seconds=seconds,
        ramp_s=ramp_s,
        rtt_us=round(1000 * rtt_ms),
        with_keying=with_keying,
        style=style,
        relaxed=relaxed,
        scale=scale,
        ways=tuple(ways or Way),
    )
    return lambda cluster, on_step: tpcc_run.run_tpcc(cluster, load, on_step)


def add_suite(suite: Suite, nqueries: int) -> None:
    def prepare(
        queries: QueriesOption = None,
        scale: ScaleOption = suites.SCALE,
        rtt_ms: RttOption = suites.RTT_US / 1000,
        nrounds: RoundsOption = suites.NROUNDS,
        seed: SeedOption = None,
        with_stock: StockOption = True,
    ) -> Measure:
        rtt_us = round(1000 * rtt_ms)
        chosen = tuple(queries or ())
        options = suites.Options(suite, scale, rtt_us, nrounds, seed, chosen, with_stock)
        return lambda cluster, on_step: suites.run_suite(cluster, options, on_step)

    prepare.__doc__ = (
        f"Times the {nqueries} queries of {TITLES[suite]} over three nodes:"
        " ours, stock postgres_fdw, local tables."
    )
    make_command(app, suite, suites, nnodes=suites.NNODES, has_figure=True)(prepare)


add_suite(Suite.TPCDS, 99)
add_suite(Suite.TPCH, 22)


@make_command(app, "transfer", transfer)
def prepare_transfer(
    nrows: Annotated[int, typer.Option("--rows", min=1, help="Rows of the table.")] = 1_000_000,
    nrounds: RoundsOption = transfer.NROUNDS,
) -> Measure:
    """Times how fast many rows come: ours, stock postgres_fdw, COPY by psql."""
    return lambda cluster, on_step: transfer.run_transfer(cluster, nrows, nrounds, on_step)


@make_command(app, "writes", writes, nnodes=writes.NNODES)
def prepare_writes(nrounds: RoundsOption = writes.NROUNDS) -> Measure:
    """Times statements that write many rows, and pgbench's transactions: ours, stock, one node."""
    return lambda cluster, on_step: writes.run_writes(cluster, nrounds, on_step)


@app.command(ALL)
def run_all(
    ctx: typer.Context,
    pg: PgOption = None,
    results_dir: ResultsOption = Path("bench-results"),
    as_json: JsonOption = False,
) -> None:
    """Runs all benches, one after the other; one that fails does not stop the next."""
    screen: Screen = ctx.obj
    if as_json:
        ctx.obj = Screen(PlainConsole(quiet=True), screen.err)
    errors: dict[str, str] = {}
    documents: dict[str, object] = {}
    for command in app.registered_commands:
        name = str(command.name)
        if command.callback is None or name == ALL:
            continue
        screen.err.print(f"pgshuttle bench {name}")
        try:
            command.callback(ctx, pg=pg, results_dir=results_dir)
            if as_json:
                documents[name] = read_json(results_dir / f"{name}.json")
        except ToolError as error:
            screen.err.print(f"{name}: {error}", style="red")
            errors[name] = str(error)
    if as_json:
        typer.echo(json.dumps({"results": documents, "errors": errors}, indent=1))
    if errors:
        screen.err.print(f"failed: {', '.join(errors)}")
        raise typer.Exit(ExitCode.FAILED)
