"""Where commands print, and what becomes of characters that a terminal's encoding lacks."""

import codecs
import io
import json
import sys
from dataclasses import dataclass

import typer
from rich.console import Console, RenderableType

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
