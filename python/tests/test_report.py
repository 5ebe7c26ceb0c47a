"""The report: what is in it, and how a browser shows it."""

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import synthetic
from test_bench_cli import MADE, save_all
from test_look import PLAN
from typer.testing import CliRunner

from pgshuttle import cli, report, results
from pgshuttle.errors import ExitCode, ToolError

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
BROWSER_TIMEOUT_S = 240
DRAWN = ("demo-quick", *MADE)
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
    save_all(work_dir)
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
    words = ["report", str(folder / "star.json"), "--output", str(page), "--json"]
    done = CliRunner().invoke(cli.app, words)
    assert json.loads(done.stdout) == {
        "results": [str(folder / "star.json")],
        "page": str(page),
    }


def test_plot_draws_each_kind(folder: Path) -> None:
    for name in DRAWN:
        figure = folder / f"{name}.svg"
        done = CliRunner().invoke(cli.app, ["plot", str(folder / f"{name}.json"), str(figure)])
        assert done.exit_code == ExitCode.OK, done.output
        assert figure.stat().st_size > 1000


@pytest.mark.parametrize("name", DRAWN)
def test_files_without_results_are_told(folder: Path, name: str) -> None:
    path = folder / f"{name}.json"
    emptied = {
        key: [] if isinstance(value, list) else value
        for key, value in json.loads(path.read_text()).items()
    }
    path.write_text(json.dumps(emptied))
    done = CliRunner().invoke(cli.app, ["plot", str(path)])
    assert done.exit_code == ExitCode.FAILED, done.output
    assert "is damaged" in done.output


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
