"""Tables with policies and security barriers, the same on the plain and on the far side.

Each has rows that the reader sees, which no expression of an attack fails for, and hidden
ones: these have a marker in all columns that can hold one, and z = 0.

Nodes execute f.far(). A superuser owns it: code of the reader does not get to nodes that have
the owner's tables.
"""

import re
from collections.abc import Iterator

from lib.randomqueries.dice import Dice
from lib.randomqueries.schema import make_nodes
from lib.randomqueries.session import Session

PLAIN, FAR = "plain", "far"
DATABASES = (PLAIN, FAR)
NODES = ("node_one", "node_two")
READER, OWNER, REMOTE = "reader", "owner", "remote"
ROWS = 24
MARKER = re.compile(r"HIDDEN|777\d{4}")

TABLES = ("a", "b", "c")
COPIED = "c"  # a reference table
OPEN = "q"  # without policies
VIEWS = ("va", "vi", "vj", "vg")
# Has rows of a table, but not its policies: nobody but the owner may name it.
PART = "shuttle_tablets.a_t0"
# What hides rows where a view does not: nodes test the first ones, the others stay here.
POLICIES = (
    "owner = 'reader'",
    "z > 0",
    "md5(md5(md5(owner))) = md5(md5(md5('reader')))",
    "owner = current_user",
    "f.own(owner)",
    "EXISTS (SELECT FROM f.granted g WHERE g.who = owner)",
    "id IN (SELECT g.id FROM q g WHERE g.n % 2 = 0)",
)

FUNCTIONS = """
CREATE SCHEMA f;
CREATE FUNCTION f.own(text) RETURNS bool LANGUAGE plpgsql STABLE COST 1000
    AS 'BEGIN RETURN $1 = current_user; END';
CREATE TABLE f.granted (who text PRIMARY KEY);
INSERT INTO f.granted VALUES ('reader');
GRANT ALL ON SCHEMA f TO reader, owner;
GRANT SELECT ON f.granted TO reader, owner;
CREATE FUNCTION f.far(text) RETURNS bool LANGUAGE plpgsql IMMUTABLE COST 0.0001
    AS 'BEGIN RAISE NOTICE ''saw %'', $1; RETURN true; END';
SET ROLE reader;
CREATE FUNCTION f.tell(text) RETURNS bool LANGUAGE plpgsql IMMUTABLE COST 0.0001
    AS 'BEGIN RAISE NOTICE ''saw %'', $1; RETURN true; END';
CREATE FUNCTION f.size(text) RETURNS int LANGUAGE plpgsql VOLATILE
    AS 'BEGIN RAISE NOTICE ''saw %'', $1; RETURN length($1); END';
CREATE FUNCTION f.show(anyelement) RETURNS text LANGUAGE plpgsql STABLE
    AS 'BEGIN IF $1::text ~ ''HIDDEN|777'' THEN RAISE ''saw %'', $1; END IF; RETURN ''seen''; END';
CREATE FUNCTION f.below(text, text) RETURNS bool LANGUAGE plpgsql IMMUTABLE
    AS 'BEGIN RAISE NOTICE ''saw % and %'', $1, $2; RETURN true; END';
CREATE OPERATOR f.<<< (FUNCTION = f.below, LEFTARG = text, RIGHTARG = text,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
CREATE FUNCTION f.loop(query text) RETURNS SETOF text LANGUAGE plpgsql
    AS 'DECLARE r record; BEGIN FOR r IN EXECUTE $1 LOOP RETURN NEXT r::text; END LOOP; END';
RESET ROLE
"""


def make_rows(dice: Dice, table: str) -> Iterator[list[str | None]]:
    for i in range(1, ROWS + 1):
        seen = i % 2 == 0 or table == OPEN
        n = str(i) if table == OPEN else str(dice.between(1, ROWS))  # a policy goes by q.n
        mark = f"HIDDEN{table}{i}"
        yield [
            str(i),
            READER if seen else "other",
            n,
            str(1 + i % 3) if seen else "0",
            str(1 + i % 4) if seen else mark,
            str(i % 5) if seen else str(7770000 + i),
        ]


