-- traps 19 and 34: a savepoint that is rolled back right behind one within it, whose ROLLBACK
-- was not answered yet, keeps what is around it.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CALL test.loopback('near');
CREATE TABLE remote_item (id int);
CREATE FOREIGN TABLE item (id int) SERVER near OPTIONS (table_name 'remote_item');
CREATE FUNCTION roll_back_twice(i int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO item VALUES (i);
	BEGIN
		INSERT INTO item VALUES (-i);
		BEGIN
			INSERT INTO item VALUES (-i);
			BEGIN
				PERFORM FROM item WHERE id = 0;
			EXCEPTION WHEN division_by_zero THEN
				RETURN;
			END;
			RAISE EXCEPTION 'inner';
		EXCEPTION WHEN division_by_zero THEN
			RETURN;
		END;
	EXCEPTION WHEN raise_exception THEN
		RETURN;
	END;
END $$;
DO $$
BEGIN
	FOR i IN 1..1000 LOOP
		PERFORM roll_back_twice(i);
	END LOOP;
END $$;
SELECT count(*), sum(id) FROM item;
BEGIN;
INSERT INTO item VALUES (2000);
SAVEPOINT a;
INSERT INTO item VALUES (0);
SAVEPOINT b;
INSERT INTO item VALUES (0);
SAVEPOINT c;
SELECT FROM item WHERE id = 0;
RELEASE c; ROLLBACK TO b; ROLLBACK TO a;
COMMIT;
SELECT count(*), sum(id) FROM item;
DROP TABLE remote_item CASCADE;
