"""The page of the demo: what was missed stands first, and nothing is loaded."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from synthetic import make_results

from pgshuttle.bench.results import save_run
from pgshuttle.commands import demo as demo_commands
from pgshuttle.demo import results as demo_results
from pgshuttle.demo.results import Results


def write(found: Results, directory: Path) -> str:
    path = directory / "demo-quick.json"
    save_run(found, demo_results.HEAD, path)
    page = demo_commands.write_page(found, path)
    assert path.with_suffix(".png").exists()
    return page.read_text(encoding="utf-8")


def test_it_has_all_parts_and_loads_nothing(tmp_path: Path) -> None:
    found = make_results()
    page = write(found, tmp_path)
    nmeasured = sum(claim.ok is not None for claim in found.claims)
    assert f"All {nmeasured} claims held." in page
    assert "<script" not in page
    assert not re.search(r'(?:src|href)="(?!data:)', page)
    assert page.count("<table>") >= 4


@pytest.mark.parametrize("log", ["<b>PANIC</b>"])
def test_what_was_missed_stands_before_the_figure(tmp_path: Path, log: str) -> None:
    found = make_results()
    worst = replace(found.claims[0], measured=9e9, ok=False)
    page = write(replace(found, claims=(worst, *found.claims[1:]), complaints=(log,)), tmp_path)
    assert "claims were missed" in page
    assert page.index("MISSED") < page.index("<img")
    assert log not in page
    assert page.index("&lt;b&gt;PANIC") < page.index("<img")
