"""The commands pgshuttle bench ...: measurements that answer one question each."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from pgshuttle import (
    choice_cases,
    choice_plot,
    choice_report,
    choices,
    plan_report,
    plan_tables,
    plan_times,
    scans,
    scans_report,
    scans_tables,
    star,
    star_report,
    star_tables,
    tpch,
    tpch_report,
    transfer,
    transfer_report,
    writes,
    writes_report,
)
from pgshuttle.bench_place import (
    CheckOption,
    DirOption,
    KeepOption,
    PgOption,
    Report,
    ResultsOption,
    RttsOption,
    find_place,
    finish,
    run_cluster,
)
from pgshuttle.errors import ExitCode
from pgshuttle.look_cli import JsonOption

RoundsOption = Annotated[int, typer.Option("--rounds", min=1, help="Runs of each.")]

app = typer.Typer(
    help="Answers one question by measuring.", no_args_is_help=True, add_completion=False
)


@app.command("choices")
def run_choices(
    ctx: typer.Context,
    only: Annotated[
        list[str] | None, typer.Argument(help="Only joins whose label contains one of these.")
    ] = None,
    rtts_ms: RttsOption = None,
    scale: Annotated[
        float, typer.Option(min=0.00001, max=1, help="Of the tables' sizes; 1: to 1 million rows.")
    ] = 1.0,
    directory: DirOption = None,
    pg: PgOption = None,
    results_dir: ResultsOption = Path("bench-results"),
    keep: KeepOption = False,
    check: CheckOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compares the planner's choice of a join with each way to join, forced."""
    err: Console = ctx.obj.err
    place = find_place(directory, pg, results_dir, keep=keep)
    cases = choice_cases.pick_cases(only or [], rtts_ms or [])
    if not cases:
        raise typer.BadParameter("no join has such a label, or such a round trip")
    with err.status("starting") as progress, run_cluster(place, progress) as running:

        def on_case(ndone: int, nall: int, label: str) -> None:
            progress.update(f"{ndone} of {nall}: {label}")

        found = choices.run_choices(running, cases, scale, on_case)
    tables = [
        choice_report.make_choices_table(found),
        choice_report.make_misses_table(found.cases),
    ]
    report = Report(choice_report.save_choices, choice_plot.draw_choices, tables)
    finish(ctx.obj, place, "choices", found, report, as_json=as_json)
    if check and not choice_report.is_kept(found):
        raise typer.Exit(ExitCode.CLAIM_FAILED)


@app.command("planning")
def run_planning(
    ctx: typer.Context,
    npartitions: Annotated[
        int, typer.Option("--partitions", min=2, help="Of each table.")
    ] = plan_tables.NPARTITIONS,
    nrounds: RoundsOption = plan_times.NROUNDS,
    directory: DirOption = None,
    pg: PgOption = None,
    results_dir: ResultsOption = Path("bench-results"),
    keep: KeepOption = False,
    check: CheckOption = False,
    as_json: JsonOption = False,
) -> None:
    """Times the planning of queries over many partitions, beside PostgreSQL without the library."""
    err: Console = ctx.obj.err
    place = find_place(directory, pg, results_dir, keep=keep)
    with err.status("starting") as progress, run_cluster(place, progress) as running:
        found = plan_times.run_planning(
            running, progress.update, npartitions=npartitions, nrounds=nrounds
        )
    report = Report(
        plan_report.save_planning,
        plan_report.draw_planning,
        [plan_report.make_planning_table(found)],
    )
    finish(ctx.obj, place, "planning", found, report, as_json=as_json)
    if check and not plan_report.is_kept(found):
        raise typer.Exit(ExitCode.CLAIM_FAILED)


@app.command("scans")
def run_scans(
    ctx: typer.Context,
    norders: Annotated[
        int, typer.Option("--orders", min=4, help="Orders, of four lines each.")
    ] = scans_tables.NORDERS,
    nrounds: RoundsOption = scans.NROUNDS,
    rtts_ms: RttsOption = None,
    directory: DirOption = None,
    pg: PgOption = None,
    results_dir: ResultsOption = Path("bench-results"),
    keep: KeepOption = False,
    check: CheckOption = False,
    as_json: JsonOption = False,
) -> None:
    """Times queries over four nodes, beside the nodes' own statements run at once by hand."""
    err: Console = ctx.obj.err
    place = find_place(directory, pg, results_dir, keep=keep, nnodes=scans.NNODES)
    rtts_us = [round(1000 * rtt_ms) for rtt_ms in rtts_ms or []] or scans.RTTS_US
    with err.status("starting") as progress, run_cluster(place, progress) as running:
        found = scans.run_scans(running, norders, nrounds, rtts_us, progress.update)
    report = Report(
        scans_report.save_scans, scans_report.draw_scans, [scans_report.make_scans_table(found)]
    )
    finish(ctx.obj, place, "scans", found, report, as_json=as_json)
    if check and not scans_report.is_kept(found):
        raise typer.Exit(ExitCode.CLAIM_FAILED)


