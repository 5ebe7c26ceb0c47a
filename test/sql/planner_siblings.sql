-- The SELECT of a partition is made of another one's where all but the table's name
-- is equal: partitions that differ in anything get their own.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE FUNCTION here(int) RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN $1; END';
CREATE TABLE o AS SELECT i AS id, nullif(i % 9, 8) AS k, i % 5 AS x, 'name ' || i % 4 AS t FROM generate_series(1, 20) i;
CREATE TABLE p (k int, x int, t varchar(20), d int) PARTITION BY LIST (k);
SELECT format('CREATE TABLE p%s PARTITION OF p FOR VALUES IN (%s)', i, i) FROM generate_series(0, 5) i \gexec
CREATE TABLE p6 PARTITION OF p DEFAULT PARTITION BY RANGE (x);
CREATE TABLE p6a PARTITION OF p6 FOR VALUES FROM (MINVALUE) TO (3);
CREATE TABLE p6b PARTITION OF p6 FOR VALUES FROM (3) TO (MAXVALUE);
INSERT INTO p SELECT i % 9, i % 7, 'name ' || i % 6, i % 11 + 2 FROM generate_series(1, 120) i;
-- names of columns there are those of others here
CREATE TABLE there AS SELECT k, d AS x, t, x AS d FROM p1;
ANALYZE o, p, there;
CALL test.mirror_partitions('p');
CREATE FUNCTION on_both(statement text) RETURNS SETOF text LANGUAGE sql AS
	$$ SELECT replace(statement, '%', transport) FROM unnest(test.transports()) AS transport $$;
-- what postgres_fdw would write of each
CREATE FUNCTION selects(query text) RETURNS TABLE (transport text, remote_sql text) LANGUAGE sql AS $$
	SELECT transport, jsonb_path_query(test.explain(query, (transport, transport, true, 1024, 1024, false), 'VERBOSE,'), 'strict $.**."Remote SQL"') #>> '{}'
	FROM unnest(test.transports()) AS transport
$$;
SELECT DISTINCT remote_sql, count(*) FROM selects('SELECT o.id, p.d FROM o JOIN p ON p.k = o.k AND p.x > o.x') GROUP BY remote_sql ORDER BY remote_sql;
SELECT test.same_rows('SELECT o.id, p.d FROM o JOIN p ON p.k = o.k AND p.x > o.x');

-- columns that are called otherwise on the node: what was known before is forgotten
SELECT on_both('ALTER FOREIGN TABLE %.p1 OPTIONS (ADD table_name ''there'')') \gexec
SELECT on_both('ALTER FOREIGN TABLE %.p1 ALTER x OPTIONS (ADD column_name ''d''), ALTER d OPTIONS (ADD column_name ''x'')') \gexec
-- columns at other places, one of them dropped
SELECT on_both('DROP FOREIGN TABLE %.p2') \gexec
SELECT on_both('CREATE FOREIGN TABLE %.p2 (d int, gone int, t varchar(20), x int, k int) SERVER % OPTIONS (schema_name ''local'')') \gexec
SELECT on_both('ALTER FOREIGN TABLE %.p2 DROP gone') \gexec
SELECT on_both('ALTER TABLE %.p ATTACH PARTITION %.p2 FOR VALUES IN (2)') \gexec
-- another option; a column without NULL, of which core then drops conditions; another name
SELECT on_both('ALTER FOREIGN TABLE %.p3 OPTIONS (ADD fetch_size ''3'')') \gexec
SELECT on_both('ALTER FOREIGN TABLE %.p4 ALTER x SET NOT NULL') \gexec
SELECT on_both('ALTER FOREIGN TABLE %.p5 RENAME TO "P 5"') \gexec
ALTER TABLE p5 RENAME TO "P 5";
-- partitions of a partition
SELECT on_both('DROP FOREIGN TABLE %.p6') \gexec
SELECT on_both('CREATE TABLE %.p6 PARTITION OF %.p DEFAULT PARTITION BY RANGE (x)') \gexec
SELECT on_both('CREATE FOREIGN TABLE %.p6a PARTITION OF %.p6 FOR VALUES FROM (MINVALUE) TO (3) SERVER % OPTIONS (schema_name ''local'')') \gexec
SELECT on_both('CREATE FOREIGN TABLE %.p6b PARTITION OF %.p6 FOR VALUES FROM (3) TO (MAXVALUE) SERVER % OPTIONS (schema_name ''local'')') \gexec

