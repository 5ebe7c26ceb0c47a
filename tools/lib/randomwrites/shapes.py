"""How the columns of a table are laid out: in any order, between some that were dropped."""

from collections.abc import Sequence
from dataclasses import dataclass

from lib.randomqueries.dice import Dice

PLAIN_SHARE = 0.4
GONE = ("gone1 text", "gone2 int", "gone3 numeric DEFAULT 5")


@dataclass(frozen=True)
class Shape:
    """order: of the columns, by their places; gone: what is dropped, by its place among them."""

    order: tuple[int, ...] = ()
    gone: tuple[tuple[int, str], ...] = ()

    def columns(self, columns: Sequence[str]) -> list[str]:
        """All of those that are made."""
        found = [columns[i] for i in self.order if i < len(columns)]
        found += columns[len(self.order) :]
        for place, text in self.gone:
            found.insert(place, text)
        return found

    def end(self, kind: str, name: str) -> str:
        """What drops columns again."""
        drops = ", ".join(f"DROP COLUMN {text.split()[0]}" for _, text in self.gone)
        return f"; ALTER {kind} {name} {drops}" if drops else ""


def random_shape(dice: Dice, ncolumns: int) -> Shape:
    places = range(ncolumns)
    if dice.chance(PLAIN_SHARE):
        return Shape(tuple(places))
    gone = dice.sample(GONE, dice.between(0, len(GONE)))
    return Shape(
        tuple(dice.sample(list(places), ncolumns)),
        tuple((dice.between(0, ncolumns), text) for text in gone),
    )
