-- ON CONFLICT DO UPDATE with OLD and NEW in RETURNING, beside an ordinary table.
-- write_conflict_returning_18_1.out: older versions have no such rows.
SELECT current_setting('server_version_num')::int < 180000 AS is_older \gset
\if :is_older
\quit
\endif
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1') AS a, shuttle.use_node('n2') AS b;
CREATE SCHEMA plain;
CREATE TABLE shop.item (id int PRIMARY KEY, gone int, v int, s int GENERATED ALWAYS AS (v * 2) STORED, w int GENERATED ALWAYS AS (v * 3) VIRTUAL, name text);
ALTER TABLE shop.item DROP COLUMN gone;
CREATE TABLE shop.fired (id int PRIMARY KEY, v int, name text);
CREATE FUNCTION shop.add() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.v := NEW.v + 1000; RETURN NEW; END';
CREATE TABLE plain.item (LIKE shop.item INCLUDING ALL);
CREATE TABLE plain.fired (LIKE shop.fired INCLUDING ALL);
CREATE TRIGGER t BEFORE UPDATE ON shop.fired FOR EACH ROW EXECUTE FUNCTION add();
CREATE TRIGGER t BEFORE UPDATE ON plain.fired FOR EACH ROW EXECUTE FUNCTION shop.add();
SELECT shuttle.distribute_tables('{item.id, fired.id}', tablets => 4);
INSERT INTO shop.item (id, v, name) SELECT i, i, 'n' FROM generate_series(1, 10) AS i;
INSERT INTO plain.item (id, v, name) SELECT i, i, 'n' FROM generate_series(1, 10) AS i;
INSERT INTO shop.fired SELECT id, v, name FROM shop.item;
INSERT INTO plain.fired SELECT id, v, name FROM plain.item;
\i :test/include/compared.sql
CREATE FUNCTION run_once(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	found text[] := answer(query);
BEGIN
	RETURN array(SELECT unnest(found) ORDER BY 1) || array(SELECT i::text FROM item AS i ORDER BY 1) || array(SELECT f::text FROM fired AS f ORDER BY 1);
END $$;
ANALYZE;
SELECT result, count(*) FROM (SELECT compare(format('INSERT INTO %s (id, v) %s ON CONFLICT (id) DO UPDATE SET %s RETURNING %s', name, source, action, returned)) AS result FROM unnest('{item,fired}'::text[]) AS name, unnest(ARRAY['VALUES (1, 100)', 'VALUES (60, 100)', 'VALUES (1, 100), (2, 200), (20, 3), (21, 4)', 'SELECT i, i * 10 FROM generate_series(5, 15) AS i']) AS source,
	unnest(ARRAY['v = EXCLUDED.v', format('v = %s.v + 1, name = concat(%1$s.name, 1)', name), format('v = 5 WHERE %s.id > 1', name), format('v = (SELECT max(v) FROM %s)', name), 'id = EXCLUDED.id']) AS action,
	unnest(ARRAY['OLD.v, NEW.v', 'OLD.*', 'NEW.*', 'OLD, NEW', format('OLD.id IS NULL, %s.*', name), '*', 'OLD.name || NEW.name, NEW.v - coalesce(OLD.v, 0)',
	'(SELECT count(*) FROM fired AS f WHERE f.v < OLD.v)', 'NEW.tableoid = OLD.tableoid', CASE name WHEN 'item' THEN 'OLD.s, NEW.s, OLD.w, NEW.w' ELSE 'OLD.id' END]) AS returned) AS c
GROUP BY 1 ORDER BY 1;
INSERT INTO item (id, v) VALUES (1, 100), (20, 3) ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v RETURNING OLD.id IS NULL AS is_new, OLD.v AS before, NEW.v AS after;
INSERT INTO item (id, v) VALUES (1, 100), (21, 3) ON CONFLICT (id) DO NOTHING RETURNING OLD.v, NEW.v;
INSERT INTO item (id, v) VALUES (1, 100) ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v RETURNING OLD.ctid;
DROP SCHEMA plain, shop CASCADE;