SELECT DISTINCT remote_sql, count(*) FROM selects('SELECT o.id, p.d FROM o JOIN p ON p.k = o.k AND p.x > o.x') GROUP BY remote_sql ORDER BY remote_sql;
SELECT test.same_rows('SELECT o.id, p.d FROM o JOIN p ON p.k = o.k');
SELECT test.same_rows('SELECT o.id, p.d FROM o JOIN p ON p.k = o.k AND p.x > o.x AND p.x IS NOT NULL');
SELECT test.same_rows('SELECT o.id, p.t FROM o LEFT JOIN p ON p.k = o.k AND p.d > 4 AND here(p.x) > 1');
SELECT test.same_rows('SELECT o.id FROM o WHERE NOT EXISTS (SELECT FROM p WHERE p.k = o.k AND p.d = o.x)');
-- whole rows, and what the system knows of rows
SELECT test.same_rows('SELECT o.id, p FROM o JOIN p ON p.k = o.k AND p.x = o.x');
SELECT test.same_rows('SELECT o.id, p.tableoid::regclass, p.x FROM o JOIN p ON p.k = o.k');
SELECT test.same_rows('SELECT o.id, p.d FROM o JOIN p ON p.k = o.k AND (p).x = o.x AND p IS NOT NULL');
-- casts that are not written, values that are computed here, or once for all
SELECT test.same_rows('SELECT o.id, p.d FROM o JOIN p ON p.t = o.t AND p.k = o.k');
SELECT test.same_rows('SELECT o.id, p.d FROM o JOIN p ON p.k = here(o.k) AND p.d > here(o.x) + 1');
SELECT test.same_rows('SELECT o.id, p.d FROM o JOIN p ON p.k = o.k AND p.x < extract(epoch FROM now()) AND p.d > 3');
SELECT test.same_prepared('SELECT o.id, p.d FROM o JOIN p ON p.k = o.k AND p.d > $1 AND p.x = o.x + $1', 'int', '1', '2');
-- conditions with a subquery, by this server and by nodes
SELECT test.same_rows('SELECT o.id, p.d FROM o JOIN p ON p.k = o.k AND p.d > (SELECT min(x) FROM o)');
SELECT test.same_rows('SELECT o.id, p.d FROM o JOIN p ON p.k = o.k AND (p.x = 1 OR EXISTS (SELECT FROM o o2 WHERE o2.id = p.d))');
-- locks: in a plan only, since both transports would wait for each other's
SELECT remote_sql, count(*) FROM selects('SELECT o.id, p.d FROM o JOIN p ON p.k = o.k FOR UPDATE OF p') WHERE remote_sql LIKE '%FOR UPDATE' GROUP BY remote_sql ORDER BY remote_sql;
SELECT remote_sql, count(*) FROM selects('SELECT o.id, p.d FROM o JOIN p ON p.k = o.k FOR UPDATE OF o') WHERE remote_sql LIKE '%FOR UPDATE' GROUP BY remote_sql ORDER BY remote_sql;
-- tables of a UNION ALL, with casts of their own, and with columns that are none
SELECT test.same_rows('SELECT o.id, u.d FROM o JOIN (SELECT t::text AS t, k, d FROM p1 UNION ALL SELECT t, k, d FROM p2 UNION ALL SELECT t, k, d FROM p3) u ON u.t = o.t AND u.k = o.k');
SELECT test.same_rows('SELECT o.id, u.c, u.x FROM o LEFT JOIN (SELECT 1 AS c, k, x FROM p1 UNION ALL SELECT x, k, d FROM p3 UNION ALL SELECT 3, k, x FROM p4) u ON u.k = o.k AND u.c >= o.x');
SELECT test.same_rows('SELECT o.id, u.c FROM o LEFT JOIN (SELECT 1 AS c, k FROM p3 UNION ALL SELECT 2, k FROM p4) u ON u.k = o.k WHERE coalesce(u.c, 0) + here(1) <> 2');
-- both sides are partitioned, and partition by partition
SELECT test.same_rows('SELECT o.id, p.d, q.x FROM o JOIN p ON p.k = o.k JOIN p q ON q.k = p.k AND q.x = p.x WHERE o.id < 7');
SET enable_partitionwise_join = on;
SELECT test.same_rows('SELECT o.id, p.d, q.x FROM o JOIN p ON p.k = o.k JOIN p q ON q.k = p.k AND q.x = p.x WHERE o.id < 7');
RESET enable_partitionwise_join;

-- another server, and all alone
SELECT on_both('ALTER SERVER % OPTIONS (ADD fdw_tuple_cost ''0.3'')') \gexec
SELECT test.same_rows('SELECT p.k, p.x, p.t, p.d FROM p WHERE p.d > 3');
SELECT test.same_rows('SELECT o.id, p.d FROM o, p WHERE p.k = o.k AND p.d = o.x ORDER BY p.d, o.id LIMIT 7');

-- names are written as a setting says when they are
SELECT on_both('ALTER FOREIGN TABLE %.p0 OPTIONS (ADD table_name ''p0'')') \gexec
SELECT on_both('ALTER FOREIGN TABLE %.p4 OPTIONS (ADD table_name ''p4'')') \gexec
CREATE VIEW names AS SELECT DISTINCT remote_sql FROM selects('SELECT o.id, p.d FROM o JOIN p ON p.k = o.k') WHERE remote_sql ~ '\mp[04]\M';
SELECT * FROM names ORDER BY remote_sql;
SET quote_all_identifiers = on;
SELECT * FROM names ORDER BY remote_sql;
RESET quote_all_identifiers;
SELECT * FROM names ORDER BY remote_sql;
