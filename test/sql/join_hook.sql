-- trap 11: paths for all orders of joins that core tries, also by its genetic
-- search; and none where nested loops are not wanted.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 7 AS k FROM generate_series(1, 20) i;
CREATE TABLE b AS SELECT i AS id, i % 6 AS k, i % 5 AS n FROM generate_series(1, 14) i;
CREATE TABLE c AS SELECT i AS id, i % 5 AS k, i % 4 AS n FROM generate_series(1, 12) i;
CREATE TABLE l AS SELECT i AS id, i % 4 AS k FROM generate_series(1, 9) i;
CALL test.mirror('b', 'c');
CREATE TABLE queries (nr int, query text);
INSERT INTO queries VALUES
	(1, 'SELECT a.id, b.id, c.id, l.id FROM a JOIN b ON b.k = a.k JOIN c ON c.k = b.n JOIN l ON l.k = c.n'),
	(2, 'SELECT a.id, b.id, c.id, l.id FROM a LEFT JOIN b ON b.k = a.k LEFT JOIN c ON c.k = b.n LEFT JOIN l ON l.k = c.n'),
	(3, 'SELECT l.id FROM l WHERE l.k IN (SELECT c.n FROM a JOIN b ON b.k = a.k JOIN c ON c.k = b.n)'),
	(4, 'SELECT a.id FROM a WHERE a.k IN (SELECT b.k FROM b WHERE b.n IN (SELECT c.k FROM c WHERE c.id > 3))'),
	(5, 'SELECT a.id, l.id FROM a, l WHERE EXISTS (SELECT FROM b JOIN c ON c.k = b.n WHERE b.k = a.k AND c.n = l.k)'),
	(6, 'SELECT a.id, x.id FROM a JOIN (b AS x LEFT JOIN c ON c.k = x.n AND c.id > 2) ON x.k = a.k AND coalesce(c.id, 5) > a.id'),
	(7, 'SELECT a.id, s.* FROM a LEFT JOIN LATERAL (SELECT b.id + a.id AS z, a.k AS y FROM b WHERE b.k = a.k) s ON s.y < 5 LEFT JOIN c ON c.k = s.z % 5');
SET geqo_threshold = 2;
SELECT nr, test.same_rows(query) FROM queries ORDER BY nr;
RESET geqo_threshold;
SELECT nr, test.same_rows(query) FROM queries ORDER BY nr;
SET join_collapse_limit = 1;
SET from_collapse_limit = 1;
SELECT nr, test.same_rows(query) FROM queries WHERE nr IN (1, 2, 6) ORDER BY nr;
RESET join_collapse_limit;
RESET from_collapse_limit;
-- without force, enable_nestloop is obeyed
SET shuttle.debug_force_batched_join = off;
SET enable_nestloop = off;
SELECT test.plan_shape('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k');
SELECT test.plan_shape('SELECT l.id, b.id FROM l JOIN b ON b.k = l.k AND l.id = 1');
RESET enable_nestloop;
-- switched off, plans are as without the extension
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET shuttle.enable_batched_join = off;
SELECT test.plan_shape('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k');
SET shuttle.enable_batched_join = on;
SELECT test.plan_shape('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k');
-- paths that postgres_fdw makes with remote estimates have batches as well
RESET enable_hashjoin;
RESET enable_mergejoin;
ALTER SERVER guest OPTIONS (ADD use_remote_estimate 'true');
ALTER SERVER engine OPTIONS (ADD shuttle_remote_estimate 'true');
SELECT nr, test.same_rows(query) FROM queries ORDER BY nr;
