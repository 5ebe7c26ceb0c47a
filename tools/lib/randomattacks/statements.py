"""Statements with such expressions at every place where one can stand."""

from collections.abc import Callable

from lib.randomattacks.expressions import LEAKS, Maker
from lib.randomattacks.world import PART, TABLES
from lib.randomqueries.dice import Dice
from lib.randomqueries.fragments import Sql, optional, where

WRITTEN = (*TABLES, "va", "vi")
Step = tuple[Sql, ...]


def order_of(maker: Maker, aliases: list[str]) -> str:
    keys = [maker.scalar(maker.dice.pick(aliases)), *(f"{alias}.id" for alias in aliases)]
    return " ORDER BY " + ", ".join(keys)


def tail_of(maker: Maker, aliases: list[str]) -> list[Sql]:
    tail: list[Sql] = []
    if maker.dice.chance(0.5):
        limit = optional(f" LIMIT {maker.dice.pick((0, 1, 3, 10))}")
        leaky = f" LIMIT (SELECT max(10 / y.z) FROM {maker.relation()} y)"
        tail.append(
            (order_of(maker, aliases), limit if maker.dice.chance(0.7) else optional(leaky))
        )
    return tail


def rows_query(maker: Maker) -> Sql:
    aliases: list[str] = []
    sources = maker.sources(aliases)
    items = [maker.scalar(maker.dice.pick(aliases)) for _ in range(maker.dice.between(1, 3))]
    if maker.dice.chance(0.2):
        inner = maker.alias()
        items.append(
            f"(SELECT {maker.scalar(inner)} FROM {maker.relation()} {inner}"
            f" WHERE {inner}.id = {aliases[0]}.id)"
        )
    if maker.dice.chance(0.15):
        items.append(
            f"sum({maker.scalar(aliases[0])}) OVER (PARTITION BY {maker.scalar(aliases[-1])}"
            f" ORDER BY {maker.scalar(aliases[0])})"
        )
    if maker.dice.chance(0.1):
        items.append(aliases[0])
    body = (", ".join(items), " FROM ", sources, where(maker.conditions(aliases)))
    if maker.dice.chance(0.12):
        return ("SELECT DISTINCT ", body)
    return ("SELECT ", body, tuple(tail_of(maker, aliases)))


def grouped_query(maker: Maker) -> Sql:
    aliases: list[str] = []
    sources = maker.sources(aliases)
    alias = maker.dice.pick(aliases)
    keys = [maker.scalar(maker.dice.pick(aliases)) for _ in range(maker.dice.between(0, 2))]
    head = [*keys, "count(*)", f"sum({maker.scalar(alias)})"]
    if maker.dice.chance(0.5):
        head.append(f"count(*) FILTER (WHERE {maker.of(LEAKS, alias)})")
    if maker.dice.chance(0.4):
        head.append(f"array_agg({maker.scalar(alias)} ORDER BY {maker.scalar(alias)}, {alias}.id)")
    numbers = [str(i + 1) for i in range(len(keys))]
    groups = maker.dice.pick(
        (f" GROUP BY {', '.join(numbers)}", f" GROUP BY ROLLUP ({', '.join(keys)})")
    )
    having = f" HAVING sum({maker.scalar(alias)}) > 1 OR min(length({alias}.secret)) = 1"
    body = (", ".join(head), " FROM ", sources, where(maker.conditions(aliases)))
    return ("SELECT ", body, groups if keys else "", optional(having))


def united_query(maker: Maker) -> Sql:
    branches: list[Sql] = []
    for _ in range(2):
        aliases: list[str] = []
        sources = maker.sources(aliases)
        head = f"SELECT {maker.scalar(aliases[0])} FROM "
        branches.append((head, sources, where(maker.conditions(aliases))))
    word = maker.dice.pick((" UNION ALL ", " UNION ", " EXCEPT ", " INTERSECT "))
    return (branches[0], word, branches[1])


