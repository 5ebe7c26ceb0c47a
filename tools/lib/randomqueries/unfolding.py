"""Queries with set-returning functions, at every place where a SELECT has them."""

from collections.abc import Callable, Sequence

from lib.randomqueries.fragments import Many, Place, Sql, optional, where
from lib.randomqueries.joins import From, from_clause
from lib.randomqueries.query import Query
from lib.randomqueries.scope import Maker, Relation, unique_of

# What they return looks the same where it is equal.
SETS: dict[str, tuple[str, ...]] = {
    "array": ("unnest({c})", "generate_subscripts({c}, 1)", "unnest({c} || 7)", "unnest({c}) + 1"),
    "numbers": ("unnest({c})", "unnest({c}[1:2])"),
    "spot": ("unnest(({c}).z)",),
    "int": (
        "generate_series(1, least({c}, 3)::bigint)",
        "generate_series({c}::int, 2)",
        "own.upto({c}::int)",
        "abs(generate_series(-2, {c}::int % 3))",
    ),
    "text": (
        "regexp_split_to_table(left({c}, 6), '')",
        "string_to_table(left({c}, 9), ' ')",
        "upper(regexp_split_to_table(left({c}, 6), '[ ,]'))",
        "(regexp_matches({c}, '[a-c]', 'g'))[1]",
    ),
    "json": (
        "jsonb_array_elements(CASE jsonb_typeof({c}) WHEN 'array' THEN {c} ELSE '[1]' END)::text",
        "jsonb_object_keys(CASE jsonb_typeof({c}) WHEN 'object' THEN {c} ELSE '{{\"z\": 1}}' END)",
        "(jsonb_path_query({c}, '$[*]'))::text",
    ),
}
VIEWS = ("unfolded", "unfolded_groups", "unfolded_distinct", "unfolded_first")


def set_of(maker: Maker, scope: Sequence[Relation]) -> str:
    families = [family for family in SETS if any(r.of_families((family,)) for r in scope)]
    if not families:
        return "generate_series(1, 3)"
    family = maker.dice.pick(families)
    column = maker.dice.pick([c for r in scope for c in r.of_families((family,))])
    return maker.dice.pick(SETS[family]).format(c=column.sql)


def start(maker: Maker) -> From:
    return from_clause(maker, maker.dice.weighted([(4, 1), (3, 2), (1, 3)]))


def body(of: From) -> Sql:
    return (" FROM ", of.sql, where(of.conditions))


def exact_columns(maker: Maker, of: From, most: int) -> list[str]:
    exact = [c.sql for r in of.scope for c in r.columns if c.kind.exact]
    return maker.dice.sample(exact, maker.dice.between(0, most))


def by_all(maker: Maker, number: int) -> Sql:
    """An order that leaves nothing open, and how many rows."""
    order = maker.dice.sample(range(1, number + 1), number)
    words = [f"{n}{maker.dice.pick(('', '', ' DESC', ' NULLS FIRST'))}" for n in order]
    most = maker.dice.pick(("", "", " LIMIT 7", " LIMIT 3 OFFSET 2"))
    return (f" ORDER BY {', '.join(words)}", optional(most))


def sorted_rows(maker: Maker) -> Query:
    of = start(maker)
    unique = unique_of(of.scope) if maker.dice.chance(0.5) else None
    sets = [set_of(maker, of.scope) for _ in range(maker.dice.weighted([(3, 1), (1, 2)]))]
    head = [*(unique or exact_columns(maker, of, 2)), *sets]
    if not maker.dice.chance(0.7):
        return Query((f"SELECT {', '.join(head)}", body(of)))
    sql = (f"SELECT {', '.join(head)}", body(of), by_all(maker, len(head)))
    return Query(sql, ordered=True)


def sorted_by_set(maker: Maker) -> Query:
    """The set is not among the columns, and makes rows all the same."""
    of = start(maker)
    columns = exact_columns(maker, of, 2) or ["1"]
    names = ", ".join(columns)
    tail = (f" ORDER BY {set_of(maker, of.scope)}", "" if columns == ["1"] else f", {names}")
    return Query((f"SELECT {names}", body(of), tail), ordered=True)


def grouped(maker: Maker) -> Query:
    of = start(maker)
    keys = [set_of(maker, of.scope), *exact_columns(maker, of, 1)]
    places = ", ".join(str(i + 1) for i in range(len(keys)))
    words = ("{}", "{}", "{}", "ROLLUP ({})", "CUBE ({})", "GROUPING SETS (({}), ())")
    group = maker.dice.pick(words).format(places)
    having: Sql = optional(" HAVING count(*) > 1") if maker.dice.chance(0.2) else ""
    ordered = maker.dice.chance(0.5)
    counts = maker.dice.pick(("count(*)", "count(*), min(1)"))
    tail = by_all(maker, len(keys)) if ordered and "(" not in group else ""
    head = f"SELECT {', '.join(keys)}, {counts}"
    sql = (head, body(of), f" GROUP BY {group}", having, tail)
    return Query(sql, ordered=bool(tail))


def beside_groups(maker: Maker) -> Query:
    """A set that groups are unfolded with."""
    of = start(maker)
    keys = exact_columns(maker, of, 1) or ["1"]
    head = f"SELECT {keys[0]}, count(*), generate_series(1, least(count(*), 3)::int)"
    return Query((head, body(of), f" GROUP BY {keys[0]}", by_all(maker, 3)), ordered=True)


