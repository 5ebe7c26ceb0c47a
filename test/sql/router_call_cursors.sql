-- Nodes execute calls whose bodies open cursors, execute texts and read diagnostics, unless that could show: a
-- cursor that stays open in a transaction, a name of one, a text that is not known. Answers are those of here.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SET DateStyle = 'ISO, MDY';
SET IntervalStyle = postgres;
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE client (shop int, id int, name text, first text, due numeric(12,2) DEFAULT 0, PRIMARY KEY (shop, id));
CREATE TABLE sale (shop int, no int, client int, amount numeric(12,2), PRIMARY KEY (shop, no));
INSERT INTO client SELECT i % 10, i, 'n' || i % 7, chr(65 + i % 26) || i, i FROM generate_series(1, 300) AS i;
INSERT INTO sale SELECT i % 10, i, (i - 1) % 300 + 1, i FROM generate_series(1, 600) AS i;
SET client_min_messages = warning;
SELECT shuttle.distribute_tables('{client.shop, sale.shop}', tablets => 4);
RESET client_min_messages;

-- ---- as transactions of order processing have it: a client by its name, in the middle of all that have it
CREATE PROCEDURE pay(s int, by_name int, INOUT what text, INOUT c int, sum numeric, INOUT rest numeric) LANGUAGE plpgsql AS $$
DECLARE
	n smallint;
	found_first text;
	named CURSOR FOR SELECT first, id, due FROM client WHERE shop = s AND name = what ORDER BY first;
BEGIN
	IF by_name = 1 THEN
		SELECT count(*) INTO n FROM client WHERE shop = s AND name = what;
		OPEN named;
		FOR i IN 1 .. n / 2 LOOP
			FETCH named INTO found_first, c, rest;
		END LOOP;
		CLOSE named;
	ELSE
		SELECT name, due INTO what, rest FROM client WHERE shop = s AND id = c;
	END IF;
	UPDATE client SET due = rest - sum WHERE shop = s AND id = c RETURNING due INTO rest;
EXCEPTION WHEN serialization_failure OR deadlock_detected OR no_data_found THEN
	ROLLBACK;
END $$;
CREATE FUNCTION pay_f(s int, what text, sum numeric) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	row record;
	n int := 0;
	named CURSOR (w text) FOR SELECT id, due FROM client WHERE shop = s AND name = w ORDER BY first;
BEGIN
	OPEN named (what);
	LOOP
		FETCH named INTO row;
		EXIT WHEN NOT FOUND;
		CONTINUE WHEN row.due < 0;
		UPDATE client SET due = row.due - sum WHERE shop = s AND id = row.id;
		n := n + 1;
	END LOOP;
	CLOSE named;
	RETURN n;
EXCEPTION WHEN serialization_failure THEN
	ROLLBACK;
END $$;
CREATE FUNCTION status_f(s int, what text) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	one int;
	line record;
	named CURSOR FOR SELECT id FROM client WHERE shop = s AND name = what ORDER BY first;
BEGIN
	OPEN named;
	FOR i IN 0 .. 1 LOOP
		FETCH named INTO one;
	END LOOP;
	CLOSE named;
	FOR line IN SELECT no, amount, one FROM sale WHERE shop = s AND client = one LOOP
		RETURN NEXT line;
	END LOOP;
EXCEPTION WHEN no_data_found THEN
	ROLLBACK;
END $$;

-- ---- other cursors
CREATE FUNCTION unbound(s int) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	c refcursor;
	v numeric;
	total numeric := 0;
BEGIN
	OPEN c FOR SELECT amount FROM sale WHERE shop = s ORDER BY no;
	MOVE c;
	WHILE total < 500 LOOP
		FETCH NEXT FROM c INTO v;
		EXIT WHEN v IS NULL;
		total := total + v;
	END LOOP;
	CLOSE c;
	OPEN c FOR EXECUTE 'SELECT max(amount) FROM sale WHERE shop = $1 AND no < $2' USING s, 100;
	FETCH c INTO v;
	CLOSE c;
	RETURN total + v;
