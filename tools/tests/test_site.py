"""The site of docs/ is built without a warning, and its pages need nothing that is not there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
BROWSER_TIMEOUT_S = 240
PHONE_WIDTH = 390  # CSS pixels
LOADED_LINK = r"^<link .*rel=[\"']?(?:stylesheet|icon|preload|modulepreload)\b"
# A frame as wide as a phone shows a page of the site, and says what it finds there.
HARNESS = """<!DOCTYPE html><html><body><script>
const frame = document.createElement('iframe');
frame.width = %d; frame.height = 800; frame.src = '%s';
frame.onload = () => setTimeout(() => {
  const page = frame.contentDocument;
  const images = [...page.querySelectorAll('article img')];
  document.body.append('FOUND ' + page.documentElement.scrollWidth + ' ' + images.length + ' '
    + images.filter(image => image.naturalWidth > 100).length + ' END');
}, 3000);
document.body.append(frame);
</script></body></html>"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built anew. Warnings, of broken links too, end the build: see mkdocs.yml."""
    target = tmp_path_factory.mktemp("site")
    # not with --quiet, which does not count warnings
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(target)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return target


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = [path.read_text() for path in site.rglob("*.html")]
    tags = [tag for page in pages for tag in re.findall(r"<[^>]*>", page)]
    loads = [tag for tag in tags if " src=" in tag or re.search(LOADED_LINK, tag)]
    assert loads
    assert not [tag for tag in loads if re.search(r"(?:src|href)=[\"']?(?:https?:)?//", tag)]
    sheets = [path.read_text() for path in site.rglob("*.css")]
    assert sheets
    assert not any(re.search(r"(?:url\(|@import) *[\"']?(?:https?:)?//", text) for text in sheets)


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize("name", ["index.html", "architecture.html", "settings.html"])
def test_a_phone_shows_it(site: Path, tmp_path: Path, name: str) -> None:
    """No wider than the phone, all pictures there, and not a word in the console."""
    harness = site / "harness.html"
    harness.write_text(HARNESS % (PHONE_WIDTH, name))
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += ["--disable-dev-shm-usage", "--enable-logging=stderr", "--v=0"]
    command += ["--allow-file-access-from-files", "--virtual-time-budget=20000"]
    command += [f"--user-data-dir={tmp_path}", "--host-resolver-rules=MAP * ~NOTFOUND"]
    done = subprocess.run(
        [*command, harness.as_uri()],
        capture_output=True,
        text=True,
        timeout=BROWSER_TIMEOUT_S,
        check=True,
    )
    harness.unlink()
    assert "CONSOLE" not in done.stderr, done.stderr
    found = re.search(r"FOUND (\d+) (\d+) (\d+) END", done.stdout)
    assert found, done.stdout[-500:]
    width, nimages, nloaded = map(int, found.groups())
    assert width <= PHONE_WIDTH
    assert nimages == nloaded
