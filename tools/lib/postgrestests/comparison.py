"""How what a statement gave over nodes differs from what it gave alone.

Rows may come in any order, as far as no ORDER BY says in which; plans are another matter.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from lib.postgresfdwtests.outputs import ROW_COUNT, Difference, without_plans
from lib.postgrestests.runs import Step

RULE_BELOW_NAMES = re.compile(r"-+(\+-+)*")
# These tell where a new table is.
STAYS_HERE = re.compile(r'NOTICE:  table ".*" stays on this server: ')
OWN_NOTICE = re.compile(
    r'NOTICE:  (table ".*" stays on this server: |\d+ rows? of ".*" (is|are) on )'
)
FIELD = re.compile(r"(DETAIL|HINT):  ")
DIRECTION = re.compile(
    r"\s+(asc|desc|nulls\s+(first|last)|using\s+\S+|collate\s+\S+)\s*$", re.IGNORECASE
)
NOT_CODE = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'", re.DOTALL)
BEHIND_ORDER = re.compile(
    r"\b(limit|offset|fetch|for\s+(?:no\s+key\s+)?(?:update|share|key))\b|;", re.IGNORECASE
)
EXPLAINS = re.compile(r"\bexplain|QUERY PLAN", re.IGNORECASE)


def leaves_table_here(lines: Sequence[str]) -> bool:
    return any(STAYS_HERE.match(line) for line in lines)


def without_own_notices(lines: Sequence[str]) -> list[str]:
    kept = []
    in_notice = False
    for line in lines:
        in_notice = OWN_NOTICE.match(line) is not None or (
            in_notice and FIELD.match(line) is not None
        )
        if not in_notice:
            kept.append(line)
    return kept


def differ(step: Step) -> Difference | None:
    """What is not as it should be, if anything."""
    expected = list(step.alone.lines)
    result = without_own_notices(step.distributed.lines)
    if is_same(step.piece.text, expected, result):
        return None
    return Difference(step.piece.text.strip("\n"), step.piece.line, tuple(expected), tuple(result))


def is_same(statement: str, expected: list[str], result: list[str]) -> bool:
    if expected == result:
        return True
    if EXPLAINS.search(statement):
        expected, result = (without_plans("\n".join(x)).splitlines() for x in (expected, result))
        if expected == result:
            return True
    if sorted(expected) != sorted(result):
        return False
    keys = order_keys(statement)
    return all(key_values(expected, key) == key_values(result, key) for key in keys)


def order_keys(statement: str) -> list[str]:
    """What the rows are ordered by: of the last ORDER BY that is in no parentheses."""
    code = NOT_CODE.sub(lambda found: "''" if found[0].startswith("'") else " ", statement)
    flat = outside_parentheses(code)
    places = [found.end() for found in re.finditer(r"\border\s+by\b", flat, re.IGNORECASE)]
    if not places:
        return []
    behind = BEHIND_ORDER.search(flat, places[-1])
    end = behind.start() if behind else len(flat)
    return [clean_key(key) for key in split(code, flat, places[-1], end)]


def outside_parentheses(code: str) -> str:
    """The same text, with blanks for all that is inside."""
    depth = 0
    kept = []
    for sign in code:
        depth -= sign == ")" and depth > 0
        kept.append(" " if depth else sign)
        depth += sign == "("
    return "".join(kept)


def split(code: str, flat: str, start: int, end: int) -> list[str]:
    commas = [place for place in range(start, end) if flat[place] == ","]
    bounds = [start - 1, *commas, end]
    return [code[one + 1 : other] for one, other in pairwise(bounds)]


def clean_key(key: str) -> str:
    key = key.strip()
    while found := DIRECTION.search(key):
        key = key[: found.start()]
    return key.strip()


def key_values(lines: list[str], key: str) -> list[str]:
    """The values of one key in their order; whole rows where it is no column of them."""
    names = next((n for n, line in enumerate(lines) if RULE_BELOW_NAMES.fullmatch(line)), 0) - 1
    if names < 0:
        return lines
    columns = [name.strip() for name in lines[names].split("|")]
    name = key.rpartition(".")[2].strip('"').lower()
    if key.isdigit() and int(key) <= len(columns):
        place = int(key) - 1
    elif columns.count(name) == 1:
        place = columns.index(name)
    else:
        return lines
    return [value_at(line, place) for line in lines[names + 2 :] if not ROW_COUNT.fullmatch(line)]


def value_at(line: str, place: int) -> str:
    values = line.split("|")
    return values[place].strip() if place < len(values) else line
