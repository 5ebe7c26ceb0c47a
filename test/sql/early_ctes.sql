-- A CTE that is scanned several times is looked at once: with a chain of CTEs that
-- are each scanned twice, the look at the plan would take minutes otherwise.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
SET search_path = ours;
SET statement_timeout = '60s';
SET jit = off;

-- A chain of so many CTEs over a foreign table.  step: the query of CTE %1$s over
-- the CTE before it, %2$s; last: the query over the last one.
CREATE FUNCTION pair.chain(links int, step text, last text) RETURNS text LANGUAGE sql AS $$
SELECT 'WITH c0 AS MATERIALIZED (SELECT id FROM branch)' ||
	string_agg(format(', %1$s AS MATERIALIZED (' || step || ')', 'c' || i, 'c' || i - 1), '' ORDER BY i) ||
	format(' ' || last, 'c' || links)
FROM generate_series(1, links) i
$$;

-- started early
SELECT pair.chain(35, 'SELECT id FROM %2$s a JOIN %2$s b USING (id)', 'SELECT count(*) FROM %1$s') AS statement \gset
:statement;
-- the outer side of a batched join, which may be left before its end
SET shuttle.enable_batched_join = on;
SET shuttle.debug_force_batched_join = on;
SELECT pair.chain(1, 'SELECT id FROM %2$s a JOIN %2$s b USING (id)',
	'SELECT id, n FROM %1$s c, LATERAL (SELECT branch AS n FROM account WHERE account.id = c.id OFFSET 0) a LIMIT 3') AS statement \gset
EXPLAIN (COSTS OFF) :statement;
SELECT pair.chain(35, 'SELECT id FROM %2$s a JOIN %2$s b USING (id)',
	'SELECT id, n FROM %1$s c, LATERAL (SELECT branch AS n FROM account WHERE account.id = c.id OFFSET 0) a ORDER BY id') AS statement \gset
:statement;
:statement LIMIT 3;
SELECT pair.chain(35, 'SELECT id FROM %2$s a JOIN %2$s b USING (id)',
	'SELECT id, n FROM %1$s c, LATERAL (SELECT branch AS n FROM account WHERE account.id = c.id OFFSET 0) a LIMIT 3') AS statement \gset
:statement;
-- the source of a write
CREATE TABLE pair.copied (id int);
SELECT pair.chain(35, 'SELECT id FROM %2$s a JOIN %2$s b USING (id)', 'INSERT INTO pair.copied SELECT id FROM %1$s') AS statement \gset
:statement;
-- by subqueries of expressions, once for each row; the look goes on while nothing
-- that it has seen can raise an error
SELECT pair.chain(35, 'SELECT id FROM %2$s a WHERE EXISTS (SELECT FROM %2$s b WHERE b.id = a.id OFFSET 0)',
	'SELECT id, n FROM %1$s c, LATERAL (SELECT branch AS n FROM account WHERE account.id = c.id OFFSET 0) a LIMIT 3') AS statement \gset
:statement;
