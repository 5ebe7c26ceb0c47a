"""Reading of source files, so that rules see code and comments apart."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

COMMENT_OR_STRING = re.compile(
    r"""/\*.*?\*/ | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'""",
    re.DOTALL | re.VERBOSE,
)
FUNCTION_NAME = re.compile(r"^(\w+)\(")


@dataclass(frozen=True)
class Finding:
    """One thing that a rule dislikes. A warning does not fail the check."""

    path: Path
    line: int
    message: str
    warning: bool = False

    def __str__(self) -> str:
        word = "warning: " if self.warning else ""
        return f"{self.path}:{self.line}: {word}{self.message}"


@dataclass(frozen=True)
class Function:
    """A function of C or Python and its length in lines, signature included."""

    path: Path
    name: str
    line: int
    nlines: int


@dataclass(frozen=True)
class Source:
    """A C source file, by its path below the root of the tree."""

    path: Path
    text: str

    @cached_property
    def code(self) -> str:
        """The text with comments and string contents blanked, line for line."""
        return COMMENT_OR_STRING.sub(lambda found: blank(found.group()), self.text)

    @property
    def room(self) -> str | None:
        """The folder below src, or None for the files directly in src."""
        parts = self.path.parts
        return parts[1] if len(parts) > len(("src", "file")) else None

    def line_at(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def matches(self, pattern: re.Pattern[str]) -> Iterator[tuple[int, re.Match[str]]]:
        """Every match in the code, with its line number."""
        for found in pattern.finditer(self.code):
            yield self.line_at(found.start()), found

    def functions(self) -> Iterator[Function]:
        """Functions as pgindent leaves them: name and braces in column one."""
        lines = self.code.splitlines()
        start = 0
        name = ""
        for number, line in enumerate(lines, 1):
            found = FUNCTION_NAME.match(line)
            if found:
                start, name = number, found.group(1)
            elif line.startswith("}") and name:
                yield Function(self.path, name, start, number - start + 1)
                name = ""
            elif line.rstrip().endswith(";") and line[:1] not in "\t {":
                name = ""


def blank(text: str) -> str:
    """Keeps the quotes of strings and all line ends."""
    if text[0] in "\"'":
        return text[0] + " " * (len(text) - 2) + text[-1]
    return re.sub(r"[^\n]", " ", text)


def closing_parenthesis(code: str, opening: int) -> int:
    """Offset behind the parenthesis that closes the one at opening."""
    depth = 0
    for offset in range(opening, len(code)):
        if code[offset] == "(":
            depth += 1
        elif code[offset] == ")":
            depth -= 1
            if depth == 0:
                return offset + 1
    return len(code)
