-- Trigger functions in PL/pgSQL get the name, schema and OID of the distributed table, not of its tablet,
-- as with a plain table.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE SCHEMA plain;
CREATE TABLE item (id int PRIMARY KEY, n int);
CREATE TABLE plain.item (id int PRIMARY KEY, n int);
SELECT shuttle.distribute_table('item', 'id', 4);
CREATE TABLE told (at serial, schema name, what text);
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	rows bigint;
BEGIN
	-- the name finds all rows, and a block with EXCEPTION changes nothing
	EXECUTE format('SELECT count(*) FROM %I.%I', TG_TABLE_SCHEMA, TG_TABLE_NAME) INTO rows;
	BEGIN
		INSERT INTO shop.told (schema, what) VALUES (TG_TABLE_SCHEMA, concat_ws(' ', TG_NAME, TG_WHEN, TG_OP, TG_LEVEL,
			TG_RELNAME, TG_RELID = (TG_TABLE_SCHEMA || '.item')::regclass, TG_ARGV[0],
			CASE TG_LEVEL WHEN 'ROW' THEN coalesce(NEW, OLD)::text END, rows > 0));
	EXCEPTION WHEN division_by_zero THEN
		NULL;
	END;
	RETURN coalesce(NEW, OLD);
END $$;
SELECT format('CREATE TRIGGER b BEFORE INSERT OR UPDATE OR DELETE ON %1$s.item FOR EACH ROW EXECUTE FUNCTION tell(%2$L);
	CREATE TRIGGER a AFTER INSERT OR UPDATE OR DELETE ON %1$s.item FOR EACH ROW EXECUTE FUNCTION tell(%2$L);
	CREATE TRIGGER s AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON %1$s.item FOR EACH STATEMENT EXECUTE FUNCTION tell(%2$L)', schema, 'argument')
FROM (VALUES ('shop'), ('plain')) AS s(schema)
\gexec
CREATE PROCEDURE run(statement text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format(statement, 'shop.item');
	EXECUTE format(statement, 'plain.item');
END $$;
INSERT INTO item VALUES (1, 1);
INSERT INTO plain.item VALUES (1, 1);
CALL run('INSERT INTO %s VALUES (2, 2), (3, 3), (4, 4) RETURNING id');
CALL run('UPDATE %s SET n = 7 WHERE id = 2');
CALL run('INSERT INTO %s VALUES (2, 2) ON CONFLICT (id) DO UPDATE SET n = 8');
CALL run('DELETE FROM %s WHERE id = 3');
COPY item FROM STDIN;
21	21
\.
COPY plain.item FROM STDIN;
21	21
\.
CALL run('TRUNCATE %s');
SELECT what FROM told WHERE schema = 'shop' ORDER BY at;
SELECT s.what AS shop, p.what AS plain
FROM (SELECT row_number() OVER (ORDER BY at), what FROM told WHERE schema = 'shop') AS s
	FULL JOIN (SELECT row_number() OVER (ORDER BY at), what FROM told WHERE schema = 'plain') AS p USING (row_number)
WHERE s.what IS DISTINCT FROM p.what;
SET client_min_messages = warning;
DROP SCHEMA shop, plain CASCADE;
