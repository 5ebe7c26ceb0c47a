"""Makes the cases of a run; a seed and a number always make the same one."""

from dataclasses import replace

from lib.randomqueries.checking import Case
from lib.randomqueries.dice import Dice
from lib.randomqueries.fragments import arguments, swapped
from lib.randomqueries.queries import make_query
from lib.randomqueries.query import Query
from lib.randomqueries.schema import TABLETS, common_key
from lib.randomqueries.scope import Maker
from lib.randomqueries.settings import random_settings
from lib.randomqueries.tables import Table
from lib.randomqueries.texts import OFTEN, random_session
from lib.randomqueries.texts import SHARE as SESSION_SHARE
from lib.randomqueries.ways import Way, random_company, random_way

PREPARED_SHARE = 0.12
TWO_SHARE = 0.05
ONE_KEY_SHARES = (0.2, 0.5, 0.9)  # of queries of distributed tables; a seed has one of these
ON_NODES_SHARE = 0.45  # of the others: whole joins may be done on nodes
TWIN_SHARE = 0.15  # of the queries with a key
DEAR_SHARE = 0.7  # of these: joins here cost more than any on nodes
JOINS_HERE = ("enable_hashjoin", "enable_mergejoin", "enable_nestloop")


def make_case(seed: int, number: int, tables: tuple[Table, ...], only: str | None = None) -> Case:
    """only: a transport instead of a random one."""
    dice = Dice(seed, "case", number)
    transport = dice.weighted([(5, "guest"), (5, "engine"), (3, "tablets"), (1, "both")])
    transport = only or transport
    settings = random_settings(dice)
    if dice.chance(TWO_SHARE):
        queries = tuple(make_query(Maker(dice, tables)) for _ in range(2))
        if not any(query.may_fail or query.writes for query in queries):
            fetches = tuple(("FORWARD", dice.pick((1, 2, 10))) for _ in range(3))
            way = random_company(dice, Way("two", fetches=fetches), transport)
            return Case(number, settings, queries, way, transport)
    key = random_key(dice, seed) if transport == TABLETS else None
    if key == "":
        settings.pop("shuttle.debug_force_batched_join", None)
        if dice.chance(DEAR_SHARE):
            settings |= dict.fromkeys(JOINS_HERE, "off")
    has_session = Dice(seed, "session", number).chance(SESSION_SHARE)
    maker = Maker(dice, tables, dice.chance(PREPARED_SHARE), transport != "both")
    maker.texts = OFTEN if has_session else maker.texts
    query = make_query(maker, key)
    way = random_way(dice, query)
    if has_session and way.name != "hold":  # whose transaction ends in between
        guests = transport in {"guest", "both"}
        way = replace(way, session=random_session(dice, guests))
        if way.name == "prepared":
            way = replace(way, later=random_session(dice, guests))
    queries = (query,)
    if query.key is not None and not query.runs_plain and dice.chance(TWIN_SHARE):
        queries, way = twins(query, way)
    return Case(number, settings, queries, random_company(dice, way, transport), transport)


def twins(query: Query, way: Way) -> tuple[tuple[Query, ...], Way]:
    """A query with a key, and the same where the key is no reason for one node alone."""
    assert isinstance(query.key, tuple)
    without = (str(query.key[0]).replace(" = ", " IS NOT DISTINCT FROM "), *query.key[1:])
    other = replace(query, sql=swapped(query.sql, query.key, without))
    if arguments(query.sql):
        return (other,), way
    fetches = (("FORWARD", 1), ("FORWARD", 3))
    return (query, other), replace(way, name="two", fetches=fetches)


def random_key(dice: Dice, seed: int) -> str | None:
    if dice.chance(Dice(seed, "one key").pick(ONE_KEY_SHARES)):
        return common_key(seed)
    return "" if dice.chance(ON_NODES_SHARE) else None
