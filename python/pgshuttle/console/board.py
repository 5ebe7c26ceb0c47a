"""What the page shows, topic by topic: every browser gets what it has not seen."""

import asyncio
import json
from typing import Any


class Board:
    """Topics and their newest texts. A slow browser skips what is old, and nothing piles up."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[int, str]] = {}
        self._newest = 0
        self._changed = asyncio.Event()

    def put(self, topic: str, value: Any) -> None:  # noqa: ANN401  (anything that JSON has)
        text = json.dumps(value, separators=(",", ":"), default=str)
        if topic in self._texts and self._texts[topic][1] == text:
            return
        self._newest += 1
        self._texts[topic] = (self._newest, text)
        self._changed.set()
        self._changed = asyncio.Event()

    async def read(self, seen: int, limit_s: float) -> tuple[int, dict[str, str]]:
        """Waits for topics that are newer than a number, up to so long."""
        if self._newest <= seen:
            try:
                await asyncio.wait_for(self._changed.wait(), limit_s)
            except TimeoutError:
                return seen, {}
        new = {topic: text for topic, (number, text) in self._texts.items() if number > seen}
        return self._newest, new
