-- Scans that are started again, with other parameters or with the same ones.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
SET enable_material = off;
SET enable_memoize = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;

-- Same parameters: the answer is read again from its start.
SELECT pair.same('SELECT a.id, b.id FROM account a, branch b WHERE a.id < 9 AND pair.here(a.id) <> pair.here(b.id) ORDER BY 1, 2');
SELECT pair.same('SELECT x.id, (SELECT count(*) FROM branch b WHERE b.id <> random() * 0 + x.id) FROM account x WHERE x.id < 12 ORDER BY 1');

-- Other parameters: another request each time, also before the end was read.
SELECT pair.same('SELECT b.id, q.id FROM branch b CROSS JOIN LATERAL (SELECT id FROM account a WHERE a.branch = b.id ORDER BY id LIMIT 3) q ORDER BY 1, 2');
SELECT pair.same('SELECT b.id, (SELECT max(owner) FROM account a WHERE a.branch = b.id AND a.opened > timestamptz ''2024-03-20 00:00:00+00'') FROM branch b ORDER BY 1');
SELECT pair.same('SELECT a.id, EXISTS (SELECT FROM branch b WHERE b.id = a.branch) FROM account a WHERE a.id < 30 ORDER BY 1');

-- A parameter that only a local filter uses leaves the request as it is.
SELECT pair.same('SELECT a.id, (SELECT min(b.id) FROM branch b WHERE pair.here(b.id) > pair.here(a.id)) FROM account a WHERE a.id < 20 ORDER BY 1');

-- Keys that are NULL, and types whose text depends on settings.
SET DateStyle = 'German';
SET IntervalStyle = 'postgres_verbose';
SELECT pair.same('SELECT a.id, (SELECT count(*) FROM branch b WHERE b.id = a.branch) FROM account a WHERE a.id < 22 ORDER BY 1');
SELECT pair.same('SELECT b.id, (SELECT count(*) FROM account a WHERE a.opened < timestamptz ''2024-03-01 00:00:00+00'' + b.span) FROM branch b ORDER BY 1');
SELECT pair.same('SELECT b.id, (SELECT count(*) FROM branch c WHERE c.span > b.span) FROM branch b ORDER BY 1');
RESET DateStyle;
RESET IntervalStyle;

-- Small pages.
ALTER FOREIGN TABLE stock.account OPTIONS (ADD fetch_size '3');
ALTER FOREIGN TABLE ours.account OPTIONS (ADD fetch_size '3');
SELECT pair.same('SELECT id FROM account ORDER BY id');
SELECT pair.same('SELECT b.id, a.id FROM branch b, account a WHERE a.id < 25 AND pair.here(a.id) > pair.here(b.id) ORDER BY 1, 2');

-- In loops and recursion.
SELECT pair.same('WITH RECURSIVE up(id) AS (SELECT 1 UNION ALL SELECT a.id FROM up, account a WHERE a.id = up.id * 2) SELECT id FROM up ORDER BY 1');
