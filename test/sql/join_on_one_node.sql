-- Joins that run on the storage node, and joins of its scans here.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
SELECT pair.same('SELECT a.id, b.city FROM account a JOIN branch b ON b.id = a.branch ORDER BY a.id');
SELECT pair.plan('SELECT a.id, b.city FROM account a JOIN branch b ON b.id = a.branch ORDER BY a.id');
SELECT pair.same('SELECT a.id, b FROM account a LEFT JOIN branch b ON b.id = a.branch AND b.id > 2 ORDER BY a.id');
SELECT pair.plan('SELECT a.id, b FROM account a LEFT JOIN branch b ON b.id = a.branch AND b.id > 2');
SELECT pair.same('SELECT a.id, b.id FROM account a FULL JOIN branch b ON b.id = a.branch AND a.id > 50 ORDER BY 1, 2');
SELECT pair.same('SELECT a, b FROM account a JOIN branch b ON b.id = a.branch WHERE a.id < 30 ORDER BY a.id LIMIT 5');
SELECT pair.same('SELECT b.city, count(*), sum(a.balance) FROM account a JOIN branch b ON b.id = a.branch GROUP BY b.city ORDER BY 1');
SELECT pair.plan('SELECT b.city, count(*) FROM account a JOIN branch b ON b.id = a.branch GROUP BY b.city');
SELECT pair.same('SELECT count(*) FROM account a JOIN branch b ON b.id = a.branch WHERE b.extra @> ''{"n": 3}''');
SELECT pair.same('SELECT id FROM account a WHERE EXISTS (SELECT FROM branch b WHERE b.id = a.branch AND b.id < 3) ORDER BY id');
SELECT pair.same('SELECT id FROM branch b WHERE NOT EXISTS (SELECT FROM account a WHERE a.branch = b.id) ORDER BY id');
SELECT pair.same('SELECT id FROM account WHERE branch = (SELECT max(id) FROM branch WHERE id < 5) ORDER BY id');
SELECT pair.same('WITH few AS MATERIALIZED (SELECT * FROM account WHERE id < 9) SELECT x.id, y.id FROM few x, few y WHERE x.id = y.id + 1 ORDER BY 1');
SELECT pair.same('SELECT id FROM account WHERE id < 5 UNION ALL SELECT id FROM branch ORDER BY 1');

-- A join with a filter that cannot travel, and one whose outer side is local.
SELECT pair.same('SELECT a.id, b.id FROM account a, branch b WHERE pair.here(a.id) = pair.here(b.id) ORDER BY 1');
CREATE TABLE pair.trip AS SELECT i AS id, i * 3 AS account_id FROM generate_series(1, 40) i;
ANALYZE pair.trip;
SELECT pair.same('SELECT t.id, a.owner FROM pair.trip t LEFT JOIN account a ON a.id = t.account_id ORDER BY t.id');

-- Whole rows of a join under row marks have the table's type.
SELECT pair.same_write('SELECT 1', 'SELECT a.id, b.city FROM account a JOIN branch b ON b.id = a.branch WHERE a.id < 9 ORDER BY a.id FOR UPDATE OF a');
SELECT pair.same_write('SELECT 1', 'SELECT t.id, a, b FROM pair.trip t, account a, branch b WHERE a.id = t.account_id AND b.id = a.branch ORDER BY t.id FOR UPDATE OF t');