def definitions(seed: int) -> Iterator[str]:
    """Policies, views and grants, made by the owner."""
    dice = Dice(seed, "policies")
    for table in TABLES:
        yield f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"
        condition = dice.pick(POLICIES)
        if dice.chance(0.5):
            yield f"CREATE POLICY seen ON {table} USING ({condition})"
        else:
            yield f"CREATE POLICY wide ON {table} USING (true)"
            yield f"CREATE POLICY narrow ON {table} AS RESTRICTIVE USING ({condition})"
    inner = dice.pick(("owner = 'reader'", "z > 0 AND owner = 'reader'", "f.own(owner)"))
    inner = inner.replace("f.own(owner)", "f.own(replace(owner, 'reader', current_user))")
    yield f"CREATE VIEW va WITH (security_barrier) AS SELECT * FROM a WHERE {inner}"
    yield "CREATE VIEW vi WITH (security_barrier, security_invoker) AS SELECT * FROM b WHERE m < 4"
    yield (
        "CREATE VIEW vj WITH (security_barrier) AS SELECT b.id, b.owner, a.n, b.z, b.secret, b.m"
        " FROM a JOIN b ON b.id = a.id WHERE a.z > 0 AND b.owner = 'reader'"
    )
    yield (
        "CREATE VIEW vg WITH (security_barrier) AS SELECT id, min(owner) AS owner, max(n) AS n,"
        " min(z) AS z, max(secret) AS secret, max(m) AS m FROM a WHERE z > 0 GROUP BY id"
    )
    yield f"GRANT ALL ON {', '.join((*TABLES, OPEN, *VIEWS))} TO {READER}"


def make_side(session: Session, seed: int, far: bool) -> None:
    dice = Dice(seed, "world")
    session.run(FUNCTIONS)
    session.run(f"GRANT ALL ON SCHEMA public TO {OWNER}, {READER}; SET ROLE {OWNER}")
    for table in (*TABLES, OPEN):
        session.run(
            f"CREATE TABLE {table} (id int PRIMARY KEY, owner text, n int, z int CHECK (z >= 0),"
            " secret text, m int)"
        )
        rows = list(make_rows(Dice(seed, "rows", table), table))
        session.copy(f"COPY {table} FROM STDIN", rows)
    if dice.chance(0.5):
        session.run("CREATE INDEX ON a (z); CREATE INDEX ON b (n)")
    session.run("RESET ROLE")
    if far:
        tablets = dice.between(1, 4)
        for table in (*TABLES, OPEN):
            spread = f"distribute_table('{table}', 'id', {tablets})"
            copied = f"reference_table('{table}')"
            session.run(f"SELECT shuttle.{copied if table == COPIED else spread}")
        session.run("SELECT shuttle.distribute_function('f.far(text)')")
    else:  # a view whose owner has no rights
        session.run("CREATE SCHEMA shuttle_tablets")
        session.run(f"CREATE VIEW {PART} AS SELECT * FROM a; ALTER VIEW {PART} OWNER TO {REMOTE}")
    session.run(f"SET ROLE {OWNER}")
    for statement in definitions(seed):
        session.run(statement)
    session.run("RESET ROLE; ANALYZE")


def make_world(sessions: dict[str, Session], seed: int) -> None:
    for role in (READER, OWNER):
        sessions[PLAIN].run(f"CREATE ROLE {role}")
    sessions[PLAIN].run(f"CREATE ROLE {REMOTE} LOGIN; GRANT {READER}, {OWNER} TO CURRENT_USER")
    sessions[PLAIN].run(f"GRANT pg_read_all_data, pg_write_all_data TO {READER}")
    far = sessions[FAR]
    far.run("CREATE EXTENSION pg_shuttle CASCADE")
    make_nodes(far, NODES, f"GRANT ALL ON SCHEMA public TO {REMOTE}")
    for node in NODES:
        options = f"ADD user '{REMOTE}', ADD password_required 'false'"
        far.run(f"ALTER USER MAPPING FOR PUBLIC SERVER {node} OPTIONS ({options})")
        far.run(f"GRANT CREATE ON DATABASE {node} TO {REMOTE}")
        far.run(f"GRANT USAGE ON FOREIGN SERVER {node} TO {OWNER}, {READER}")
    for name, session in sessions.items():
        make_side(session, seed, name == FAR)