def distinct(maker: Maker) -> Query:
    of = start(maker)
    columns = exact_columns(maker, of, 1)
    head = [*columns, set_of(maker, of.scope)]
    if columns and maker.dice.chance(0.4):
        unique = unique_of(of.scope) or exact_columns(maker, of, 1)
        head = [columns[0], *unique, head[-1]]
        order = ", ".join(str(i + 1) for i in range(len(head)))
        sql = f"SELECT DISTINCT ON ({columns[0]}) {', '.join(head)}"
        return Query((sql, body(of), f" ORDER BY {order}"), ordered=True)
    ordered = maker.dice.chance(0.5)
    tail = by_all(maker, len(head)) if ordered else ""
    return Query((f"SELECT DISTINCT {', '.join(head)}", body(of), tail), ordered)


def united(maker: Maker) -> Query:
    branches = []
    for _ in range(2):
        of = start(maker)
        branches.append((f"SELECT ({set_of(maker, of.scope)})::text", body(of)))
    word = maker.dice.pick((" UNION ", " UNION ALL ", " EXCEPT ", " INTERSECT ALL "))
    return Query((Many(tuple(branches), word), by_all(maker, 1)), ordered=True)


def inside(maker: Maker) -> Query:
    """A set in a SELECT in FROM, or in WITH, that is joined, grouped or tested."""
    of = start(maker)
    inner = ("SELECT ", f"{set_of(maker, of.scope)} AS x, {of.scope[0].columns[0].sql} AS y")
    sort = maker.dice.pick(("", " ORDER BY 1", " ORDER BY 2, 1", " OFFSET 0"))
    select: Sql = (inner, body(of), sort)
    outside = maker.dice.pick(
        (
            "SELECT x, count(*) FROM w GROUP BY x ORDER BY x",
            "SELECT DISTINCT x FROM w ORDER BY x",
            "SELECT x, y FROM w ORDER BY x, y",
            "SELECT y, count(x) FROM w WHERE x IS NOT NULL GROUP BY y ORDER BY y",
            "SELECT a.x, count(*) FROM w a JOIN w b ON a.y = b.y GROUP BY 1 ORDER BY 1",
        )
    )
    if " w a JOIN" in outside or maker.dice.chance(0.5):
        word = maker.dice.pick(("", "MATERIALIZED ", "NOT MATERIALIZED "))
        return Query((f"WITH w AS {word}(", select, f") {outside}"), ordered=True)
    before, after = outside.split(" FROM w")
    return Query((f"{before} FROM (", select, f") w{after}"), ordered=True)


def lateral(maker: Maker) -> Query:
    """In FROM, alone and side by side; in a LATERAL SELECT; as an array; in EXISTS."""
    of = start(maker)
    sets = [set_of(maker, of.scope) for _ in range(2)]
    calls = [one for one in sets if one.endswith(")") and not one.startswith(("(", "abs", "upper"))]
    call = calls[0] if calls else "generate_series(1, 2)"
    columns = exact_columns(maker, of, 1) or ["1"]
    joined = maker.dice.pick(
        (
            f" CROSS JOIN LATERAL {call} u (x)",
            f" LEFT JOIN LATERAL {call} WITH ORDINALITY u (x, i) ON true",
            f" CROSS JOIN LATERAL ROWS FROM ({call}, generate_series(1, 2)) u (x, i)",
            f" CROSS JOIN LATERAL (SELECT {sets[0]} AS x) u",
            f" LEFT JOIN LATERAL (SELECT DISTINCT {sets[0]} AS x ORDER BY 1 LIMIT 2) u ON true",
        )
    )
    head = f"SELECT {columns[0]}, u.x"
    if maker.dice.chance(0.3):
        joined, head = "", f"SELECT {columns[0]}, ARRAY(SELECT {sets[0]} ORDER BY 1)"
    sql = (head, " FROM ", of.sql, joined, where(of.conditions), by_all(maker, 2))
    return Query(sql, ordered=True)


def of_view(maker: Maker) -> Query:
    maker.places += 1
    place = Place(maker.dice.pick(VIEWS), True, maker.places)
    tail = maker.dice.pick(
        (
            "SELECT x, y FROM {} ORDER BY 1, 2",
            "SELECT x, count(*) FROM {} GROUP BY 1 ORDER BY 1",
            "SELECT DISTINCT y FROM {} ORDER BY 1",
            "SELECT x, y FROM {} WHERE x < 6 ORDER BY 2, 1",
            "SELECT count(*), count(x), count(y) FROM {}",
            "SELECT y, x FROM {} WHERE x = 3 ORDER BY 1, 2",
        )
    )
    before, after = tail.split("{}")
    return Query((before, place, after), ordered=True)


UNFOLDED: tuple[tuple[float, Callable[[Maker], Query]], ...] = (
    (4, sorted_rows),
    (1, sorted_by_set),
    (3, grouped),
    (1, beside_groups),
    (3, distinct),
    (2, united),
    (3, inside),
    (2, lateral),
    (2, of_view),
)


def unfolded_query(maker: Maker) -> Query:
    return maker.dice.weighted(UNFOLDED)(maker)
