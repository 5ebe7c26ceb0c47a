"""The JSON files that keep what a run found out."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Entry = dict[str, Any]


def save_run(found: "DataclassInstance", head: Mapping[str, object], path: Path) -> None:
    """Writes what a run found. head: stands before it, such as the units."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = {**head, **dataclasses.asdict(found)}
    path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
