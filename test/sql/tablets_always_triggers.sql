-- No trigger fires when rows are distributed, get a new column, or are brought back: not
-- those either that fire in replicas.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
SELECT count(*) FROM shuttle.use_node('n3');
CREATE TABLE item (id int PRIMARY KEY, name text);
CREATE TABLE log (event text);
INSERT INTO item SELECT i, 'n' FROM generate_series(1, 9) AS i;
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.name := NEW.name || '!';
	RETURN NEW;
END $$;
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO shop.log VALUES (TG_OP);
	RETURN NULL;
END $$;
CREATE TRIGGER always BEFORE INSERT OR UPDATE ON item FOR EACH ROW EXECUTE FUNCTION change();
CREATE TRIGGER replica BEFORE INSERT OR UPDATE ON item FOR EACH ROW EXECUTE FUNCTION change();
CREATE TRIGGER off BEFORE INSERT OR UPDATE ON item FOR EACH ROW EXECUTE FUNCTION change();
CREATE TRIGGER "Usual" BEFORE INSERT OR UPDATE ON item FOR EACH ROW EXECUTE FUNCTION change();
CREATE TRIGGER whole AFTER INSERT OR UPDATE ON item FOR EACH STATEMENT EXECUTE FUNCTION note();
ALTER TABLE item ENABLE ALWAYS TRIGGER always, ENABLE REPLICA TRIGGER replica, DISABLE TRIGGER off, ENABLE ALWAYS TRIGGER whole;
CREATE VIEW states AS SELECT tgrelid::regclass::text AS relation, string_agg(tgname || ' ' || tgenabled::text, ', ' ORDER BY tgname) AS states
FROM pg_trigger WHERE tgrelid IN ('item'::regclass, (SELECT min(tablet::oid) FROM shuttle.tablets WHERE relation = 'item'::regclass)) GROUP BY 1;
SELECT shuttle.distribute_table('item', 'id', tablets => 4);
SELECT * FROM states ORDER BY 1;
ALTER TABLE item ADD COLUMN number float NOT NULL DEFAULT random();
SELECT name, count(*), count(DISTINCT number) FROM item GROUP BY 1;
SELECT * FROM states ORDER BY 1;
ALTER TABLE item ALTER number TYPE int USING number::text::float8::int;
SELECT * FROM states ORDER BY 1;
UPDATE item SET name = 'm' WHERE id = 1;
SELECT shuttle.local_table('item');
SELECT name, count(*) FROM item GROUP BY 1 ORDER BY 1;
SELECT * FROM log;
SELECT * FROM states ORDER BY 1;
SELECT * FROM shuttle.check();
DROP SCHEMA shop CASCADE;
