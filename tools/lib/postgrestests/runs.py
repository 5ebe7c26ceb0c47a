"""Runs a test on both servers, statement by statement, and keeps them in step."""

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lib.postgrestests.places import DATABASE, NODES, Place, Places
from lib.postgrestests.psql import Psql, PsqlEndedError, PsqlError
from lib.postgrestests.script import Piece, cut
from lib.postgrestests.sources import Suite

LIMIT_S = 120.0
ERROR = re.compile(r"^(psql:[^ ]* )?(ERROR|FATAL):  ")
# A subtransaction around these would change them.
NO_SAVEPOINT = re.compile(
    r"^\s*(--[^\n]*\n\s*)*(begin|start|commit|rollback|end|abort|savepoint|release|prepare\s+transaction)\b"
    r"|\b(isolation\s+level|transaction\s+(read|snapshot)|export_snapshot)\b"
    r"|\\(startpipeline|endpipeline|bind|sendpipeline|syncpipeline)",
    re.IGNORECASE,
)
# So do these, that look at what subtransactions do, or set what psql does.
WITHOUT_SAVEPOINTS = {"enum", "psql", "psql_pipeline"}
WORD = re.compile(r"[A-Za-z_\x80-\uffff][A-Za-z_0-9$\x80-\uffff]*")
QUIT = re.compile(r"^\s*\\q(uit)?\b", re.MULTILINE)
MAKES_TABLE = re.compile(r"\bcreate\s+table\s+(?:if\s+not\s+exists\s+)?([\w.\"]+)", re.IGNORECASE)
TABLET = re.compile(r"_t\d+(_\d+)?$")
DROPPED_KEY = re.compile(r"foreign key \S+ between (\S+) and (\S+) is dropped")
KEY_AGAIN = re.compile(r"add it again later: (.*)\.$")
MADE_ON_NODES = re.compile(r": CREATE TABLE .*\bPARTITION BY HASH ")


def failed(lines: Sequence[str]) -> bool:
    return any(ERROR.match(line) for line in lines)


@dataclass(frozen=True)
class Answer:
    """What a piece printed, and the SQLSTATE of its last statement."""

    lines: tuple[str, ...]
    state: str

    @property
    def failed(self) -> bool:
        return failed(self.lines)


@dataclass(frozen=True)
class Step:
    """A piece of a test: what it gave alone, and over nodes.

    refused is what it gave first, if it was run again with its tables here. here: its
    table was kept here from the start, and this is why.
    """

    test: str
    piece: Piece
    alone: Answer
    distributed: Answer
    refused: Answer | None = None
    here: str = ""


@dataclass
class Run:
    """One test: all steps, and why it ended early.

    nused: distributed tables of earlier tests that it names; ntables: those that it makes.
    """

    name: str
    steps: list[Step] = field(default_factory=list)
    nused: int = 0
    ntables: int = 0
    broken: str = ""


@dataclass(frozen=True)
class Here:
    """Tables that a test needs on the query node, and why."""

    test: str
    tables: str  # a pattern
    name: str  # of the class

    def matches(self, test: str, text: str) -> bool:
        found = MAKES_TABLE.search(text)
        return (
            found is not None
            and re.fullmatch(self.test, test) is not None
            and re.fullmatch(self.tables, found[1], re.IGNORECASE) is not None
        )


class Session:
    """A psql of one server; its own directory does not show in what it prints."""

    def __init__(self, place: Place, psql: Psql) -> None:
        self._place = place
        self._psql = psql

    def run(self, text: str) -> Answer:
        lines, state = self._psql.run(text, LIMIT_S)
        own = str(self._place.base)
        return Answer(tuple(line.replace(own, "DIRECTORY") for line in lines), state)


@dataclass(frozen=True)
class Sessions:
    """Those of a test: alone, over nodes, and a second one there, of the superuser."""

    alone: Session
    distributed: Session
    admin: Session


def run_test(places: Places, suite: Suite, name: str, here: tuple[Here, ...] = ()) -> Run:
    run = Run(name)
    before = count_made(places.nodes.cluster.log)
    with contextlib.ExitStack() as stack:
        sessions = Sessions(
            *(
                Session(place, stack.enter_context(Psql(place.cluster, DATABASE, place.variables)))
                for place in (places.alone, places.distributed, places.distributed)
            )
        )
        sessions.admin.run("SET lock_timeout = '3s';")
        run.nused = count_used(sessions.admin, suite.script(name))
        for piece in cut(suite.script(name), places.ends_copy):
            reason = next((h.name for h in here if h.matches(name, piece.text)), "")
            try:
                step = run_piece(name, piece, sessions, reason)
            except PsqlError as error:
                if not (isinstance(error, PsqlEndedError) and QUIT.search(piece.text)):
                    run.broken = f"line {piece.line}: {error}"
                break
            run.steps.append(step)
    run.ntables = (count_made(places.nodes.cluster.log) - before) // len(NODES)
    return run