def named_query(maker: Maker) -> Sql:
    word = maker.dice.pick(("", "MATERIALIZED ", "NOT MATERIALIZED "))
    head = f"WITH w AS {word}(SELECT * FROM {maker.relation()} w0"
    conditions = [maker.of(LEAKS, "w0")] if maker.dice.chance(0.5) else []
    other = maker.alias()
    join = f" JOIN {maker.relation()} {other} ON {other}.id = w.n" if maker.dice.chance(0.5) else ""
    aliases = ["w", other] if join else ["w"]
    body = (f" SELECT {maker.scalar('w')} FROM w{join}", where(maker.conditions(aliases)))
    return (head, where(list(conditions)), ")", body)


def locking_query(maker: Maker) -> Sql:
    alias = maker.alias()
    word = maker.dice.pick(("UPDATE", "SHARE", "NO KEY UPDATE SKIP LOCKED"))
    head = f"SELECT {maker.scalar(alias)} FROM {maker.relation()} {alias}"
    return (head, where(maker.conditions([alias])), f" FOR {word}")


QUERIES: tuple[tuple[float, Callable[[Maker], Sql]], ...] = (
    (10, rows_query),
    (4, grouped_query),
    (2, united_query),
    (2, named_query),
)


def query(maker: Maker) -> Sql:
    return maker.dice.weighted(QUERIES)(maker)


def returning(maker: Maker, alias: str) -> Sql:
    return optional(f" RETURNING {maker.scalar(alias)}, {alias}.id")


def assignment(maker: Maker, alias: str) -> str:
    return maker.dice.pick(
        (
            f"m = {maker.scalar(alias)}",
            f"n = {maker.scalar(alias)}",
            "m = 3",
            f"m = f.size({alias}.secret)",
        )
    )


def changed(maker: Maker) -> str:
    return PART if maker.dice.chance(0.04) else maker.dice.pick(WRITTEN)


def update(maker: Maker) -> Sql:
    alias = maker.alias()
    head = f"UPDATE {changed(maker)} {alias} SET {assignment(maker, alias)}"
    if maker.dice.chance(0.4):
        aliases: list[str] = []
        other = f"{maker.relation()} {maker.alias()}"
        aliases = [alias, other.split()[1]]
        key = f"{aliases[1]}.id = {alias}.id"
        return (
            head,
            f" FROM {other}",
            where([key, *maker.conditions(aliases)]),
            returning(maker, alias),
        )
    return (head, where(maker.conditions([alias])), returning(maker, alias))


def delete(maker: Maker) -> Sql:
    alias = maker.alias()
    head = f"DELETE FROM {changed(maker)} {alias}"
    if maker.dice.chance(0.4):
        other = maker.alias()
        key = f"{other}.id = {alias}.{maker.dice.pick(('id', 'n'))}"
        using = f" USING {maker.relation()} {other}"
        return (
            head,
            using,
            where([key, *maker.conditions([alias, other])]),
            returning(maker, alias),
        )
    return (head, where(maker.conditions([alias])), returning(maker, alias))


def insert(maker: Maker) -> Sql:
    target = maker.dice.pick(WRITTEN)
    alias, source = "t", maker.alias()
    head = f"INSERT INTO {target} AS t (id, owner, n, z, secret, m) "
    step = maker.dice.pick((0, 100))
    rows: Sql = (
        f"SELECT {source}.id + {step}, 'reader', {maker.scalar(source)}, {source}.z,"
        f" {source}.secret, {source}.m FROM {maker.relation()} {source}",
        where(maker.conditions([source])),
    )
    if maker.dice.chance(0.4):
        rows = (f"VALUES ({maker.dice.pick((4, 5, 6, 100))}, 'reader', 1, 1, '1', 1)",)
    change = assignment(maker, "t").replace("t.m", "excluded.m")
    action = maker.dice.pick(
        (
            "",
            " ON CONFLICT DO NOTHING",
            " ON CONFLICT (id) DO NOTHING",
            f" ON CONFLICT (id) DO UPDATE SET {change}",
        )
    )
    more = optional(f" WHERE {maker.of(LEAKS, 't')}") if "UPDATE" in action else ""
    return (head, rows, action, more, returning(maker, alias))


