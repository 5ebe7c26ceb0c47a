"""The site of docs/ is built without a warning, and its pages need nothing that is not there."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
BROWSER_TIMEOUT_S = 240
PHONE_WIDTH = 390  # CSS pixels
FEWEST_LINKS = 500  # of all pages
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


class Page(HTMLParser):
    """What a page links to, what it loads by itself, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value for name, value in attrs if value is not None}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link" and found.get("rel") in (
            "stylesheet",
            "icon",
            "preload",
            "modulepreload",
        ):
            self.loads.append(found["href"])
        elif "src" in found:
            self.loads.append(found["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built anew. A warning ends the build: mkdocs.yml says "strict"."""
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(target)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return target


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """All pages of the site but the one for what is not found."""
    found = (path for path in site.rglob("*.html") if path.name != "404.html")
    return {path: Page(path.read_text()) for path in found}


def find_broken(pages: dict[Path, Page]) -> Iterator[str]:
    """Links that lead nowhere, and what is loaded and not there."""
    for path, page in pages.items():
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            anchor = unquote(parts.fragment)
            if not target.is_file():
                yield f"{path.name}: {link}: there is no such file"
            elif anchor and target in pages and anchor not in pages[target].anchors:
                yield f"{path.name}: {link}: there is no such place"


def test_every_page_is_built(site: Path, pages: dict[Path, Page]) -> None:
    docs = ROOT / "docs"
    wanted = {str(path.relative_to(docs).with_suffix("")) for path in docs.rglob("*.md")}
    assert {str(path.relative_to(site).with_suffix("")) for path in pages} == wanted


def test_links_of_the_site_lead_somewhere(pages: dict[Path, Page]) -> None:
    assert list(find_broken(pages)) == []
    assert sum(len(page.links) for page in pages.values()) > FEWEST_LINKS


def test_a_broken_link_would_be_found(site: Path) -> None:
    page = site / "index.html"
    text = '<p id="here"></p><a href="#here"></a><a href="#there"></a><a href="none.html"></a>'
    found = [broken.split(": ")[1] for broken in find_broken({page: Page(text)})]
    assert found == ["#there", "none.html"]


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    elsewhere = [load for page in pages.values() for load in page.loads if urlsplit(load).netloc]
    assert elsewhere == []
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
