"""A script of psql, cut where psql has sent all that it has read.

Each piece is one statement, or as many as begin and end on common lines, with the
data that COPY reads; a piece holds a whole \\if ... \\endif.
"""

import re
from dataclasses import dataclass

END_OF_DATA = "\\."
COPY_DATA = re.compile(
    r"(?:^|;)\s*\\?copy\b[^;]*\bfrom\s+(stdin|stdout|pstdin)\b", re.IGNORECASE | re.DOTALL
)
# What is no row of data: there is none behind a COPY that is meant to fail.
NO_DATA = re.compile(
    r"(--|copy|select|create|drop|alter|insert|begin|commit|rollback|\\[a-z]{2})", re.IGNORECASE
)
# Commands of psql that send what it has read, or forget it.
SENDS = {"g", "gx", "gset", "gexec", "gdesc", "crosstabview", "watch", "r", "reset"}
SENDS |= {"sendpipeline", "parse"}
BRANCHES = {"elif", "else", "endif"}
WHOLE_LINE = {"!", "copy", "ef", "ev", "h", "help", "sf", "sv", "w"}
# Of a command: they end at the next one.
ARGUMENTS = re.compile(r"""(?:'(?:[^'\\]|\\.)*'|"[^"]*"|`[^`]*`|[^\\])*""")
BACKSLASH = re.compile(r"\\(;|\\|[A-Za-z_]+|[?!])")
DOLLAR = re.compile(r"\$(?:[A-Za-z_\x80-\uffff][A-Za-z_0-9\x80-\uffff]*)?\$")
WORD = re.compile(r"[A-Za-z_\x80-\uffff][A-Za-z_0-9$\x80-\uffff]*")
ROUTINE = re.compile(
    r"^\s*create\s+(or\s+replace\s+)?(function|procedure)\b", re.IGNORECASE | re.DOTALL
)
BACKSLASHES_QUOTE = re.compile(
    r"standard_conforming_strings\s*(?:to|=)\s*'?(on|off)", re.IGNORECASE
)


@dataclass(frozen=True)
class Piece:
    """Lines that psql gets together; what they print is compared as a whole."""

    line: int  # the first one, from 1
    text: str


class Reader:
    """What psql knows at the end of each line that it has read."""

    def __init__(self) -> None:
        self.statement = ""  # that has begun
        self.quote = ""  # ', E, ", $tag$, or /* for each comment inside
        self.comments = 0
        self.parens = 0
        self.blocks = 0  # BEGIN ATOMIC and CASE inside
        self.branches: list[int] = []  # of \if, with the parentheses that were open
        self.backslashes_quote = False

    @property
    def is_between(self) -> bool:
        return not (self.statement.strip() or self.quote or self.comments or self.branches)

    def read(self, line: str) -> None:
        place = 0
        while place < len(line):
            place = (
                self._inside(line, place)
                if self.quote or self.comments
                else self._next(line, place)
            )
        if self.statement.strip() or self.quote:
            self.statement += "\n"

    def _inside(self, line: str, place: int) -> int:
        if self.comments:
            return self._comment(line, place)
        if self.quote.startswith("$"):
            end = line.find(self.quote, place)
            return self._leave(line, place, end, len(self.quote))
        if self.quote == "E":
            while place < len(line) and line[place] != "'":
                place += 2 if line[place] == "\\" else 1
            return self._leave(line, place, place if place < len(line) else -1, 1)
        return self._leave(line, place, line.find(self.quote, place), 1)

    def _leave(self, line: str, place: int, end: int, length: int) -> int:
        if end < 0:
            self.statement += line[place:]
            return len(line)
        self.statement += line[place : end + length]
        self.quote = ""
        return end + length

    def _comment(self, line: str, place: int) -> int:
        found = re.compile(r"/\*|\*/").search(line, place)
        if found is None:
            return len(line)
        self.comments += 1 if found[0] == "/*" else -1
        return found.end()

    def _next(self, line: str, place: int) -> int:
        two, one = line[place : place + 2], line[place]
        if two == "--":
            return len(line)
        if two == "/*":
            self.comments = 1
            return place + 2
        if one == "\\":
            return self._backslash(line, place)
        dollar = DOLLAR.match(line, place)
        if dollar is not None or one in "'\"":
            self._begin_quote(line, place, dollar[0] if dollar else one)
            return place + len(dollar[0] if dollar else one)
        word = WORD.match(line, place)
        if word is not None:
            self._word(word[0].lower())
            self.statement += word[0]
            return word.end()
        self._sign(one)
        return place + 1

    def _begin_quote(self, line: str, place: int, quote: str) -> None:
        escapes = self.backslashes_quote or re.search(r"(?:^|\W)[eE]$", line[:place])
        self.quote = "E" if quote == "'" and escapes else quote
        self.statement += quote

    def _word(self, word: str) -> None:
        if not ROUTINE.match(self.statement):
            return
        if self.blocks:
            self.blocks += {"begin": 1, "case": 1, "end": -1}.get(word, 0)
        elif word == "atomic":
            self.blocks = 1

    def _sign(self, sign: str) -> None:
        self.parens += {"(": 1, ")": -1}.get(sign, 0)
        self.parens = max(self.parens, 0)
        if sign == ";" and not self.parens and not self.blocks:
            self._sent()
        else:
            self.statement += sign

    def _sent(self) -> None:
        found = BACKSLASHES_QUOTE.search(self.statement)
        if found:
            self.backslashes_quote = found[1].lower() == "off"
        self.statement, self.parens, self.blocks = "", 0, 0

    def _backslash(self, line: str, place: int) -> int:
        found = BACKSLASH.match(line, place)
        if found is None or found[1] in ";\\":
            self.statement += " "
            return place + 2
        name = found[1]
        if name == "if":
            self.branches.append(self.parens)
        elif name in BRANCHES and self.branches:
            self.parens = self.branches[-1]  # a branch that is not taken counts for nothing
            if name == "endif":
                self.branches.pop()
        if name in SENDS:
            self._sent()
        arguments = None if name in WHOLE_LINE else ARGUMENTS.match(line, found.end())
        return arguments.end() if arguments else len(line)


def data_end(lines: list[str], place: int, certain: bool) -> int:
    """The place behind the rows that a COPY reads, which begin at place, if there are any.

    certain: psql's own command reads them even if the table does not exist.
    """
    for end in range(place, len(lines)):
        if lines[end] == END_OF_DATA:
            return end + 1
        if not certain and NO_DATA.match(lines[end]):
            break
    return place


def cut(text: str, ends_copy: bool = False) -> list[Piece]:
    """ends_copy: psql wants the end of data also of a COPY that has failed."""
    lines = text.splitlines()
    pieces = []
    reader = Reader()
    first = place = 0
    while place < len(lines):
        reader.read(lines[place])
        place += 1
        if not reader.is_between:
            continue
        ending = ""
        begun = "\n".join(line for line in lines[first:place] if not line.startswith("--"))
        for _ in COPY_DATA.findall(begun):
            end = data_end(lines, place, begun.lstrip().startswith("\\"))
            ending = f"\n{END_OF_DATA}" if ends_copy and end == place else ""
            place = end
        if begun.strip():
            pieces.append(Piece(first + 1, "\n".join(lines[first:place]) + ending))
        first = place
    if first < place:
        pieces.append(Piece(first + 1, "\n".join(lines[first:place])))
    return pieces
