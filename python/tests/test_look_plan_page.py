"""The page of a plan in a browser: as narrow as a phone, and in both colour schemes."""

import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from synthetic import make_node

from pgshuttle.look import plan_page

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
TIMEOUT_S = 240
PHONE_WIDTH = 390  # CSS pixels
SCHEMES = {"dark": 0, "light": 1}  # what chromium calls them
LEAST_CONTRAST = 4.5  # of text, by WCAG 2
PLACE = "database shop of /home/somebody/.cache/pg_shuttle/clusters/default/sockets, port 5432"
SCAN = make_node("Foreign Scan", relation_name="an_ordinary_name", storage_read_requests=2)
DETAIL = {"Remote SQL": "SELECT id, name FROM public.an_ordinary_name WHERE ((id = ANY ($1)))"}
PLAN = {"Plan": make_node("Nested Loop", SCAN | DETAIL), "Planning Time": 0.5}
# A frame as wide as a phone shows the page, and says its width and its colours.
HARNESS = """<!DOCTYPE html><html><body><script>
const frame = document.createElement('iframe');
frame.width = %d; frame.height = 800; frame.src = 'page.html';
frame.onload = () => setTimeout(() => {
  const page = frame.contentDocument;
  const colours = ['body', '.faint', 'pre'].map(name => {
    const style = frame.contentWindow.getComputedStyle(page.querySelector(name));
    return style.color + ' on ' + style.backgroundColor;
  });
  const width = page.documentElement.scrollWidth;
  document.body.append('FOUND ' + width + ' ' + colours.join('; ') + ' END');
}, 300);
document.body.append(frame);
</script></body></html>"""


def luminance(colour: str) -> float:
    """The relative luminance of rgb(r, g, b), by WCAG 2."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(text: str, ground: str) -> float:
    low, high = sorted((luminance(text), luminance(ground)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_phone_shows_it(tmp_path: Path, scheme: str) -> None:
    origin = plan_page.Origin("SELECT 1", datetime(2030, 1, 2, tzinfo=UTC), PLACE)
    (tmp_path / "page.html").write_text(plan_page.write_page(origin, PLAN, {}))
    harness = tmp_path / "harness.html"
    harness.write_text(HARNESS % PHONE_WIDTH)
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += ["--disable-dev-shm-usage", "--allow-file-access-from-files"]
    command += ["--virtual-time-budget=20000", f"--user-data-dir={tmp_path}/browser"]
    command += [f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}", harness.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    found = re.search(r"FOUND (\d+) (.*) END", done.stdout)
    assert found, done.stdout[-500:]
    assert int(found[1]) <= PHONE_WIDTH
    body, faint, box = (pair.split(" on ") for pair in found[2].split("; "))
    assert (luminance(body[1]) < 0.5) == (scheme == "dark")
    for text, ground in (body, (faint[0], body[1]), box):
        assert contrast(text, ground) >= LEAST_CONTRAST