@app.command("star")
def run_star(
    ctx: typer.Context,
    nrows: Annotated[int, typer.Option("--rows", min=20_000, help="Of a dimension.")] = star.NROWS,
    dimensions: Annotated[
        list[int] | None,
        typer.Option("--dimensions", min=1, max=star_tables.NDIMENSIONS, help="Default: 1 to 4."),
    ] = None,
    ncold: Annotated[int, typer.Option("--cold", min=1, help="Cold runs a plan.")] = star.NCOLD,
    ncached: Annotated[int, typer.Option("--cached", min=1, help="Cached runs.")] = star.NCACHED,
    directory: DirOption = None,
    pg: PgOption = None,
    results_dir: ResultsOption = Path("bench-results"),
    keep: KeepOption = False,
    check: CheckOption = False,
    as_json: JsonOption = False,
) -> None:
    """Times nested loops over local indexes with and without looking ahead, cold and cached."""
    err: Console = ctx.obj.err
    place = find_place(directory, pg, results_dir, keep=keep)
    options = star.Options(
        nrows=nrows,
        nsampled=min(star_tables.SAMPLED_ROWS, nrows // star_tables.LEAST_ROWS_A_SAMPLE),
        dimensions=tuple(sorted(set(dimensions or range(1, star_tables.NDIMENSIONS + 1)))),
        ncold=ncold,
        ncached=ncached,
    )
    with err.status("starting") as progress, run_cluster(place, progress) as running:
        found = star.run_star(running, options, progress.update)
    tables = [star_report.make_disk_table(found), star_report.make_star_table(found)]
    report = Report(star_report.save_star, star_report.draw_star, tables)
    finish(ctx.obj, place, "star", found, report, as_json=as_json)
    if check and not star_report.is_kept(found):
        raise typer.Exit(ExitCode.CLAIM_FAILED)


@app.command("tpch")
def run_tpch(
    ctx: typer.Context,
    norders: Annotated[
        int, typer.Option("--orders", min=4, help="Orders, of four lines each.")
    ] = scans_tables.NORDERS,
    nrounds: RoundsOption = tpch.NROUNDS,
    directory: DirOption = None,
    pg: PgOption = None,
    results_dir: ResultsOption = Path("bench-results"),
    keep: KeepOption = False,
    as_json: JsonOption = False,
) -> None:
    """Times nine queries of TPC-H over four nodes: ours, stock postgres_fdw, local tables."""
    err: Console = ctx.obj.err
    place = find_place(directory, pg, results_dir, keep=keep, nnodes=scans.NNODES)
    with err.status("starting") as progress, run_cluster(place, progress) as running:
        found = tpch.run_tpch(running, norders, nrounds, progress.update)
    report = Report(
        tpch_report.save_tpch, tpch_report.draw_tpch, [tpch_report.make_tpch_table(found)]
    )
    finish(ctx.obj, place, "tpch", found, report, as_json=as_json)


@app.command("transfer")
def run_transfer(
    ctx: typer.Context,
    nrows: Annotated[int, typer.Option("--rows", min=1, help="Rows of the table.")] = 1_000_000,
    nrounds: RoundsOption = transfer.NROUNDS,
    directory: DirOption = None,
    pg: PgOption = None,
    results_dir: ResultsOption = Path("bench-results"),
    keep: KeepOption = False,
    check: CheckOption = False,
    as_json: JsonOption = False,
) -> None:
    """Times how fast many rows come: ours, stock postgres_fdw, COPY by psql."""
    err: Console = ctx.obj.err
    place = find_place(directory, pg, results_dir, keep=keep)
    with err.status("starting") as progress, run_cluster(place, progress) as running:
        found = transfer.run_transfer(running, nrows, nrounds, progress.update)
    report = Report(
        transfer_report.save_transfer,
        transfer_report.draw_transfer,
        [transfer_report.make_transfer_table(found)],
    )
    finish(ctx.obj, place, "transfer", found, report, as_json=as_json)
    if check and not transfer_report.is_kept(found):
        raise typer.Exit(ExitCode.CLAIM_FAILED)


@app.command("writes")
def run_writes(
    ctx: typer.Context,
    nrounds: RoundsOption = writes.NROUNDS,
    directory: DirOption = None,
    pg: PgOption = None,
    results_dir: ResultsOption = Path("bench-results"),
    keep: KeepOption = False,
    check: CheckOption = False,
    as_json: JsonOption = False,
) -> None:
    """Times statements that write many rows, and pgbench's transactions: ours, stock, one node."""
    err: Console = ctx.obj.err
    place = find_place(directory, pg, results_dir, keep=keep, nnodes=writes.NNODES)
    with err.status("starting") as progress, run_cluster(place, progress) as running:
        found = writes.run_writes(running, nrounds, progress.update)
    report = Report(
        writes_report.save_writes,
        writes_report.draw_writes,
        [writes_report.make_writes_table(found)],
    )
    finish(ctx.obj, place, "writes", found, report, as_json=as_json)
    if check and not writes_report.is_kept(found):
        raise typer.Exit(ExitCode.CLAIM_FAILED)


def add_to(parent: Any) -> None:  # noqa: ANN401  (typer's class is not generic)
    """Adds these commands to the tool's."""
    parent.add_typer(app, name="bench")
