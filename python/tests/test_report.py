"""The report: what is in it, and how a browser shows it."""

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import synthetic
import synthetic_choices
from test_cpu import make_cpu
from test_grid import make_grid
from test_look import PLAN
from test_plan_times import make_planning
from test_scans import make_scans
from test_star import make_star
from test_tpch import make_tpch
from test_transfer import make_transfer
from test_writes import make_writes
from typer.testing import CliRunner

from pgshuttle import (
    bench_cli,
    choice_report,
    cli,
    cpu_report,
    grid_report,
    plan_report,
    report,
    results,
    scans_report,
    star_report,
    tpch_report,
    transfer_report,
    writes_report,
)
from pgshuttle.errors import ExitCode, ToolError

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
BROWSER_TIMEOUT_S = 240
OF_BENCHES = tuple(command.name or "" for command in bench_cli.app.registered_commands)
DRAWN = ("demo-quick", *(name for name in OF_BENCHES if name != "all"))
PHONE_WIDTH = 390  # CSS pixels

# Shows the report in a frame as wide as a phone, and writes down what it finds there.
HARNESS = """<!DOCTYPE html><html><body><script>
const frame = document.createElement('iframe');
frame.width = %d; frame.height = 800;
frame.srcdoc = new TextDecoder().decode(Uint8Array.from(atob('%s'), c => c.charCodeAt(0)));
frame.onload = () => {
  const page = frame.contentDocument;
  const images = [...page.images];
  document.body.append(JSON.stringify({
    width: page.documentElement.scrollWidth,
    images: images.length,
    narrow: images.filter(image => image.width < 600).length,
    loaded: images.filter(image => image.complete && image.naturalWidth > 100).length,
    sections: page.querySelectorAll('section').length,
    bars: page.querySelectorAll('.bar i').length,
  }) + ' END');
};
document.body.append(frame);
</script></body></html>"""


@pytest.fixture
def folder(work_dir: Path) -> Path:
    """Results of each kind, and a plan."""
    results.save_results(synthetic.make_results(factor=3.0), work_dir / "demo-quick.json")
    choice_report.save_choices(synthetic_choices.make_choices(), work_dir / "choices.json")
    cpu_report.save_cpu(make_cpu(), work_dir / "cpu.json")
    plan_report.save_planning(make_planning(), work_dir / "planning.json")
    star_report.save_star(make_star(), work_dir / "star.json")
    transfer_report.save_transfer(make_transfer(), work_dir / "transfer.json")
    writes_report.save_writes(make_writes(), work_dir / "writes.json")
    grid_report.save_grid(make_grid("sweep"), work_dir / "sweep.json")
    grid_report.save_grid(make_grid("hops"), work_dir / "hops.json")
    scans_report.save_scans(make_scans(), work_dir / "scans.json")
    tpch_report.save_tpch(make_tpch(), work_dir / "tpch.json")
    (work_dir / "plan.json").write_text(json.dumps([PLAN]))
    return work_dir


def write_report(folder: Path) -> str:
    page = folder / "report.html"
    done = CliRunner().invoke(cli.app, ["report", str(folder), "--output", str(page)])
    assert done.exit_code == ExitCode.OK, done.output
    return page.read_text()


def test_report_has_everything_and_loads_nothing(folder: Path) -> None:
    page = write_report(folder)
    assert page.count("<section>") == len(DRAWN) + 1
    assert page.count("data:image/png;base64,") == len(DRAWN)
    assert "MISSED" in page
    assert "Foreign Scan &lt;b&gt;" in page
    assert not re.search(r'(?:src|href)="(?!data:)', page)


@pytest.mark.parametrize("name", DRAWN)
def test_each_file_says_on_what_it_was_measured(folder: Path, name: str) -> None:
    text = (folder / f"{name}.json").read_text()
    whole = json.loads(text)
    for part in ("units", "machine", "server", "settings"):
        assert part in whole, part
    assert "samples" in text


def test_report_says_as_json_what_it_wrote(folder: Path) -> None:
    page = folder / "report.html"
    words = ["report", str(folder / "cpu.json"), "--output", str(page), "--json"]
    done = CliRunner().invoke(cli.app, words)
    assert json.loads(done.stdout) == {
        "results": [str(folder / "cpu.json")],
        "page": str(page),
    }


def test_plot_draws_each_kind(folder: Path) -> None:
    for name in DRAWN:
        figure = folder / f"{name}.svg"
        done = CliRunner().invoke(cli.app, ["plot", str(folder / f"{name}.json"), str(figure)])
        assert done.exit_code == ExitCode.OK, done.output
        assert figure.stat().st_size > 1000


def test_other_files_are_refused(work_dir: Path) -> None:
    with pytest.raises(ToolError, match="no results"):
        report.write_report([], work_dir / "report.html")
    other = work_dir / "other.json"
    other.write_text("{}")
    with pytest.raises(ToolError, match="neither"):
        report.write_report([other], work_dir / "report.html")
    done = CliRunner().invoke(cli.app, ["plot", str(other)])
    assert done.exit_code == ExitCode.FAILED


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_a_browser_shows_it_on_a_phone(folder: Path) -> None:
    data = base64.b64encode(write_report(folder).encode()).decode()
    harness = folder / "harness.html"
    harness.write_text(HARNESS % (PHONE_WIDTH, data))
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += ["--disable-dev-shm-usage", "--enable-logging=stderr", "--v=0"]
    command += [f"--user-data-dir={folder / 'profile'}", "--host-resolver-rules=MAP * ~NOTFOUND"]
    command += ["--virtual-time-budget=10000", harness.as_uri()]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=BROWSER_TIMEOUT_S, check=True
    )
    assert "CONSOLE" not in done.stderr, done.stderr
    match = re.search(r"(\{[^{}]*\}) END", done.stdout)
    assert match, done.stdout[-500:]
    found = json.loads(match[1])
    assert found["width"] <= PHONE_WIDTH
    assert found["narrow"] == 0  # a figure keeps its size and scrolls by itself
    assert found["images"] == found["loaded"] == len(DRAWN)
    assert found["sections"] == len(DRAWN) + 1
    assert found["bars"] == 4  # three times, and requests of one node
