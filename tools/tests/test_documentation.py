"""Links of the documentation lead somewhere, and each room has its page."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SQL = ROOT / "sql/pg_shuttle.sql"
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [*ROOT.glob("*.md"), *DOCS]
LONGEST_ROOM = 120  # lines
LINK = re.compile(r"\[[^][]*(?:\[[^][]*\][^][]*)*\]\(\s*([^()\s]+)\s*\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)


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


def test_each_file_is_named_in_a_header_of_its_folder_or_a_room() -> None:
    pages = [page.read_text() for page in (ROOT / "docs/rooms").glob("*.md")]
    for folder in (path for path in (ROOT / "src").rglob("*") if path.is_dir()):
        text = "\n".join([*pages, *(header.read_text() for header in folder.glob("*.h"))])
        files = {path.name for path in folder.glob("*.c")} - {"hooks.c"}
        assert files - set(re.findall(r"\w+\.c\b", text)) == set(), folder


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
    assert {"README.md", "start.md"} <= set(found)


def test_links_are_found() -> None:
    readme = list(links_of(ROOT / "README.md"))
    assert "docs/images/demo.png" in readme
    assert "who-is-on-a-node" in anchors_of(ROOT / "docs/servers.md")
