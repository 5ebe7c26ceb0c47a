"""One page of everything: figures, claims and plans, which loads nothing from elsewhere."""

import base64
import html
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pgshuttle import figures, plan_view
from pgshuttle.errors import ToolError

RESULT_DIRS = (Path("demo-results"), Path("bench-results"))
# the browser itself refuses whatever the page would load
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
FACTS = ("made_at", "elapsed_s", "geometric_mean", "worst")
UNITS = {"_s": "s", "_mb": "MB"}  # endings of keys
MISSED = "MISSED"
NWORST = 20  # cases of a bench that are listed
STYLE = """
.wide { overflow-x: auto }
.wide img { width: max(100%, 46rem); height: auto; display: block }
dl { grid-template-columns: minmax(5rem, max-content) minmax(0, 1fr) }
dd { overflow-wrap: anywhere }
table { border-collapse: collapse; font-size: .9rem }
td, th { border-bottom: 1px solid #ddd; padding: .2rem .6rem; text-align: left }
td.missed { color: #b00020; font-weight: 600 }
section { margin-bottom: 2.5rem }
"""


def find_results(folders: Sequence[Path]) -> list[Path]:
    """Lists the files of results below folders, and files as they are.

    Without any, those of the directories that the demo and the benches write to are meant.
    """
    found: list[Path] = []
    for folder in folders or [path for path in RESULT_DIRS if path.is_dir()]:
        found += sorted(folder.glob("*.json")) if folder.is_dir() else [folder]
    return found


def write_table(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table that scrolls by itself where the page is narrow."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    lines = []
    for row in rows:
        cells = [
            f"<td class='{'missed' if cell == MISSED else ''}'>{html.escape(str(cell))}</td>"
            for cell in row
        ]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f'<div class="wide"><table><tr>{head}</tr>{"".join(lines)}</table></div>'


def write_figure(path: Path) -> str:
    """The figure of a file of results, drawn anew."""
    with tempfile.TemporaryDirectory(prefix="pgshuttle-") as directory:
        figure = Path(directory) / "figure.png"
        figures.draw(path, figure)
        data = base64.b64encode(figure.read_bytes()).decode()
    image = f'<img alt="{html.escape(path.stem)}" src="data:image/png;base64,{data}">'
    return f'<div class="wide">{image}</div>'


def list_claims(found: dict[str, Any]) -> list[tuple[object, ...]]:
    """Claims that were measured."""
    words = {True: "kept", False: MISSED}
    return [
        (claim["family"], claim["detail"], f"{claim['measured']:.4g} {claim['unit']}")
        + (f"{claim['bound']:.4g}", words[bool(claim["ok"])])
        for claim in found.get("claims", [])
        if claim.get("measured") is not None and claim.get("bound") is not None
    ]


def list_worst(found: dict[str, Any]) -> list[tuple[object, ...]]:
    """Cases whose plan was farthest from the best one, with their plans."""
    cases = sorted(found.get("cases", []), key=lambda case: -float(case["ratio"]))[:NWORST]
    return [
        (case["label"], f"{case['rtt_us'] / 1000:g} ms", f"{case['ratio']:.2f}")
        + ("; ".join(f"{', '.join(plan['ways'])}: {plan['shape']}" for plan in case["plans"]),)
        for case in cases
    ]


def list_plans(found: dict[str, Any]) -> list[tuple[object, ...]]:
    """Plans of the demo, each with the points that had it."""
    points: dict[tuple[str, str, str], int] = {}
    for entry in found.get("points", []):
        point, plan = entry["point"], entry.get("facts") or {}
        if plan.get("shape"):
            key = (str(point["case"]), str(point["contender"]), str(plan["shape"]))
            points[key] = points.get(key, 0) + 1
    return [(*key, count) for key, count in points.items()]


def name_fact(key: str) -> str:
    """Writes a key of a file of results for readers: memory_mb is "memory, MB"."""
    for ending, unit in UNITS.items():
        if key.endswith(ending):
            key = key.removesuffix(ending) + f", {unit}"
    return key.replace("_", " ")


def write_results(path: Path, found: dict[str, Any]) -> Iterator[str]:
    """The section of a file of results."""
    facts = {key: found[key] for key in FACTS if key in found}
    facts |= {
        f"{part} {key}": value
        for part in ("machine", "server")
        for key, value in (found.get(part) or {}).items()
    }
    yield write_figure(path)
    yield "<dl>"
    for name, value in facts.items():
        yield f"<dt>{html.escape(name_fact(name))}</dt><dd>{html.escape(str(value))}</dd>"
    yield "</dl>"
    for title, names, rows in (
        ("Claims", ("claim", "where", "measured", "at most", ""), list_claims(found)),
        ("Farthest from the best plan", ("join", "RTT", "times", "plans"), list_worst(found)),
        ("Plans", ("case", "who", "plan", "points"), list_plans(found)),
    ):
        if rows:
            yield f"<h3>{title}</h3>{write_table(names, rows)}"


def write_section(path: Path) -> str:
    """The section of a file: of results, or of a plan of pgshuttle explain --json."""
    found = figures.read_json(path)
    if isinstance(found, list) and found and isinstance(found[0], dict) and "Plan" in found[0]:
        body = plan_view.write_plan(found[0])
    elif figures.can_draw(found):
        body = "\n".join(write_results(path, found))
    else:
        raise ToolError(
            f"{path} is neither a file of results nor a plan",
            hint="Name files of pgshuttle demo, pgshuttle bench and pgshuttle explain --json.",
        )
    return f"<section><h2>{html.escape(path.stem)}</h2>\n{body}</section>"


def write_report(paths: Sequence[Path], target: Path) -> None:
    """Writes the page."""
    if not paths:
        raise ToolError(
            "there are no results to report",
            hint="Run pgshuttle demo or pgshuttle bench first, or name their files.",
        )
    sections = "\n".join(write_section(path) for path in paths)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(
        f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>pg_shuttle: what was measured</title><style>{plan_view.STYLE}{STYLE}</style></head><body>
<h1>pg_shuttle: what was measured</h1>
{sections}
</body></html>
""",
        encoding="utf-8",
    )
