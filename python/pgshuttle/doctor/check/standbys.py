"""The checks of standbys that are query nodes."""

from collections.abc import Iterator

from pgshuttle.doctor.facts import Facts, StandbyFacts
from pgshuttle.doctor.findings import Finding, warning

LATE_SHARE = 0.5  # of the lease: a bit more, and it does not write


def check_standby(standby: StandbyFacts, *, is_here: bool) -> Iterator[Finding]:
    if not standby.is_connected:
        yield warning(
            f"{standby.name} is not connected: each change of definitions waits for its lease"
            if not is_here
            else f"{standby.name} receives no WAL from the primary server, and does not write",
            "Start it; or, on the primary server, if it does not come back: "
            f"SELECT shuttle.forget_query_node('{standby.name}');",
        )
    if standby.is_paused:
        yield warning(
            f"{standby.name} does not replay: changes of definitions fail, then its writes",
            "SELECT pg_wal_replay_resume(); if nobody has paused it, a limit such as "
            "max_connections is below the primary server's: see the log.",
        )
    elif standby.is_connected and standby.lag_seconds > LATE_SHARE * standby.lease_seconds > 0:
        yield warning(
            f"{standby.name} is {standby.lag_seconds:.0f} s late; "
            f"its lease is {standby.lease_seconds:.0f} s",
            "See whether a long statement there holds up replay, and max_standby_streaming_delay.",
        )
    if not standby.has_feedback:
        yield warning(
            "hot_standby_feedback is off: cleanup on the primary server cancels long statements",
            "ALTER SYSTEM SET hot_standby_feedback = on; SELECT pg_reload_conf();",
        )


def check_standbys(facts: Facts) -> Iterator[Finding]:
    """Do standbys that are query nodes follow closely enough to write?"""
    for standby in facts.standbys:
        yield from check_standby(standby, is_here=facts.is_standby)
