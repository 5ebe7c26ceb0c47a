"""docs/settings.md against pg_settings of a server that runs: names, defaults, ranges, units."""

import re
from pathlib import Path

from conftest import run_on, small_cluster

from pgshuttle.cluster.state import Cluster

PAGE = Path(__file__).resolve().parents[2] / "docs/settings.md"
ROW = re.compile(
    r"^\| `(?P<name>shuttle\.\w+)` \| `(?P<default>[^`]+)` \| (?P<range>[^|]*)\|", re.MULTILINE
)
UNITS = {
    "kB": {"kB": 1, "MB": 1024, "GB": 1024**2},
    "ms": {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000},
    "s": {"s": 1, "min": 60, "h": 3600, "d": 86_400},
}


running = small_cluster(1)


def read_value(text: str, unit: str | None) -> str:
    """A value as pg_settings has it: 1MB of a setting in kB is 1024; quotes are left out."""
    found = re.fullmatch(r"(\d+) ?([A-Za-z]*)", text.strip())
    if found is None or not found[2]:
        return text.strip().strip("'")
    assert unit is not None, f"{text}: the setting has no unit"
    return str(int(found[1]) * UNITS[unit][found[2]])


def read_range(text: str, unit: str | None) -> tuple[str, str | None]:
    """The bounds that a row tells; no upper one where it says "and up"."""
    if "and up" in text:
        return read_value(text.replace("and up", ""), unit), None
    low, _, high = text.partition(" to ")
    return read_value(low, unit), read_value(high, unit)


def test_settings_are_those_of_the_server(running: Cluster) -> None:
    rows = {row["name"]: row for row in ROW.finditer(PAGE.read_text())}
    found = run_on(
        running.query,
        "SELECT name, boot_val, min_val, max_val, unit, vartype FROM pg_settings"
        " WHERE name LIKE 'shuttle.%'",
    )
    assert {name for name, *_ in found} == set(rows)
    for name, boot, low, high, unit, kind in found:
        row = rows[name]
        assert read_value(row["default"], unit) == boot, name
        if kind == "integer":
            told_low, told_high = read_range(row["range"], unit)
            assert told_low == low, name
            assert told_high in (None, high), name
        else:
            assert row["range"].strip() == "", name
