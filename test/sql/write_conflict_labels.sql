-- ON CONFLICT DO UPDATE whose conditions and values name labels of an enum: nodes have the
-- enums of distributed tables, so each statement does what it does on a local table.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
SET client_min_messages = warning;
CREATE SCHEMA "odd names";
CREATE TYPE "odd names".status AS ENUM ('paid', 'new', 'it''s sent');
CREATE TYPE "odd names".mood AS ENUM ('sad', 'fine');
ALTER TYPE "odd names".status ADD VALUE 'begun' BEFORE 'new';
SET search_path = shop, "odd names";
CREATE TABLE bill (id int PRIMARY KEY, status status, n int DEFAULT 0);
CREATE UNIQUE INDEX ON bill (id) WHERE status <> 'paid';
CREATE TABLE local_bill (LIKE bill INCLUDING ALL);
SELECT shuttle.distribute_table('bill', 'id', 4);
RESET client_min_messages;
CREATE FUNCTION as_local(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	here text;
	there text;
BEGIN
	TRUNCATE bill, local_bill;
	INSERT INTO bill SELECT i, (enum_range(NULL::status))[1 + i % 4] FROM generate_series(1, 12) AS i;
	INSERT INTO local_bill TABLE bill;
	EXECUTE replace(statement, 'TABLE', 'local_bill');
	EXECUTE replace(statement, 'TABLE', 'bill');
	SELECT string_agg(l::text, ' ' ORDER BY id) INTO here FROM local_bill AS l;
	SELECT string_agg(b::text, ' ' ORDER BY id) INTO there FROM bill AS b;
	RETURN CASE WHEN here = there THEN 'same: ' || md5(here) ELSE format('%s, locally %s', there, here) END;
EXCEPTION WHEN feature_not_supported THEN
	RETURN SQLERRM;
END$$;
SELECT as_local(s) FROM unnest(ARRAY[
	$$INSERT INTO TABLE AS t SELECT i, 'new', 1 FROM generate_series(5, 15) AS i ON CONFLICT (id) DO UPDATE SET n = t.n + 1 WHERE t.status = 'new'$$,
	$$INSERT INTO TABLE AS t SELECT i, 'new', 1 FROM generate_series(5, 15) AS i ON CONFLICT (id) DO UPDATE SET n = t.n + 1 WHERE t.status < 'new'$$,
	$$INSERT INTO TABLE AS t SELECT i, 'new', 1 FROM generate_series(5, 15) AS i ON CONFLICT (id) DO UPDATE SET n = 7 WHERE t.status IN ('paid', 'it''s sent')$$,
	$$INSERT INTO TABLE AS t SELECT i, 'new', 1 FROM generate_series(5, 15) AS i ON CONFLICT (id) DO UPDATE SET status = CASE WHEN t.status = 'begun' THEN 'paid' ELSE EXCLUDED.status END$$,
	$$INSERT INTO TABLE AS t SELECT i, 'new', 1 FROM generate_series(5, 15) AS i ON CONFLICT (id) DO UPDATE SET status = 'paid' WHERE t.status IS DISTINCT FROM EXCLUDED.status$$,
	$$INSERT INTO TABLE AS t SELECT i, 'new', 1 FROM generate_series(5, 15) AS i ON CONFLICT (id) WHERE status <> 'paid' DO UPDATE SET n = 3$$,
	$$INSERT INTO TABLE AS t SELECT i, 'new', 1 FROM generate_series(5, 15) AS i ON CONFLICT (id) DO UPDATE SET n = 9 WHERE CASE WHEN t.n = 0 THEN 'sad'::mood ELSE 'fine'::mood END = 'sad'$$]) AS s;
SET search_path = shop;
INSERT INTO bill VALUES (1, 'paid') ON CONFLICT DO NOTHING;
INSERT INTO bill VALUES (1, 'new') ON CONFLICT (id) DO UPDATE SET n = -1 WHERE bill.status >= 'begun'::"odd names".status;
SELECT n FROM bill WHERE id = 1;
