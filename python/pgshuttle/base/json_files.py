"""Reads JSON files."""

import json
from pathlib import Path
from typing import Any

from pgshuttle.base.errors import ToolError

Entry = dict[str, Any]


def read_json(path: Path) -> Any:  # noqa: ANN401  (JSON)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ToolError(f"could not read {path}: {error.strerror}") from None
    except ValueError as error:
        raise ToolError(f"{path} is no JSON: {error}") from None
