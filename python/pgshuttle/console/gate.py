"""Who may ask: whoever has the token, and by a name that this console has."""

import secrets
from collections.abc import Iterable
from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Scripts, styles and events come from here alone; nobody may show the page in a frame.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",  # the address has the token
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def make_token() -> str:
    return secrets.token_urlsafe(24)


class Gate:
    """Refuses requests before the application sees them, and adds headers to all answers."""

    def __init__(
        self, app: ASGIApp, *, token: str, hosts: Iterable[str], open_paths: Iterable[str]
    ) -> None:
        """token: empty if none is asked for. hosts: names and ports, as a browser sends them.

        open_paths: what needs no token.
        """
        self._app = app
        self._token = token.encode()
        self._open_paths = frozenset(open_paths)
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._find_refusal(scope)
        answer = self._app if refusal is None else refusal
        await answer(scope, receive, send_with_headers)

    def _find_refusal(self, scope: Scope) -> PlainTextResponse | None:
        """A page elsewhere whose name was made to mean this machine has its own name in Host."""
        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1").lower()
        if host not in self._hosts:
            return PlainTextResponse("This console is not known by that name.\n", 421)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("This console only shows.\n", 405)
        if scope["path"] in self._open_paths or not self._token:
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not secrets.compare_digest(given.encode(), self._token):
            return PlainTextResponse(
                "The address lacks the token: use the one that pgshuttle console printed.\n", 403
            )
        return None
