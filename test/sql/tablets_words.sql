-- What is refused in the words of its reason, and what pg_relation_size() would hide.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
\pset tuples_only on
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
\set VERBOSITY sqlstate
-- the SQLSTATE, the detail and the hint
CREATE FUNCTION outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE detail text; hint text;
BEGIN
	EXECUTE statement;
	RETURN 'done';
EXCEPTION WHEN others THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(E'\n    ', SQLSTATE || ' ' || SQLERRM, nullif(detail, ''), nullif(hint, ''));
END $$;
CREATE TABLE t (id int PRIMARY KEY, v int, s text);
CREATE TABLE k (id int, n int, PRIMARY KEY (id, n));
SELECT shuttle.distribute_tables('{t.id, k.id}', tablets => 3);
CREATE TABLE loc (id int, v int);
-- keys of tables here
SELECT outcome(s) FROM unnest('{"CREATE TABLE a (id int REFERENCES t)", "CREATE TABLE b (id int, FOREIGN KEY (id) REFERENCES t (id))",
	"CREATE TABLE c (id int, v int, FOREIGN KEY (id, v) REFERENCES k)", "ALTER TABLE loc ADD FOREIGN KEY (id) REFERENCES t",
	"ALTER TABLE loc ADD COLUMN x int REFERENCES t (id)", "CREATE SCHEMA other CREATE TABLE a (id int REFERENCES shop.t)"}'::text[]) AS s;
-- MERGE
CREATE VIEW tv AS SELECT * FROM t;
-- MERGE has these since 17
SELECT bool_and(CASE WHEN current_setting('server_version_num')::int < 170000 THEN true ELSE outcome(s) LIKE '0A000 cannot execute MERGE on relation "t"%' || reason || '%' END)
FROM (VALUES ('WITH w AS (MERGE INTO t USING loc ON t.id = loc.id WHEN MATCHED THEN DELETE RETURNING t.id) SELECT count(*) FROM w', 'It is in a WITH clause.'),
	('MERGE INTO t USING loc ON t.id = loc.id WHEN MATCHED THEN DELETE RETURNING t.id', 'It has RETURNING.'),
	('MERGE INTO t USING loc ON t.id = loc.id WHEN NOT MATCHED BY SOURCE THEN DELETE', 'It says WHEN NOT MATCHED BY SOURCE.')) AS m (s, reason);
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER kept BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION keep();
SELECT outcome('MERGE INTO t USING loc ON t.id = loc.id WHEN MATCHED THEN UPDATE SET v = 1');
DROP TRIGGER kept ON t;
SELECT outcome('MERGE INTO t USING loc ON t.id = loc.id WHEN MATCHED THEN UPDATE SET (v, s) = (SELECT 1, ''x'')');
-- keys without the distribution column, and columns without a key
SELECT outcome(s) FROM unnest('{"ALTER TABLE t ADD COLUMN u int UNIQUE", "ALTER TABLE t ADD UNIQUE (v)", "CREATE UNIQUE INDEX ON t (v)",
	"INSERT INTO t VALUES (1) ON CONFLICT (v) DO NOTHING", "INSERT INTO t VALUES (1), (2) ON CONFLICT (v) DO UPDATE SET s = $$x$$",
	"INSERT INTO t VALUES (1) ON CONFLICT (s) DO NOTHING"}'::text[]) AS s;
-- what nodes do not have
CREATE COLLATION own_c FROM "C";
CREATE OPERATOR === (LEFTARG = int, RIGHTARG = int, FUNCTION = int4eq);
CREATE OPERATOR CLASS own_class FOR TYPE int USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint4cmp(int, int);
CREATE TEXT SEARCH CONFIGURATION own_cfg (COPY = simple);
CREATE TABLE c1 (id int PRIMARY KEY, s text COLLATE own_c);
CREATE TABLE c2 (id int PRIMARY KEY, v int CHECK (v === 3));
CREATE TABLE c3 (id int PRIMARY KEY, v int);
CREATE INDEX ON c3 (v own_class);
CREATE TABLE c4 (id int PRIMARY KEY, s text, g tsvector GENERATED ALWAYS AS (to_tsvector('own_cfg', s)) STORED);
CREATE TABLE c5 (id int PRIMARY KEY, s text);
CREATE INDEX ON c5 USING gin (to_tsvector('own_cfg', s));
SELECT outcome(format('SELECT shuttle.distribute_table(%L, ''id'', 3)', 'c' || i)) FROM generate_series(1, 5) AS i;
SELECT outcome('SELECT shuttle.reference_table(''c1'')');
SELECT outcome(s) FROM unnest('{"ALTER TABLE t ADD COLUMN c text COLLATE own_c", "ALTER TABLE t ADD CHECK (v === 3)", "CREATE INDEX ON t (v own_class)"}'::text[]) AS s;
SELECT ok FROM shuttle.run_on_nodes('CREATE OPERATOR shop.=== (LEFTARG = int, RIGHTARG = int, FUNCTION = int4eq)', '{n1, n2}');
SELECT outcome('SELECT shuttle.distribute_table(''c2'', ''id'', 3)');
-- sizes
CREATE TABLE sized (id int PRIMARY KEY, s text);
CREATE TABLE empty (id int PRIMARY KEY);
SELECT shuttle.distribute_tables('{sized.id, empty.id}', tablets => 3);
INSERT INTO sized SELECT i, repeat('x', 1000) FROM generate_series(1, 500) AS i;
SELECT pg_total_relation_size('sized'), shuttle.table_size('sized') BETWEEN 500000 AND 1200000, shuttle.table_size('empty') < 100000,
	shuttle.table_size('loc') = pg_total_relation_size('loc'), shuttle.table_size(0);
-- publications
SET client_min_messages = error;
SELECT outcome(s) FROM unnest('{"CREATE PUBLICATION tablets_p FOR TABLE loc, t", "CREATE PUBLICATION tablets_p FOR TABLE shuttle_tablets.t_t0", "CREATE PUBLICATION tablets_p FOR TABLE loc",
	"ALTER PUBLICATION tablets_p ADD TABLE t", "ALTER PUBLICATION tablets_p SET TABLE t"}'::text[]) AS s;
RESET client_min_messages;
ALTER TABLE loc ADD PRIMARY KEY (id);
\set VERBOSITY default
SELECT shuttle.distribute_table('loc', 'id', 3);
ALTER PUBLICATION tablets_p DROP TABLE loc;
SELECT shuttle.distribute_table('loc', 'id', 3);
DROP PUBLICATION tablets_p;
DROP SCHEMA shop CASCADE;
