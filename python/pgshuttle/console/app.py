"""Answers the browser: the page and its files, events, tablets of a table, plans."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from html import escape
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import psycopg
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from pgshuttle.console import statements, tablets
from pgshuttle.console.gate import Gate
from pgshuttle.console.watch import Watch
from pgshuttle.look.target import first_line

BEAT_S = 2.0  # so that the page knows that the console is there
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
PAGE = "index.html"
# The page of a plan has its styles within, and no script.
PLAN_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


def make_file_routes() -> list[Route]:
    """Reads the files of the page once."""
    folder = resources.files("pgshuttle.console") / "page"
    return [make_file_route(file) for file in folder.iterdir()]


def make_file_route(file: Traversable) -> Route:
    content = file.read_bytes()
    kind = KINDS[Path(file.name).suffix]

    async def answer(_request: Request) -> Response:
        return Response(content, media_type=f"{kind}; charset=utf-8")

    return Route("/" if file.name == PAGE else f"/{file.name}", answer)


async def send_events(request: Request) -> Response:
    """Sends what is on the board, and then each change."""
    watch: Watch = request.app.state.watch

    async def write() -> AsyncIterator[str]:
        seen = 0
        async with watch.watched():
            while True:
                seen, new = await watch.board.read(seen, BEAT_S)
                for topic, text in new.items():
                    yield f"event: {topic}\ndata: {text}\n\n"
                if not new:
                    yield "event: beat\ndata: {}\n\n"

    return StreamingResponse(write(), media_type="text/event-stream")


async def list_tablets(request: Request) -> Response:
    watch: Watch = request.app.state.watch
    try:
        table_id = int(request.query_params.get("table", ""))
        return JSONResponse(await watch.sessions.read(tablets.read_tablets, table_id))
    except ValueError:
        return JSONResponse({"error": "no such table"}, 400)
    except psycopg.Error as error:
        return JSONResponse({"error": first_line(error)}, 503)


async def ask_doctor(request: Request) -> Response:
    """Has the doctor look once more; what it finds comes as an event."""
    request.app.state.watch.want_doctor()
    return Response(status_code=204)


async def show_plan(request: Request) -> Response:
    watch: Watch = request.app.state.watch
    headers = {"Content-Security-Policy": PLAN_POLICY}
    try:
        ids = [int(request.query_params.get(name, "")) for name in ("id", "user")]
        page = await watch.sessions.read(statements.write_plan, *ids)
    except ValueError:
        return HTMLResponse("<p>No such statement.", 400, headers)
    except statements.NoPlanError as error:
        return HTMLResponse(write_refusal(str(error)), 404, headers)
    except psycopg.Error as error:
        return HTMLResponse(write_refusal(first_line(error)), 503, headers)
    return HTMLResponse(page, headers=headers)


def write_refusal(text: str) -> str:
    return (
        '<!DOCTYPE html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        '<meta name="viewport" content="width=device-width"><title>No plan</title>'
        f'<body style="font: 15px/1.5 system-ui; max-width: 40rem; margin: 3rem auto; '
        f'padding: 0 1rem"><h1 style="font-size: 1.2rem">No plan</h1><p>{escape(text)}'
    )


def make_app(dsn: str, token: str, hosts: Iterable[str]) -> Starlette:
    """Makes the application. hosts: by which names and ports it may be asked."""

    @asynccontextmanager
    async def run(app: Starlette) -> AsyncIterator[None]:
        app.state.watch = Watch(dsn)
        yield
        await app.state.watch.close()

    files = make_file_routes()
    routes = [
        *files,
        Route("/events", send_events),
        Route("/tablets", list_tablets),
        Route("/doctor", ask_doctor),
        Route("/plan", show_plan),
    ]
    is_open = [route.path for route in files if route.path != "/"]  # the same everywhere
    gate = Middleware(Gate, token=token, hosts=tuple(hosts), open_paths=is_open)
    return Starlette(routes=routes, middleware=[gate], lifespan=run)
