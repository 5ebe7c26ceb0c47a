"""Makes the cases of a run; a seed and a number always make the same one."""

from randomqueries.checking import Case
from randomqueries.dice import Dice
from randomqueries.queries import make_query
from randomqueries.schema import TABLETS, common_key
from randomqueries.settings import random_settings
from randomqueries.tables import Table
from randomqueries.ways import Way, random_company, random_way

PREPARED_SHARE = 0.12
TWO_SHARE = 0.05
ONE_KEY_SHARES = (0.2, 0.5, 0.9)  # of queries of distributed tables; a seed has one of these
ON_NODES_SHARE = 0.45  # of the others: whole joins may be done on nodes
DEAR_SHARE = 0.7  # of these: joins here cost more than any on nodes
JOINS_HERE = ("enable_hashjoin", "enable_mergejoin", "enable_nestloop")


def make_case(seed: int, number: int, tables: tuple[Table, ...], only: str | None = None) -> Case:
    """only: a transport instead of a random one."""
    dice = Dice(seed, "case", number)
    transport = dice.weighted([(5, "guest"), (5, "engine"), (3, "tablets"), (1, "both")])
    transport = only or transport
    settings = random_settings(dice)
    if dice.chance(TWO_SHARE):
        queries = tuple(make_query(dice, tables) for _ in range(2))
        if not any(query.may_fail or query.writes for query in queries):
            fetches = tuple(("FORWARD", dice.pick((1, 2, 10))) for _ in range(3))
            way = random_company(dice, Way("two", fetches=fetches), transport)
            return Case(number, settings, queries, way, transport)
    key = random_key(dice, seed) if transport == TABLETS else None
    if key == "":
        settings.pop("shuttle.debug_force_batched_join", None)
        if dice.chance(DEAR_SHARE):
            settings |= dict.fromkeys(JOINS_HERE, "off")
    query = make_query(dice, tables, dice.chance(PREPARED_SHARE), transport != "both", key)
    way = random_company(dice, random_way(dice, query), transport)
    return Case(number, settings, (query,), way, transport)


def random_key(dice: Dice, seed: int) -> str | None:
    if dice.chance(Dice(seed, "one key").pick(ONE_KEY_SHARES)):
        return common_key(seed)
    return "" if dice.chance(ON_NODES_SHARE) else None
