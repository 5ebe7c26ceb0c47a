"""The demo as a page, which loads nothing: what fell short first, the figure, all tables."""

import base64
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from pgshuttle.demo.results import Results
from pgshuttle.look.plan_page import STYLE

OWN_STYLE = """
img { display: block; width: 100%; max-width: 76rem; border-radius: 6px; background: #fff;
  border: 1px solid var(--edge); margin: .8rem 0; }
.missed { color: #b3261e; } @media (prefers-color-scheme: dark) { .missed { color: #ff8f85; } }
table { width: auto; } td { white-space: normal; min-width: 4rem; max-width: 30rem; }
td, th { padding: .05rem .8rem .05rem 0; vertical-align: top; }
"""


def read_text(cell: RenderableType) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)


def write_table(table: Table) -> Iterator[str]:
    yield f"<h2>{escape(read_text(table.title or ''))}</h2>"
    yield '<div class="scroll"><table><thead><tr>'
    kinds = [' class="number"' if one.justify == "right" else "" for one in table.columns]
    for column, kind in zip(table.columns, kinds, strict=True):
        yield f"<th{kind}>{escape(read_text(column.header))}</th>"
    yield "</tr></thead><tbody>"
    for row in zip(*(column.cells for column in table.columns), strict=True):
        cells = zip(kinds, map(read_text, row), strict=True)
        yield f"<tr>{''.join(f'<td{kind}>{escape(text)}</td>' for kind, text in cells)}</tr>"
    yield "</tbody></table></div>"
    if table.caption:
        yield f'<p class="faint">{escape(read_text(table.caption))}</p>'


def write_verdict(found: Results) -> str:
    measured = [claim for claim in found.claims if claim.ok is not None]
    missed = sum(claim.ok is False for claim in measured)
    if not measured:
        return "No claim was measured."
    if not missed:
        return f"All {len(measured)} claims held."
    return f'<span class="missed">{missed} of {len(measured)} claims were missed.</span>'


def write_page(found: Results, claims: Table, shown: Sequence[RenderableType], svg: Path) -> str:
    """shown: what the terminal shows beside the claims. svg: the figure."""
    figure = base64.b64encode(svg.read_bytes()).decode()
    server, machine = found.server, found.machine
    parts = [
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>pg_shuttle's demo</title><style>{STYLE}{OWN_STYLE}</style></head><body>",
        "<h1>pg_shuttle's demo</h1>",
        f'<p class="faint">{escape(found.made_at)}, {escape(server.get("version", ""))}, '
        f"{escape(machine.cpu)}, {machine.ncores} cores, {found.elapsed_s:.0f} s</p>",
        f"<p><b>{write_verdict(found)}</b></p>",
        *write_table(claims),
        *(f'<p class="missed">{escape(str(one))}</p>' for one in shown if isinstance(one, Text)),
        "<h2>All parts</h2>",
        f'<img alt="a panel for each part" src="data:image/svg+xml;base64,{figure}">',
    ]
    for one in shown:
        parts += write_table(one) if isinstance(one, Table) else ()
    return "\n".join([*parts, "</body></html>"]) + "\n"
