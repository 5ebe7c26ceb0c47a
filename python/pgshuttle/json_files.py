"""The JSON files that keep what a run found out."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pgshuttle.errors import ToolError
from pgshuttle.results import Run

Entry = dict[str, Any]


def save_run(found: Run, head: Mapping[str, object], path: Path) -> None:
    """Writes what a run found. head: stands before it, such as the units."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = {**head, **dataclasses.asdict(found)}
    path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:  # noqa: ANN401  (JSON)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ToolError(f"could not read {path}: {error.strerror}") from None
    except ValueError as error:
        raise ToolError(f"{path} is no JSON: {error}") from None
