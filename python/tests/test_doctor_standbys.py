"""What pgshuttle doctor says of standbys that are query nodes."""

import pytest

from pgshuttle.doctor.check.standbys import check_standby
from pgshuttle.doctor.facts import StandbyFacts
from pgshuttle.doctor.findings import Level


@pytest.mark.parametrize(
    ("standby", "is_here", "word"),
    [
        (StandbyFacts("q2", is_connected=False), False, "forget_query_node('q2')"),
        (StandbyFacts("q2", is_connected=False), True, "does not write"),
        (StandbyFacts("q2", is_paused=True), True, "pg_wal_replay_resume()"),
        (StandbyFacts("q2", lag_seconds=6, lease_seconds=10), False, "q2 is 6 s late"),
        (StandbyFacts("q2", has_feedback=False), True, "hot_standby_feedback"),
    ],
)
def test_bad(standby: StandbyFacts, is_here: bool, word: str) -> None:
    (found,) = check_standby(standby, is_here=is_here)
    assert found.level is Level.WARNING
    assert word in f"{found.text} {found.advice}"


def test_good() -> None:
    assert not list(
        check_standby(StandbyFacts("q2", lag_seconds=2, lease_seconds=10), is_here=True)
    )
