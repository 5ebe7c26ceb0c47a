"""Parts of columns, texts that settings of the session change, and these settings."""

from lib.randomqueries.texts import session_values
from lib.randomwrites.context import Context, Step
from lib.randomwrites.tables import TABLES

# ON CONFLICT cannot set the last one, whose domain is checked here, and calls no stable function.
PARTS = (
    ("arr[1] = {n}", "arr[2] = {n}", "arr[5] = {n}", "arr[3:4] = ARRAY[{n}, 8]"),
    ("js['a'] = to_jsonb({n})", "js['b'] = to_jsonb({n})", "js['c']['d'] = '1'"),
    ("comp.x = {n}", "comp.t = 'u'", "comp.z[1] = {n}", "comp.z[2] = {n}"),
    ("dom[1] = {n}", "dom[2] = {n}", "dom[4:5] = ARRAY[1, {n}]"),
)
TEXTS = (
    "(date '2024-03-01' + {x})::text",
    "make_interval(hours => {x})::text",
    "({x} / 7.0::float8)::text",
    "format('%s %L', timestamp '2024-01-02', '\\x4100'::bytea)",
    "quote_ident('a b')",
    "quote_ident('x')",
    "to_json(timestamptz '2024-01-01 UTC' + make_interval(hours => {x}))::text",
    "concat(timestamptz '2024-06-01 10:00 EST', {x})",
    "'own.numbers'::regtype::text",
    "('s' OPERATOR(own.|||) {x}::text)",
    "('s' || {x})",
    "to_tsvector('some words')::text",
)
# With own in front of pg_catalog, sums that make ids would be differences.
PATHS = ("own, public", "pg_catalog, own, public", "public, own", "public, pg_catalog")
PARTED = {table.name for table in TABLES if table.partition_by}
ONLY_SHARE = 0.08


def part_sets(context: Context, *numbers: str, conflict: bool = False) -> list[str]:
    """Assignments to parts of one column, or of two; a number is an int expression."""
    dice = context.dice
    found: list[str] = []
    for parts in dice.sample(PARTS[:-1] if conflict else PARTS, dice.between(1, 2)):
        found += dice.sample(parts, dice.between(1, len(parts)))
    if conflict:
        found = [text.replace("to_jsonb({n})", "({n})::text::jsonb") for text in found]
    return [text.format(n=dice.pick((*numbers, "3"))) for text in found]


def text_of(context: Context, x: str) -> str:
    """One of an int expression."""
    return context.dice.pick(TEXTS).format(x=f"({x})")


def only(context: Context, name: str) -> str:
    """The word, where the table has no parts on either side."""
    may = name not in PARTED
    return "ONLY " if may and context.dice.chance(ONLY_SHARE) else ""


def setting_step(context: Context) -> Step:
    dice = context.dice
    word = "SET" if context.autocommit else "SET LOCAL"
    _, name, values = dice.pick(session_values(not context.tablets))
    if name == "search_path":
        return Step(f"{word} search_path = {dice.pick(PATHS)}", guarded=False)
    return Step(f"{word} {name} = '{dice.pick(values)}'", guarded=False)
