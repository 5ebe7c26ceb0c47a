"""What the makers of one case know of each other."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from lib.randomqueries.dice import Dice
from lib.randomqueries.fragments import Sql
from lib.randomwrites.tables import MAIN, WATCHED, Table, distributed

REGIONS = (0, 1000, 2000)
BLOCKS_OF_REGION = 9
BLOCK = 100  # ids
OLD_IDS: tuple[int, ...] = (*range(1, 13), *range(1001, 1007), *range(2001, 2007))
MARKS = ("x", "some", "change", "null")


@dataclass(frozen=True)
class Function:
    """A function of an int that returns one.

    commutes: what it does and returns does not depend on the order of its calls;
    stable: it reads only.
    """

    name: str
    commutes: bool = False
    stable: bool = False


@dataclass(frozen=True)
class Called:
    """A distributed routine of two keys. kind: scalar, rows, sql or procedure."""

    name: str
    kind: str


@dataclass
class Facts:
    """What triggers of a table mean for statements that write it."""

    events: set[tuple[str, str, str]] = field(default_factory=set)  # BEFORE, ROW, INSERT
    one_row: bool = False  # its row triggers depend on the order of rows
    reads: bool = False  # a trigger reads tables that are written
    raises: bool = False


@dataclass
class Context:
    """blocks: where ids are that nobody has; functions and facts: what the case has made."""

    dice: Dice
    strict: bool = True  # errors of blocks come within these
    buffers: bool = True
    autocommit: bool = False  # each statement is a transaction
    upserts: bool = False  # functions have ON CONFLICT DO UPDATE; it is refused beside triggers
    returns: bool = True  # statements may have RETURNING
    stable: bool = True  # functions that see a statement's snapshot may be called
    called_stable: bool = False  # the statement calls one: none beside it that may write
    routes: bool = True  # statements with one key go to their nodes
    tablets: bool = False  # the far side has distributed tables
    guarded: bool = False  # policies apply to who writes
    old_and_new: bool = False  # RETURNING may have both (18)
    may_poison: bool = True
    keen: float = 0.0  # at least this share of statements is to fail
    poisoned: bool = False  # since it was set back
    rotated: bool = False  # rows have changed places, which they can once
    blocks: list[int] = field(default_factory=list)
    names: int = 0
    functions: list[Function] = field(default_factory=list)
    called: list[Called] = field(default_factory=list)
    key: str = ""  # what statements with one key have as it, if not a constant
    facts: dict[str, Facts] = field(default_factory=dict)

    def fresh(self) -> int:
        """The first id of a block that has no rows."""
        if not self.blocks:
            every = [r + BLOCK * i for r in REGIONS for i in range(1, BLOCKS_OF_REGION + 1)]
            self.blocks = self.dice.sample(every, len(every))
        return self.blocks.pop()

    def name(self, kind: str) -> str:
        """One that nothing else of the case has."""
        self.names += 1
        return f"{kind}{self.names}"

    def of(self, table: Table) -> Facts:
        return self.facts.setdefault(table.name, Facts())

    def old_id(self) -> int:
        return self.dice.pick(OLD_IDS)

    @property
    def main(self) -> tuple[Table, ...]:
        """What moves with any update is left out where rows cannot move."""
        if not self.tablets:
            return MAIN
        tables = (*MAIN, *WATCHED) if self.guarded else MAIN
        made = (distributed(table) for table in tables)
        return tuple(table for table in made if self.buffers or not table.loose)

    def table(self, *others: Table) -> Table:
        """A table that statements write and read, but none of these."""
        return self.dice.pick([table for table in self.main if table not in others])

    def target(self) -> Table:
        """A table that a statement writes; those with triggers more often."""
        watched = [table for table in self.main if table.name in self.facts]
        return self.dice.pick(watched) if watched and self.dice.chance(0.45) else self.table()

    def function(self, ordered: bool) -> Function | None:
        """One that may be called for rows that come in one order, or in any."""
        fitting = [f for f in self.functions if self.may_call(f, ordered)]
        found = self.dice.pick(fitting) if fitting else None
        if found is not None and found.stable:
            self.called_stable = True
        elif found is not None:
            self.stable = False
        return found

    def may_call(self, function: Function, ordered: bool) -> bool:
        if function.stable:
            return self.stable
        return not self.called_stable and (ordered or function.commutes)

    def begin(self, table: Table | None) -> None:
        """A statement begins that writes a table, or several.

        A stable function sees the state before its statement where that is read to its
        end first: row by row, beside other parts, and with volatile functions it is not.
        """
        self.stable = self.buffers and table is not None and not table.is_guest
        self.called_stable = False

    def returning(self, text: str, share: float = 0.4) -> str:
        return f" RETURNING {text}" if self.returns and self.dice.chance(share) else ""

    def poison(self, kinds: list[str], share: float) -> str | None:
        """What of a statement is to fail, if anything."""
        if not self.may_poison or not self.dice.chance(max(share, self.keen)):
            return None
        self.poisoned = True
        return self.dice.pick(kinds)

    def call(self, argument: str, ordered: bool, otherwise: str, share: float = 0.3) -> str:
        """A call of a function, or something else."""
        function = self.function(ordered) if self.dice.chance(share) else None
        return f"{function.name}({argument})" if function else otherwise


@dataclass(frozen=True)
class Step:
    """A statement of the client.

    ordered: its rows and notices come in one order; rows: what COPY sends;
    guarded: it has a savepoint of its own, to which its error leads back.
    """

    sql: Sql
    ordered: bool = False
    guarded: bool = True
    rows: tuple[str, ...] = ()


def shorter(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    """Without some that follow each other, but never without all."""
    for size in (4, 2, 1):
        for i in range(0, len(steps), size):
            if size < len(steps):
                yield steps[:i] + steps[i + size :]
