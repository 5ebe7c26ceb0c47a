"""Sizes of Python and of committed files, and files of tests."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from lib.sourcecheck.source import Finding

MOST_MODULE_LINES = 300
MOST_FUNCTION_LINES = 40
MOST_BYTES = 500_000

VARIANT = re.compile(r"^(.+)(_\d)\.out$")
# Tests that compare with postgres_fdw.
OTHER_FIRST_WORDS = {"postgres"}

# Where a path is set to pg_catalog. Without pg_temp, temporary relations and types come before it.
PATH_SET = re.compile(r"""search_path['"]?\s*(?:=|,|\bTO\b)[\s"'(]*pg_catalog\b(?!\.|, pg_temp)""")


def check_search_paths(path: Path, text: str) -> Iterator[Finding]:
    for match in PATH_SET.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield Finding(path, line, "a search_path of pg_catalog ends with pg_temp")


def check_python(path: Path, text: str) -> Iterator[Finding]:
    nlines = text.count("\n")
    if nlines > MOST_MODULE_LINES:
        yield Finding(path, 1, f"{nlines} lines; no module has over {MOST_MODULE_LINES}")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            length = node.end_lineno - node.lineno + 1
            if length > MOST_FUNCTION_LINES:
                message = f"{node.name}() has {length} lines, over {MOST_FUNCTION_LINES}"
                yield Finding(path, node.lineno, message)


def check_committed_sizes(root: Path) -> Iterator[Finding]:
    """No core dump or archive is committed by mistake. Without git nothing is checked."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=False)
    for name in filter(None, listed.stdout.decode().split("\0")):
        path = root / name
        size = path.lstat().st_size if path.exists() else 0
        if size > MOST_BYTES:
            message = f"{size} bytes; no committed file has over {MOST_BYTES}"
            yield Finding(Path(name), 1, message)


def check_tests(root: Path) -> Iterator[Finding]:
    """Each test has its expected output, and each output its test."""
    test = root / "test"
    scripts = {path.stem: path for kind in ("sql", "specs") for path in (test / kind).glob("*.s*")}
    for name in {p.stem for p in (test / "sql").glob("*.sql")} & {
        p.stem for p in (test / "specs").glob("*.spec")
    }:
        message = f'"{name}" is also a regression test; both would use one expected file'
        yield Finding(Path(f"test/specs/{name}.spec"), 1, message)
    for name, script in sorted(scripts.items()):
        if not (test / "expected" / f"{name}.out").exists():
            message = "no expected output; run: tools/run_tests --accept " + name
            yield Finding(script.relative_to(root), 1, message)
    for output in sorted((test / "expected").glob("*.out")):
        yield from check_output(root, output, scripts)


def check_test_names(root: Path) -> Iterator[Finding]:
    """A test's first word is a room or a sub-room, whose tests so stand together."""
    folders = {path.name for path in (root / "src").glob("**/") if path != root / "src"}
    words = {folder.split("_")[0] for folder in folders} | OTHER_FIRST_WORDS
    for kind in ("sql/*.sql", "specs/*.spec", "t/*.pl"):
        for path in sorted((root / "test").glob(kind)):
            if path.stem.split("_")[0] not in words:
                message = "the first word of its name is no folder of src"
                yield Finding(path.relative_to(root), 1, message)


def check_output(root: Path, output: Path, scripts: dict[str, Path]) -> Iterator[Finding]:
    where = output.relative_to(root)
    if output.stem in scripts:
        return
    variant = VARIANT.match(output.name)
    if variant is None or variant.group(1) not in scripts:
        yield Finding(where, 1, "no test has this expected output")
        return
    script = scripts[variant.group(1)]
    if f"{variant.group(2)}.out" not in script.read_text():
        message = f"{script.name} does not say why there is a {variant.group(2)}.out"
        yield Finding(where, 1, message)
