"""The tables of the demo: those of its join, of the trips, and of its claims."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rich.table import Table

from pgshuttle.base.printing import format_count, format_factor, format_ms, make_part_table
from pgshuttle.demo import published_figures
from pgshuttle.demo.claims import Claim
from pgshuttle.demo.join_points import (
    BATCH_SIZES,
    REQUEST_LIMITS,
    RTTS_US,
    Case,
    Contender,
    Outer,
    Planner,
    Point,
    PointResult,
)
from pgshuttle.demo.real_data import TripsResult

SAMPLED = "~"


def format_result(result: PointResult | None) -> str:
    if result is None:
        return "-"
    timing = result.timing
    spread = (timing.quartile_3_ms - timing.quartile_1_ms) / 2 / timing.median_ms
    text = (SAMPLED if result.is_sampled else "") + format_ms(result.estimated_ms)
    return f"{text} ±{100 * spread:.0f}%" if len(timing.samples_ms) > 1 else text


def name_joins(result: PointResult | None) -> str:
    return ", ".join(result.facts.joins) if result and result.facts else "-"


def name_contender(point: Point) -> str:
    """Says who executes a point of the join, to someone who knows neither."""
    match point.contender, point.planner:
        case Contender.ENGINE, Planner.FORCED:
            return "pg_shuttle, batched join"
        case Contender.ENGINE, Planner.DEFAULT:
            return "pg_shuttle, planner's choice"
    return str(point.contender)


def make_headline_table(results: Sequence[PointResult]) -> Table:
    """The story in a few rows."""
    table = make_part_table("RTT, who", "plan", "time", "as long", "round trips waited for")
    table.title = "1. 2000 rows on one server joined with 2000 rows on another"
    ours_ms = {
        result.point.rtt_us: result.estimated_ms
        for result in results
        if name_contender(result.point) == "pg_shuttle, batched join"
    }
    for result in results:
        point = result.point
        round_trips = format_count(result.round_trips)
        if result.is_sampled:
            round_trips += f" for {result.outer_rows} rows"
        unit_ms = ours_ms.get(point.rtt_us)
        factor = None if unit_ms is None else result.estimated_ms / unit_ms
        table.add_row(
            f"{point.rtt_us / 1000:g} ms, {name_contender(point)}",
            name_joins(result),
            format_result(result),
            format_factor(factor),
            round_trips,
        )
    table.caption = (
        "The batched join reads the outer side, then asks for all keys: 2 dependent round trips.\n"
        f"{SAMPLED} estimated from fewer outer rows."
    )
    return table


def make_sweep_table(results: Sequence[PointResult], outer: Outer) -> Table:
    """The sweep over batch size and request limit, a column for each delay."""
    by_point = {result.point: result for result in results}
    table = Table("batch size", "request limit", "batches", "requests")
    for rtt_us in RTTS_US:
        table.add_column(f"RTT {rtt_us / 1000:g} ms", justify="right")
    table.add_column("published (see below)", justify="right")
    table.title = f"batched join, {outer} outer side"
    for size in BATCH_SIZES:
        for limit in REQUEST_LIMITS:
            row = [
                by_point.get(
                    Point(Case.JOIN, Contender.ENGINE, outer, rtt, Planner.FORCED, size, limit)
                )
                for rtt in RTTS_US
            ]
            facts = row[0].facts if row[0] else None
            table.add_row(
                str(size),
                str(limit),
                format_count(facts.batches if facts else None),
                format_count(facts.inner_requests if facts else None),
                *(format_result(result) for result in row),
                format_ms(published_figures.ONE_NODE_MS.get((size, limit))),
            )
    table.caption = (
        f"{SAMPLED} estimated from fewer outer rows; ± half the distance of the quartiles. "
        f"Published, RTT 0: {published_figures.SOURCE}."
    )
    return table


def find_round_trips(by_rtt: Mapping[int, PointResult]) -> float | None:
    """Returns the round trips at the longest delay at which all rows were measured."""
    whole = {rtt_us: result for rtt_us, result in by_rtt.items() if not result.is_sampled}
    return whole[max(whole)].round_trips if whole else None


def make_others_table(results: Sequence[PointResult]) -> Table:
    """Everything that is no part of the sweep, a column for each delay."""
    rows: dict[Point, dict[int, PointResult]] = {}
    for result in results:
        point = result.point
        is_engine_join = point.contender is Contender.ENGINE and point.case is Case.JOIN
        if not (is_engine_join and point.planner is Planner.FORCED):
            rows.setdefault(replace(point, rtt_us=0), {})[point.rtt_us] = result
    table = Table("case", "who", "plan")
    for rtt_us in RTTS_US:
        table.add_column(f"RTT {rtt_us / 1000:g} ms", justify="right")
    table.add_column("round trips waited for", justify="right")
    table.title = "the others, and the planner's own choice"
    for point, by_rtt in rows.items():
        who = str(point.contender)
        if point.contender in (Contender.ENGINE, Contender.GUEST) and point.batch_size:
            who += f", batch {point.batch_size}, {point.planner}"
        outer = "" if point.outer is Outer.NONE else f", {point.outer} outer"
        table.add_row(
            f"{point.case}{outer}",
            who,
            " / ".join(sorted({name_joins(result) for result in by_rtt.values()})),
            *(format_result(by_rtt.get(rtt_us)) for rtt_us in RTTS_US),
            format_count(find_round_trips(by_rtt)),
        )
    return table


def make_trips_table(trips: TripsResult) -> Table:
    table = Table("how", "time", "round trips waited for", "read requests", "received", "plan")
    table.title = (
        f"who travelled where: {trips.ntrips} trips here, {trips.ncities} cities on one server, "
        f"{trips.ncountries} countries on another, RTT {trips.rtt_us / 1000:g} ms"
    )
    for run in trips.runs:
        table.add_row(
            run.name,
            format_ms(run.timing.median_ms),
            format_count(run.round_trips),
            format_count(run.requests),
            f"{run.received_bytes / 1000:.0f} kB",
            ", ".join(run.facts.joins),
        )
    rows = "; ".join(
        f"traveller {traveller} to {city}, {country} in {year}"
        for _, traveller, year, city, country in trips.first_rows
    )
    same = "All ways gave the same rows" if trips.same_rows else "THE ANSWERS DIFFER"
    table.caption = f"{same}: {rows}; ..."
    return table


def add_claims_row(table: Table, name: str, members: Sequence[Claim]) -> None:
    worst = max(members, key=lambda claim: claim.part or 0.0)
    nkept = sum(claim.ok is True for claim in members)
    table.add_row(
        name,
        worst.detail if name == worst.family else f"{worst.family}; {worst.detail}",
        f"{worst.measured:.4g} {worst.unit}",
        f"{worst.bound:.4g}",
        f"{'ok' if nkept == len(members) else 'MISSED'} ({nkept} of {len(members)})",
        worst.note,
    )


def make_claims_table(claims: Sequence[Claim]) -> Table:
    """The claims that were measured: a row for each family that missed one, and one for the rest.

    The family that is furthest over its bound comes first.
    """
    families: dict[str, list[Claim]] = {}
    for claim in claims:
        if claim.part is not None:
            families.setdefault(claim.family, []).append(claim)
    table = Table("claim", "the closest", "measured", "at most", "verdict", "plan")
    table.title = "claims"
    missed = {name for name, members in families.items() if not all(one.ok for one in members)}
    for name in sorted(
        missed, key=lambda name: max(one.part or 0.0 for one in families[name]), reverse=True
    ):
        add_claims_row(table, name, families[name])
    kept = [claim for claim in claims if claim.part is not None and claim.family not in missed]
    if kept:
        add_claims_row(table, "all others" if missed else "all", kept)
    return table
