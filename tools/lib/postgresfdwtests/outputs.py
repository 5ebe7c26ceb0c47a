"""What psql printed for each statement of a test, and how two runs differ.

psql echoes the lines of its input. Both outputs are cut at these lines, so a
difference is always one of a statement, whatever happened before it.
"""

import difflib
import re
from dataclasses import dataclass

COPY_DATA = re.compile(r"\bfrom\s+stdin\b", re.IGNORECASE)
END_OF_DATA = "\\."
ROW_COUNT = re.compile(r"\(\d+ rows?\)")
CONTEXT_LINES = 3

Script = list[tuple[int, str]]


@dataclass(frozen=True)
class Difference:
    """One statement whose output is not what it is expected to be."""

    statement: str
    line: int  # of the input, where the statement ends; from 1
    expected: tuple[str, ...]
    result: tuple[str, ...]

    @property
    def is_order(self) -> bool:
        """The same lines in another order, as rows without ORDER BY may come."""
        return sorted(self.expected) == sorted(self.result)

    def text(self) -> str:
        lines = [f"@@ input line {self.line}", *(f"  {s}" for s in self.statement.splitlines())]
        for line in difflib.ndiff(self.expected, self.result, linejunk=None, charjunk=None):
            if line.startswith(("- ", "+ ")):
                lines.append(line)
        return "\n".join(lines)


def echoed_lines(script: str) -> Script:
    """The lines that psql echoes, with their numbers: no blank ones, no data of COPY."""
    lines = []
    in_data = False
    for number, line in enumerate(script.splitlines(), 1):
        if in_data:
            in_data = line != END_OF_DATA
            continue
        if line.strip():
            lines.append((number, line))
        in_data = COPY_DATA.search(line) is not None and not line.startswith("--")
    return lines


def step_lines(output: str) -> Script:
    """The lines of an isolation test's output that begin its steps."""
    lines = enumerate(output.splitlines(), 1)
    return [(number, line) for number, line in lines if line.startswith(("step ", "starting "))]


def without_plans(output: str) -> str:
    """Leaves out each plan, from its heading to the number of its lines."""
    lines = []
    in_plan = False
    for line in output.splitlines():
        if in_plan:
            in_plan = ROW_COUNT.fullmatch(line) is None
        elif line.strip() == "QUERY PLAN":
            in_plan = True
        else:
            lines.append(line)
    return "\n".join(lines)


def cut(script: Script, output: str) -> dict[int, list[str]]:
    """What was printed behind each echoed line, by the line's place in the script."""
    printed: dict[int, list[str]] = {}
    place = -1
    for line in output.splitlines():
        if place + 1 < len(script) and line == script[place + 1][1]:
            place += 1
        else:
            printed.setdefault(place, []).append(line)
    if place + 1 < len(script):
        printed.setdefault(place, []).append(f"(ended here, before: {script[place + 1][1]})")
    return printed


def ends_statement(line: str) -> bool:
    code = re.sub(r"--.*$", "", line).rstrip()
    return code.endswith(";") or line.startswith(("\\", "--"))


def statement_at(script: Script, place: int) -> str:
    """The lines of the statement that ends at a place."""
    first = max(place, 0)
    while first > 0 and not ends_statement(script[first - 1][1]):
        first -= 1
    return "\n".join(line for _, line in script[first : place + 1])


def compare(script: Script, expected: str, result: str) -> list[Difference]:
    wanted = cut(script, expected)
    printed = cut(script, result)
    found = []
    for place in sorted(wanted.keys() | printed.keys()):
        one, other = wanted.get(place, []), printed.get(place, [])
        if one != other:
            line = script[place][0] if place >= 0 else 0
            statement = statement_at(script, place)
            found.append(Difference(statement, line, tuple(one), tuple(other)))
    return found


def count_hunks(expected: str, result: str) -> int:
    """As diff -U3 counts them: what lies close together is one."""
    lines = difflib.unified_diff(
        expected.splitlines(), result.splitlines(), n=CONTEXT_LINES, lineterm=""
    )
    return sum(line.startswith("@@ ") for line in lines)
