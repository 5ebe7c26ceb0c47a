-- A session's statements go on after ALTER COLUMN TYPE on a distributed table, also behind other work, where
-- what a node refuses could not be sent again.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1') AS a, shuttle.use_node('n2') AS b;
SET shuttle.tablets = 4;
SET client_min_messages = warning;
CREATE TABLE item (id int PRIMARY KEY, email text, n int, note text);
CREATE TABLE other (id int PRIMARY KEY, v int);
INSERT INTO item SELECT i, 'e' || i, i FROM generate_series(1, 20) AS i;
INSERT INTO other SELECT i, i FROM generate_series(1, 20) AS i;
SELECT FROM shuttle.distribute_table('item', 'id');
SELECT FROM shuttle.distribute_table('other', 'id');
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.note := concat(OLD.note, ''+''); RETURN NEW; END';
RESET client_min_messages;

-- Prepares a statement on the nodes; then changes a column's type to and fro, and uses it in later requests.
CREATE PROCEDURE alter_and_use(statement text) LANGUAGE plpgsql AS $$
DECLARE
	type text;
BEGIN
	FOR i IN 1 .. 3 LOOP
		EXECUTE statement;
		COMMIT;
	END LOOP;
	FOREACH type IN ARRAY '{varchar(30), text}'::text[] LOOP
		EXECUTE 'ALTER TABLE item ALTER COLUMN email TYPE ' || type;
		COMMIT;
		UPDATE other SET v = v;
		EXECUTE statement;
		COMMIT;
	END LOOP;
END $$;
CREATE PROCEDURE alter_and_use_all() LANGUAGE plpgsql AS $$
BEGIN
	CALL alter_and_use('SELECT email FROM item WHERE id = 3');
	CALL alter_and_use('SELECT * FROM item ORDER BY id LIMIT 3');
	CALL alter_and_use('SELECT email FROM item WHERE id = 3 FOR UPDATE');
	CALL alter_and_use('SELECT email FROM item WHERE id < 9 FOR UPDATE');
	CALL alter_and_use('SELECT a.email FROM item a JOIN other b ON b.id = a.n WHERE b.v < 5');
	CALL alter_and_use('INSERT INTO item (id, email, n) SELECT i, ''new'', i FROM generate_series(2, 5) i
		ON CONFLICT (id) DO UPDATE SET n = EXCLUDED.n, email = EXCLUDED.email');
	CALL alter_and_use('INSERT INTO item (id, email, n) VALUES (3, ''one'', 9) ON CONFLICT (id) DO UPDATE SET n = EXCLUDED.n RETURNING email');
	CALL alter_and_use('INSERT INTO item (email, id) SELECT ''next'', max(id) + 1 FROM item RETURNING email');
	CALL alter_and_use('UPDATE item SET n = n WHERE id = 3 RETURNING email');
	CALL alter_and_use('UPDATE item SET n = n RETURNING *');
	CALL alter_and_use('UPDATE item SET n = item.n FROM (VALUES (1), (2), (3)) v(i) WHERE item.id = v.i RETURNING email');
	CALL alter_and_use('UPDATE item SET email = lower(email), n = n + trunc(random())::int WHERE id < 5 RETURNING email');
	CALL alter_and_use('DELETE FROM item WHERE id = 10 AND n < 0 RETURNING email');
END $$;

CALL alter_and_use_all();
CALL alter_and_use('MERGE INTO item USING (VALUES (3, 4), (5, 6)) v(i, j) ON item.id = v.i
		WHEN MATCHED THEN UPDATE SET n = v.j WHEN NOT MATCHED THEN INSERT (id, n) VALUES (v.i, v.j)');
CREATE TRIGGER note BEFORE UPDATE ON item FOR EACH ROW EXECUTE FUNCTION note();
CALL alter_and_use_all();
SELECT count(*), count(DISTINCT email), sum(n), sum(length(note)) FROM item;
SELECT * FROM shuttle.check();
DROP SCHEMA shop CASCADE;
