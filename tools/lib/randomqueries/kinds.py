"""The columns that every table has, and the values in them."""

import datetime
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from lib.randomqueries.dice import Dice

FIRST_DAY = datetime.date(2024, 2, 27)
ODD_TEXTS = (
    "",
    " ",
    "a",
    "A",
    "ab",
    "AB",
    "aB ",
    "NULL",
    "'",
    "''",
    '"',
    "\\",
    "\\x41",
    "$1",
    "{a,b}",
    "(1,2)",
    "%",
    "_",
    "line\nbreak",
    "tab\there",
    "comma,comma",
    "\u00e4\u00d6\u00df",
    "e\u0301",
    "\u00e9",
    "\U0001f680",
    "name 1 ",
    "NAME 2",
    "$$;--",
    "/* */",
    "x" * 300,
)


@dataclass(frozen=True)
class Kind:
    """The type of a column, and what it can be used for."""

    type: str
    family: str
    exact: bool = True  # equal values look the same


KINDS = {
    "id": Kind("int", "int"),
    "k": Kind("int", "int"),
    "m": Kind("int", "int"),
    "s": Kind("smallint", "int"),
    "g": Kind("bigint", "int"),
    "n": Kind("numeric", "number", exact=False),
    "f": Kind("float8", "real", exact=False),
    "t": Kind("text", "text"),
    "v": Kind("varchar(12)", "text"),
    "c": Kind("char(4)", "text", exact=False),
    "w": Kind("text COLLATE own.folded", "folded", exact=False),
    "d": Kind("date", "date"),
    "z": Kind("timestamptz", "time"),
    "o": Kind("bool", "bool"),
    "u": Kind("uuid", "uuid"),
    "e": Kind("own.mood", "mood"),
    "a": Kind("int[]", "array"),
    "y": Kind("bytea", "bytes"),
    "j": Kind("jsonb", "json", exact=False),
    "l": Kind("own.numbers", "numbers"),
    "p": Kind("own.spot", "spot"),
    "h": Kind("interval", "span", exact=False),
}


def integer(dice: Dice, domain: int) -> str:
    return str(dice.between(0, domain - 1))


def number(dice: Dice, domain: int) -> str:
    return integer(dice, domain) + dice.weighted(
        [(4, ""), (3, ".0"), (3, ".00"), (2, ".5"), (1, ".50")]
    )


def real(dice: Dice, domain: int) -> str:
    odd = dice.pick(("0", "-0", "NaN", "Infinity", "-Infinity", "1e-300"))
    whole = integer(dice, domain)
    return dice.weighted([(1, odd), (3, whole), (1, whole + ".5"), (1, "-" + whole)])


def words(dice: Dice, domain: int) -> str:
    chosen = dice.between(0, domain - 1)
    if chosen < len(ODD_TEXTS):
        return ODD_TEXTS[chosen]
    return f"name {chosen}"


def day(dice: Dice, domain: int) -> str:
    return str(FIRST_DAY + datetime.timedelta(days=dice.between(0, domain - 1)))


def moment(dice: Dice, domain: int) -> str:
    """Around a change of clocks, and by two offsets for one moment."""
    hour = dice.between(0, domain - 1)
    start = datetime.datetime(2024, 3, 30, 20, tzinfo=datetime.UTC)
    when = start + datetime.timedelta(minutes=30 * hour)
    offset = datetime.timezone(datetime.timedelta(minutes=dice.pick((0, 330))))
    return when.astimezone(offset).isoformat()


def array(dice: Dice, domain: int) -> str:
    members = [integer(dice, domain) for _ in range(dice.between(0, 3))]
    if dice.chance(0.2):
        members.append("NULL")
    return "{" + ",".join(members) + "}"


def json(dice: Dice, domain: int) -> str:
    number = integer(dice, domain)
    return dice.pick(
        ("{}", "[]", "1", "1.0", f'{{"a": {number}}}', '{"b": null}', f'[{number}, "b", null]')
    )


def spot(dice: Dice, domain: int) -> str:
    """A composite value, which may have NULLs."""
    return f'({dice.pick(("", integer(dice, domain)))},{dice.pick(("a b", "", "c"))},"{{1,2}}")'


def span(dice: Dice, domain: int) -> str:
    number = integer(dice, domain)
    return dice.pick((f"{number} hours", f"-{number} days 4:05:06.7", f"{number} mons 1 day"))


VALUES: dict[str, Callable[[Dice, int], str]] = {
    "k": integer,
    "m": lambda dice, _: str(dice.between(0, 9)),
    "s": lambda dice, domain: str(dice.between(-2, domain)),
    "g": integer,
    "n": number,
    "f": real,
    "t": words,
    "v": lambda dice, domain: words(dice, domain)[:12],
    "c": lambda dice, domain: words(dice, domain)[-4:],
    "w": words,
    "d": day,
    "z": moment,
    "o": lambda dice, _: dice.pick(("t", "f")),
    "u": lambda dice, domain: str(uuid.UUID(int=dice.between(0, domain - 1) * 7919 << 60)),
    "e": lambda dice, _: dice.pick(("sad", "ok", "happy")),
    "a": array,
    "y": lambda dice, domain: "\\x00" + integer(dice, domain).zfill(4),
    "j": json,
    "l": array,
    "p": spot,
    "h": span,
}


def value(dice: Dice, column: str, domain: int) -> str:
    """The text of a value for a column, other than its id."""
    return VALUES["k" if column == "id" else column](dice, domain)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def literal(dice: Dice, column: str, domain: int) -> str:
    return f"{quoted(value(dice, column, domain))}::{KINDS[column].type.split(' ')[0]}"
