-- Rows that travel together: pieces, counts, RETURNING, and what must not wait.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\set state '''SELECT * FROM account ORDER BY id'''
CREATE FUNCTION pair.flushes(statement text, OUT rows bigint, OUT flushes bigint)
LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	PERFORM set_config('search_path', 'ours', true);
	EXECUTE 'EXPLAIN (ANALYZE, DIST, FORMAT JSON) ' || statement INTO plan;
	rows := plan -> 0 -> 'Storage Write Requests';
	flushes := plan -> 0 -> 'Storage Flush Requests';
END $$;

-- one request for all rows
SELECT * FROM pair.flushes('UPDATE account SET balance = pair.here(id) WHERE id < 100');
SELECT * FROM pair.flushes('INSERT INTO account (id) SELECT i + 1000 FROM generate_series(1, 100) i');
SELECT * FROM pair.flushes('DELETE FROM account WHERE pair.here(id) > 1000');
SET shuttle.enable_write_buffer = off;
SELECT * FROM pair.flushes('UPDATE account SET balance = pair.here(id) WHERE id < 100');
RESET shuttle.enable_write_buffer;

-- pieces of about 1 kB
SET shuttle.write_buffer_size = '1kB';
SELECT rows, flushes BETWEEN 5 AND 50 AS pieces
FROM pair.flushes('UPDATE account SET balance = pair.here(id) + 1 WHERE id < 100');
SELECT pair.same_write(:state, 'UPDATE account SET balance = balance + pair.here(id) WHERE id > 20');
SELECT pair.same_write(:state, 'UPDATE account SET owner = owner || pair.here(id) RETURNING *, ctid IS NULL');
SELECT pair.same_write(:state, 'DELETE FROM account WHERE pair.here(id) % 3 = 0 RETURNING id, account');
SELECT pair.same_write(:state, 'INSERT INTO account SELECT id + 1000, branch, owner FROM account RETURNING *');
SELECT pair.same_write(:state, 'INSERT INTO account SELECT id - 150, branch, owner FROM account ON CONFLICT DO NOTHING RETURNING id');
SELECT pair.same_write(:state, 'INSERT INTO account (id) SELECT i FROM generate_series(1200, 1000, -1) i UNION ALL SELECT 1100');
-- a row that is met several times is changed once, also in a later piece
SET search_path = ours;
BEGIN;
UPDATE account a SET balance = g FROM generate_series(1, 3) g WHERE pair.here(g) > 0;
UPDATE account a SET balance = -1 FROM generate_series(1, 3) g WHERE pair.here(g) > 0 RETURNING id \g /dev/null
SELECT count(*), min(balance), max(balance) FROM account;
DELETE FROM account a USING generate_series(1, 3) g WHERE pair.here(g) > 0;
ROLLBACK;
RESET search_path;
RESET shuttle.write_buffer_size;

-- a compressed value is as large as it travels
CREATE TABLE pair.packed (id int, t text);
ALTER TABLE pair.packed ALTER t SET STORAGE MAIN;
INSERT INTO pair.packed SELECT i + 1000, repeat('packed ', 10000) FROM generate_series(1, 100) i;
SET shuttle.write_buffer_size = '1MB';
SELECT rows, flushes > 5 AS pieces, pg_relation_size('pair.packed') < 500000 AS packed
FROM pair.flushes('INSERT INTO account (id, owner) SELECT id, t FROM pair.packed');
DELETE FROM ours.account WHERE id > 1000;
RESET shuttle.write_buffer_size;

-- RETURNING comes in the order of the source
SET search_path = ours;
BEGIN;
WITH made AS (INSERT INTO account (id) SELECT i FROM (VALUES (1009), (1003), (1007), (1001)) v(i) RETURNING id)
SELECT array_agg(id) FROM made;
WITH changed AS (UPDATE account a SET balance = o.n
	FROM unnest('{1007,1001,1009}'::int[]) WITH ORDINALITY o(id, n)
	WHERE a.id = o.id AND pair.here(a.id) = a.id RETURNING a.id, a.balance, o.n, o.id AS source)
SELECT count(*), bool_and(id = source AND balance = n) FROM changed;
ROLLBACK;
RESET search_path;

