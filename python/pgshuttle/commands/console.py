"""The command console: serves the page until it is interrupted."""

import ipaddress
import socket
from typing import Annotated

import typer

from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.base.screen import Screen
from pgshuttle.commands.options import DirOption, DsnOption, JsonOption
from pgshuttle.look import target

HTTP_PORT = 80
LOOPBACK = "127.0.0.1"
LOOPBACK_NAMES = (LOOPBACK, "localhost", "[::1]")


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def open_socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise ToolError(f"cannot listen on {host}, port {port}: {error.strerror}") from None
    return listener


def list_hosts(host: str, port: int, others: list[str]) -> list[str]:
    """By which names a browser may ask. others: as the browser sends them."""
    own = f"[{host}]" if ":" in host else host
    names = dict.fromkeys([own, *LOOPBACK_NAMES])
    short = names if port == HTTP_PORT else ()  # browsers leave this one out
    return [*(f"{name}:{port}" for name in names), *short, *others]


def serve(
    screen: Screen,
    dsn: str,
    host: str = LOOPBACK,
    port: int = 0,
    *,
    names: list[str] | None = None,
    with_token: bool = True,
    as_json: bool = False,
) -> None:
    """Serves the page. Ctrl-C ends it."""
    import uvicorn  # noqa: PLC0415  (both are needed by this command alone)

    from pgshuttle.console import app, gate  # noqa: PLC0415

    with open_socket(host, port) as listener:
        port = listener.getsockname()[1]
        token = gate.make_token() if with_token else ""
        made = app.make_app(dsn, token, list_hosts(host, port, names or []))
        address = f"http://{list_hosts(host, port, [])[0]}/" + (token and f"?token={token}")
        if as_json:
            screen.tell({"address": address}, as_json=True)
        else:
            text = f"Console: {address}"
            screen.out.print(text, soft_wrap=True, highlight=False)
        config = uvicorn.Config(
            made, log_level="warning", access_log=False, timeout_graceful_shutdown=1
        )
        uvicorn.Server(config).run(sockets=[listener])


def run_console(
    ctx: typer.Context,
    dsn: DsnOption = None,
    directory: DirOption = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = LOOPBACK,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="0 takes one that is free.")
    ] = 0,
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--name", help="A name, with its port unless it is the usual, of a proxy before it."
        ),
    ] = None,
    with_token: Annotated[
        bool, typer.Option("--token/--no-token", help="Whether the address must have a token.")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Serves a web page of the cluster, until Ctrl-C: nodes, tablets, commits, statements."""
    if not with_token and not is_loopback(host):
        raise ToolError("--no-token wants a loopback address", exit_code=ExitCode.USAGE)
    found = target.find_target(dsn, directory)
    with target.connect(found) as connection:  # an error here is better than an empty page
        target.require_extension(connection)
    serve(ctx.obj, found.dsn, host, port, names=name, with_token=with_token, as_json=as_json)
