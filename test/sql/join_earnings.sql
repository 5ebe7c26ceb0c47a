-- The first employees by number whose earnings, an SQL function that is inlined,
-- exceed a bound: two read requests at the most, and no sort.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE dept (deptno int PRIMARY KEY, dname text, loc text);
INSERT INTO dept VALUES (10, 'ACCOUNTING', 'NEW YORK'), (20, 'RESEARCH', 'DALLAS'),
	(30, 'SALES', 'CHICAGO'), (40, 'OPERATIONS', 'BOSTON');
-- 458 of 10 014 earn more than 42
CREATE TABLE emp AS SELECT i AS empno, 'employee ' || i AS ename, 10 + 10 * (i / 22 % 4) AS deptno,
	CASE WHEN i % 22 = 0 AND i <= 22 * 440 THEN 40 ELSE 12 + i % 22 END::numeric(7, 2) AS sal,
	CASE WHEN i % 22 = 0 THEN 7 + i % 5 WHEN i % 550 = 7 THEN 30 WHEN i % 3 = 0 THEN 1 END::numeric(7, 2) AS comm
FROM generate_series(1, 10014) i;
ALTER TABLE emp ADD PRIMARY KEY (empno);
-- the one is shipped, the other is not: no node is asked for COALESCE
CREATE FUNCTION earnings(sal numeric, comm numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS
	'SELECT CASE WHEN comm IS NULL THEN sal ELSE sal + comm END';
CREATE FUNCTION earnings_here(sal numeric, comm numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS
	'SELECT sal + coalesce(comm, 0)';
SELECT count(*), count(*) FILTER (WHERE earnings(sal, comm) > 42), count(*) FILTER (WHERE earnings_here(sal, comm) > 42) FROM emp;
CALL test.mirror('dept', 'emp');
ANALYZE guest.dept, guest.emp, engine.dept, engine.emp;

CREATE TABLE queries (nr int, query text);
INSERT INTO queries
SELECT nr, format('SELECT empno, ename, dname, %1$s(sal, comm) FROM %2$s dept JOIN %3$s emp ON dept.deptno = emp.deptno
	WHERE %1$s(sal, comm) > 42 AND dept.loc <> ''DALLAS'' ORDER BY emp.empno FETCH FIRST 5 ROWS ONLY', f, d, e)
FROM (VALUES (1, 'earnings', '', ''), (2, 'earnings_here', '', ''),
	-- departments on another server, or here
	(3, 'earnings', 'guest.', 'engine.'), (4, 'earnings_here', 'guest.', 'engine.'),
	(5, 'earnings', 'engine.', 'guest.'), (6, 'earnings_here', 'engine.', 'guest.'),
	(7, 'earnings', 'local.', ''), (8, 'earnings_here', 'local.', '')) AS v (nr, f, d, e);
-- read requests of our connections, rows from there, and whether anything is sorted
CREATE FUNCTION asked(query text, path text, OUT requests int, OUT few_rows bool, OUT sorts bool) LANGUAGE plpgsql AS $$
DECLARE
	printed json;
BEGIN
	PERFORM set_config('search_path', path || ', local, public', true);
	EXECUTE 'EXPLAIN (ANALYZE, DIST, TIMING OFF, FORMAT JSON) ' || query INTO printed;
	requests := printed -> 0 ->> 'Storage Read Requests';
	few_rows := (printed -> 0 ->> 'Storage Rows Returned')::int < 1000;
	sorts := printed::text LIKE '%Sort%';
END $$;
SELECT nr, query FROM queries WHERE nr <= 2 ORDER BY nr;
SET search_path = engine, local, public;
SELECT empno, ename, dname, earnings(sal, comm) FROM dept JOIN emp ON dept.deptno = emp.deptno
	WHERE earnings(sal, comm) > 42 AND dept.loc <> 'DALLAS' ORDER BY emp.empno FETCH FIRST 5 ROWS ONLY;
SET search_path = local, public;
SELECT nr, r.requests <= 2 AS at_most_two, r.few_rows, r.sorts FROM queries, asked(query, 'engine') AS r ORDER BY nr;
-- the same with batches; a guest's page of 100 employees is not counted
SET shuttle.debug_force_batched_join = on;
SELECT nr, r.requests, r.requests <= 2 AS at_most_two, r.few_rows, r.sorts FROM queries, asked(query, 'engine') AS r WHERE nr <= 6 ORDER BY nr;
SELECT nr, r.requests <= 2 AS at_most_two, r.sorts FROM queries, asked(query, 'guest') AS r WHERE nr <= 6 ORDER BY nr;
RESET shuttle.debug_force_batched_join;
SELECT nr, test.same_order(query) FROM queries ORDER BY nr;
