-- A node in another encoding: its values are the same here, what is written is
-- the same there, and a key with a character that it lacks is its error.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\i :test/include/transfer.sql
-- what cleaning up after other tests has connected to
SELECT shuttle.disconnect() AS was_connected \gset
SET client_min_messages = warning;
DROP DATABASE IF EXISTS shuttle_latin1;
CREATE DATABASE shuttle_latin1 ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0;
RESET client_min_messages;
ALTER SERVER stock_node OPTIONS (SET dbname 'shuttle_latin1');
ALTER SERVER our_node OPTIONS (SET dbname 'shuttle_latin1');
SELECT error FROM shuttle.run_on_nodes($$
	CREATE TABLE texts AS
	SELECT i AS id, clock_timestamp() AS at, U&'\00e9' || i AS t, (U&'\00e9' || i)::varchar(20) AS v, (U&'\00e9' || i)::char(20) AS p,
		(U&'\00e9' || i)::name AS n, to_json(U&'\00e9' || i) AS j, to_jsonb(U&'\00e9' || i) AS jb,
		ARRAY[U&'\00e9' || i, NULL, ''] AS ta, ARRAY[to_jsonb(U&'\00e9' || i)] AS jba
	FROM generate_series(1, 50) i $$, '{our_node}');
IMPORT FOREIGN SCHEMA public FROM SERVER our_node INTO ours;
IMPORT FOREIGN SCHEMA public FROM SERVER stock_node INTO stock;
SELECT pair.transfer('texts') FROM generate_series(1, 2);
SELECT pair.same('SELECT * FROM texts WHERE t = U&''\00e97''');
SELECT count(*), sum(length(t)), sum(octet_length(t)), min(jb #>> '{}') FROM ours.texts WHERE jb <> '""';

-- written, as text and in binary
INSERT INTO ours.texts SELECT 100 + id, at, t || U&'\00fc', v, p, n, j, to_jsonb(t || U&'\00fc'), ta, jba FROM ours.texts WHERE id <= 10;
UPDATE ours.texts SET t = U&'\00df' || t WHERE id IN (SELECT i FROM generate_series(101, 105) i);
SELECT pair.same('SELECT * FROM texts WHERE id > 100 AND t LIKE U&''\00df\00e9%\00fc''');
SELECT count(*), min(t), min(length(jb #>> '{}')) FROM ours.texts WHERE id > 100;

-- what has no place there is not written, and no key: the node says so
\set VERBOSITY sqlstate
INSERT INTO ours.texts (id, t) VALUES (200, 'a'), (201, U&'\20ac');
SELECT count(*) FROM ours.texts WHERE id >= 200;
CREATE TABLE pair.outside AS SELECT i AS id, CASE WHEN i = 4 THEN U&'\20ac' ELSE U&'\00e9' || i END AS t FROM generate_series(1, 6) i;
SET shuttle.enable_batched_join = on;
SET shuttle.debug_force_batched_join = on;
SELECT count(*) FROM pair.outside o LEFT JOIN ours.texts f ON f.t = o.t;
SELECT count(*) FROM pair.outside o LEFT JOIN stock.texts f ON f.t = o.t;
SELECT count(*) FROM pair.outside o LEFT JOIN ours.texts f ON f.t = o.t WHERE o.id <> 4;
SET shuttle.enable_batched_join = off;
SELECT count(*) FROM pair.outside o LEFT JOIN ours.texts f ON f.t = o.t;
SELECT count(*) FROM pair.outside o LEFT JOIN stock.texts f ON f.t = o.t;
\set VERBOSITY default

SET client_min_messages = warning;
DROP SERVER our_node, stock_node CASCADE;
SELECT shuttle.disconnect(), postgres_fdw_disconnect_all();
DROP DATABASE shuttle_latin1 WITH (FORCE);