def count_made(log: Path) -> int:
    """How many tables the nodes were told to make; each is made on each of them."""
    with log.open(errors="replace") as lines:
        return sum(MADE_ON_NODES.search(line) is not None for line in lines)


def count_used(admin: Session, script: str) -> int:
    """How many distributed tables there are already that a script names."""
    query = (
        "SELECT relname FROM shuttle.tables JOIN pg_catalog.pg_class"
        " ON oid OPERATOR(pg_catalog.=) relation;"
    )
    return len(named_in([script]) & {line.strip() for line in admin.run(query).lines})


def run_piece(name: str, piece: Piece, sessions: Sessions, here: str) -> Step:
    distributed = sessions.distributed
    expected = sessions.alone.run(piece.text)
    protected = not (
        expected.failed or name in WITHOUT_SAVEPOINTS or NO_SAVEPOINT.search(piece.text)
    )
    if here:
        return Step(name, piece, expected, run_here(distributed, piece.text, protected), here=here)
    first = run_protected(distributed, piece.text, protected)
    if not first.failed or expected.failed:
        return Step(name, piece, expected, first)
    bring_back(sessions, named_in([piece.text, *first.lines]))
    again = run_protected(distributed, piece.text, protected)
    if again.failed:
        again = run_here(distributed, piece.text, protected)
    return Step(name, piece, expected, again, first)


def run_here(session: Session, text: str, protected: bool) -> Answer:
    """Runs a statement whose new tables are not distributed."""
    session.run("SET shuttle.auto_distribute = '';")
    answer = run_protected(session, text, protected)
    session.run("RESET shuttle.auto_distribute;")
    return answer


def run_protected(session: Session, text: str, protected: bool) -> Answer:
    """An error that only we raise does not end a transaction."""
    if not protected:
        return session.run(text)
    session.run("\\set ON_ERROR_ROLLBACK on")
    answer = session.run(text)
    session.run("\\unset ON_ERROR_ROLLBACK")
    return answer


def named_in(lines: list[str]) -> set[str]:
    """All that can be the name of a table; of a tablet, also that of its table."""
    words = {word.lower() for line in lines for word in WORD.findall(line)}
    return words | {TABLET.sub("", word) for word in words}


def bring_back(sessions: Sessions, names: set[str]) -> None:
    """Makes distributed tables with these names local ones, with those that keys relate to them."""
    one_of = ", ".join(f"'{name}'" for name in sorted(names))
    query = (
        "SELECT shuttle.local_tables(pg_catalog.array_agg(relation)) FROM shuttle.tables"
        " JOIN pg_catalog.pg_class ON oid OPERATOR(pg_catalog.=) relation"
        f" WHERE pg_catalog.lower(relname) IN ({one_of}) \\g /dev/null"
    )
    for session in (sessions.distributed, sessions.admin):
        session.run("\\set told_before :VERBOSITY\n\\set VERBOSITY default")
        answer = run_protected(session, query, True)
        if not answer.failed:
            bring_back_keys(session, answer.lines)
        session.run("\\set VERBOSITY :told_before\n\\unset told_before")
        if not answer.failed:
            return


def bring_back_keys(session: Session, lines: tuple[str, ...]) -> None:
    """Foreign keys to tables that stay on nodes are dropped with a warning: it says what to do."""
    pairs = [found.groups() for found in map(DROPPED_KEY.search, lines) if found]
    tables = {table for pair in pairs for table in pair}
    keys = [found[1] for found in map(KEY_AGAIN.search, lines) if found]
    if not tables:
        return
    arrays = ", ".join(f"'{table}'" for table in sorted(tables))
    answer = run_protected(
        session,
        "SELECT shuttle.local_tables(pg_catalog.array_agg(relation)) FROM shuttle.tables"
        f" WHERE relation IN ({arrays}) \\g /dev/null",
        True,
    )
    for key in keys:
        run_protected(session, f"{key};", True)
    bring_back_keys(session, answer.lines)
