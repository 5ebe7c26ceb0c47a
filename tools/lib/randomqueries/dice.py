"""Choices that are the same each time for the same seed."""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """A source of choices; its seed is all the words it is made of."""

    def __init__(self, *seed: object) -> None:
        self.random = random.Random("/".join(str(word) for word in seed))

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def between(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.random.randrange(len(choices))]

    def weighted(self, choices: Sequence[tuple[float, T]]) -> T:
        """One of the choices, the heavier the more often."""
        left = self.random.random() * sum(weight for weight, _ in choices)
        for weight, choice in choices:
            left -= weight
            if left <= 0:
                return choice
        return choices[-1][1]

    def sample(self, choices: Sequence[T], most: int) -> list[T]:
        """Some of the choices, in any order."""
        return self.random.sample(list(choices), min(most, len(choices)))
