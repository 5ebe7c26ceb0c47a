"""Links of the documentation lead somewhere, each room has its page, each mechanism its row."""

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import filter as matching
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SQL = ROOT / "sql/pg_shuttle.sql"
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [*ROOT.glob("*.md"), *DOCS]
LONGEST_ROOM = 120  # lines
LINK = re.compile(r"\[[^][]*(?:\[[^][]*\][^][]*)*\]\(\s*([^()\s]+)\s*\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)
ROOMS_OF_MECHANISMS = ("planner", "executor")
FEWEST_REASON_WORDS = 3
NAMED_PATH = re.compile(r"`((?:\.?[\w<>-]+/)+[\w.<>*-]*|[\w<>*]+\.(?:c|h|md|pl|py|sql|toml))`")
# made by what CONTRIBUTING tells of, or PostgreSQL's
NOT_OF_THE_TREE = {"build/test_times.json", "postgres.h", "site/"}
KINDS_OF_TESTS = {".sql", ".spec", ".pl"}


@dataclass(frozen=True)
class Mechanism:
    """A row of docs/mechanisms.md."""

    sub_room: str
    name: str
    sentence: str
    files: str
    switch: str
    tests: str
    gain: str


def mechanisms() -> Iterator[Mechanism]:
    for section in (ROOT / "docs/mechanisms.md").read_text().split("\n## ")[1:]:
        heading, _, text = section.partition("\n")
        for table in re.findall(r"^\| mechanism .*\n\| --- .*\n((?:\|.*\n)+)", text, re.MULTILINE):
            for line in table.splitlines():
                yield Mechanism(heading, *(cell.strip() for cell in line.strip("| ").split(" | ")))


def files_of(mechanism: Mechanism) -> Iterator[str]:
    """Its files, by their paths below src; a name without a folder is in the sub-room."""
    for name in re.findall(r"`([\w/]+\.c)`", mechanism.files):
        folders = [ROOT / "src" / room / mechanism.sub_room for room in ROOMS_OF_MECHANISMS]
        found = [path for folder in folders for path in folder.rglob(name)]
        paths = [] if "/" in name else [path.relative_to(ROOT / "src") for path in found]
        yield from (path.as_posix() for path in paths or [Path(name)])


def text_of(page: Path) -> str:
    """A page without its blocks of code."""
    return FENCE.sub("", page.read_text())


def anchors_of(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and mkdocs make them."""
    found = set()
    for heading in HEADING.findall(text_of(page)):
        words = re.sub(r"[^\w\s-]", "", heading.replace("`", "")).strip().lower()
        found.add(re.sub(r"\s+", "-", words))
    return found


def links_of(page: Path) -> Iterator[str]:
    """The links of a page that stay in the tree."""
    for link in LINK.findall(text_of(page)):
        if not re.match(r"[a-z]+:", link):
            yield link


def test_links_lead_somewhere() -> None:
    broken = []
    for page in PAGES:
        for link in links_of(page):
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            if not target.exists():
                broken.append(f"{page.name}: {link}: there is no such file")
            elif anchor and anchor not in anchors_of(target):
                broken.append(f"{page.name}: {link}: there is no such heading")
    assert broken == []


def test_the_readme_reaches_every_page() -> None:
    reached = {Path(link.partition("#")[0]).name for link in links_of(ROOT / "README.md")}
    missing = {page.name for page in ROOT.glob("docs/*.md")} - reached - {"index.md"}
    assert missing == set()


def test_each_room_has_a_page_that_names_its_sub_rooms() -> None:
    rooms = {path.name: path for path in (ROOT / "src").iterdir() if path.is_dir()}
    linked = {link for link in links_of(ROOT / "docs/architecture.md") if link.startswith("rooms/")}
    assert linked == {f"rooms/{name}.md" for name in rooms}
    for name, room in rooms.items():
        page = (ROOT / f"docs/rooms/{name}.md").read_text()
        assert len(page.splitlines()) <= LONGEST_ROOM, name
        listed = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
        assert {path.name for path in room.iterdir() if path.is_dir()} - listed == set()


def test_files_that_rooms_name_exist() -> None:
    files = {path.name for path in (ROOT / "src").rglob("*.[ch]")}
    for page in (ROOT / "docs/rooms").glob("*.md"):
        named = set(re.findall(r"`(\w+\.[ch])`", page.read_text()))
        assert named - files == set(), page.name


def test_files_that_contributing_names_exist() -> None:
    """A path may leave out what its paragraph is about; <name> stands for anything."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, check=True)
    files = [f"/{name}" for name in listed.stdout.decode().splitlines()]
    named = set(NAMED_PATH.findall(text_of(ROOT / "CONTRIBUTING.md"))) - NOT_OF_THE_TREE
    missing = []
    for name in sorted(named):
        pattern = f"*/{re.sub('<[^>]*>', '*', name).rstrip('/')}"
        if not matching(files, pattern) and not matching(files, f"{pattern}/*"):
            missing.append(name)
    assert missing == []


def test_each_file_is_named_in_a_header_of_its_folder_or_a_room() -> None:
    pages = [page.read_text() for page in (ROOT / "docs/rooms").glob("*.md")]
    for folder in (path for path in (ROOT / "src").rglob("*") if path.is_dir()):
        text = "\n".join([*pages, *(header.read_text() for header in folder.glob("*.h"))])
        files = {path.name for path in folder.glob("*.c")} - {"hooks.c"}
        assert files - set(re.findall(r"\w+\.c\b", text)) == set(), folder


def test_each_file_of_planner_and_executor_is_in_one_row_of_mechanisms() -> None:
    files = Counter(file for mechanism in mechanisms() for file in files_of(mechanism))
    paths = [path for room in ROOMS_OF_MECHANISMS for path in (ROOT / "src" / room).rglob("*.c")]
    there = Counter(
        path.relative_to(ROOT / "src").as_posix() for path in paths if path.name != "hooks.c"
    )
    assert files == there


def test_each_mechanism_has_tests_and_a_switch_or_a_reason() -> None:
    tests = [path.stem for path in (ROOT / "test").glob("*/*") if path.suffix in KINDS_OF_TESTS]
    table = (ROOT / "docs/settings.md").read_text()
    settings = set(re.findall(r"^\| `(shuttle\.\w+)` ", table, re.MULTILINE))
    pages = (ROOT / "docs/servers.md").read_text() + (ROOT / "docs/operations.md").read_text()
    for mechanism in mechanisms():
        named = re.findall(r"`([\w*]+)`", mechanism.tests)
        assert named and all(matching(tests, name) for name in named), mechanism
        switches = set(re.findall(r"`(shuttle\.\w+)`", mechanism.switch))
        option = re.match(r"option `(\w+)`", mechanism.switch)
        reason = re.match(r"none[^:]*: (.*)", mechanism.switch)
        assert switches <= settings, mechanism
        assert (
            switches
            or (option and f"`{option[1]}`" in pages)
            or (reason and len(reason[1].split()) >= FEWEST_REASON_WORDS)
        ), mechanism
        assert mechanism.gain, mechanism


def test_the_review_names_files_that_tell_join_types_apart() -> None:
    compared = re.compile(r"([=!]= JOIN_|case JOIN_)[A-Z]")
    found = {
        path.name for path in (ROOT / "src").glob("*/*/*.[ch]") if compared.search(path.read_text())
    }
    review = (ROOT / "docs/rooms/base.md").read_text()
    row = next(line for line in review.splitlines() if line.endswith("| the join types |"))
    assert found - set(re.findall(r"(\w+\.[ch])`", row)) == set()


def test_functions_that_not_everybody_may_call_are_told() -> None:
    revoked = re.findall(r"^REVOKE ALL ON FUNCTION (.*?) FROM PUBLIC;", SQL.read_text(), re.M)
    names = set(re.findall(r"shuttle\.(\w+)\(", " ".join(revoked)))
    assert "run_on_nodes" in names
    told = set(re.findall(r"`(?:shuttle\.)?(\w+)\(\)`", (ROOT / "docs/upgrades.md").read_text()))
    assert names - told == set()


def test_lines_that_preload_show_how_to_keep_what_is_there() -> None:
    """ALTER SYSTEM replaces the whole list, so that SHOW and an example stand above it."""
    found = []
    for page in PAGES:
        for block in FENCE.findall(page.read_text()):
            for line in re.findall(r"ALTER SYSTEM SET (\w+_preload_libraries) = .*", block):
                shown = rf"SHOW {line};.* set it to '\w+', 'pg_shuttle'\nALTER SYSTEM SET {line} "
                assert re.search(shown, block), f"{page.name}: {block}"
                found.append(page.name)
    assert "start.md" in found


def test_links_are_found() -> None:
    readme = list(links_of(ROOT / "README.md"))
    assert "docs/images/demo.png" in readme
    assert "who-is-on-a-node" in anchors_of(ROOT / "docs/servers.md")