-- values that an array's syntax has words for
SELECT pair.same_write(:state, 'INSERT INTO account (id, owner) VALUES (1001, NULL), (1002, ''NULL''), (1003, ''null''), (1004, ''''), (1005, ''{}''), (1006, ''a,b''), (1007, ''"''), (1008, ''\\''), (1009, '' ''), (1010, E''\n'')');
SELECT pair.same_write(:state, 'UPDATE account SET owner = CASE pair.here(id) % 8 WHEN 0 THEN ''"\'' WHEN 1 THEN ''{a,"b"}'' WHEN 2 THEN ''NULL'' WHEN 3 THEN NULL WHEN 4 THEN '' , '' WHEN 5 THEN ''\\"'' ELSE '''' END');

-- FOUND and the count are known behind the statement, in a function too
CREATE FUNCTION pair.counts() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	UPDATE account SET balance = 0 WHERE pair.here(id) < 4;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN NEXT n || ' ' || found;
	UPDATE account SET balance = 0 WHERE pair.here(id) < 0;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN NEXT n || ' ' || found;
	INSERT INTO account (id) VALUES (1), (2), (1001) ON CONFLICT DO NOTHING;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN NEXT n || ' ' || found;
	INSERT INTO account (id) VALUES (1) ON CONFLICT DO NOTHING;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN NEXT n || ' ' || found;
	INSERT INTO account (id) VALUES (1002), (1003) RETURNING id INTO n;
EXCEPTION WHEN too_many_rows THEN
	RETURN NEXT SQLERRM;
END $$;
SELECT pair.same_write(:state, 'SELECT pair.counts()');

-- an error belongs to its statement, and an exception block undoes it
CREATE FUNCTION pair.caught() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO account (id) VALUES (2001), (2002);
	BEGIN
		INSERT INTO account (id) VALUES (2003), (2001), (2004);
		RETURN NEXT 'not reached';
	EXCEPTION WHEN unique_violation THEN
		RETURN NEXT SQLERRM;
	END;
	BEGIN
		UPDATE account SET id = 2001 WHERE pair.here(id) IN (5, 6);
		RETURN NEXT 'not reached';
	EXCEPTION WHEN unique_violation THEN
		RETURN NEXT SQLSTATE;
	END;
	INSERT INTO account (id) VALUES (2005), (2006);
END $$;
SELECT pair.same_write(:state, 'SELECT pair.caught()');

-- a function of the source reads what was written before, as elsewhere
CREATE FUNCTION pair.written() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	RETURN (SELECT count(*) FROM account WHERE id > 1000);
END $$;
CREATE FUNCTION pair.written_inside() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	BEGIN
		INSERT INTO branch (id) SELECT max(id) + 1 FROM branch;
		RAISE EXCEPTION 'undo';
	EXCEPTION WHEN raise_exception THEN
		NULL;
	END;
	RETURN (SELECT count(*) FROM account WHERE id > 1000) + (SELECT count(*) FROM branch) * 0;
END $$;
SELECT pair.same_write(:state, 'INSERT INTO account (id, balance) SELECT i + 1000, pair.written() FROM generate_series(1, 5) i');
SELECT pair.same_write(:state, 'INSERT INTO account (id, balance) SELECT i + 1000, pair.written_inside() FROM generate_series(1, 5) i');
SELECT pair.same_write(:state, 'UPDATE account SET id = id + 1000, balance = pair.written() WHERE id < 6');
SELECT pair.same_write(:state, 'UPDATE account SET id = id + 1000, balance = pair.written_inside() WHERE id < 6 RETURNING id, balance');

