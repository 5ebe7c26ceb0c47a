"""Where commands print, and what becomes of characters that a terminal's encoding lacks."""

import codecs
import io
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

PLAIN = str.maketrans(
    {
        **dict.fromkeys("█▉▊▋▌▍▎▏", "#"),
        **dict.fromkeys("└├", "`"),
        "±": "+-",
        "µ": "u",
        "×": "x",
        "…": "...",
    }
)
ERRORS = "pgshuttle-plain"
# Control characters, which terminals obey, and marks that change the direction of a text: ALM,
# LRM, RLM, LRE to RLO, LRI to PDI.
MISLEADING = (
    *(code for code in range(0x20) if chr(code) not in "\t\n"),
    *range(0x7F, 0xA0),
    *(0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),
)
HARMLESS = dict.fromkeys(MISLEADING, "\N{REPLACEMENT CHARACTER}")


class PlainConsole(Console):
    """Prints names that users chose as what they are: no markup, and nothing that a terminal
    obeys."""

    def __init__(
        self, *, stderr: bool = False, quiet: bool = False, width: int | None = None
    ) -> None:
        super().__init__(stderr=stderr, quiet=quiet, width=width, markup=False)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else text.translate(HARMLESS), style, control)


@dataclass(frozen=True)
class Screen:
    out: Console
    err: Console

    def tell(self, document: object, *shown: RenderableType, as_json: bool) -> None:
        """Prints JSON, or what people read: one below the other."""
        if as_json:
            typer.echo(json.dumps(document, indent=2))
            return
        for one in shown:
            self.out.print(one)


def write_plain(error: UnicodeError) -> tuple[str, int]:
    """Writes what an encoding lacks by characters that all have."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(PLAIN)
    return text.encode("ascii", "replace").decode("ascii"), error.end


def print_in_any_encoding() -> None:
    """Has nothing that is printed fail for the encoding of the terminal, such as that of LANG=C."""
    codecs.register_error(ERRORS, write_plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ERRORS)
