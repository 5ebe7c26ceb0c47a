-- Routed UPDATEs of functions that are sent and not waited for: what the session reads behind
-- them is as new as what the holder of a row's lock has committed; rows, counts and errors are
-- those of UPDATEs that are waited for.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dblink SCHEMA public;
RESET client_min_messages;
SET search_path = shop, public;
CREATE TABLE item (id int PRIMARY KEY, n int CONSTRAINT small CHECK (n < 1000), note text);
CREATE TABLE mark (item int, name text, PRIMARY KEY (item, name));
CREATE TABLE kind (id int PRIMARY KEY, v int);
CREATE TABLE here (v int);
CREATE TABLE seen (what text);
INSERT INTO item SELECT i, 1 FROM generate_series(1, 40) AS i;
INSERT INTO mark SELECT i, 'a' FROM generate_series(1, 40) AS i;
INSERT INTO kind VALUES (1, 1);
INSERT INTO here VALUES (1);
SET client_min_messages = warning;
SELECT shuttle.reference_table('kind');
SELECT shuttle.distribute_tables('{item.id, mark.item}', tablets => 4);

-- two items of n1, one of n2
CREATE FUNCTION node_of(item int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN SELECT FROM item WHERE id = ' || item LOOP
		IF line ~ 'Node: ' THEN
			RETURN substring(line FROM 'Node: (\w+)');
		END IF;
	END LOOP;
END $$;
CREATE TABLE keys AS SELECT (array_agg(id ORDER BY id) FILTER (WHERE node = 'n1'))[1] AS near,
	(array_agg(id ORDER BY id) FILTER (WHERE node = 'n1'))[2] AS same, min(id) FILTER (WHERE node = 'n2') AS far
FROM (SELECT id, node_of(id) AS node FROM generate_series(1, 40) AS id) AS i;
SELECT near < same AND far > 0 AS found FROM keys;

-- ---- what is read behind an UPDATE that waits for a lock
CREATE FUNCTION reads() RETURNS int LANGUAGE sql AS 'SELECT v FROM here';
CREATE FUNCTION leaves(near int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	UPDATE item SET n = n + 1 WHERE id = near;
	RETURN 1;
END $$;
CREATE VIEW view AS SELECT v FROM here;
CREATE PROCEDURE gives(INOUT x int) LANGUAGE plpgsql AS $$ BEGIN x := (SELECT v FROM here); END $$;
CREATE FUNCTION nested() RETURNS int LANGUAGE plpgsql AS $$ DECLARE x int := (SELECT v FROM here); BEGIN RETURN x; END $$;
CREATE DOMAIN new_one AS int CHECK (VALUE <> 1 OR reads() = 100);

CREATE TABLE cases (nr int GENERATED ALWAYS AS IDENTITY, name text, body text, statement text);
INSERT INTO cases (name, body) VALUES
	('local', 'UPD; SELECT v INTO x FROM here; RETURN x;'),
	('local_if', 'UPD; IF (SELECT v FROM here) = 100 THEN RETURN 100; END IF; RETURN 1;'),
	('local_quiet_if', 'UPD; IF near > 0 THEN SELECT v INTO x FROM here; END IF; RETURN x;'),
	('local_elsif', 'UPD; IF near < 0 THEN RETURN 0; ELSIF (SELECT v FROM here) = 100 THEN RETURN 100; END IF; RETURN 1;'),
	('local_while', 'UPD; WHILE (SELECT v FROM here) < 100 LOOP RETURN 1; END LOOP; RETURN 100;'),
	('local_while_again', 'x := 0; WHILE (SELECT v FROM here) = 1 AND x < 3 LOOP x := x + 1; UPD; END LOOP; RETURN x;'),
	('local_loop', 'LOOP UPD; EXIT WHEN (SELECT v FROM here) = 100; RETURN 1; END LOOP; RETURN 100;'),
	('local_case', 'UPD; CASE (SELECT v FROM here) WHEN 100 THEN RETURN 100; ELSE RETURN 1; END CASE;'),
	('local_for', 'UPD; FOR i IN 1..(SELECT v FROM here) LOOP x := i; END LOOP; RETURN x;'),
	('local_fetch', 'FOR r IN SELECT i, reads() AS v FROM generate_series(1, 11) AS i LOOP x := r.v; IF r.i = 10 THEN UPD; END IF; END LOOP; RETURN x;'),
	('local_return', 'UPD; RETURN (SELECT v FROM here);'),
	('local_assign', 'UPD; x := (SELECT v FROM here); RETURN x;'),
	('local_declare', 'UPD; DECLARE y int := (SELECT v FROM here); BEGIN RETURN y; END;'),
	('local_perform', 'UPD; PERFORM set_config(''app.x'', v::text, true) FROM here; RETURN current_setting(''app.x'');'),
	('local_execute', 'UPD; EXECUTE ''SELECT v FROM here'' INTO x; RETURN x;'),
	('local_cursor', 'UPD; OPEN c; FETCH c INTO x; RETURN x;'),
	('local_view', 'UPD; SELECT v INTO x FROM view; RETURN x;'),
	('local_write', 'UPD; UPDATE here SET v = v + 5 RETURNING v INTO x; UPDATE here SET v = v - 5; RETURN x - 5;'),
	('local_lock', 'UPD; LOCK TABLE here; SELECT v INTO x FROM here; RETURN x;'),
	('local_block', 'BEGIN UPD; EXCEPTION WHEN OTHERS THEN RAISE; END; SELECT v INTO x FROM here; RETURN x;'),
	('local_in_block', 'BEGIN UPD; SELECT v INTO x FROM here; RETURN x; EXCEPTION WHEN OTHERS THEN RAISE; END;'),
	('sql_function', 'UPD; RETURN reads();'),
	('sql_function_if', 'UPD; IF reads() = 100 THEN RETURN 100; END IF; RETURN 1;'),
	('nested_function', 'UPD; x := nested(); RETURN x;'),
	('called', 'UPD; CALL gives(x); RETURN x;'),
	('left_by_another', 'PERFORM leaves(near); SELECT v INTO x FROM here; RETURN x;'),
	('left_in_expression', 'x := leaves(near) * 0 + reads(); RETURN x;'),
	('other_node', 'UPD; SELECT n INTO x FROM item WHERE id = far; RETURN x;'),
	('other_node_returning', 'UPD; UPDATE item SET note = note WHERE id = far RETURNING n INTO x; RETURN x;'),
	('same_node', 'UPD; SELECT n INTO x FROM item WHERE id = same; RETURN x;'),
	('same_row', 'UPD; SELECT n INTO x FROM item WHERE id = near; RETURN x - 1;'),
	('two_updates', 'UPD; UPDATE item SET n = n + 1 WHERE id = same; SELECT n INTO x FROM item WHERE id = same; RETURN x - 1;'),
	('two_nodes_left', 'UPD; UPDATE item SET n = n + 1 WHERE id = far; SELECT n INTO x FROM item WHERE id = far; RETURN x - 1;'),
	('then_local', 'UPD; SELECT n INTO x FROM item WHERE id = same; SELECT x * 0 + v INTO x FROM here; RETURN x;'),
	('keys_of_two', 'UPD; SELECT a.n + b.n - 100 INTO x FROM item a, item b WHERE a.id = same AND b.id = far; RETURN x;'),
	('keys_of_two_and_copy', 'UPD; SELECT k.v INTO x FROM item a, item b, kind k WHERE a.id = same AND b.id = far AND k.id = 1; RETURN x;'),
	('all_nodes', 'UPD; SELECT max(n) INTO x FROM item WHERE id IN (same, far); RETURN x;'),
	('reference', 'UPD; SELECT v INTO x FROM kind; RETURN x;'),
	('reference_joined', 'UPD; SELECT k.v INTO x FROM item i JOIN kind k ON k.id = 1 WHERE i.id = same; RETURN x;'),
	('with_delete', 'DELETE FROM mark WHERE item = near AND name = ''b''; UPD; SELECT v INTO x FROM here; RETURN x;'),
	('upsert', 'INSERT INTO item VALUES (near, 1) ON CONFLICT (id) DO UPDATE SET n = item.n + 1; SELECT v INTO x FROM here; RETURN x;'),
	('deletes', 'DELETE FROM item WHERE id = near; INSERT INTO item VALUES (near, 5); SELECT v INTO x FROM here; RETURN x;'),
	('merges', 'MERGE INTO item i USING kind k ON i.id = near WHEN MATCHED THEN UPDATE SET n = i.n + 1; SELECT v INTO x FROM here; RETURN x;'),
	('found', 'UPD; IF FOUND THEN SELECT v INTO x FROM here; END IF; RETURN x;'),
	('row_count', 'UPD; GET DIAGNOSTICS x = ROW_COUNT; SELECT x * v INTO x FROM here; RETURN x;');
SELECT format($$CREATE FUNCTION %s(near int, same int, far int) RETURNS int LANGUAGE plpgsql AS %L$$, name,
	'DECLARE x int; r record; c CURSOR FOR SELECT v FROM here; BEGIN ' || replace(body, 'UPD;', 'UPDATE item SET n = n + 1 WHERE id = near;') || ' END')
FROM cases ORDER BY nr
\gexec
UPDATE cases SET statement = format('SELECT %s(%s, %s, %s)', name, near, same, far) FROM keys;
SELECT format('ALTER FUNCTION %s SECURITY DEFINER SET work_mem = 1024', name) FROM cases WHERE name = 'local_return'
\gexec
-- an error in a statement that the next statements of the session must not take for theirs
CREATE PROCEDURE fails() LANGUAGE plpgsql AS $$ BEGIN UPDATE item SET n = 3 WHERE id = 40; INSERT INTO keys SELECT 1 / (v - v) FROM here; END $$;
CREATE FUNCTION fails_deeper() RETURNS int LANGUAGE plpgsql AS $$ BEGIN UPDATE item SET n = 3 WHERE id = 40; INSERT INTO keys SELECT 1 / (v - v) FROM here; END $$;
-- other callers
CREATE FUNCTION checks(near int) RETURNS new_one LANGUAGE plpgsql AS $$
BEGIN
	UPDATE item SET n = n + 1 WHERE id = near;
	RETURN 1;
END $$;
CREATE FUNCTION of_sql(near int) RETURNS int LANGUAGE sql AS 'SELECT leaves(near); SELECT v FROM here';
CREATE FUNCTION set_of(near int) RETURNS SETOF int LANGUAGE plpgsql AS $$
BEGIN
	UPDATE item SET n = n + 1 WHERE id = near;
	RETURN QUERY SELECT v FROM here;
END $$;
CREATE PROCEDURE commits(near int, INOUT x int) LANGUAGE plpgsql AS $$
BEGIN
	UPDATE item SET n = n + 1 WHERE id = near;
	COMMIT;
	SELECT v INTO x FROM here;
	UPDATE item SET n = n + 1 WHERE id = near;
END $$;
CREATE FUNCTION updates_of_sql(near int) RETURNS int LANGUAGE sql AS 'UPDATE item SET n = n + 1 WHERE id = near; SELECT v FROM here';
CREATE PROCEDURE calls_sql(near int, INOUT x int) LANGUAGE sql AS 'SELECT leaves(near); SELECT v FROM here';
CREATE TABLE checked (v int);
CREATE FUNCTION writes_seen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO seen SELECT v FROM here;
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON checked DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION writes_seen();
CREATE FUNCTION deferred(near int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO checked VALUES (1);
	UPDATE item SET n = n + 1 WHERE id = near;
	RETURN 100;
END $$;
CREATE TABLE triggered (near int);
CREATE FUNCTION leaves_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE item SET n = n + 1 WHERE id = NEW.near;
	RETURN NEW;
END $$;
CREATE TRIGGER a BEFORE INSERT ON triggered FOR EACH ROW EXECUTE FUNCTION leaves_row();
CREATE TRIGGER b AFTER INSERT ON triggered FOR EACH ROW EXECUTE FUNCTION writes_seen();
INSERT INTO cases (name, statement) SELECT name, replace(statement, 'near', near::text) FROM keys, (VALUES
	('checks', 'SELECT checks(near)::int * 100'),
	('of_sql', 'SELECT of_sql(near)'),
	('updates_of_sql', 'SELECT updates_of_sql(near)'),
	('set_of', 'SELECT * FROM set_of(near)'),
	('in_list', 'SELECT leaves(near) * 0 + reads()'),
	('in_rows', 'SELECT max(reads()) FROM (SELECT leaves(near) FROM generate_series(1, 2) OFFSET 0) AS l'),
	('commits', 'CALL commits(near, 0)'),
	('calls_sql', 'CALL calls_sql(near, 0)'),
	('does', 'DO $do$ BEGIN PERFORM leaves(near); INSERT INTO seen SELECT v FROM here; END $do$'),
	('deferred', 'SELECT deferred(near)'),
	('triggers', 'INSERT INTO triggered VALUES (near)')) AS c(name, statement);

CREATE FUNCTION connect(name text) RETURNS void LANGUAGE sql AS $$
	SELECT dblink_connect(name, format('host=%s port=%s dbname=%s user=%s', split_part(current_setting('unix_socket_directories'), ',', 1),
		current_setting('port'), current_database(), current_user));
	SELECT dblink_exec(name, 'SET search_path = shop, public; SET plan_cache_mode = force_generic_plan; SET client_min_messages = error');
$$;
SET check_function_bodies = off;
-- Waits until a backend of the nodes waits for a row's lock.
CREATE PROCEDURE wait_for_lock() LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..6000 LOOP
		IF EXISTS (SELECT FROM pg_stat_activity WHERE datname LIKE 'tablets_n_' AND wait_event_type = 'Lock') THEN
			RETURN;
		END IF;
		PERFORM pg_stat_clear_snapshot(), pg_sleep(0.005);
		COMMIT;
	END LOOP;
	RAISE EXCEPTION 'nobody waits';
END $$;
-- What a session gives, whose statement was sent.
CREATE FUNCTION answer(name text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	said text;
BEGIN
	SELECT string_agg(t, ' ') INTO said FROM dblink_get_result(name, false) AS r(t text);
	IF dblink_error_message(name) <> 'OK' THEN
		said := split_part(dblink_error_message(name), E'\n', 1);
	END IF;
	PERFORM FROM dblink_get_result(name, false) AS r(t text);
	RETURN said;
END $$;
CREATE TABLE answers (nr int, setting text, said text);
-- Others commit while the statement waits: it reads what they have written.
CREATE PROCEDURE run(case_nr int, setting text) LANGUAGE plpgsql AS $$
DECLARE
	k keys := (SELECT keys FROM keys);
	wanted text := (SELECT statement FROM cases WHERE nr = case_nr);
	said text;
BEGIN
	PERFORM dblink_exec('b', 'SET shuttle.enable_write_behind = ' || setting);
	FOR i IN 1..2 LOOP
		IF wanted ~ '^(SELECT|CALL)' THEN
			PERFORM FROM dblink('b', wanted, false) AS t(x text);
		ELSE
			PERFORM dblink_exec('b', wanted);
		END IF;
	END LOOP;
	PERFORM dblink_exec('a', 'UPDATE item SET n = 1; UPDATE here SET v = 1; UPDATE kind SET v = 1; TRUNCATE seen');
	PERFORM dblink_exec('a', 'BEGIN');
	PERFORM dblink_exec('a', format('UPDATE item SET n = n WHERE id = %s', k.near));
	PERFORM dblink_exec('b', 'CALL fails()', false);
	PERFORM FROM dblink('b', 'SELECT fails_deeper()', false) AS t(x int);
	PERFORM dblink_send_query('b', wanted);
	COMMIT;
	CALL wait_for_lock();
	PERFORM dblink_exec('c', format('UPDATE item SET n = 100 WHERE id IN (%s, %s)', k.same, k.far));
	PERFORM dblink_exec('c', 'UPDATE kind SET v = 100');
	PERFORM dblink_exec('c', 'UPDATE here SET v = 100');
	PERFORM dblink_exec('a', format('UPDATE item SET n = 100 WHERE id = %s', k.near));
	PERFORM dblink_exec('a', 'COMMIT');
	said := answer('b');
	COMMIT;
	said := said || coalesce((SELECT ', then ' || string_agg(what, ' ') FROM seen), '');
	INSERT INTO answers VALUES (case_nr, setting, said);
	COMMIT;
END $$;
SELECT connect(name) FROM unnest('{a,b,c}'::text[]) AS name;
SELECT format('CALL run(%s, %L)', nr, setting) FROM cases, unnest('{on,off}'::text[]) AS setting ORDER BY nr, setting
\gexec
SELECT string_agg(DISTINCT name, E'\n'), said, count(*) FROM cases JOIN answers USING (nr) GROUP BY said ORDER BY max(nr);
SELECT name, a.said, b.said AS waited FROM cases JOIN answers a USING (nr) JOIN answers b USING (nr)
WHERE a.setting = 'on' AND b.setting = 'off' AND a.said IS DISTINCT FROM b.said ORDER BY nr;

-- ---- rows, counts and errors
SELECT dblink_exec('b', 'SET shuttle.enable_write_behind = on');
SELECT dblink_exec('b', 'CALL fails()', false);
SELECT dblink_exec('b', format('UPDATE item SET n = 7 WHERE id = %s', near)) FROM keys;
CREATE FUNCTION two(fails int, near int, same int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE item SET n = CASE fails WHEN 1 THEN 5000 ELSE n + 1 END WHERE id = near;
	UPDATE item SET n = CASE fails WHEN 2 THEN 5000 ELSE n + 1 END WHERE id = same;
	INSERT INTO mark VALUES (near, CASE fails WHEN 3 THEN 'a' ELSE 'b' END);
	DELETE FROM mark WHERE item = same AND name = 'a';
	IF 1 / (fails - 4) > 5 THEN
		RETURN 'never';
	END IF;
	INSERT INTO item VALUES (same, 5) ON CONFLICT (id) DO UPDATE SET n = item.n + CASE fails WHEN 5 THEN 5000 ELSE 10 END;
	RETURN 'done';
END $$;
-- a failed UPDATE and an error behind it
CREATE FUNCTION both_fail(fails int, near int, same int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE item SET n = CASE fails WHEN 1 THEN 5000 ELSE n + 1 END WHERE id = near;
	IF 1 / (fails - fails) > 5 THEN
		RETURN 'never';
	END IF;
	RETURN 'done';
EXCEPTION WHEN check_violation OR division_by_zero THEN RAISE;
END $$;
CREATE FUNCTION both_quiet(fails int, near int, same int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		UPDATE item SET n = CASE fails WHEN 1 THEN 5000 ELSE n + 1 END WHERE id = near;
		IF 1 / (fails - fails) > 5 THEN
			RETURN 'never';
		END IF;
	EXCEPTION WHEN division_by_zero THEN
	END;
	RETURN 'went on';
END $$;
CREATE FUNCTION tells_apart(fails int, near int, same int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	step int := 0;
BEGIN
	UPDATE item SET n = CASE fails WHEN 1 THEN 5000 ELSE n + 1 END WHERE id = near;
	step := 1;
	UPDATE item SET n = CASE fails WHEN 2 THEN 5000 ELSE n + 1 END WHERE id = same;
	step := 2;
	INSERT INTO mark VALUES (near, CASE fails WHEN 3 THEN 'a' ELSE 'b' END);
	RETURN two(fails, near, same);
EXCEPTION
	WHEN check_violation THEN RETURN 'check ' || step;
	WHEN unique_violation THEN RETURN 'unique ' || step;
	WHEN OTHERS THEN RETURN SQLERRM || ' ' || step;
END $$;
CREATE FUNCTION in_block(fails int, near int, same int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		UPDATE item SET n = CASE fails WHEN 1 THEN 5000 ELSE n + 1 END WHERE id = near;
		UPDATE item SET n = CASE fails WHEN 2 THEN 5000 ELSE n + 1 END WHERE id = same;
	EXCEPTION WHEN OTHERS THEN
	END;
	UPDATE item SET n = CASE fails WHEN 3 THEN 5000 ELSE n + 3 END WHERE id = near;
	RETURN 'behind';
END $$;
-- both nodes prepare
CREATE FUNCTION spans(fails int, near int, same int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE item SET n = n + 10 WHERE id = same;
	UPDATE item SET n = CASE fails WHEN 1 THEN 5000 ELSE n + 1 END WHERE id = near;
	RETURN 'spanned';
END $$;
CREATE FUNCTION raises(fails int, near int, same int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE item SET n = CASE fails WHEN 1 THEN 5000 ELSE n + 1 END WHERE id = near;
	RAISE EXCEPTION 'mine';
EXCEPTION WHEN raise_exception THEN RETURN 'raised';
END $$;
CREATE FUNCTION looks_at_found(fails int, near int, same int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	said text := '';
BEGIN
	UPDATE item SET n = n + 1 WHERE id = CASE fails WHEN 1 THEN -near ELSE near END;
	said := said || found;
	UPDATE item SET n = n + 1 WHERE id = near AND n < fails;
	IF NOT Found THEN
		said := said || 'none';
	END IF;
	RETURN said;
END $$;
CREATE FUNCTION looks_at_count(fails int, near int, same int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	DELETE FROM mark WHERE item = near AND length(name) > fails;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
END $$;
CREATE FUNCTION returns_rows(fails int, near int, same int) RETURNS SETOF int LANGUAGE plpgsql AS $$
DECLARE
	x int;
BEGIN
	UPDATE item SET n = n + 1 WHERE id = near;
	UPDATE item SET n = n + 1 WHERE id = near RETURNING n INTO STRICT x;
	RETURN NEXT x;
	UPDATE item SET n = CASE fails WHEN 2 THEN 5000 ELSE n + 1 END WHERE id = near;
	RETURN QUERY SELECT n FROM item WHERE id = near;
END $$;
CREATE FUNCTION loops(fails int, near int, same int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..6 LOOP
		UPDATE item SET n = CASE WHEN fails = i THEN 5000 ELSE n + i END WHERE id = near;
		UPDATE item SET note = repeat('x', 20000 * i) WHERE id = same;
	END LOOP;
	RETURN 'looped';
END $$;
CREATE FUNCTION is_called(fails int, near int, same int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		PERFORM two(fails, near, same);
		PERFORM two(fails, near, same);
	EXCEPTION WHEN check_violation THEN RETURN 'check';
	END;
	RETURN 'called';
END $$;
CREATE PROCEDURE commits_often(fails int, near int, same int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..3 LOOP
		UPDATE item SET n = CASE WHEN fails = i THEN 5000 ELSE n + i END WHERE id = near;
		COMMIT;
		UPDATE item SET n = CASE WHEN fails = i + 3 THEN 5000 ELSE n + i END WHERE id = same;
		IF i = 2 THEN
			ROLLBACK;
		END IF;
	END LOOP;
END $$;
CREATE PROCEDURE ends(fails int, near int, same int, INOUT said text DEFAULT 'nothing') LANGUAGE plpgsql AS $$
BEGIN
	said := 'begun';
	UPDATE item SET n = CASE fails WHEN 1 THEN 5000 ELSE n + 1 END WHERE id = near;
	UPDATE item SET n = CASE fails WHEN 2 THEN 5000 ELSE n + 1 END WHERE id = same;
EXCEPTION WHEN OTHERS THEN ROLLBACK;
END $$;
CREATE TABLE calls (nr int GENERATED ALWAYS AS IDENTITY, statement text, mode text, savepoints text);
INSERT INTO calls (statement, mode, savepoints)
SELECT format(form, name, fails, near, same, far), mode, savepoints
FROM keys, unnest('{on,off}'::text[]) AS savepoints, unnest('{"",BEGIN,BEGIN ISOLATION LEVEL REPEATABLE READ,BEGIN ISOLATION LEVEL SERIALIZABLE}'::text[]) AS mode,
	(VALUES ('SELECT %s(%s, %s, %s)', 'two'), ('SELECT %s(%s, %s, %s)', 'both_fail'), ('SELECT %s(%s, %s, %s)', 'both_quiet'), ('SELECT %s(%s, %s, %s)', 'tells_apart'),
		('SELECT %s(%s, %s, %s)', 'in_block'), ('SELECT %s(%s, %s, %s)', 'raises'), ('SELECT %s(%s, %s, %s)', 'looks_at_found'),
		('SELECT %s(%s, %s, %s)', 'looks_at_count'), ('SELECT %s(%s, %s, %s)', 'returns_rows'), ('SELECT %s(%s, %s, %s)', 'loops'),
		('SELECT %s(%s, %s, %s)', 'is_called'), ('CALL %s(%s, %s, %s)', 'commits_often'), ('CALL %s(%s, %s, %s)', 'ends'),
		('EXECUTE called_%s(%s, %s, %s)', 'two'), ('SELECT %1$s(%2$s, %3$s, %5$s)', 'spans'), ('DO $do$ BEGIN PERFORM %s(%s, %s, %s); END $do$', 'two'),
		('SELECT max(%s(%s, %s, %s)) FROM generate_series(1, 2)', 'two')) AS f(form, name),
	generate_series(0, 5) AS fails
-- with strict_savepoints off, errors may come behind their blocks
WHERE savepoints = 'on' OR name IN ('two', 'looks_at_found', 'looks_at_count', 'returns_rows', 'loops', 'commits_often');
DELETE FROM calls WHERE mode ~ 'ISOLATION' AND statement !~ 'SELECT (two|tells_apart|in_block|loops)';
-- as it is before each call
CREATE PROCEDURE reset_rows() LANGUAGE plpgsql AS $$
DECLARE
	k keys := (SELECT keys FROM keys);
BEGIN
	UPDATE item SET n = 1, note = NULL WHERE id IN (k.near, k.same, k.far);
	DELETE FROM mark WHERE item IN (k.near, k.same);
	INSERT INTO mark VALUES (k.near, 'a'), (k.same, 'a');
END $$;
CREATE FUNCTION told(c calls, setting text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	k keys := (SELECT keys FROM keys);
	said text;
BEGIN
	PERFORM dblink_exec('c', 'CALL reset_rows()');
	PERFORM dblink_exec('b', format('SET shuttle.enable_write_behind = %s; SET shuttle.strict_savepoints = %s', setting, c.savepoints));
	IF c.mode <> '' THEN
		PERFORM dblink_exec('b', c.mode);
	END IF;
	IF c.statement ~ '^(SELECT|EXECUTE)' OR c.statement ~ 'ends' THEN
		SELECT string_agg(r, ' ') INTO said FROM dblink('b', c.statement, false) AS t(r text);
	ELSE
		said := dblink_exec('b', c.statement, false);
	END IF;
	IF dblink_error_message('b') <> 'OK' THEN
		said := regexp_replace(split_part(dblink_error_message('b'), E'\n', 1), '_t\d+', '');
	END IF;
	IF c.mode <> '' AND said ~ 'ERROR' THEN
		PERFORM dblink_exec('b', 'ROLLBACK');
	END IF;
	said := said || ', ' || r FROM dblink('b', format('SELECT concat(string_agg(concat(n, length(note)), '' '' ORDER BY id), '' '', (SELECT string_agg(concat(m.item, name), '' '' ORDER BY m.item, name) FROM mark m WHERE m.item IN (%1$s, %2$s))) FROM item WHERE id IN (%1$s, %2$s, %3$s)', k.near, k.same, k.far)) AS t(r text);
	IF c.mode <> '' AND said !~ 'ERROR' THEN
		PERFORM dblink_exec('b', 'ROLLBACK');
	END IF;
	RETURN said;
END $$;
SELECT dblink_exec('b', 'PREPARE called_two(int, int, int) AS SELECT two($1, $2, $3)');
CREATE TABLE told_on AS SELECT nr, told(c, 'on') AS said FROM calls c ORDER BY nr;
CREATE TABLE told_off AS SELECT nr, told(c, 'off') AS said FROM calls c ORDER BY nr;
SELECT statement, mode, said FROM calls JOIN told_on USING (nr) WHERE savepoints = 'on' AND mode = '' ORDER BY nr;
SELECT statement, mode, savepoints, a.said, b.said AS waited FROM calls JOIN told_on a USING (nr) JOIN told_off b USING (nr)
WHERE a.said IS DISTINCT FROM b.said ORDER BY nr;

-- ---- it is not waited for, and its wait ends with the statement
CREATE FUNCTION divides(near int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	UPDATE item SET n = n + 1 WHERE id = near;
	IF 1 / (near - near) > 0 THEN
		RETURN 1;
	END IF;
	RETURN 2;
END $$;
CREATE FUNCTION handles(near int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE item SET n = n + 1 WHERE id = near;
	RETURN 'done';
EXCEPTION WHEN lock_not_available OR query_canceled THEN RETURN SQLERRM;
END $$;
-- ends: what ends the wait
CREATE PROCEDURE wait(setting text, wanted text, ends text, INOUT said text DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
	near int := (SELECT k.near FROM keys k);
BEGIN
	PERFORM dblink_exec('b', 'RESET statement_timeout; RESET lock_timeout; RESET shuttle.strict_savepoints; SET shuttle.enable_write_behind = ' || setting);
	PERFORM FROM dblink('b', 'SELECT ' || wanted, false) AS t(x text);
	PERFORM dblink_exec('a', format('BEGIN; UPDATE item SET n = n WHERE id = %s', near));
	IF ends LIKE 'SET%' THEN
		PERFORM dblink_exec('b', ends);
	END IF;
	PERFORM dblink_send_query('b', 'SELECT ' || wanted);
	COMMIT;
	IF ends IN ('cancel', 'terminate') THEN
		CALL wait_for_lock();
	END IF;
	IF ends = 'cancel' THEN
		PERFORM dblink_cancel_query('b');
	ELSIF ends = 'terminate' THEN
		PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'tablets_n_' AND wait_event_type = 'Lock';
	END IF;
	said := regexp_replace(answer('b'), 'node "\w+"', 'node');
	PERFORM dblink_exec('a', 'ROLLBACK');
	COMMIT;
END $$;
SET client_min_messages = error;
SELECT format('CALL wait(%L, %L, %L)', setting, replace(wanted, 'near', near::text), ends)
FROM keys, unnest('{on,off}'::text[]) AS setting, (VALUES (1, 'divides(near)', 'SET statement_timeout = 300'), (2, 'leaves(near)', 'SET statement_timeout = 300'),
	(3, 'leaves(near)', 'SET lock_timeout = 100'), (4, 'handles(near)', 'SET statement_timeout = 300'), (5, 'handles(near)', 'SET lock_timeout = 100'),
	(6, 'leaves(near)', 'cancel'), (7, 'leaves(near)', 'terminate'), (8, 'both_quiet(0, near, 0)', 'SET statement_timeout = 1500')) AS w(nr, wanted, ends) ORDER BY nr, setting DESC
\gexec

-- what another session has changed since the snapshot, and a deadlock
CREATE FUNCTION changed(setting text, level text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	near int := (SELECT k.near FROM keys k);
	said text;
BEGIN
	PERFORM dblink_exec('b', 'RESET statement_timeout; RESET lock_timeout; RESET shuttle.strict_savepoints; SET shuttle.enable_write_behind = ' || setting);
	PERFORM dblink_exec('b', 'BEGIN ISOLATION LEVEL ' || level);
	PERFORM FROM dblink('b', format('SELECT n FROM item WHERE id = %s', near)) AS t(x int);
	PERFORM dblink_exec('c', format('UPDATE item SET n = n + 1 WHERE id = %s', near));
	SELECT x INTO said FROM dblink('b', format('SELECT leaves(%s)', near), false) AS t(x text);
	IF dblink_error_message('b') <> 'OK' THEN
		said := split_part(dblink_error_message('b'), E'\n', 1);
	END IF;
	PERFORM dblink_exec('b', 'ROLLBACK');
	RETURN said;
END $$;
SELECT level, changed('on', level) AS left, changed('off', level) AS waited FROM unnest('{READ COMMITTED,REPEATABLE READ,SERIALIZABLE}'::text[]) AS level;
CREATE PROCEDURE block_each_other(setting text, one int, other int, INOUT said text DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
	name text;
	other_said text;
BEGIN
	FOREACH name IN ARRAY '{a,b}'::text[] LOOP
		PERFORM dblink_exec(name, 'SET shuttle.enable_write_behind = ' || setting);
		PERFORM FROM dblink(name, format('SELECT leaves(%s), leaves(%s)', one, other)) AS t(x int, y int);
		PERFORM dblink_exec(name, 'BEGIN');
	END LOOP;
	PERFORM FROM dblink('a', format('SELECT leaves(%s)', one)) AS t(x int);
	PERFORM FROM dblink('b', format('SELECT leaves(%s)', other)) AS t(x int);
	PERFORM dblink_send_query('a', format('SELECT leaves(%s)', other));
	COMMIT;
	CALL wait_for_lock();
	PERFORM dblink_send_query('b', format('SELECT leaves(%s)', one));
	-- the one that goes on waits for the end of the other
	WHILE dblink_is_busy('a') = 1 AND dblink_is_busy('b') = 1 LOOP
		PERFORM pg_sleep(0.005);
	END LOOP;
	name := CASE dblink_is_busy('a') WHEN 1 THEN 'b' ELSE 'a' END;
	said := answer(name);
	PERFORM dblink_exec(name, 'ROLLBACK');
	name := translate(name, 'ab', 'ba');
	other_said := answer(name);
	said := concat_ws(', ', least(said, other_said), greatest(said, other_said));
	PERFORM dblink_exec(name, 'ROLLBACK');
END $$;
SELECT format('CALL block_each_other(%L, %s, %s)', setting, near, other)
FROM keys, unnest(ARRAY[same, far]) WITH ORDINALITY AS o(other, nr), unnest('{on,off}'::text[]) AS setting ORDER BY nr, setting DESC
\gexec
SELECT dblink_disconnect(name) FROM unnest('{a,b,c}'::text[]) AS name;
SELECT count(*) FROM shuttle.check();
