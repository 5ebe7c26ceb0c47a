-- What a client's encoding is, is nothing to the nodes: texts within values that
-- travel in binary are in this server's encoding, and are valid in it.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\i :test/include/transfer.sql
CREATE TABLE node.texts AS
SELECT i AS id, clock_timestamp() AS a, clock_timestamp() AS b, clock_timestamp() AS c,
	'ä€' || i AS t, ('ä€' || i)::varchar(20) AS v, ('ä€' || i)::char(20) AS p, ('ä€' || i)::name AS n,
	to_json('ä€' || i) AS j, to_jsonb('ä€' || i) AS jb, ARRAY['ä€' || i, NULL, ''] AS ta, ARRAY['ä€'::name] AS na,
	ARRAY[to_jsonb('ä€' || i)] AS jba
FROM generate_series(1, 50) i;
SELECT pair.tables('texts') \g /dev/null
SET client_encoding = 'LATIN1';
SELECT pair.same('SELECT * FROM texts') FROM generate_series(1, 3);
SELECT pair.same('SELECT id, a, b, c, t, v, p, n, j, jb FROM texts') FROM generate_series(1, 3);
SELECT count(DISTINCT jb), max(length(jb #>> '{}')), max(length(n)), max(length(ta[1])) FROM ours.texts WHERE id > 5;
SELECT pair.bytes('SELECT a, b, c, n, jb FROM ours.texts WHERE id > 0') > pair.bytes('SELECT a, b, c, n, jb FROM ours.texts WHERE id > 0') AS second_in_binary;
RESET client_encoding;
SELECT pair.same('SELECT * FROM texts');
