-- Prefetching looks at a btree beside the scans: killed entries, deleted and
-- half-dead pages, splits in between, small and empty trees, duplicates.
\getenv test PG_ABS_SRCDIR
\i :test/include/local.sql
CREATE TABLE a AS SELECT i AS id, (i * 7919) % 20000 AS k FROM generate_series(1, 300) i;
CREATE TABLE b (id int, k int, pad text) WITH (autovacuum_enabled = off);
CREATE INDEX b_k ON b (k);
ANALYZE a, b;
-- nothing, one page, two levels, three levels
SET enable_seqscan = off;
SELECT test.same_local('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k');
INSERT INTO b SELECT i, i, 'b' FROM generate_series(1, 10) i;
SELECT test.same_local('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k');
INSERT INTO b SELECT i, i, 'b' FROM generate_series(11, 20000) i;
ANALYZE b;
SELECT test.same_local('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k');
CREATE TABLE deep AS SELECT i AS id, repeat('wide key ', 100) || lpad(i::text, 6, '0') AS t FROM generate_series(1, 3000) i;
ALTER TABLE deep ALTER t SET STORAGE PLAIN;
CREATE INDEX deep_t ON deep (t) WITH (fillfactor = 50, deduplicate_items = off);
ANALYZE deep;
SELECT test.same_local('SELECT a.id, d.id FROM (SELECT id, repeat(''wide key '', 100) || lpad(((k * 7) % 3500)::text, 6, ''0'') AS t FROM a OFFSET 0) a JOIN deep d ON d.t = a.t');
-- duplicates, in posting lists and not
INSERT INTO b SELECT i, 5000, 'many' FROM generate_series(1, 3000) i;
CREATE INDEX b_plain ON b (k) WITH (deduplicate_items = off);
SELECT test.same_local('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k / 10 * 10');
SELECT test.same_local('SELECT a.id, count(*) FROM a JOIN b ON b.k = a.k * 0 + 5000 GROUP BY a.id');
SELECT test.same_local('SELECT a.id, b.id, b.pad FROM (SELECT id, CASE WHEN id % 3 = 0 THEN 5000 ELSE k END AS k FROM a OFFSET 0) a JOIN b ON b.k = a.k');
DROP INDEX b_plain;
-- killed entries, deleted pages, and pages used anew
DELETE FROM b WHERE k BETWEEN 4000 AND 12000;
SELECT test.same_local('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k');
SELECT test.same_local('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k');
VACUUM b;
SELECT test.same_local('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k');
VACUUM b;
INSERT INTO b SELECT i, i, 'new' FROM generate_series(4000, 12000, 2) i;
SELECT test.same_local('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k');
DELETE FROM b;
VACUUM b;
SELECT test.same_local('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k');
-- splits and deletions while rows of a batch are handed out
INSERT INTO b SELECT i, i, 'old' FROM generate_series(1, 20000, 4) i;
ANALYZE b;
SET shuttle.debug_force_batched_join = on;
BEGIN;
DECLARE here NO SCROLL CURSOR FOR SELECT a.id, b.k FROM a LEFT JOIN b ON b.k = a.k;
MOVE 40 FROM here;
INSERT INTO b SELECT i, i, 'split' FROM generate_series(1, 20000) i;
CREATE TEMP TABLE got (n int, sum bigint);
DO $$
DECLARE
	r record;
	n int := 0;
	total bigint := 0;
	here refcursor := 'here';
BEGIN
	LOOP
		FETCH here INTO r;
		EXIT WHEN NOT FOUND;
		n := n + 1;
		total := total + coalesce(r.k, 0);
		IF n = 100 THEN
			DELETE FROM b WHERE k > 3000;
		END IF;
	END LOOP;
	INSERT INTO got VALUES (n, total);
END $$;
SELECT * FROM got;
ROLLBACK;
SELECT count(*), sum(b.k) FROM (SELECT * FROM a OFFSET 40) a LEFT JOIN b ON b.k = a.k;
