-- A row that changes its partition moves, between nodes and to and from tables
-- here: as between tables that are all here.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\set SHOW_CONTEXT never
SET search_path = pair, public;
SET lock_timeout = '10s';
\set ECHO none
SET client_min_messages = warning;
DO $$
DECLARE
	host text := coalesce(nullif(split_part(current_setting('unix_socket_directories'), ',', 1), ''), 'localhost');
BEGIN
	DROP SERVER IF EXISTS second_node CASCADE;
	EXECUTE format('CREATE SERVER second_node FOREIGN DATA WRAPPER shuttle
		OPTIONS (host %L, port %L, dbname %L)', host, current_setting('port'), current_database());
END $$;
CREATE USER MAPPING FOR CURRENT_USER SERVER second_node;
DROP SCHEMA IF EXISTS far, near CASCADE;
RESET client_min_messages;
\set ECHO all
CREATE SCHEMA far;
CREATE SCHEMA near;

-- far: columns in another order, a second level, and a partition of postgres_fdw
CREATE TABLE node.low (note text, id int, v int, PRIMARY KEY (id, note));
CREATE TABLE node.high (id int, v int, note text, PRIMARY KEY (id, note));
CREATE TABLE node.sub1 (id int, v int, note text, PRIMARY KEY (id, note));
CREATE TABLE node.stock (id int, v int, note text, PRIMARY KEY (id, note));
CREATE TABLE far.number (id int, v int, note text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE far.low (note text, id int, v int) SERVER our_node OPTIONS (schema_name 'node');
ALTER TABLE far.number ATTACH PARTITION far.low FOR VALUES FROM (0) TO (100);
CREATE FOREIGN TABLE far.high PARTITION OF far.number FOR VALUES FROM (100) TO (200) SERVER second_node OPTIONS (schema_name 'node');
CREATE TABLE far.here PARTITION OF far.number FOR VALUES FROM (200) TO (300);
CREATE TABLE far.sub PARTITION OF far.number FOR VALUES FROM (300) TO (500) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE far.sub1 PARTITION OF far.sub FOR VALUES FROM (300) TO (400) SERVER our_node OPTIONS (schema_name 'node');
CREATE TABLE far.sub2 (note text, dropped int, v int, id int);
ALTER TABLE far.sub2 DROP COLUMN dropped;
ALTER TABLE far.sub ATTACH PARTITION far.sub2 FOR VALUES FROM (400) TO (500);
CREATE INDEX ON far.sub2 (id);
CREATE FOREIGN TABLE far.stock PARTITION OF far.number FOR VALUES FROM (500) TO (600) SERVER stock_node OPTIONS (schema_name 'node');

CREATE TABLE near.number (id int, v int, note text) PARTITION BY RANGE (id);
CREATE TABLE near.low PARTITION OF near.number FOR VALUES FROM (0) TO (100);
CREATE TABLE near.high PARTITION OF near.number FOR VALUES FROM (100) TO (200);
CREATE TABLE near.here PARTITION OF near.number FOR VALUES FROM (200) TO (300);
CREATE TABLE near.sub PARTITION OF near.number FOR VALUES FROM (300) TO (500) PARTITION BY RANGE (id);
CREATE TABLE near.sub1 PARTITION OF near.sub FOR VALUES FROM (300) TO (400);
CREATE TABLE near.sub2 PARTITION OF near.sub FOR VALUES FROM (400) TO (500);
CREATE TABLE near.stock PARTITION OF near.number FOR VALUES FROM (500) TO (600);

INSERT INTO far.number SELECT i, i, 'note of ' || i FROM generate_series(2, 450, 4) i;
INSERT INTO near.number TABLE far.number;
CREATE TABLE wanted (id int, new int, word text);
INSERT INTO wanted SELECT i, (i * 37) % 500, 'word ' || i FROM generate_series(2, 450, 16) i;
INSERT INTO wanted VALUES (2, 150, 'again'), (2, 3, 'and again'), (NULL, 4, 'none');
ANALYZE wanted;

-- What a statement returns or how many rows it changes, and the rows afterwards,
-- each with its partition; undone.
CREATE FUNCTION outcome(place text, statement text, OUT answer text[]) LANGUAGE plpgsql AS $$
DECLARE
	returned record;
	afterwards text[];
	n bigint;
BEGIN
	answer := '{}';
	PERFORM set_config('search_path', place || ', pair, public', true);
	IF statement ~* 'RETURNING' THEN
		FOR returned IN EXECUTE statement LOOP
			answer := answer || returned::text;
		END LOOP;
		SELECT array_agg(row ORDER BY row) INTO answer FROM unnest(answer) row;
	ELSE
		EXECUTE statement;
		GET DIAGNOSTICS n = ROW_COUNT;
		answer := answer || (n || ' rows');
	END IF;
	SELECT array_agg(row ORDER BY row) INTO afterwards
	FROM (SELECT concat_ws('|', tableoid::regclass, id, v, note) FROM number) rows (row);
	answer := answer || '|'::text || afterwards;
	RAISE SQLSTATE 'SH001';
EXCEPTION
	WHEN SQLSTATE 'SH001' THEN NULL;
	WHEN OTHERS THEN answer := ARRAY[SQLSTATE || ' ' || SQLERRM];
END $$;
CREATE FUNCTION pair.guarded(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		RETURN 1;
	EXCEPTION WHEN OTHERS THEN
		RETURN 0;
	END;
END $$;
CREATE FUNCTION pair.reads(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT 0 * count(*) FROM number WHERE id < i);
END $$;
CREATE FUNCTION same_move(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	expected text[] := outcome('near', statement);
	found text[];
	ways text[] := ARRAY['', 'shuttle.write_buffer_size=1kB', 'shuttle.enable_batched_join=off', 'shuttle.debug_force_batched_join=on',
		'enable_hashjoin=off',
		'shuttle.enable_early_start=off', 'shuttle.enable_early_start=off shuttle.write_buffer_size=1kB shuttle.fetch_limit=3',
		'shuttle.write_buffer_size=1kB enable_hashjoin=off enable_mergejoin=off shuttle.enable_batched_join=off'];
	way text;
	setting text;
BEGIN
	FOREACH way IN ARRAY ways LOOP
		-- row by row a subquery sees what was written before it
		CONTINUE WHEN way ~ 'mergejoin' AND statement ~ 'SELECT count';
		FOREACH setting IN ARRAY string_to_array(way, ' ') LOOP
			PERFORM set_config(split_part(setting, '=', 1), split_part(setting, '=', 2), true);
		END LOOP;
		found := outcome('far', statement);
		FOREACH setting IN ARRAY string_to_array(way, ' ') LOOP
			EXECUTE 'RESET ' || split_part(setting, '=', 1);
		END LOOP;
		IF found IS DISTINCT FROM expected THEN
			RETURN format('DIFFERENT, %s: missing %s, additional %s', way,
				(SELECT array_agg(x) FROM (SELECT unnest(expected) EXCEPT ALL SELECT unnest(found) LIMIT 5) t (x)),
				(SELECT array_agg(x) FROM (SELECT unnest(found) EXCEPT ALL SELECT unnest(expected) LIMIT 5) t (x)));
		END IF;
	END LOOP;
	RETURN format('same, %s', CASE WHEN expected[1] ~ 'rows$|^\d{5} ' THEN expected[1] ELSE array_position(expected, '|') - 1 || ' returned' END);
END $$;
SELECT same_move(statement) FROM unnest(ARRAY[
	-- from each to the next, all at once, back, and to a table of postgres_fdw
	'UPDATE number SET id = id + 100 WHERE id < 100',
	'UPDATE number SET id = id + 100 WHERE id < 400',
	'UPDATE number SET id = id - 100 WHERE id >= 100',
	'UPDATE number SET id = 451 - id',
	'UPDATE number SET id = 150 WHERE id = 10',
	'UPDATE number SET id = 50, v = v + 1 WHERE id >= 200',
	'UPDATE number SET id = 500 + id WHERE id < 100',
	'UPDATE number SET id = pair.here(id) + 1, note = note || id',
	'UPDATE sub SET id = 750 - id',
	'UPDATE number SET id = id WHERE id = 10',
	-- with functions in front of which rows are sent
	'UPDATE number SET id = id + 100, v = v + pair.guarded(id) WHERE id < 400',
	'UPDATE number SET id = id + 100, v = v + 1 + pair.reads(id) WHERE id < 400',
	-- returned
	'UPDATE number SET id = id + 100 WHERE id < 400 RETURNING tableoid::regclass, *',
	'UPDATE number SET id = 50 WHERE id >= 200 RETURNING id, v, note',
	'UPDATE number SET id = id + 200 WHERE id < 30 RETURNING 1',
	-- joined with rows of here, with the same row more than once
	'UPDATE number n SET id = w.new FROM wanted w WHERE w.id = n.id AND w.id > 2',
	'UPDATE number n SET id = w.new FROM wanted w WHERE w.id = n.id AND w.id > 2 RETURNING n.*, w.word, n.tableoid::regclass',
	'UPDATE number n SET v = (SELECT count(*) FROM wanted w WHERE w.id = n.id), id = (n.id * 7) % 500',
	'UPDATE number n SET v = (SELECT count(*) FROM number m WHERE m.id <= n.id), id = (n.id * 7) % 500',
	'UPDATE number n SET id = n.id + 100, v = n.v + 1 FROM generate_series(1, 395) g WHERE g = n.id AND n.id < 400',
	-- in WITH
	'WITH u AS (UPDATE number SET id = id + 100 WHERE id < 50 RETURNING id) INSERT INTO wanted (id) SELECT id FROM u RETURNING id',
	'WITH u AS (UPDATE number SET id = id + 100 WHERE id < 50) SELECT count(*) FROM number',
	-- to nowhere
	'UPDATE number SET id = 1000 WHERE id = 10',
	'UPDATE number SET id = NULL WHERE id = 10',
	'UPDATE sub SET id = 10 WHERE id > 440']) statement;

-- one row is changed once
SELECT array_length(outcome('far', 'UPDATE number n SET id = w.new FROM wanted w WHERE w.id = n.id AND n.id = 2 RETURNING 1'), 1)
	= array_length(outcome('near', 'UPDATE number n SET id = w.new FROM wanted w WHERE w.id = n.id AND n.id = 2 RETURNING 1'), 1) AS once;

-- triggers: of the row that comes, of the row that goes
CREATE FUNCTION pair.come() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.v % 3 = 0 THEN RETURN NULL; END IF;
	NEW.note := TG_OP || ' ' || TG_TABLE_NAME || ' ' || NEW.note;
	RETURN NEW;
END $$;
CREATE TABLE seen (what text);
CREATE FUNCTION pair.came() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO pair.seen VALUES (concat_ws(' ', TG_OP, TG_TABLE_NAME, NEW.id, NEW.v, NEW.note));
	RETURN NULL;
END $$;
DO $$
DECLARE
	place text;
	name text;
BEGIN
	FOREACH place IN ARRAY ARRAY['far', 'near'] LOOP
		FOREACH name IN ARRAY ARRAY['high', 'here', 'sub2'] LOOP
			EXECUTE format('CREATE TRIGGER come BEFORE INSERT ON %I.%I FOR EACH ROW EXECUTE FUNCTION pair.come()', place, name);
			EXECUTE format('CREATE TRIGGER came AFTER INSERT OR UPDATE ON %I.%I FOR EACH ROW EXECUTE FUNCTION pair.came()', place, name);
		END LOOP;
	END LOOP;
END $$;
SELECT same_move(statement) FROM unnest(ARRAY[
	'UPDATE number SET id = id + 100 WHERE id < 400',
	'UPDATE number SET id = id + 100 WHERE id < 400 RETURNING *',
	'UPDATE number SET id = (id * 7) % 500, v = v + 1']) statement;
BEGIN;
UPDATE far.number SET id = id + 100 WHERE id < 20 OR id BETWEEN 390 AND 399;
SELECT * FROM seen ORDER BY what;
TRUNCATE seen;
UPDATE near.number SET id = id + 100 WHERE id < 20 OR id BETWEEN 390 AND 399;
SELECT * FROM seen ORDER BY what;
ROLLBACK;
CREATE TRIGGER go BEFORE DELETE ON far.low FOR EACH ROW EXECUTE FUNCTION pair.come();
UPDATE far.number SET id = id + 100 WHERE id < 20;
\echo :SQLSTATE
DROP TRIGGER go ON far.low;
CREATE VIEW far.small AS SELECT * FROM far.number WHERE v < 1000 WITH CHECK OPTION;
UPDATE far.small SET id = id + 100 WHERE id < 20;
DROP VIEW far.small;
SET shuttle.enable_write_buffer = off;
UPDATE far.number SET id = id + 100 WHERE id < 20;
RESET shuttle.enable_write_buffer;

-- a node that keeps a row has not moved it
CREATE FUNCTION node.stay() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN CASE WHEN OLD.id <> 6 THEN OLD END; END';
CREATE TRIGGER stay BEFORE DELETE ON node.low FOR EACH ROW EXECUTE FUNCTION node.stay();
UPDATE far.number SET id = id + 100 WHERE id < 20;
\echo :SQLSTATE
DROP TRIGGER stay ON node.low;
SELECT count(*), sum(id) FROM far.number WHERE id < 200;

-- an error there, and a savepoint
BEGIN;
UPDATE far.number SET id = id + 100 WHERE id = 2;
SAVEPOINT s;
UPDATE far.number SET id = 306, note = 'note of 306' WHERE id = 10;
\echo :SQLSTATE
ROLLBACK TO s;
UPDATE far.number SET id = 11 WHERE v = 2;
SELECT tableoid::regclass, * FROM far.number WHERE v < 12 ORDER BY v;
ROLLBACK;

-- a plan for all values leaves the first partition out when it starts, by which RETURNING
-- was planned
CREATE TABLE node.one (id int, v int);
CREATE TABLE node.three (id int, v int);
CREATE TABLE far.part (id int, v int) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE far.one PARTITION OF far.part FOR VALUES FROM (0) TO (10) SERVER our_node OPTIONS (schema_name 'node');
CREATE TABLE far.two PARTITION OF far.part FOR VALUES FROM (10) TO (20);
CREATE FOREIGN TABLE far.three PARTITION OF far.part FOR VALUES FROM (20) TO (30) SERVER second_node OPTIONS (schema_name 'node');
INSERT INTO far.part SELECT i, i FROM generate_series(0, 29) i;
SET plan_cache_mode = force_generic_plan;
PREPARE later(int, int) AS UPDATE far.part SET id = id + 10 WHERE id BETWEEN $1 AND $2 RETURNING tableoid::regclass, *;
EXECUTE later(3, 3);
EXECUTE later(14, 15);
EXECUTE later(9, 10);
RESET plan_cache_mode;
SELECT tableoid::regclass, * FROM far.part WHERE id > 22 OR v > 29 ORDER BY 1, 2, 3;

SET client_min_messages = warning;
DROP SCHEMA far, near CASCADE;
DROP SERVER second_node CASCADE;
