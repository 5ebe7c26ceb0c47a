"""The order of the packages of pgshuttle, by the names that their modules import."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lib.sourcecheck.source import Finding

ROOT_PACKAGE = "pgshuttle"
# The topmost first. A package within another one has a place of its own; what is not named
# here, and no part of a package that is, has none.
PACKAGES = """
__main__ commands console demo bench.tpcc bench doctor.check doctor.read doctor look ha cluster
base __init__
"""
LADDER = PACKAGES.split()
MOST_FOLDER_FILES = 24

# What tests are about that are of no package: pages of docs/, and what ships beside the tool.
OTHER_FIRST_WORDS = {"applications", "documented", "monitoring", "runbook", "settings", "start"}


def step_of(name: str) -> str | None:
    """The place on the ladder of a module or of something in it: pgshuttle.bench.measure.TIMES."""
    words = name.split(".")[1:] or ["__init__"]
    for nwords in range(len(words), 0, -1):
        step = ".".join(words[:nwords])
        if step in LADDER:
            return step
    return None


def name_module(path: Path) -> str:
    """The name of a module, or of the package whose __init__.py it is."""
    words = path.with_suffix("").parts
    name = ".".join(words[words.index(ROOT_PACKAGE) :])
    return name.removesuffix(".__init__")


def imported_names(module: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yields line and full name of what a module imports, or names in a string to import it."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, one.name) for one in names)
            case ast.ImportFrom(module=source, names=names, level=level):
                above = module.split(".")[:-level] if level else []
                place = ".".join([*above, *filter(None, [source])])
                yield from ((node.lineno, f"{place}.{one.name}") for one in names)
            case ast.Constant(value=str(text)) if " " not in text:
                yield node.lineno, text


def check_packages(root: Path) -> Iterator[Finding]:
    """Modules have their places, and import nothing from above."""
    paths = sorted((root / "python" / ROOT_PACKAGE).rglob("*.py"))
    for path in paths:
        module = name_module(path)
        step = step_of(module)
        if step is None:
            message = f"{module} has no place on the ladder of packages"
            yield Finding(path.relative_to(root), 1, message)
            continue
        for line, name in imported_names(module, ast.parse(path.read_text())):
            if is_above(name, step):
                message = f"{name} is above {step} on the ladder of packages"
                yield Finding(path.relative_to(root), line, message)
    for folder, nfiles in sorted(Counter(path.parent for path in paths).items()):
        if nfiles > MOST_FOLDER_FILES:
            message = f"{nfiles} modules; no package has over {MOST_FOLDER_FILES}"
            yield Finding(folder.relative_to(root), 1, message)


def is_above(name: str, step: str) -> bool:
    other = step_of(name) if name.startswith(f"{ROOT_PACKAGE}.") else None
    return other is not None and LADDER.index(other) < LADDER.index(step)


def check_python_test_names(root: Path) -> Iterator[Finding]:
    """A test's first word is a package, or names what else it is about."""
    words = {step.split(".")[0] for step in LADDER} | OTHER_FIRST_WORDS
    for path in sorted((root / "python/tests").glob("test_*.py")):
        if path.stem.split("_")[1] not in words:
            message = "the first word of its name is no package of pgshuttle"
            yield Finding(path.relative_to(root), 1, message)
