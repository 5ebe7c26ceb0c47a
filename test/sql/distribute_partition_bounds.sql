-- Rows are held against the bounds of partitions as they are now.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
\i :test/include/twins.sql
SELECT count(*) > 0 FROM shuttle.use_node('n1');
SELECT count(*) > 0 FROM shuttle.use_node('n2');
CREATE FUNCTION counts(relation text) RETURNS TABLE (at int, here bigint, plain bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT at, a.n, b.n FROM (SELECT at, count(*) AS n FROM shop.%1$s GROUP BY at) AS a
		FULL JOIN (SELECT at, count(*) AS n FROM plain.%1$s GROUP BY at) AS b USING (at) ORDER BY at', relation);
END $$;

-- tablets of the default partition, whose bounds the session knows
SELECT twins('CREATE TABLE p (k int, at int, PRIMARY KEY (k, at)) PARTITION BY RANGE (at)');
SELECT twins('CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)');
SELECT twins('CREATE TABLE pd PARTITION OF p DEFAULT');
SELECT shuttle.distribute_table('p', 'k', tablets => 2);
SELECT twins('INSERT INTO p SELECT k, 55 FROM generate_series(1, 10) AS k');
SELECT twins('UPDATE p SET at = at + 1');
SELECT twins('CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (20) TO (30)');
SELECT twins('UPDATE p SET at = 25 WHERE k <= 5');
SELECT * FROM counts('p2');
SELECT twins('UPDATE pd SET at = 26 WHERE k = 7');
SELECT twins('MERGE INTO p USING (SELECT 8 AS k) AS s ON p.k = s.k WHEN MATCHED THEN UPDATE SET at = 27');
SELECT * FROM counts('p2');
SELECT * FROM counts('pd');
SELECT twins('ALTER TABLE p DETACH PARTITION p2');
SELECT twins('UPDATE pd SET at = 26 WHERE k = 7');
SELECT twins('ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (20) TO (26)');
SELECT twins('DELETE FROM p2 WHERE at > 25');
SELECT twins('ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (20) TO (26)');
SELECT twins('UPDATE pd SET at = 21 WHERE k = 6');
SELECT twins('UPDATE p SET at = 21 WHERE k = 6');
SELECT * FROM counts('p2');
SELECT twins('DROP TABLE p2');
SELECT twins('UPDATE pd SET at = 22 WHERE k = 7');
SELECT twins('CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (20) TO (30) PARTITION BY LIST (at)');
SELECT twins('DELETE FROM pd WHERE at < 30');
SELECT twins('CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (20) TO (30) PARTITION BY LIST (at)');
SELECT twins('CREATE TABLE p2a PARTITION OF p2 FOR VALUES IN (24)');
SELECT twins('UPDATE p SET at = 24 WHERE k = 9');
SELECT * FROM counts('p2a');
SELECT * FROM counts('p');

-- a default partition that has partitions: core's own tablets would keep what they know
CREATE TABLE n (k int, at int, kind text) PARTITION BY RANGE (at);
CREATE TABLE n1 PARTITION OF n FOR VALUES FROM (0) TO (10);
CREATE TABLE nd PARTITION OF n DEFAULT PARTITION BY LIST (kind);
CREATE TABLE nda PARTITION OF nd FOR VALUES IN ('a');
CREATE TABLE ndd PARTITION OF nd DEFAULT;
SELECT shuttle.distribute_table('n', 'k', tablets => 2);
INSERT INTO n SELECT k, 55, 'ab' FROM generate_series(1, 10) AS k;
INSERT INTO n SELECT k, 55, 'a' FROM generate_series(1, 10) AS k;
UPDATE n SET at = at + 1;
CREATE TABLE n2 PARTITION OF n FOR VALUES FROM (20) TO (30);
UPDATE n SET at = 25 WHERE k <= 5;
SELECT count(*) FROM n WHERE at = 25;
CREATE TABLE ndc PARTITION OF nd FOR VALUES IN ('c');
UPDATE n SET kind = 'c' WHERE k = 7;
SELECT count(*) FROM n WHERE kind = 'c';
SELECT count(*) FROM ndc;

-- nodes show a transaction with an old snapshot its own rows only
BEGIN ISOLATION LEVEL REPEATABLE READ;
CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (30) TO (40);
ROLLBACK;
CREATE TABLE x (k int NOT NULL, at int NOT NULL);
SELECT shuttle.distribute_table('x', 'k', colocate_with => 'p1');
BEGIN ISOLATION LEVEL SERIALIZABLE;
ALTER TABLE p ATTACH PARTITION x FOR VALUES FROM (30) TO (40);
ROLLBACK;
ALTER TABLE p ATTACH PARTITION x FOR VALUES FROM (30) TO (40);
CREATE TABLE r (k int, at int) PARTITION BY RANGE (at);
SELECT shuttle.distribute_table('r', 'k', tablets => 2);
BEGIN ISOLATION LEVEL REPEATABLE READ;
CREATE TABLE r1 PARTITION OF r FOR VALUES FROM (30) TO (40);
COMMIT;
SELECT relation FROM shuttle.tables WHERE relation IN ('r'::regclass, 'r1'::regclass) ORDER BY 1;
SELECT * FROM shuttle.check();

-- a function of a bound is another one on nodes: rows are held against the bound here
CREATE FUNCTION band(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 / 10; END';
CREATE TABLE f (k int, at int) PARTITION BY RANGE (band(at));
CREATE TABLE f0 PARTITION OF f FOR VALUES FROM (0) TO (1);
CREATE TABLE f1 PARTITION OF f FOR VALUES FROM (1) TO (2);
SELECT shuttle.distribute_table('f', 'k', tablets => 2);
SELECT bool_and(ok) FROM shuttle.run_on_nodes('CREATE OR REPLACE FUNCTION shop.band(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS ''BEGIN RETURN 1 - $1 / 10; END''', '{n1,n2}');
INSERT INTO f SELECT k, k FROM generate_series(0, 19) AS k;
SELECT * FROM shuttle.check();
SELECT bool_and(ok) FROM shuttle.run_on_nodes('UPDATE shop.f1 SET at = 3 WHERE k = 12', '{n1,n2}');
SELECT relation, problem FROM shuttle.check();
DROP TABLE f;
SELECT bool_and(ok) FROM shuttle.run_on_nodes('DROP FUNCTION shop.band', '{n1,n2}');
DROP SCHEMA plain CASCADE;
