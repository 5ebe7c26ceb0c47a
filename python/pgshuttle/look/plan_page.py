"""A plan as a page, which loads nothing: for a browser, wide or narrow, light or dark."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any

from pgshuttle.look.plan_view import (
    SCALE,
    Line,
    Shares,
    list_lines,
    list_totals,
    write_count,
    write_ms,
)

STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --faint: #59636e; --back: #fff; --box: #f3f5f7;
  --edge: #d1d9e0; --time: #7fb8e6; --asked: #f2c14e; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ec; --faint: #9ea7b1; --back: #15191e;
  --box: #1f252c; --edge: #39424d; --time: #2a6395; --asked: #7f5d10; } }
body { max-width: 76rem; margin: 1.5rem auto; padding: 0 1rem; color: var(--text);
  background: var(--back); font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.3rem; margin: 0; } h2 { font-size: 1.05rem; margin: 1.6rem 0 .4rem; }
p { margin: .3rem 0; overflow-wrap: anywhere; } .faint { color: var(--faint); }
pre { background: var(--box); border: 1px solid var(--edge); border-radius: 6px; margin: .6rem 0;
  padding: .6rem .8rem; overflow-x: auto; }
pre.query { white-space: pre-wrap; overflow-wrap: anywhere; }
pre, code, td.name { font: 13px/1.5 ui-monospace, "DejaVu Sans Mono", Consolas, monospace; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-weight: 600; border-bottom: 2px solid var(--edge); }
th, td { padding: 0 .6rem; line-height: 1.6rem; vertical-align: baseline; white-space: nowrap; }
tbody tr:hover { background: var(--box); }
td.name { white-space: pre; line-height: 1.6rem; }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; }
td.bar { min-width: 8rem; background: linear-gradient(var(--colour), var(--colour)) no-repeat
  .3rem center / calc(var(--part) * (100% - .6rem)) 1.15rem; }
td.time, i.time { --colour: var(--time); } td.asked, i.asked { --colour: var(--asked); }
i { display: inline-block; width: 1.4em; height: .8em; background: var(--colour); }
dl { display: grid; grid-template-columns: minmax(8rem, max-content) 1fr; gap: .1rem 1rem;
  margin: .2rem 0; }
dt { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; }
summary { cursor: pointer; font-weight: 600; padding: .15rem 0; }
@media (max-width: 40rem) { th, td { padding: 0 .3rem; } td.bar { min-width: 4.5rem; }
  th.loops, td.loops { display: none; } dl { grid-template-columns: max-content 1fr; }
  .details dl { display: block; } .details dt { float: left; clear: left; margin-right: .6rem; } }
"""


def write_bar(kind: str, part: float, text: str) -> str:
    """A cell with a number, and behind it a bar for a part of 1."""
    return f'<td class="number bar {kind}" style="--part: {part:.3f}">{text}</td>'


def write_rows(line: Line) -> str:
    """Rows, or what the planner expects if the statement did not run."""
    if line.rows is None and line.loops is None and line.estimate is not None:
        return f"≈ {write_count(line.estimate)}"
    return write_count(line.rows)


def write_row(line: Line, shares: Shares) -> str:
    cells = [f'<td class="name">{escape(line.tree)}{escape(line.name)}</td>']
    cells.append(f"<td>{escape(line.node)}</td>")
    cells.append(f'<td class="number">{write_rows(line)}</td>')
    cells.append(f'<td class="number loops">{write_count(line.loops)}</td>')
    cells.append(write_bar("time", shares.of_time(line), write_ms(line.own_ms)))
    cells.append(write_bar("asked", shares.of_requests(line), write_count(line.requests)))
    return f"<tr>{''.join(cells)}</tr>"


def write_table(lines: list[Line]) -> Iterator[str]:
    shares = Shares.of(lines)
    yield '<div class="scroll"><table><thead><tr><th>plan</th><th>node</th>'
    yield '<th class="number">rows</th><th class="number loops">loops</th>'
    yield '<th class="number">own time</th><th class="number">requests</th>'
    yield "</tr></thead><tbody>"
    yield from (write_row(line, shares) for line in lines)
    yield "</tbody></table></div>"
    yield f'<p class="faint"><i class="time"></i> <i class="asked"></i> {SCALE}</p>'


def write_pairs(pairs: list[tuple[str, str]]) -> Iterator[str]:
    yield "<dl>"
    yield from (f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in pairs)
    yield "</dl>"


def write_details(lines: list[Line]) -> Iterator[str]:
    """Conditions, counters and SQL of each node that has any."""
    found = [line for line in lines if line.details]
    if found:
        yield '<h2>Details</h2><div class="details">'
        yield from (part for line in found for part in write_detail(line))
        yield "</div>"


def write_detail(line: Line) -> Iterator[str]:
    place = f" on {line.node}" if line.node else ""
    yield f"<details open><summary>{escape(line.name + place)}</summary>"
    yield from write_pairs([(name, str(value)) for name, value in line.details.items()])
    yield "</details>"


@dataclass(frozen=True)
class Origin:
    """The statement that was explained, when, and on what."""

    query: str
    taken: datetime
    server: str


def write_page(origin: Origin, answer: dict[str, Any], servers: Mapping[str, str]) -> str:
    """Writes the statement, where it comes from, its plan, details, and EXPLAIN's answer.

    servers: those of foreign tables.
    """
    query, lines = origin.query, list(list_lines(answer["Plan"], servers))
    first = " ".join(query.split())[:60]
    parts = [
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Plan of {escape(first)}</title><style>{STYLE}</style></head><body>",
        "<h1>Plan of a statement</h1>",
        f'<p class="faint">{origin.taken:%Y-%m-%d %H:%M:%S %Z}, {escape(origin.server)}</p>',
        f'<pre class="query">{escape(query)}</pre>',
        *write_table(lines),
        "<h2>In all</h2>",
        *write_pairs(list_totals(answer)),
        *write_details(lines),
        "<h2>EXPLAIN</h2><details><summary>Its answer as JSON</summary>",
        f"<pre>{escape(json.dumps([answer], indent=2))}</pre></details></body></html>",
    ]
    return "\n".join(parts) + "\n"
