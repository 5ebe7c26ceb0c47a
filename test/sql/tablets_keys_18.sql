-- Clauses of foreign keys that came with 18: nodes would check a key that is not enforced, and know no periods.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
CREATE TABLE a (id int PRIMARY KEY);
CREATE TABLE b (id int PRIMARY KEY);
SELECT shuttle.distribute_tables('{a.id, b.id}', tablets => 2);
SET shuttle.auto_distribute = 'id';
DO $$
DECLARE clause text;
BEGIN
	FOREACH clause IN ARRAY CASE WHEN current_setting('server_version_num')::int < 180000 THEN '{}' ELSE
		'{"ALTER TABLE b ADD FOREIGN KEY (id) REFERENCES a NOT ENFORCED", "ALTER TABLE b ADD COLUMN a int REFERENCES a NOT ENFORCED",
		"CREATE TABLE c (id int PRIMARY KEY REFERENCES a NOT ENFORCED DEFERRABLE)", "ALTER TABLE b ADD FOREIGN KEY (id, PERIOD v) REFERENCES a (id, PERIOD v)"}'::text[] END LOOP
		BEGIN
			EXECUTE clause;
			RAISE WARNING '% was accepted', clause;
		EXCEPTION WHEN feature_not_supported THEN
			NULL;
		END;
	END LOOP;
END $$;
ALTER TABLE b ADD FOREIGN KEY (id) REFERENCES a;
INSERT INTO b VALUES (1);

-- a check that refuses no rows is none
SELECT ok, error FROM (SELECT relname FROM shuttle.tablets JOIN pg_class ON oid = tablet WHERE relation = 'b'::regclass LIMIT 1) AS t,
	shuttle.run_on_nodes(CASE WHEN current_setting('server_version_num')::int >= 180000
		THEN format('ALTER TABLE shop.%I ADD CONSTRAINT odd CHECK (id < 0) NOT ENFORCED', relname) ELSE 'SELECT' END, '{n1}');
SELECT * FROM shuttle.check();
