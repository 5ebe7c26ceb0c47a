"""A file includes the header of each name that differs between the servers.

Without it most names would not compile, but some would be taken otherwise: a
macro that is tested by #ifdef, or a server's name that we define anew.
"""

import re
from collections.abc import Iterator

from lib.sourcecheck.c_rules import INCLUDE, is_compat_header
from lib.sourcecheck.source import Finding, Source

DEFINED = re.compile(
    r"^#define (\w+)|^(\w+)\(|^\} (\w+);|^typedef [\w ]*?\b(\w+);|^extern .*?(\w+)\(",
    re.MULTILINE,
)
WORD = re.compile(r"\b[A-Za-z_]\w*")


def check_compat(sources: list[Source]) -> Iterator[Finding]:
    """Each use of a name of base/shuttle_compat*.h, against the includes of its file."""
    headers = {
        name: source.path.relative_to("src").as_posix()
        for source in sources
        if is_compat_header(source.path)
        for name in defined_names(source)
    }
    for source in sources:
        if is_compat_header(source.path):
            continue
        included = set(INCLUDE.findall(source.text))
        for line, found in source.matches(WORD):
            header = headers.get(found.group())
            if header is not None and header not in included:
                included.add(header)
                message = f'{found.group()} differs between servers; include "{header}"'
                yield Finding(source.path, line, message)


def defined_names(source: Source) -> Iterator[str]:
    for found in DEFINED.finditer(source.code):
        yield next(name for name in found.groups() if name)
