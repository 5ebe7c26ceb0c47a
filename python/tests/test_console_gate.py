"""Who may ask the console, by what name, and what its answers allow."""

import asyncio
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from conftest import invoke

from pgshuttle.base.errors import ExitCode
from pgshuttle.commands import console as console_command
from pgshuttle.console import app, gate
from pgshuttle.console.board import Board
from pgshuttle.console.texts import literal

HOST = "127.0.0.1:8432"
TOKEN = "a-token"


@dataclass
class Answer:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    text: str = ""


class Client:
    """Asks a console of no server, without a network."""

    def get(self, address: str, method: str = "GET", host: str = HOST) -> Answer:
        return asyncio.run(self._ask(address, method, host))

    async def _ask(self, address: str, method: str, host: str) -> Answer:
        path, _, query = address.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [(b"host", host.encode())],
        }
        answer = Answer()

        async def receive() -> dict[str, Any]:
            return {"type": "http.request"}

        async def send(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                answer.headers = {a.decode(): b.decode() for a, b in message["headers"]}
            else:
                answer.text += message["body"].decode()

        made = app.make_app("host=/nowhere", TOKEN, [HOST])
        async with made.router.lifespan_context(made):
            await made(scope, receive, send)
        return answer


@pytest.fixture
def client() -> Client:
    return Client()


def test_the_page_wants_its_token(client: Client) -> None:
    for address in ("/", "/events", "/tablets?table=1", "/plan?id=1&user=1", "/doctor"):
        join = "&" if "?" in address else "?"
        assert client.get(address).status == 403
        assert client.get(f"{address}{join}token=another").status == 403
        assert client.get(f"{address}{join}token=%FF").status == 403
    page = client.get(f"/?token={TOKEN}")
    assert page.status == 200
    assert TOKEN not in page.text
    assert len(gate.make_token()) >= 32
    assert gate.make_token() != gate.make_token()


def test_another_name_of_this_machine_is_refused(client: Client) -> None:
    for host in ("evil.example:8432", "127.0.0.1:80", "127.0.0.1", ""):
        answer = client.get(f"/?token={TOKEN}", host=host)
        assert answer.status == 421, host
    assert client.get(f"/?token={TOKEN}", "POST").status == 405


def test_nothing_is_loaded_from_elsewhere(client: Client) -> None:
    page = client.get(f"/?token={TOKEN}")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["referrer-policy"] == "no-referrer"
    for name in ("console.css", "console.js", "dom.js", "nodes.js", "tablets.js", "lists.js"):
        file = client.get(f"/{name}")
        assert file.status == 200
        assert "://" not in file.text.replace("http://www.w3.org/2000/svg", "")
        assert "innerHTML" not in file.text
    assert "://" not in page.text


def test_without_a_server_answers_say_so(client: Client) -> None:
    tail = f"&token={TOKEN}"
    assert client.get(f"/tablets?table=x{tail}").status == 400
    assert client.get(f"/tablets?table=1{tail}").status == 503
    refused = client.get(f"/plan?id=1&user=1{tail}")
    assert refused.status == 503
    assert "<script" not in refused.text
    assert client.get(f"/plan?id=x{tail}").status == 400


def test_a_board_gives_each_reader_what_is_new() -> None:
    async def check() -> None:
        board = Board()
        assert await board.read(0, 0.01) == (0, {})
        board.put("a", 1)
        board.put("b", [2])
        seen, new = await board.read(0, 1)
        assert new == {"a": "1", "b": "[2]"}
        board.put("a", 1)
        assert await board.read(seen, 0.01) == (seen, {})
        waiting = asyncio.create_task(board.read(seen, 5))
        await asyncio.sleep(0)
        board.put("a", 3)
        board.put("a", 4)
        assert (await waiting)[1] == {"a": "4"}

    asyncio.run(check())


def test_a_text_becomes_a_literal() -> None:
    assert literal("it's") == "'it''s'"
    assert literal("a\\'b") == "E'a\\\\''b'"


def test_names_by_which_it_may_be_asked() -> None:
    assert console_command.list_hosts("127.0.0.1", 8, [])[:2] == ["127.0.0.1:8", "localhost:8"]
    assert "[fd00::1]:8" in console_command.list_hosts("fd00::1", 8, [])
    assert {"localhost", "localhost:80", "[::1]"} <= set(console_command.list_hosts("::1", 80, []))
    assert "localhost" not in console_command.list_hosts("127.0.0.1", 8, [])
    assert "db.example" in console_command.list_hosts("127.0.0.1", 8, ["db.example"])
    assert console_command.is_loopback("::1")
    assert not console_command.is_loopback("0.0.0.0")
    output = invoke("console", "--host", "0.0.0.0", "--no-token", code=ExitCode.USAGE)
    assert "loopback" in output