def merge(maker: Maker) -> Sql:
    source = maker.alias()
    condition = maker.of(LEAKS, "t")
    on = f"t.id = {source}.id" + (f" AND {condition}" if maker.dice.chance(0.4) else "")
    matched = maker.dice.pick((f"UPDATE SET {assignment(maker, 't')}", "DELETE", "DO NOTHING"))
    also = f" AND {maker.of(LEAKS, 't')}" if maker.dice.chance(0.5) else ""
    return (
        f"MERGE INTO {maker.dice.pick(WRITTEN)} AS t USING {maker.relation()} {source} ON {on}",
        f" WHEN MATCHED{also} THEN {matched}",
    )


WRITES = ((4, update), (3, delete), (3, insert), (2, merge))


def write(maker: Maker) -> Sql:
    return maker.dice.weighted(WRITES)(maker)


def quoted(sql: Sql) -> Sql:
    return ("$q$", sql, "$q$")


def read_steps(maker: Maker) -> Step:
    """A query, in one of the ways in which one can be run."""
    sql = query(maker) if maker.dice.chance(0.85) else locking_query(maker)
    way = maker.dice.weighted(
        [
            (8, "alone"),
            (1, "prepared"),
            (1, "cursor"),
            (1, "copy"),
            (1, "explain"),
            (1, "loop"),
            (1, "table"),
        ]
    )
    if way == "prepared":
        mode = maker.dice.pick(("force_generic_plan", "force_custom_plan"))
        return (
            f"SET LOCAL plan_cache_mode = {mode}",
            ("PREPARE p AS ", sql),
            *["EXECUTE p"] * 2,
            "DEALLOCATE p",
        )
    if way == "cursor":
        fetch = f"FETCH {maker.dice.pick(('1', '5', 'ALL'))} FROM k"
        return (("DECLARE k CURSOR FOR ", sql), fetch, "MOVE 1 FROM k", "FETCH ALL FROM k")
    ways: dict[str, Step] = {
        "alone": (sql,),
        "copy": (("COPY (", sql, ") TO STDOUT"),),
        "explain": (("EXPLAIN (ANALYZE, VERBOSE, COSTS OFF) ", sql),),
        "loop": (("SELECT f.loop(", quoted(sql), ")"),),
        "table": (("SELECT count(*) FROM (", sql, ") counted"),),
    }
    return ways[way]


def write_steps(maker: Maker) -> Step:
    sql = write(maker)
    way = maker.dice.weighted([(8, "alone"), (1, "prepared"), (1, "explain"), (1, "current")])
    if way == "prepared":
        return (("PREPARE p AS ", sql), "EXECUTE p", "DEALLOCATE p")
    if way == "explain":
        return (("EXPLAIN (ANALYZE, VERBOSE, COSTS OFF) ", sql),)
    if way == "current":
        table = maker.dice.pick(TABLES)
        conditions = where(maker.conditions(["x"]))
        change = maker.dice.pick((f"UPDATE {table} SET m = 3", f"DELETE FROM {table}"))
        named = f"DECLARE k CURSOR FOR SELECT x.id FROM {table} x"
        return (
            (named, conditions, " ORDER BY x.id FOR UPDATE"),
            "FETCH 2 FROM k",
            f"{change} WHERE CURRENT OF k",
        )
    return (sql,)


LOOKS = (
    "SELECT * FROM pg_stats WHERE schemaname = 'public'",
    "SELECT * FROM pg_stats WHERE schemaname LIKE '%shuttle%'",
    "SELECT * FROM pg_stats_ext ORDER BY 2",
    "EXPLAIN SELECT * FROM a WHERE secret < 'HIDDEN'",
    "ANALYZE a",
)


def make_steps(dice: Dice) -> Step:
    maker = Maker(dice)
    steps = write_steps(maker) if dice.chance(0.35) else read_steps(maker)
    if dice.chance(0.1):  # what is left behind in the session and in the transaction
        steps = (*steps, *(read_steps(Maker(dice)) if dice.chance(0.7) else (dice.pick(LOOKS),)))
    return steps
