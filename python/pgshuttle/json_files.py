"""The JSON files that keep what a run found out."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pgshuttle.errors import ToolError

Entry = dict[str, Any]


def write_json(path: Path, whole: Mapping[str, object]) -> None:
    """Writes a file of results."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_results(path: Path, name: str, is_usable: Callable[[Entry], object]) -> Entry:
    """Reads a file of results.

    name: what it holds, for errors. is_usable: false where there are none in it; may fail where
    it is another file.
    """
    try:
        found: Entry = json.loads(path.read_text(encoding="utf-8"))
        usable = is_usable(found)
    except FileNotFoundError:
        raise ToolError(f"{path} does not exist") from None
    except (ValueError, KeyError, TypeError):
        raise ToolError(f"{path} is not a file of {name}") from None
    if not usable:
        raise ToolError(f"{path} has no {name}")
    return found