END $$;
CREATE FUNCTION scrolled(s int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c SCROLL CURSOR FOR SELECT no FROM sale WHERE shop = s ORDER BY no;
	a int;
	b int;
BEGIN
	OPEN c;
	FETCH LAST FROM c INTO a;
	FETCH RELATIVE -2 FROM c INTO b;
	CLOSE c;
	RETURN a || ' ' || b;
END $$;
CREATE FUNCTION backward(s int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE c CURSOR FOR SELECT no FROM sale WHERE shop = s ORDER BY no; a int;
BEGIN
	OPEN c;
	FETCH LAST FROM c INTO a;
	CLOSE c;
	RETURN a;
END $$;
CREATE FUNCTION left_open(s int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE mine CURSOR FOR SELECT no FROM sale WHERE shop = s ORDER BY no; n int;
BEGIN
	OPEN mine;
	FETCH mine INTO n;
	RETURN n;
END $$;
CREATE FUNCTION left_by_exit(s int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE mine CURSOR FOR SELECT no FROM sale WHERE shop = s ORDER BY no; n int;
BEGIN
	FOR i IN 1 .. 2 LOOP
		OPEN mine;
		FETCH mine INTO n;
		EXIT WHEN n > 0;
		CLOSE mine;
	END LOOP;
	RETURN n;
END $$;
CREATE FUNCTION left_by_label(s int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE mine CURSOR FOR SELECT no FROM sale WHERE shop = s ORDER BY no; n int;
BEGIN
	<<all_of_it>>
	BEGIN
		OPEN mine;
		LOOP
			FETCH mine INTO n;
			EXIT all_of_it WHEN n IS NULL OR n > 0;
		END LOOP;
		CLOSE mine;
	END;
	RETURN n;
END $$;
CREATE FUNCTION left_by_return(s int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE mine CURSOR FOR SELECT no FROM sale WHERE shop = s ORDER BY no; n int;
BEGIN
	OPEN mine;
	FETCH mine INTO n;
	IF n > 0 THEN
		RETURN n;
	END IF;
	CLOSE mine;
	RETURN 0;
END $$;
CREATE FUNCTION closed_if(s int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE mine CURSOR FOR SELECT no FROM sale WHERE shop = s ORDER BY no; n int;
BEGIN
	OPEN mine;
	FETCH mine INTO n;
	IF n < 0 THEN
		CLOSE mine;
	END IF;
	RETURN n;
END $$;
-- the error ends the cursor, too
CREATE FUNCTION caught(s int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE caught_one CURSOR FOR SELECT no FROM sale WHERE shop = s ORDER BY no; n int;
BEGIN
	OPEN caught_one;
	FETCH caught_one INTO n;
	RAISE EXCEPTION 'no';
	CLOSE caught_one;
EXCEPTION WHEN OTHERS THEN
	RETURN -n;
END $$;
CREATE FUNCTION gives_name(s int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE c refcursor := 'known'; n int;
BEGIN
	OPEN c FOR SELECT no FROM sale WHERE shop = s ORDER BY no;
	FETCH c INTO n;
	CLOSE c;
	RETURN n;
END $$;
CREATE FUNCTION assigns_name(s int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE c refcursor; n int;
BEGIN
	c := 'known';
	OPEN c FOR SELECT no FROM sale WHERE shop = s ORDER BY no;
	FETCH c INTO n;
	CLOSE c;
	RETURN n;
END $$;
CREATE FUNCTION shows_name(s int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c refcursor; n int;
BEGIN
	OPEN c FOR SELECT no FROM sale WHERE shop = s ORDER BY no;
	FETCH c INTO n;
	CLOSE c;
	RETURN c::text || n;
END $$;

-- ---- texts, diagnostics, COMMIT in a handler
CREATE FUNCTION texts(s int, c int) RETURNS SETOF numeric LANGUAGE plpgsql AS $$
DECLARE
	r record;
	v numeric;
BEGIN
	EXECUTE 'UPDATE client SET due = due + $2 ' || 'WHERE shop = $1 AND id = $3 RETURNING due' INTO v USING s, 5, c;
	RETURN NEXT v;
	FOR r IN EXECUTE 'SELECT no, amount FROM sale WHERE shop = $1 AND client = $2 ORDER BY no' USING s, c LOOP
		RETURN NEXT r.amount;
	END LOOP;
	RETURN QUERY EXECUTE 'SELECT count(*)::numeric FROM sale WHERE shop = $1' USING s;
END $$;
CREATE FUNCTION text_of_other(s int, t int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
	EXECUTE 'SELECT count(*) FROM sale WHERE shop = $1' INTO n USING t;
	RETURN n;
END $$;
CREATE FUNCTION text_without_key(s int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
	EXECUTE 'SELECT count(*) FROM sale WHERE client = $1' INTO n USING s;
	RETURN n;
END $$;
CREATE FUNCTION text_of_argument(s int, what text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
	EXECUTE 'SELECT count(*) FROM ' || what || ' WHERE shop = $1' INTO n USING s;
	RETURN n;
END $$;
CREATE FUNCTION two_texts(s int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'DELETE FROM sale WHERE shop = 1; DELETE FROM sale WHERE shop = 2';
	RETURN s;
END $$;
CREATE FUNCTION state(s int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE st text;
BEGIN
	INSERT INTO sale VALUES (s, s, 1, 1), (s, s, 1, 1);
	RETURN 'no';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS st = RETURNED_SQLSTATE;
	RETURN st;
END $$;
CREATE FUNCTION constraint_of(s int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE st text;
BEGIN
	INSERT INTO sale VALUES (s, s, 1, 1), (s, s, 1, 1);
	RETURN 'no';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS st = CONSTRAINT_NAME;
	RETURN st;
END $$;
CREATE PROCEDURE commits_in_handler(s int, INOUT n int) LANGUAGE plpgsql AS $$
BEGIN
	UPDATE client SET due = 1 / n WHERE shop = s AND id = s;
EXCEPTION WHEN division_by_zero THEN
	UPDATE client SET due = -77 WHERE shop = s AND id = s;
	COMMIT;
	n := -1;
END $$;
DO $$
DECLARE f regprocedure;
BEGIN
	FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = 'shop'::regnamespace ORDER BY proname LOOP
		PERFORM shuttle.distribute_function(f, 's', 'client');
	END LOOP;
END $$;

-- ---- where they run, and whether arguments are all the keys
CREATE FUNCTION place_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; place text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE) ' || query LOOP
		IF line ~ 'Node:|Runs Here:|Keys:' THEN
			place := place || regexp_replace(trim(line), 'n\d$', 'n') || ' ';
		END IF;
	END LOOP;
	RETURN place;
END $$;
\set calls '{"pay_f(3, ''n3'', 1)",unbound(3),scrolled(3),backward(3),left_open(3),left_by_exit(3),left_by_label(3),left_by_return(3),closed_if(3),caught(3),gives_name(3),assigns_name(3),shows_name(3),"texts(3, 3)","text_of_other(3, 4)",text_without_key(3),"text_of_argument(3, ''sale'')",two_texts(3),state(3),constraint_of(3)}'
SELECT f, place_of('SELECT * FROM ' || f) FROM unnest(:'calls'::text[]) AS f;
SELECT place_of('SELECT * FROM status_f(3, ''n3'') AS f(no int, amount numeric, client int)');


-- ---- the same answers and changes as here; undone afterwards
CREATE FUNCTION run(statement text, shipped bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
	r record;
BEGIN
	PERFORM set_config('shuttle.enable_shipped_calls', shipped::text, true);
	BEGIN
		EXECUTE statement INTO r;
		answer := concat(r, ' ', (SELECT sum(due * id) FROM client), ' ', (SELECT sum(amount * no) FROM sale));
		RAISE EXCEPTION 'undo' USING ERRCODE = 'UUUUU';
	EXCEPTION WHEN SQLSTATE 'UUUUU' THEN
		NULL;
	WHEN OTHERS THEN
		answer := SQLSTATE || ' ' || SQLERRM;
	END;
	RETURN answer;
END $$;
SELECT count(*) AS calls, count(*) FILTER (WHERE a <> b) AS different, min(s || ': ' || a || ' <> ' || b) FILTER (WHERE a <> b) AS first
FROM (SELECT s, run(s, false) AS a, run(s, true) AS b FROM (
	SELECT replace('SELECT * FROM ' || f, '(3', '(' || i) FROM unnest(:'calls'::text[]) AS f, generate_series(2, 10, 4) AS i WHERE f NOT LIKE 'shows_name%'
	UNION ALL SELECT format('SELECT * FROM status_f(%s, ''n%s'') AS f(no int, amount numeric, client int)', i, i) FROM generate_series(0, 7) AS i
	UNION ALL SELECT format('CALL pay(%s, %s, ''n%s'', %s, 7, NULL)', i, j % 2, j, j * 10 + i) FROM generate_series(1, 10, 3) AS i, generate_series(1, 4) AS j
	UNION ALL SELECT format('CALL commits_in_handler(%s, %s)', i, i % 2) FROM generate_series(3, 6) AS i) AS q(s)) AS t;

-- ---- statements of a client, each with the calls that nodes have executed
CREATE VIEW calls AS SELECT sum(calls) AS shipped, sum(calls_returned) AS returned FROM shuttle.node_stats;
SELECT shuttle.reset_node_stats();
CALL pay(3, 1, 'n3', NULL, 5, NULL);
CALL pay(3, 0, NULL, 3, 5, NULL);
SELECT pay_f(4, 'n4', 1);
SELECT * FROM status_f(5, 'n5') AS f(no int, amount numeric, client int) ORDER BY no;
SELECT unbound(3), scrolled(4);
SELECT unbound(3);
SELECT scrolled(3);
TABLE calls;
-- a cursor that stays open ends with the statement, or can be read here
SELECT left_open(3);
SELECT left_by_return(3);
TABLE calls;
BEGIN;
SELECT left_open(3);
SELECT count(*) FROM pg_cursors WHERE name <> '' AND NOT is_holdable;
SELECT caught(3);
SELECT unbound(3);
COMMIT;
TABLE calls;
-- a cursor of that name here: before 16 the call fails, as the procedure's cursor has it too
BEGIN;
DECLARE named CURSOR FOR SELECT 1;
SELECT run('SELECT pay_f(4, ''none'', 1)', true) = run('SELECT pay_f(4, ''none'', 1)', false) AS same;
ROLLBACK;
-- COMMIT in a handler, and by a client that is in a transaction
CALL commits_in_handler(3, 1);
CALL commits_in_handler(3, 0);
SELECT due FROM client WHERE shop = 3 AND id = 3;
BEGIN;
CALL commits_in_handler(4, 0);
ROLLBACK;
SELECT * FROM texts(3, 3);
TABLE calls;
SET client_min_messages = warning;
DROP SCHEMA shop CASCADE;
