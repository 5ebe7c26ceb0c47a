"""A relay in front of a storage node that loses or holds one COMMIT."""

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum, auto

COMMIT = re.compile(rb"COMMIT(?!TED)")  # and COMMIT PREPARED
TIMEOUT_S = 30.0


class Fate(Enum):
    """What becomes of the next COMMIT."""

    PASSES = auto()
    LOST = auto()  # the node never sees it
    UNANSWERED = auto()  # the node's answer is lost
    HELD = auto()  # it waits until it is released


class Relay:
    """Carries connections to a port of this machine."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.fate = Fate.PASSES
        self.held = threading.Event()
        self.released = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.listener.getsockname()[1])

    def accept(self) -> None:
        with suppress(OSError):  # closed at the end
            while True:
                client, _address = self.listener.accept()
                node = socket.create_connection(("127.0.0.1", self.target))
                self.carry(client, node)

    def carry(self, client: socket.socket, node: socket.socket) -> None:
        """Carries one connection, each way in a thread of its own."""
        lost = threading.Event()

        def is_lost(request: bytes) -> bool:
            if self.fate is Fate.PASSES or COMMIT.search(request) is None:
                return False
            fate, self.fate = self.fate, Fate.PASSES
            if fate is Fate.UNANSWERED:
                lost.set()
            elif fate is Fate.HELD:
                self.held.set()
                self.released.wait(TIMEOUT_S)
            return fate is Fate.LOST

        def work() -> None:
            with client, node:
                back = start(move, node, client, lambda _answer: lost.is_set())
                move(client, node, is_lost)
                back.join(TIMEOUT_S)

        start(work)


def move(source: socket.socket, target: socket.socket, is_lost: Callable[[bytes], bool]) -> None:
    """Moves what comes, until an end closes or something is lost; then closes both."""
    with suppress(OSError):
        while (data := source.recv(65536)) and not is_lost(data):
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def start(work: Callable[..., None], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    thread.start()
    return thread


@contextmanager
def relay_to(port: int) -> Iterator[Relay]:
    """A relay to a port until the end of the block."""
    made = Relay(port)
    with made.listener:
        accepting = start(made.accept)
        yield made
        made.listener.shutdown(socket.SHUT_RDWR)
        accepting.join(TIMEOUT_S)
