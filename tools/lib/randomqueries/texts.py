"""Texts and values that settings of a session change, and these settings."""

from collections.abc import Sequence

from lib.randomqueries.dice import Dice
from lib.randomqueries.scope import Maker, Relation
from lib.randomqueries.settings import Values, random_values

SHARE = 0.3  # of the cases: they have such settings
OFTEN = 0.4  # how often these cases make texts
SESSION: Values = (
    (0.35, "DateStyle", ("ISO, MDY", "ISO, DMY", "German", "Postgres, MDY", "SQL, YMD")),
    (0.35, "IntervalStyle", ("iso_8601", "sql_standard", "postgres_verbose")),
    (0.3, "bytea_output", ("escape",)),
    (0.3, "extra_float_digits", ("-6", "0", "3")),
    (0.25, "quote_all_identifiers", ("on",)),
    (0.2, "xmlbinary", ("hex",)),
    (0.35, "TimeZone", ("Asia/Tokyo", "America/St_Johns", "GMT", "Australia/Lord_Howe")),
    (0.4, "search_path", ("own, pg_catalog", "pg_catalog, own", "own, local", "local", "''")),
    (0.2, "timezone_abbreviations", ("Australia", "India")),
    (0.1, "transform_null_equals", ("on",)),
    (0.1, "array_nulls", ("off",)),
    (0.15, "default_text_search_config", ("pg_catalog.german", "pg_catalog.simple")),
    (0.1, "xmloption", ("document",)),
)
# With these postgres_fdw reads some texts of nodes otherwise (docs/compatibility.md).
READ = ("array_nulls", "xmloption")
ANY = (
    "{c}::text",
    "format('%s %L', {c}, {c})",
    "concat({c}, '-')",
    "to_json({c})::text",
    "to_jsonb({c})::text",
    "quote_nullable({c})",
    "pg_typeof({c})::text",
    "row({c}, 1)::text",
    "ARRAY[{c}]::text",
    "json_build_object('a', {c})::text",
    "{c}::text::varchar(6)",
)
TEXTS: dict[str, tuple[str, ...]] = {
    "int": ("({c}::int + 1)::text", "({c}::int < 5)::text", "(16 + {c} % 2)::int::regtype::text"),
    "real": ("({c} / 3)::text", "to_json({c} / 7)::text", "({c} / 3)::text::float8::text"),
    "text": (
        "quote_ident({c})",
        "format('%I', coalesce({c}, 'a b'))",
        "to_tsvector({c})::text",
        "quote_literal({c})",
        "({c} || array_to_string('{{1,NULL}}'::int[], ',', 'none'))",
        "({c} OPERATOR(own.|||) '!')",
        "xmlelement(name a, {c})::text",
    ),
    "date": (
        "({c}::text)::date::text",
        "({c}::text || ' 10:00 EST')::timestamptz::text",
        "(to_char({c}, 'YYYY-MM-DD') || ' 10:00 IST')::timestamptz::text",
        "{c}::timestamptz::text",
        "({c} > '01/02/2024'::date)::text",
        "({c}::timestamptz - '2024-03-01 EST'::timestamptz)::text",
    ),
    "time": (
        "{c}::date::text",
        "{c}::timestamp::text",
        "date_trunc('day', {c})::text",
        "to_char({c}, 'TZ HH24 TMMonth')",
        "({c}::text)::timestamptz::text",
        "({c} + '1 day'::interval)::text",
        "({c} - '2024-01-01'::timestamptz)::text",
    ),
    "bytes": ("xmlelement(name a, {c})::text", "encode({c}, 'escape')", "md5({c}::text)"),
    "mood": ("{c}::int::text", "'own.mood'::regtype::text", "'own.shift'::regproc::text"),
    "uuid": ("{c}::bytea::text",),
    "spot": ("({c}).t", "to_json({c})::text"),
    "span": ("({c} * 3)::text", "(date '2024-02-01' + {c})::text", "justify_days({c})::text"),
}


def session_values(guests: bool) -> Values:
    """guests: servers of postgres_fdw are read."""
    return tuple(one for one in SESSION if not guests or one[1] not in READ)


def random_session(dice: Dice, guests: bool) -> tuple[tuple[str, str], ...]:
    """Names and values of settings."""
    return tuple(random_values(dice, session_values(guests)).items())


def set_sql(name: str, value: str) -> str:
    """A value of a search path is a list of names."""
    return f"SET LOCAL {name} = " + (value if name == "search_path" else f"'{value}'")


def text_of(maker: Maker, scope: Sequence[Relation]) -> str:
    """One of a column."""
    column = maker.dice.pick([c for r in scope for c in r.columns if c.kind.family != "folded"])
    own = TEXTS.get(column.kind.family, ())
    return maker.dice.pick(own if own and maker.dice.chance(0.5) else ANY).format(c=column.sql)


def text_test(maker: Maker, relation: Relation) -> str:
    """A condition on one."""
    text = text_of(maker, (relation,))
    return maker.dice.pick((f"{text} < '5'", f"length({text}) % 3 = 1", f"md5({text}) < '9'"))