-- and a function that writes to the same table goes behind it
CREATE FUNCTION pair.writes(i int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	INSERT INTO account (id, owner) VALUES (i + 2000, 'inner'), (i + 3000, 'inner');
	UPDATE account SET balance = 77 WHERE pair.here(id) = 1000 + i - 1;
	RETURN i + 1000;
END $$;
SELECT pair.same_write(:state, 'INSERT INTO account (id) SELECT pair.writes(i) FROM generate_series(1, 4) i');

-- an error in front of a savepoint is the statement's, whoever catches inside
CREATE FUNCTION pair.swallows(i int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	BEGIN
		PERFORM count(*) FROM branch;
	EXCEPTION WHEN OTHERS THEN
		NULL;
	END;
	RETURN i;
END $$;
SET search_path = ours;
INSERT INTO account (id) SELECT pair.swallows(i) FROM unnest('{1001,1,1002}'::int[]) i;
SELECT count(*) FROM account WHERE id > 1000;
RESET search_path;

-- triggers of the node may keep rows, which is no error; and the count says so
CREATE FUNCTION node.keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF coalesce(new.id, old.id) % 2 = 0 THEN
		RETURN NULL;
	END IF;
	RETURN coalesce(new, old);
END $$;
CREATE TRIGGER keep BEFORE INSERT OR UPDATE OR DELETE ON node.account FOR EACH ROW EXECUTE FUNCTION node.keep();
SELECT pair.same_write(:state, 'UPDATE account SET owner = ''odd'' WHERE pair.here(id) < 20');
SELECT pair.same_write(:state, 'UPDATE account SET owner = ''odd'' WHERE pair.here(id) < 20 RETURNING id, owner');
SELECT pair.same_write(:state, 'DELETE FROM account WHERE pair.here(id) < 20 RETURNING id');
SELECT pair.same_write(:state, 'INSERT INTO account (id) SELECT i FROM generate_series(1001, 1010) i RETURNING id');
DROP TRIGGER keep ON node.account;

-- without one, a row that the statement itself has made go is an error, as in core
CREATE FUNCTION pair.takes(i int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	DELETE FROM account WHERE id = i + 1;
	RETURN i;
END $$;
SET search_path = ours;
UPDATE account SET balance = pair.takes(id) WHERE id < 5;
UPDATE account SET balance = pair.takes(id - 1) WHERE id < 5;
DELETE FROM account WHERE pair.takes(id - 1) < 5;
SELECT count(*) FROM account WHERE id < 5;
RESET search_path;

-- one statement, several tables
SELECT pair.same_write(:state,
	'WITH gone AS (DELETE FROM account WHERE pair.here(id) > 290 RETURNING *), made AS (INSERT INTO account SELECT id + 5000, branch, owner FROM gone RETURNING id), changed AS (UPDATE branch SET city = ''moved'' WHERE pair.here(id) < 3 RETURNING id) SELECT (SELECT sum(id) FROM made), (SELECT array_agg(id ORDER BY id) FROM changed)',
	'SELECT * FROM branch ORDER BY 1');

-- a prepared statement, by custom and generic plans
SET search_path = ours;
BEGIN;
PREPARE change(int, text) AS UPDATE account SET owner = $2 WHERE pair.here(id) < $1 RETURNING id, owner;
SET LOCAL plan_cache_mode = force_generic_plan;
EXECUTE change(3, 'generic');
EXECUTE change(2, 'again');
SET LOCAL plan_cache_mode = force_custom_plan;
EXECUTE change(3, 'custom');
ROLLBACK;
DEALLOCATE change;
RESET search_path;

-- COPY: one request for its rows, and one for what the node says of the table
SET search_path = ours;
INSERT INTO account (id) VALUES (7001), (7002);
SELECT requests AS before FROM shuttle.node_stats WHERE server = 'our_node' \gset
COPY account (id, owner) FROM stdin;
7003	a
7004	b"c\\d
7005	\N
7006	d
7007	e
\.
SELECT requests - :before <= 2 AS together FROM shuttle.node_stats WHERE server = 'our_node';
SELECT id, owner FROM account WHERE id > 7002 ORDER BY id;
COPY account (id) FROM stdin;
7008
7003
7009
\.
-- the node keeps a row out: COPY counts what is there, or fails once
COPY account (id) FROM stdin;
7010
\.
CREATE TRIGGER keep BEFORE INSERT ON node.account FOR EACH ROW EXECUTE FUNCTION node.keep();
COPY account (id) FROM stdin;
7011
7012
\.
COPY account (id) FROM stdin;
7011
7012
7013
\.
SELECT count(*) FROM account WHERE id > 7010;
