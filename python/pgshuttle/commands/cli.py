"""The command pgshuttle: reads arguments, calls the other modules, prints."""

import signal
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import psycopg
import typer
from typer.core import TyperGroup

from pgshuttle import __version__
from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.base.screen import PlainConsole, Screen, print_in_any_encoding
from pgshuttle.commands import bench as bench_commands
from pgshuttle.commands import cluster as cluster_commands
from pgshuttle.commands import console as console_command
from pgshuttle.commands import demo as demo_commands
from pgshuttle.commands import distribute as distribute_commands
from pgshuttle.commands import ha as ha_commands
from pgshuttle.commands import look as look_commands
from pgshuttle.look import target

LEAST_WIDTH = 80  # characters of a line
FILE_WIDTH = 140  # characters of a line where the output is no terminal


def write_os_error(error: OSError) -> str:
    said = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {said}" if error.filename else said


class ToolGroup(TyperGroup):
    """Turns our errors into a message and an exit code."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  (the base class says so)
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            missing = ToolError(
                f'the Python package "{error.name}" is missing',
                hint=f"Install it: pip install {error.name}, or on Debian "
                f"apt-get install python3-{error.name}.",
                exit_code=ExitCode.NOT_INSTALLED,
            )
            raise self.end(missing) from None
        except ToolError as error:
            raise self.end(error) from None
        except psycopg.Error as error:  # a server that refuses something, or goes away
            more = filter(None, (error.diag.message_detail, error.diag.message_hint))
            said = ToolError(target.first_line(error), hint="\n".join(more))
            raise self.end(said) from None
        except BrokenPipeError:  # who reads our output has seen enough
            raise
        except OSError as error:  # a file or a directory that can't be read, made or written
            raise self.end(ToolError(write_os_error(error))) from None

    def end(self, error: ToolError) -> typer.Exit:
        err = PlainConsole(stderr=True)
        message = f"pgshuttle: {error.message}"
        err.print(message, style="red", soft_wrap=True, highlight=False)
        if error.hint:
            err.print(error.hint, soft_wrap=True, highlight=False)
        return typer.Exit(error.exit_code)


app = typer.Typer(
    cls=ToolGroup,
    help="Checks pg_shuttle, shows what it does, and tries and measures it on small clusters.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# words that are no options of ours are psql's
TO_PSQL = {"allow_extra_args": True, "ignore_unknown_options": True}
COMMANDS: Mapping[str, Callable[..., None]] = {
    "doctor": look_commands.run_doctor,
    "explain": look_commands.run_explain,
    "top": look_commands.run_top,
    "console": console_command.run_console,
    "distribute": distribute_commands.run_distribute,
    "tables": distribute_commands.run_tables,
    "demo": demo_commands.run_demo,
    "plot": demo_commands.draw,
    "up": cluster_commands.up,
    "down": cluster_commands.down,
    "status": cluster_commands.status,
    "rtt": cluster_commands.rtt,
}
for name, command in COMMANDS.items():
    app.command(name)(command)
app.command("psql", context_settings=TO_PSQL)(cluster_commands.psql)
app.add_typer(bench_commands.app, name="bench")
app.add_typer(ha_commands.app, name="ha")


def print_version(asked: bool) -> None:  # noqa: FBT001  (typer calls it so)
    if asked:
        typer.echo(f"pgshuttle {__version__}")
        raise typer.Exit


def make_console() -> PlainConsole:
    """Where tables go. A narrow terminal wraps their lines, instead of losing their words."""
    out = PlainConsole()
    if not out.is_terminal:
        return PlainConsole(width=FILE_WIDTH)
    return PlainConsole(width=LEAST_WIDTH) if out.width < LEAST_WIDTH else out


@app.callback()
def start(
    ctx: typer.Context,
    version: Annotated[  # noqa: ARG001  (its callback did all)
        bool,
        typer.Option(
            "--version", callback=print_version, is_eager=True, help="Print the version and end."
        ),
    ] = False,
) -> None:
    """Checks pg_shuttle, shows what it does, and tries and measures it on small clusters."""
    ctx.obj = Screen(make_console(), PlainConsole(stderr=True))


def end_on_signal(number: int, _frame: object) -> None:
    """Ends the command in order: what it started for itself is stopped."""
    raise SystemExit(128 + number)


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_on_signal)
    print_in_any_encoding()
    app()
