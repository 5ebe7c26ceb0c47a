"""Headings of headers: what stands under one that names files is defined in them."""

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch

from lib.sourcecheck.cycles import defined_names
from lib.sourcecheck.source import Finding, Source

# A heading, or the declaration of a function or variable.
MARK = re.compile(
    r"^/\* ---- (?P<heading>.*?)\*/|^(?:pg_noreturn )?extern\b[^;]*?\b(?P<name>shuttle_\w+)",
    re.DOTALL | re.MULTILINE,
)
C_FILE = re.compile(r"[\w*]+\.c\b")


def check_headings(sources: Iterable[Source]) -> Iterator[Finding]:
    """A declaration is defined in a file of its heading, or its comment says where."""
    files = list(sources)
    owner = {
        name: source.path.name
        for source in files
        if source.path.suffix == ".c"
        for name in defined_names(source)
    }
    for source in files:
        named: list[str] = []
        for found in MARK.finditer(source.text if source.path.suffix == ".h" else ""):
            if found["heading"]:
                named = C_FILE.findall(found["heading"])
                continue
            defined = owner.get(found["name"], "")
            comment = source.text[source.text.rfind("\n\n", 0, found.start()) : found.start()]
            told = defined in comment or any(fnmatch(defined, pattern) for pattern in named)
            if named and not told:
                message = f"{found['name']} is defined in {defined}; its heading names others"
                yield Finding(source.path, source.line_at(found.start()), message)
