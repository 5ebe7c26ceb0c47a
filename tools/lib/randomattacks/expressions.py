"""Expressions that tell of the row they see, and ways to join relations."""

from lib.randomattacks.world import OPEN, PART, TABLES, VIEWS
from lib.randomqueries.dice import Dice
from lib.randomqueries.fragments import Many, Sql, all_of, optional

# x: the alias of a relation; none fails for rows that the reader sees.
LEAKS = (
    "10 / x.z > 0",
    "x.secret::int > 0",
    "pg_size_bytes(x.secret) > 0",
    "f.tell(x.secret)",
    "f.tell(x.m::text)",
    "f.far(x.secret)",
    "f.size(x.secret) > 0",
    "f.show(x.secret) = 'seen'",
    "x.secret OPERATOR(f.<<<) 'a'",
    "x.secret::numeric BETWEEN 0 AND 9",
    "ln(x.z) >= 0",
    "x.secret IN ('1', '2', (10 / x.z)::text, f.show(x.m))",
    "CASE WHEN x.m > 7 THEN x.secret::int > 0 ELSE true END",
    "(x.id < 0 OR 10 / x.z > 0)",
    "coalesce(x.secret::int, 0) <> 77",
    "ROW(x.id, x.secret::int) > ROW(0, 0)",
    "power(10 / x.z, 2) > 0",
)
SCALARS = (
    "10 / x.z",
    "x.secret::int",
    "f.size(x.secret)",
    "length(f.show(x.secret))",
    "CASE WHEN x.z = 0 THEN x.secret::int ELSE x.m END",
    "(pg_size_bytes(x.secret) + x.id)::int",
    "x.m + 1 / x.z",
)
QUIET = ("x.id < 13", "x.id IN (3, 4, 5, 6)", "x.id = 5", "x.id = 4", "x.n > 2", "x.m < 100")
QUIET_SCALARS = ("x.id", "x.n", "x.m", "x.z", "length(x.secret)")
ROWS_OF = ("generate_series(1, 3 / x.z)", "regexp_split_to_table(f.show(x.secret), 'e')")
DEEPEST = 2  # subqueries in subqueries
JOINS = (" JOIN ", " JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN ")


class Maker:
    """Makes the parts of one statement."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.naliases = 0

    def alias(self) -> str:
        self.naliases += 1
        return f"x{self.naliases}"

    def relation(self) -> str:
        kinds = [(6, TABLES), (5, VIEWS), (2, (OPEN,)), (0.2, (PART,))]
        return self.dice.pick(self.dice.weighted(kinds))

    def of(self, texts: tuple[str, ...], alias: str) -> str:
        return self.dice.pick(texts).replace("x.", f"{alias}.")

    def scalar(self, alias: str) -> str:
        return self.of(SCALARS if self.dice.chance(0.6) else QUIET_SCALARS, alias)

    def condition(self, aliases: list[str], depth: int = 0) -> Sql:
        alias = self.dice.pick(aliases)
        if depth < DEEPEST and self.dice.chance(0.15):
            return self.subquery_condition(alias, depth)
        if len(aliases) > 1 and self.dice.chance(0.2):
            other = self.dice.pick([a for a in aliases if a != alias])
            return f"10 / ({alias}.z * {other}.id) >= 0"
        return self.of(LEAKS if self.dice.chance(0.65) else QUIET, alias)

    def conditions(self, aliases: list[str], depth: int = 0) -> list[Sql]:
        return [self.condition(aliases, depth) for _ in range(self.dice.between(0, 3))]

    def subquery_condition(self, alias: str, depth: int) -> Sql:
        inner = self.alias()
        body = (f" FROM {self.relation()} {inner} WHERE ", self.inside(inner, alias, depth))
        return self.dice.pick(
            (
                ("EXISTS (SELECT", body, ")"),
                ("NOT EXISTS (SELECT", body, ")"),
                (f"{alias}.id IN (SELECT {self.scalar(inner)}", body, ")"),
                (f"{alias}.n = ANY (SELECT {self.scalar(inner)}", body, ")"),
                (f"(SELECT max({self.scalar(inner)})", body, f") >= {alias}.m"),
            )
        )

    def inside(self, inner: str, outer: str, depth: int) -> Sql:
        joined = f"{inner}.id = {outer}.{self.dice.pick(('id', 'n'))}"
        return all_of(joined, *self.conditions([inner, outer], depth + 1))

    def source(self, aliases: list[str]) -> Sql:
        """A relation, or a subquery that sees those before it."""
        alias = self.alias()
        kind = self.dice.weighted([(8, "plain"), (2, "lateral"), (1, "kept"), (1, "rows")])
        before = list(aliases)
        aliases.append(alias)
        if kind == "plain" or not before:
            return f"{self.relation()} {alias}"
        inner = self.alias()
        head = f"SELECT {inner}.* FROM {self.relation()} {inner}"
        if kind == "kept":
            tail = self.dice.pick(("", " OFFSET 0", " LIMIT 100"))
            return (f"({head} WHERE ", all_of(*self.conditions([inner])), f"{tail}) {alias}")
        outer = self.dice.pick(before)
        if kind == "rows":
            call = self.of(ROWS_OF, outer)
            columns = f"{outer}.id, {outer}.owner, {outer}.n, {outer}.z, {outer}.secret, {outer}.m"
            return f"LATERAL (SELECT {columns} FROM {call}) {alias}"
        order = f" ORDER BY {self.scalar(inner)}, {inner}.id LIMIT {self.dice.pick((1, 2, 50))}"
        body = (f"LATERAL ({head} WHERE ", self.inside(inner, outer, 1))
        return (body, optional(order), f") {alias}")

    def sources(self, aliases: list[str]) -> Sql:
        """FROM; aliases gets those that are in it."""
        parts: list[Sql] = [self.source(aliases)]
        for _ in range(self.dice.weighted([(4, 0), (5, 1), (2, 2)])):
            before = self.dice.pick(aliases)
            word = self.dice.pick(JOINS)
            item = self.source(aliases)
            if not isinstance(item, str) or item.startswith("LATERAL"):
                word = self.dice.pick((" JOIN ", " LEFT JOIN "))
            key = f"{aliases[-1]}.id = {before}.{self.dice.pick(('id', 'n'))}"
            more = [] if "FULL" in word else self.conditions([aliases[-1], before], 2)
            parts += [word, item, " ON ", Many((key, *more), " AND ")]
        return tuple(parts)
