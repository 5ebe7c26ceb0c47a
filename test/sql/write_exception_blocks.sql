-- INSERTs in blocks with EXCEPTION that need not be waited for, and those that do: what a
-- client sees is the same with all of them waited for.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
DROP SCHEMA IF EXISTS node CASCADE;
CREATE SCHEMA node;
CALL test.loopback('far');
CALL test.loopback('near');
CREATE TABLE node.item (id int PRIMARY KEY, n int CONSTRAINT small CHECK (n < 1000));
CREATE FOREIGN TABLE item (id int, n int) SERVER far OPTIONS (schema_name 'node');
CREATE TABLE node.other (id int PRIMARY KEY);
CREATE FOREIGN TABLE other (id int) SERVER near OPTIONS (schema_name 'node');
CREATE TABLE here (id int PRIMARY KEY, what text);
INSERT INTO node.item VALUES (1, 1);
INSERT INTO node.other VALUES (1);

-- fails: the INSERT that meets its row, or the other error behind them
CREATE FUNCTION puts(fails int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO item VALUES (CASE fails WHEN 1 THEN 1 ELSE 10 END, CASE fails WHEN 4 THEN 5000 ELSE 1 END);
	INSERT INTO other VALUES (CASE fails WHEN 2 THEN 1 ELSE 10 END);
	INSERT INTO here VALUES (10, 'put');
	INSERT INTO item VALUES (CASE fails WHEN 3 THEN 1 ELSE 11 END, 1);
	RETURN 1 / fails;
END $$;

-- one block around all, as kits of TPC-C have it
CREATE FUNCTION one_block(fails int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO item VALUES (CASE fails WHEN 1 THEN 1 ELSE 20 END, 1);
	INSERT INTO other VALUES (CASE fails WHEN 2 THEN 1 ELSE 20 END);
	PERFORM puts(fails);
	RETURN 'done ' || fails;
EXCEPTION WHEN division_by_zero OR no_data_found THEN ROLLBACK;
END $$;
CREATE PROCEDURE one_block_called(fails int, INOUT said text DEFAULT 'nothing') LANGUAGE plpgsql AS $$
BEGIN
	said := 'begun';
	INSERT INTO item VALUES (CASE fails WHEN 1 THEN 1 ELSE 20 END, 1);
	INSERT INTO other VALUES (CASE fails WHEN 2 THEN 1 ELSE 20 END);
	PERFORM puts(fails);
EXCEPTION WHEN division_by_zero OR unique_violation THEN ROLLBACK;
END $$;
-- all errors are the same to it
CREATE FUNCTION quiet(fails int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		PERFORM puts(fails);
	EXCEPTION WHEN unique_violation THEN
	WHEN OTHERS THEN
	END;
	RETURN 'went on';
END $$;
CREATE FUNCTION warns(fails int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM puts(fails);
	RETURN 'done';
EXCEPTION
	WHEN unique_violation THEN RAISE EXCEPTION 'not put';
	WHEN OTHERS THEN RAISE EXCEPTION 'not put';
END $$;
-- one is raised again, another is not caught, others have handlers of their own
CREATE FUNCTION raises_again(fails int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM puts(fails);
	PERFORM 1 / 0;
	RETURN 'done';
EXCEPTION WHEN OTHERS THEN RAISE;
END $$;
CREATE FUNCTION catches_the_other(fails int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		PERFORM puts(fails);
		PERFORM 1 / 0;
	EXCEPTION WHEN division_by_zero THEN
	END;
	RETURN 'the other was caught';
END $$;
CREATE FUNCTION catches_the_other_last(fails int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	said text := 'nothing';
BEGIN
	PERFORM puts(fails);
	PERFORM 1 / 0;
	RETURN 'done';
EXCEPTION WHEN division_by_zero THEN
	RETURN said;
END $$;
CREATE FUNCTION tells_them_apart(fails int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM puts(fails);
	PERFORM 1 / 0;
	RETURN 'done';
EXCEPTION
	WHEN division_by_zero THEN RETURN 'division';
	WHEN check_violation THEN RETURN 'check';
	WHEN unique_violation THEN RETURN 'unique';
END $$;
CREATE FUNCTION inner_passes_on(fails int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		PERFORM puts(fails);
		PERFORM 1 / 0;
	EXCEPTION WHEN no_data_found THEN
	END;
	RETURN 'done';
EXCEPTION WHEN division_by_zero THEN NULL;
END $$;
CREATE FUNCTION outer_catches_the_other(fails int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		BEGIN
			PERFORM puts(fails);
			PERFORM 1 / 0;
		EXCEPTION WHEN no_data_found THEN
		END;
	EXCEPTION WHEN division_by_zero THEN
	END;
	RETURN 'the other was caught';
END $$;
CREATE FUNCTION outer_tells_them_apart(fails int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		PERFORM puts(fails);
		PERFORM 1 / 0;
	EXCEPTION WHEN no_data_found THEN
	END;
	RETURN 'done';
EXCEPTION
	WHEN division_by_zero THEN RETURN 'division';
	WHEN unique_violation THEN RETURN 'unique';
END $$;
-- variables of the block itself die with it, others are looked at
CREATE FUNCTION looks_at_variables(fails int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	nput int := 0;
	r record;
	said text := '';
BEGIN
	BEGIN
		INSERT INTO item VALUES (20, 1);
		nput := nput + 1;
		PERFORM puts(fails);
		nput := nput + 1;
	EXCEPTION WHEN OTHERS THEN
	END;
	said := said || nput;
	BEGIN
		FOR r IN SELECT generate_series(1, 3) AS i LOOP
			INSERT INTO item VALUES (CASE WHEN fails = r.i THEN 1 ELSE 30 + r.i END, 1);
		END LOOP;
	EXCEPTION WHEN OTHERS THEN
	END;
	said := said || coalesce(r.i, 0);
	BEGIN
		INSERT INTO item VALUES (CASE fails WHEN 1 THEN 1 ELSE 40 END, 1);
		SELECT INTO nput 77;
	EXCEPTION WHEN OTHERS THEN
	END;
	said := said || nput;
	DECLARE
		nown int := 0;
	BEGIN
		nown := 1;
		INSERT INTO item VALUES (CASE fails WHEN 2 THEN 1 ELSE 50 END, 1);
		nown := nown + 1;
		INSERT INTO other VALUES (CASE fails WHEN 3 THEN 1 ELSE 50 + nown END);
	EXCEPTION WHEN OTHERS THEN
	END;
	RETURN said;
END $$;
CREATE FUNCTION looks_at_loops(fails int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n int := 0;
	c CURSOR FOR SELECT generate_series(1, 3) AS i;
	said text := '';
BEGIN
	BEGIN
		FOR i IN 1..3 LOOP
			INSERT INTO item VALUES (CASE WHEN fails = i THEN 1 ELSE 20 + i END, 1);
			n := n + 1;
		END LOOP;
	EXCEPTION WHEN OTHERS THEN
	END;
	said := said || n;
	BEGIN
		FOR n IN EXECUTE 'SELECT generate_series(1, 3)' LOOP
			INSERT INTO item VALUES (CASE WHEN fails = n THEN 1 ELSE 30 + n END, 1);
		END LOOP;
	EXCEPTION WHEN OTHERS THEN
	END;
	said := said || n;
	BEGIN
		FOR r IN c LOOP
			INSERT INTO item VALUES (CASE WHEN fails = r.i THEN 1 ELSE 40 + r.i END, 1);
			CASE WHEN r.i > 1 THEN n := r.i + 10; ELSE n := 11; END CASE;
		END LOOP;
	EXCEPTION WHEN OTHERS THEN
	END;
	said := said || n;
	BEGIN
		FOREACH n IN ARRAY '{21,22,23}'::int[] LOOP
			INSERT INTO item VALUES (CASE WHEN fails = n - 20 THEN 1 ELSE 30 + n END, 1);
		END LOOP;
	EXCEPTION WHEN OTHERS THEN
	END;
	said := said || n;
	n := 30;
	BEGIN
		WHILE n < 34 LOOP
			INSERT INTO item VALUES (CASE WHEN fails = n - 29 THEN 1 ELSE 40 + n END, 1);
			BEGIN
				n := n + 1;
			END;
		END LOOP;
	EXCEPTION WHEN OTHERS THEN
	END;
	RETURN said || n;
END $$;
CREATE FUNCTION looks_at_found(fails int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM 1 WHERE false;
	BEGIN
		INSERT INTO item VALUES (CASE fails WHEN 1 THEN 1 ELSE 20 END, 1);
		PERFORM 1;
	EXCEPTION WHEN OTHERS THEN
	END;
	RETURN Found;
END $$;
CREATE FUNCTION has_out(fails int, OUT nput int, OUT said text) LANGUAGE plpgsql AS $$
BEGIN
	nput := 0;
	BEGIN
		INSERT INTO item VALUES (CASE fails WHEN 1 THEN 1 ELSE 20 END, 1);
		IF fails < 3 THEN
			nput := nput + 1;
		END IF;
	EXCEPTION WHEN OTHERS THEN
	END;
	said := 'out';
END $$;
CREATE FUNCTION returns_rows(fails int) RETURNS SETOF int LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		INSERT INTO item VALUES (CASE fails WHEN 1 THEN 1 ELSE 20 END, 1);
		RETURN NEXT 1;
		INSERT INTO item VALUES (CASE fails WHEN 2 THEN 1 ELSE 21 END, 1);
		RETURN QUERY SELECT 2;
	EXCEPTION WHEN OTHERS THEN
	END;
	RETURN NEXT 3;
END $$;
CREATE FUNCTION moves_cursor(fails int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c CURSOR FOR SELECT i FROM generate_series(1, 9) AS i;
	n int;
BEGIN
	OPEN c;
	BEGIN
		INSERT INTO item VALUES (CASE fails WHEN 1 THEN 1 ELSE 20 END, 1);
		MOVE NEXT FROM c;
	EXCEPTION WHEN OTHERS THEN
	END;
	FETCH c INTO n;
	RETURN n;
END $$;
CREATE FUNCTION leaves_loop(fails int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..4 LOOP
		BEGIN
			INSERT INTO item VALUES (CASE WHEN fails = i THEN 1 ELSE 20 + i END, 1);
			EXIT WHEN i = 3;
			CONTINUE WHEN i = 2;
			INSERT INTO here VALUES (20 + i, 'loop');
		EXCEPTION WHEN OTHERS THEN
		END;
	END LOOP;
	RETURN 'left';
END $$;
CREATE FUNCTION calls(fails int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM catches_the_other(fails);
	INSERT INTO here VALUES (77, 'behind');
	RETURN 'done';
EXCEPTION
	WHEN unique_violation THEN RETURN 'unique';
END $$;
CREATE FUNCTION returns_late(fails int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		INSERT INTO item VALUES (CASE fails WHEN 1 THEN 1 ELSE 20 END, 1);
		RETURN 'from the block';
	EXCEPTION WHEN OTHERS THEN
	END;
	RETURN 'from behind it';
END $$;
-- variables that nothing reads behind the block: those of a call that ends, and those that
-- a function's outermost block leaves without returning them
CREATE FUNCTION raises_with_parameters(fails int, step text = 'begun') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	INSERT INTO item VALUES (CASE fails WHEN 1 THEN 1 ELSE 20 END, 1);
	step := 'put one';
	FOR r IN SELECT 21 AS i LOOP
		INSERT INTO item VALUES (CASE fails WHEN 2 THEN 1 ELSE r.i END, 1);
	END LOOP;
	SELECT INTO step concat(step, ' and ', 1 / (fails - 3));
	RETURN step;
EXCEPTION WHEN unique_violation OR division_by_zero THEN RAISE;
END $$;
CREATE FUNCTION quiet_with_parameters(fails int, step text = 'begun', OUT said text) LANGUAGE plpgsql AS $$
BEGIN
	said := 'nothing';
	INSERT INTO item VALUES (CASE fails WHEN 1 THEN 1 ELSE 20 END, 1);
	step := 'put one';
	INSERT INTO other VALUES (CASE fails WHEN 2 THEN 1 ELSE 20 END);
	said := step || 1 / (fails - 3);
	INSERT INTO item VALUES (CASE fails WHEN 4 THEN 1 ELSE 21 END, 1);
EXCEPTION WHEN OTHERS THEN
END $$;
CREATE FUNCTION raises_to_its_function(fails int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	step text := 'begun';
BEGIN
	BEGIN
		BEGIN
			INSERT INTO item VALUES (CASE fails WHEN 1 THEN 1 ELSE 20 END, 1);
			step := 'put one';
		EXCEPTION WHEN OTHERS THEN RAISE;
		END;
	EXCEPTION WHEN OTHERS THEN
	END;
	RETURN step;
END $$;
CREATE FUNCTION moves_its_callers(c refcursor, fails int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO item VALUES (CASE fails WHEN 1 THEN 1 ELSE 20 END, 1);
	MOVE NEXT FROM c;
EXCEPTION WHEN OTHERS THEN RAISE;
END $$;
CREATE FUNCTION lends_cursor(fails int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c CURSOR FOR SELECT i FROM generate_series(1, 9) AS i;
	n int;
BEGIN
	OPEN c;
	BEGIN
		PERFORM moves_its_callers(c, fails);
	EXCEPTION WHEN OTHERS THEN
	END;
	FETCH c INTO n;
	RETURN n;
END $$;

CREATE TABLE cases (n serial, statement text);
INSERT INTO cases (statement)
SELECT format('SELECT %s(%s)', name, fails)
FROM unnest('{one_block,quiet,warns,raises_again,catches_the_other,catches_the_other_last,tells_them_apart,inner_passes_on,outer_catches_the_other,outer_tells_them_apart,looks_at_variables,looks_at_loops,looks_at_found,has_out,returns_rows,moves_cursor,leaves_loop,calls,returns_late,raises_with_parameters,quiet_with_parameters,raises_to_its_function,lends_cursor}'::text[]) WITH ORDINALITY AS f(name, nr),
	generate_series(0, 5) AS fails ORDER BY nr, fails;
INSERT INTO cases (statement) SELECT format('DO $do$ BEGIN PERFORM puts(%s); EXCEPTION WHEN OTHERS THEN END $do$', fails) FROM generate_series(0, 2) AS fails;
CREATE VIEW all_rows AS
SELECT concat_ws(':', id, n) AS row FROM node.item UNION ALL SELECT 'other ' || id FROM node.other UNION ALL SELECT concat_ws(' ', id, what) FROM here;

-- Runs a case on a connection of its own, as a client does; told: what it returns, or its error.
CREATE EXTENSION IF NOT EXISTS dblink;
CREATE FUNCTION told(case_nr int, setting text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := (SELECT statement FROM cases WHERE n = case_nr);
	said text;
BEGIN
	PERFORM dblink_exec('case', 'SET shuttle.enable_write_behind = ' || setting);
	PERFORM dblink_exec('case', 'BEGIN');
	IF query LIKE 'SELECT%' THEN
		SELECT string_agg(r, ' ') INTO said FROM dblink('case', query || '::text', false) AS t(r text);
	ELSE
		said := dblink_exec('case', query, false);
	END IF;
	IF dblink_error_message('case') <> 'OK' THEN
		said := split_part(dblink_error_message('case'), E'\n', 1);
	ELSE
		said := said || ', ' || r FROM dblink('case', 'SELECT string_agg(row, chr(32) ORDER BY row) FROM all_rows') AS t(r text);
	END IF;
	PERFORM dblink_exec('case', 'ROLLBACK');
	RETURN said;
END $$;
SET client_min_messages = error;
SELECT dblink_connect('case', format('host=%s port=%s dbname=%s user=%s', split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_database(), current_user));
SELECT dblink_exec('case', 'SET client_min_messages = error');
SELECT statement, a.told FROM cases, LATERAL told(n, 'on') AS a(told) ORDER BY n;
SELECT statement, a.told AS left, b.told AS waited
FROM cases, LATERAL told(n, 'on') AS a(told), LATERAL told(n, 'off') AS b(told) WHERE a.told IS DISTINCT FROM b.told ORDER BY n;
SELECT dblink_disconnect('case');

-- procedures, whose handler ends the transaction
CALL one_block_called(0);
CALL one_block_called(1);
CALL one_block_called(2);
CALL one_block_called(3);
CALL one_block_called(4);
TABLE all_rows;
CALL one_block_called(5);
SELECT string_agg(row, ' ' ORDER BY row) FROM all_rows;

-- these are not waited for
RESET client_min_messages;
CREATE FUNCTION goes_on(again boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	said text := 'nothing';
BEGIN
	BEGIN
		INSERT INTO item VALUES (1, 1);
		RAISE WARNING 'went on';
		IF again THEN
			PERFORM 1 / 0;
		END IF;
	EXCEPTION WHEN OTHERS THEN
	END;
	RETURN said;
END $$;
SELECT goes_on(false), goes_on(true);
CREATE FUNCTION goes_on_assigning(step int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO item VALUES (60, 1);
	INSERT INTO item VALUES (1, 1);
	RAISE WARNING 'went on';
	step := step + 1;
	RETURN step;
EXCEPTION WHEN no_data_found THEN RAISE;
END $$;
SELECT goes_on_assigning(1);
SET shuttle.enable_write_behind = off;
SELECT goes_on(false);
RESET shuttle.enable_write_behind;

-- a block that a savepoint of the client's statement surrounds, and a cancel within a block
BEGIN;
SAVEPOINT a;
SELECT goes_on(false);
ROLLBACK TO a;
SELECT catches_the_other(5);
ROLLBACK TO a;
SELECT catches_the_other(1);
ROLLBACK TO a;
SELECT count(*) FROM item;
COMMIT;
CREATE FUNCTION waits() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO item VALUES (99, 1);
	PERFORM pg_sleep(60);
	RETURN 'done';
EXCEPTION WHEN unique_violation THEN RETURN NULL;
END $$;
SET statement_timeout = 200;
SELECT waits();
RESET statement_timeout;
SELECT count(*) FROM item;

DROP VIEW all_rows;
DROP SCHEMA node CASCADE;
DROP SERVER far CASCADE;
DROP SERVER near CASCADE;
DROP TABLE here, cases;
DROP PROCEDURE one_block_called;
DROP FUNCTION puts, one_block, quiet, warns, raises_again, catches_the_other, catches_the_other_last, tells_them_apart, inner_passes_on, outer_catches_the_other, outer_tells_them_apart, looks_at_variables, looks_at_loops, looks_at_found, has_out, returns_rows, moves_cursor, leaves_loop, calls, returns_late, raises_with_parameters, quiet_with_parameters, raises_to_its_function, moves_its_callers, lends_cursor, told, goes_on, goes_on_assigning, waits;
