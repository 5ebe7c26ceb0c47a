"""The objects of users that queries refer to, as SQL; {s} is a schema."""

BASE = """
CREATE EXTENSION pg_shuttle CASCADE;
CREATE SCHEMA local; CREATE SCHEMA remote;
CREATE SCHEMA guest; CREATE SCHEMA engine; CREATE SCHEMA tablets;
"""
# What nodes have, too.
OWN = """
CREATE SCHEMA own;
CREATE COLLATION own.folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TYPE own.mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN own.numbers AS int[] CHECK (cardinality(VALUE) < 20);
CREATE TYPE own.spot AS (x int, t text, z int[]);
CREATE FUNCTION own.is_odd(bigint) RETURNS bool LANGUAGE plpgsql IMMUTABLE
    AS 'BEGIN RETURN $1 % 2 <> 0; END';
CREATE FUNCTION own.shift(int) RETURNS int LANGUAGE plpgsql IMMUTABLE STRICT
    AS 'BEGIN RETURN $1 OPERATOR(pg_catalog.+) 1; END';
CREATE FUNCTION own.volatile_copy(bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE
    AS 'BEGIN RETURN $1; END';
CREATE FUNCTION own.loop(query text, most int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    found record;
    n int := 0;
BEGIN
    FOR found IN EXECUTE query LOOP
        BEGIN
            RETURN NEXT found::text;
        EXCEPTION WHEN division_by_zero THEN
            RAISE;
        END;
        n := n OPERATOR(pg_catalog.+) 1;
        EXIT WHEN n = most;
    END LOOP;
END $$;
CREATE FUNCTION own.upto(int) RETURNS SETOF int LANGUAGE sql IMMUTABLE
    AS 'SELECT generate_series(1, least($1, 3))';
CREATE FUNCTION own.told(own.spot) RETURNS text LANGUAGE sql IMMUTABLE
    AS $$ SELECT 'spot ' || coalesce($1.x, 0) $$;
CREATE FUNCTION own.place_of(own.mood) RETURNS int LANGUAGE sql IMMUTABLE
    AS $$ SELECT CASE $1 WHEN 'sad' THEN 1 WHEN 'ok' THEN 2 ELSE 3 END $$;
CREATE FUNCTION own.quote_ident(text) RETURNS text LANGUAGE sql IMMUTABLE
    AS $$ SELECT concat('own ', $1) $$;
-- their arguments get implicit casts
CREATE FUNCTION own.half(numeric) RETURNS numeric LANGUAGE sql IMMUTABLE
    AS 'SELECT $1 OPERATOR(pg_catalog./) 2::smallint';
CREATE FUNCTION own.are_same(float8, float8) RETURNS bool LANGUAGE sql IMMUTABLE
    AS 'SELECT $1 OPERATOR(pg_catalog.=) $2';
CREATE FUNCTION own.first(numeric, numeric) RETURNS numeric LANGUAGE sql IMMUTABLE
    AS 'SELECT CASE WHEN $1 OPERATOR(pg_catalog.>) 3 THEN $1 ELSE $2 END';
CREATE FUNCTION own.bytes(text) RETURNS int LANGUAGE sql IMMUTABLE
    AS 'SELECT pg_catalog.octet_length($1)';
CREATE FUNCTION own.joined(text, text) RETURNS text LANGUAGE sql IMMUTABLE
    AS 'SELECT $1 OPERATOR(pg_catalog.||) $2';
CREATE FUNCTION own.time_since(timestamp) RETURNS interval LANGUAGE sql IMMUTABLE
    AS $$ SELECT $1 OPERATOR(pg_catalog.-) '2024-03-01 12:00'::timestamp $$;
CREATE CAST (own.spot AS text) WITH FUNCTION own.told(own.spot);
CREATE CAST (own.mood AS int) WITH FUNCTION own.place_of(own.mood) AS ASSIGNMENT;
CREATE CAST (uuid AS bytea) WITH FUNCTION uuid_send(uuid);
CREATE OPERATOR own.=== (FUNCTION = int4eq, LEFTARG = int, RIGHTARG = int);
CREATE OPERATOR own.||| (FUNCTION = textcat, LEFTARG = text, RIGHTARG = text);
-- found first where own is in front in the search path
CREATE OPERATOR own.+ (FUNCTION = int4mi, LEFTARG = int, RIGHTARG = int);
CREATE OPERATOR own.< (FUNCTION = int4gt, LEFTARG = int, RIGHTARG = int);
"""
LOOKUP = """
CREATE FUNCTION {s}.lookup(bigint) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
    BEGIN RETURN (SELECT sum(b.id) FROM local.few a JOIN {s}.some b ON b.k = a.id + $1); END
$$
"""
# What is behind the barrier shows itself by an error, if it is tested too early.
VIEW = """
CREATE VIEW {s}.{name} WITH (security_barrier) AS SELECT * FROM {s}.{table} WHERE m < 8
"""
UNION = """
CREATE VIEW {s}.{name} AS
    SELECT {columns} FROM {s}.{first} UNION ALL SELECT {others} FROM {s}.{second}
"""
# Of columns x and y, each with a set in its select list.
UNFOLDED = {
    "unfolded": "SELECT id AS x, unnest(a) AS y FROM {s}.middle",
    "unfolded_groups": (
        "SELECT unnest(a) AS x, count(*) AS y FROM {s}.by_hash GROUP BY ROLLUP (1) ORDER BY 1"
    ),
    "unfolded_distinct": "SELECT DISTINCT m AS x, generate_series(1, m) AS y FROM {s}.many",
    "unfolded_first": (
        "SELECT DISTINCT ON (m) m AS x, regexp_split_to_table(v, '') AS y FROM {s}.some"
        " ORDER BY m, 2"
    ),
}
