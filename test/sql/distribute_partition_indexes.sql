-- Partitions get the indexes of their parent as core would make them, whatever names these have.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
\i :test/include/twins.sql
SELECT count(*) > 0 FROM shuttle.use_node('n1');
SELECT count(*) > 0 FROM shuttle.use_node('n2');
CREATE FUNCTION indexes(schema regnamespace) RETURNS TABLE (relation text, name text, parent text, text text) LANGUAGE sql AS $$
	SELECT t.relname, c.relname, (SELECT p.relname FROM pg_inherits JOIN pg_class AS p ON p.oid = inhparent WHERE inhrelid = c.oid),
		replace(substring(pg_get_indexdef(c.oid) FROM 'USING btree \([^;]*$'), schema || '.', '')
	FROM pg_index JOIN pg_class AS c ON c.oid = indexrelid JOIN pg_class AS t ON t.oid = indrelid WHERE t.relnamespace = schema $$;
CREATE FUNCTION differing() RETURNS TABLE (relation text, name text, parent text, text text) LANGUAGE sql AS $$
	(SELECT * FROM indexes('shop') EXCEPT SELECT * FROM indexes('plain')) UNION ALL
	(SELECT * FROM indexes('plain') EXCEPT SELECT * FROM indexes('shop')) $$;
CREATE FUNCTION called() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'called'; END $$;

-- names of indexes and tables that look like what follows a name in a definition
SELECT twins('CREATE TABLE p (gone int, k int, at int NOT NULL, v text) PARTITION BY RANGE (at)');
SELECT twins('ALTER TABLE p DROP COLUMN gone');
SELECT twins('CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)');
SELECT twins('CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20) PARTITION BY LIST (at)');
SELECT twins('CREATE TABLE p2a PARTITION OF p2 FOR VALUES IN (11)');
SELECT shuttle.distribute_table('p', 'k', tablets => 2);
SELECT twins('CREATE INDEX "x USING btree(k);SELECT shop.called();--" ON p (k)');
SELECT twins('CREATE INDEX "a USING b" ON p (k, v DESC) WHERE k > 5');
SELECT twins('CREATE INDEX ON p (lower(v) text_pattern_ops, (k + at)) INCLUDE (v) WITH (fillfactor = 70)');
SELECT twins('CREATE UNIQUE INDEX "ON ONLY USING" ON p (k, at)');
SELECT twins('ALTER TABLE p ADD CONSTRAINT " USING btree(k);" PRIMARY KEY (at, k)');
SELECT twins('ALTER TABLE p ADD UNIQUE (k, v, at)');
SELECT twins('CREATE TABLE "e USING btree(k);SELECT shop.called();--" (k int, at int) PARTITION BY RANGE (at)');
SELECT twins('CREATE TABLE e1 PARTITION OF "e USING btree(k);SELECT shop.called();--" FOR VALUES FROM (0) TO (10)');
SELECT shuttle.distribute_table('"e USING btree(k);SELECT shop.called();--"', 'k', tablets => 2);
SELECT twins('CREATE INDEX ii ON "e USING btree(k);SELECT shop.called();--" (k)');
SELECT * FROM differing();
SELECT name, parent FROM indexes('shop') WHERE relation IN ('p1', 'p2a', 'e1') ORDER BY name COLLATE "C";
SELECT DISTINCT result::text FROM shuttle.run_on_nodes($$SELECT string_agg(pg_get_indexdef(indexrelid), '; ' ORDER BY indexrelid::regclass::text COLLATE "C")
	FROM pg_index WHERE indrelid = 'shop.p2a'::regclass$$, '{n1,n2}');

-- an index that a distributed table has is taken, with a name like a definition, too
SELECT twins('CREATE TABLE x (v text, at int NOT NULL, k int NOT NULL)');
SELECT shuttle.distribute_table('x', 'k', colocate_with => 'p1');
SELECT twins('CREATE INDEX "mine USING b" ON x (k)');
SELECT twins('ALTER TABLE p ATTACH PARTITION x FOR VALUES FROM (20) TO (30)');
SELECT * FROM differing();
SELECT bool_and(indisvalid) FROM pg_index WHERE indrelid = 'p'::regclass;

-- an index above one that is not valid is not valid, either
SELECT twins('CREATE TABLE q (k int, at int, v int) PARTITION BY RANGE (at)');
SELECT twins('CREATE TABLE q1 PARTITION OF q FOR VALUES FROM (0) TO (10)');
SELECT twins('CREATE TABLE q2 PARTITION OF q FOR VALUES FROM (10) TO (20)');
SELECT shuttle.distribute_table('q', 'k', tablets => 2);
SELECT shuttle.local_table('q1');
SELECT twins('INSERT INTO q VALUES (1, 1, 1), (1, 1, 1), (2, 11, 1)');
\set VERBOSITY sqlstate
CREATE UNIQUE INDEX CONCURRENTLY q1u ON q1 (k, at);
CREATE UNIQUE INDEX CONCURRENTLY q1u ON plain.q1 (k, at);
\set VERBOSITY terse
SELECT twins('CREATE UNIQUE INDEX qu ON q (k, at)');
SELECT twins('CREATE INDEX qv ON q (v)');
SELECT indexrelid::regclass, indisvalid FROM pg_index WHERE indrelid IN ('q'::regclass, 'plain.q'::regclass) ORDER BY indexrelid::regclass::text COLLATE "C";
SELECT twins('CREATE TABLE c AS SELECT 1 AS k');
SELECT c.k FROM c LEFT JOIN q ON q.k = c.k AND q.at = 1;
SELECT c.k FROM plain.c LEFT JOIN plain.q ON q.k = c.k AND q.at = 1;
SELECT twins('CREATE INDEX qo ON ONLY q (at)');
SELECT twins('CREATE INDEX q1o ON q1 (at)');
SELECT twins('ALTER INDEX qo ATTACH PARTITION q1o');
SELECT twins('CREATE INDEX q2o ON q2 (at)');
SELECT twins('ALTER INDEX qo ATTACH PARTITION q2o');
SELECT shuttle.local_table('q');
SELECT indexrelid::regclass, indisvalid FROM pg_index WHERE indrelid IN ('q'::regclass, 'plain.q'::regclass) ORDER BY indexrelid::regclass::text COLLATE "C";
DROP SCHEMA plain CASCADE;
