-- ON CONFLICT DO UPDATE on a distributed table with triggers does what it does on a local table:
-- the same rows, tags, RETURNING, errors, and calls of triggers in the same order.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1') AS a, shuttle.use_node('n2') AS b;
SET shuttle.tablets = 4;
SET client_min_messages = warning;
CREATE TABLE item (id int PRIMARY KEY, email text, n int DEFAULT 7 CHECK (n < 1000), doc jsonb, list int[],
	twice int GENERATED ALWAYS AS (n * 2) STORED, at text DEFAULT 'new');
CREATE TABLE twin (LIKE item INCLUDING ALL);
CREATE TABLE pair (a int, b int, v text, UNIQUE (a, b));
CREATE TABLE pair_twin (LIKE pair INCLUDING ALL);
SELECT shuttle.distribute_table('item', 'id');
SELECT shuttle.distribute_table('pair', 'a');
RESET client_min_messages;

-- What triggers saw; the distributed table's calls and its twin's are compared.
CREATE TABLE seen (no int GENERATED ALWAYS AS IDENTITY, ours bool, what text);
CREATE FUNCTION is_ours(name text) RETURNS bool LANGUAGE sql IMMUTABLE AS $$ SELECT name NOT LIKE '%twin' $$;
CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO seen (ours, what) VALUES (is_ours(TG_TABLE_NAME), concat_ws(' ', TG_WHEN, TG_OP, TG_LEVEL,
		CASE WHEN TG_LEVEL = 'ROW' AND TG_OP <> 'INSERT' THEN OLD END, CASE WHEN TG_LEVEL = 'ROW' THEN NEW END));
	RETURN NEW;
END $$;
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.at := concat(TG_OP, '' '', OLD.n, '' '', NEW.n); RETURN NEW; END';
CREATE FUNCTION choose() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.id % 10 = 3 THEN
		RETURN NULL;
	END IF;
	IF NEW.id % 10 = 4 THEN
		NEW.n := NEW.n + 100;
	END IF;
	RETURN NEW;
END $$;
CREATE FUNCTION write_again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('UPDATE %I SET doc = ''1'' WHERE id = %s', CASE WHEN is_ours(TG_TABLE_NAME) THEN 'item' ELSE 'twin' END, TG_ARGV[0]);
	RETURN NEW;
END $$;
CREATE FUNCTION write_in_block() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		EXECUTE format('UPDATE %I SET doc = ''2'' WHERE id = %s', CASE WHEN is_ours(TG_TABLE_NAME) THEN 'item' ELSE 'twin' END, TG_ARGV[0]);
	EXCEPTION WHEN division_by_zero THEN
		NULL;
	END;
	RETURN NEW;
END $$;
CREATE FUNCTION count_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(*) || '' '' || sum(n) FROM %I', CASE WHEN is_ours(TG_TABLE_NAME) THEN 'item' ELSE 'twin' END) INTO NEW.at;
	RETURN NEW;
END $$;
CREATE PROCEDURE trigger_both(name text, definition text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TRIGGER %s ' || definition, name, 'item');
	EXECUTE format('CREATE TRIGGER %s ' || definition, name, 'twin');
END $$;
CREATE PROCEDURE drop_both(name text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('DROP TRIGGER %s ON item', name);
	EXECUTE format('DROP TRIGGER %s ON twin', name);
END $$;

-- Runs a statement for both tables, and compares.
CREATE FUNCTION same(statement text, name text DEFAULT 'item', twin text DEFAULT 'twin') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	told text[] := '{}';
	told_one text;
	one text;
	row_text text;
	nrows bigint;
	calls text[];
	ndifferent bigint;
BEGIN
	TRUNCATE seen;
	FOREACH one IN ARRAY ARRAY[name, twin] LOOP
		told_one := '';
		BEGIN
			IF statement LIKE '%RETURNING%' THEN
				FOR row_text IN EXECUTE format('WITH w AS (' || statement || ') SELECT w::text FROM w ORDER BY 1', one) LOOP
					told_one := told_one || row_text;
				END LOOP;
			ELSE
				EXECUTE format(statement, one);
				GET DIAGNOSTICS nrows = ROW_COUNT;
				told_one := nrows || ' rows';
			END IF;
		EXCEPTION WHEN OTHERS THEN
			told_one := SQLSTATE || ' ' || replace(replace(SQLERRM, twin, name), '"' || name || '_t', '"' || name);
		END;
		told := told || told_one;
	END LOOP;
	EXECUTE format('SELECT count(*) FROM ((TABLE %1$I EXCEPT ALL TABLE %2$I) UNION ALL (TABLE %2$I EXCEPT ALL TABLE %1$I)) AS d', name, twin)
		INTO ndifferent;
	calls := ARRAY(SELECT string_agg(what, E'\n' ORDER BY no) FROM seen GROUP BY ours ORDER BY ours);
	RETURN CASE WHEN told[1] = told[2] AND ndifferent = 0 AND (calls[1] = calls[2] OR cardinality(calls) = 0)
		THEN 'same: ' || left(told[1], 120) || coalesce(', ' || (SELECT count(*) / 2 FROM seen) || ' calls', '')
		ELSE 'differ: ' || told::text || ' ' || ndifferent || ' ' || calls::text END;
END $$;
CREATE FUNCTION upsert(ids text, tail text) RETURNS text LANGUAGE sql AS $$
	SELECT same(format('INSERT INTO %%1$I (id, email, n) SELECT i, ''A'' || i, mod(i, 50) FROM generate_series(%s) i ON CONFLICT (id) DO ', ids) || tail) $$;

-- BEFORE UPDATE triggers that only look at their row, as for updated_at
CALL trigger_both('touch', 'BEFORE INSERT OR UPDATE ON %I FOR EACH ROW EXECUTE FUNCTION touch()');
SELECT upsert('1, 40', 'UPDATE SET n = EXCLUDED.n');
SELECT upsert('21, 60', 'UPDATE SET n = %1$I.n + EXCLUDED.n, email = EXCLUDED.email RETURNING *');
SELECT upsert('1, 80', 'UPDATE SET n = %1$I.n * 2 WHERE %1$I.n > 30 RETURNING id, at, twice, xmax = 0');
SELECT upsert('1, 80', 'UPDATE SET n = 1 WHERE false');
SELECT upsert('1, 90', 'UPDATE SET n = NULL WHERE mod(EXCLUDED.id, 3) = 0 RETURNING *');
SELECT upsert('1, 90', 'UPDATE SET n = 1000');
SELECT upsert('70, 75', 'UPDATE SET n = 1 / (EXCLUDED.id - 72)');
SELECT upsert('1, 9', 'UPDATE SET n = DEFAULT, email = concat(%1$I.email, format(''no'', EXCLUDED.id)), doc = to_jsonb(%1$I)');
SELECT upsert('1, 9', 'UPDATE SET (n, email) = (5, EXCLUDED.email), list[2] = EXCLUDED.id, doc[''k''] = to_jsonb(%1$I.n)');
SELECT upsert('1, 9', 'UPDATE SET list[1] = %1$I.list[2], list[5] = 1 RETURNING list');
SELECT upsert('1, 9', 'UPDATE SET twice = DEFAULT RETURNING *');
SELECT upsert('85, 95', 'NOTHING RETURNING *');
SELECT same('INSERT INTO %1$I VALUES (1, ''v'', 4), (200, NULL, NULL), (2, ''w'', 3) ON CONFLICT ON CONSTRAINT %1$s_pkey DO UPDATE SET email = EXCLUDED.email || %1$I.email, n = EXCLUDED.n RETURNING *');
SELECT same('INSERT INTO %1$I AS t (id) SELECT id FROM twin ON CONFLICT (id) DO UPDATE SET email = ''all'' WHERE t.id < 50');

-- a row twice, proposed or stored
SELECT same('INSERT INTO %1$I (id) VALUES (1), (1) ON CONFLICT (id) DO UPDATE SET n = 1');
SELECT same('INSERT INTO %1$I (id) VALUES (300), (300) ON CONFLICT (id) DO UPDATE SET n = 1');
SELECT same('INSERT INTO %1$I (id) VALUES (300), (300) ON CONFLICT (id) DO UPDATE SET n = 1 WHERE false');
SELECT same('INSERT INTO %1$I (id, n) VALUES (1, 0), (1, 2), (2, 0), (2, 0) ON CONFLICT (id) DO UPDATE SET n = EXCLUDED.n WHERE EXCLUDED.n > 0');
-- the error of an earlier row, which its node raises
SELECT same('INSERT INTO %1$I (id) VALUES (1), (1) ON CONFLICT (id) DO UPDATE SET n = 1000');
SELECT same('INSERT INTO %1$I (id, n) VALUES (1, 1), (2, 3), (1, 1), (3, 1) ON CONFLICT (id) DO UPDATE SET n = EXCLUDED.n * 500');
SELECT same('INSERT INTO %1$I (id, n) VALUES (1, 1), (1, 1), (2, 3) ON CONFLICT (id) DO UPDATE SET n = EXCLUDED.n * 500');
SET shuttle.write_buffer_size = 64;
SELECT same('INSERT INTO %1$I (id, email) SELECT mod(i, 1000), repeat(''x'', 500) FROM generate_series(1, 1001) i ON CONFLICT (id) DO UPDATE SET n = 1');
SELECT same('INSERT INTO %1$I (id, email) SELECT i, repeat(''x'', 500) FROM generate_series(1, 1000) i ON CONFLICT (id) DO UPDATE SET n = 1');
SELECT same('INSERT INTO %1$I (id, email) SELECT mod(i, 1000), repeat(''x'', 500) FROM generate_series(1, 1001) i ON CONFLICT (id) DO UPDATE SET n = 1');
RESET shuttle.write_buffer_size;
SELECT same('DELETE FROM %1$I WHERE id NOT BETWEEN 1 AND 90');

-- triggers that skip rows, or change their key or what was proposed
CALL trigger_both('choose', 'BEFORE INSERT OR UPDATE ON %I FOR EACH ROW EXECUTE FUNCTION choose()');
SELECT upsert('1001, 1010', 'UPDATE SET n = 2');
SELECT upsert('1001, 1015', 'UPDATE SET n = EXCLUDED.n + %1$I.n RETURNING *');
SELECT upsert('993, 1014', 'UPDATE SET n = EXCLUDED.n RETURNING id, n, at');
CALL drop_both('choose');

-- all kinds of triggers, whose calls are counted and compared
CALL trigger_both('see_before', 'BEFORE INSERT OR UPDATE ON %I FOR EACH ROW EXECUTE FUNCTION see()');
CALL trigger_both('see_after', 'AFTER INSERT OR UPDATE ON %I FOR EACH ROW EXECUTE FUNCTION see()');
CALL trigger_both('see_statement', 'AFTER INSERT OR UPDATE ON %I EXECUTE FUNCTION see()');
CALL trigger_both('see_first', 'BEFORE INSERT OR UPDATE ON %I EXECUTE FUNCTION see()');
CALL trigger_both('see_when', 'AFTER UPDATE OF n ON %I FOR EACH ROW WHEN (OLD.n <> NEW.n) EXECUTE FUNCTION see()');
CALL trigger_both('see_email', 'BEFORE UPDATE OF email ON %I FOR EACH ROW EXECUTE FUNCTION see()');
SELECT upsert('10, 30, 5', 'UPDATE SET n = EXCLUDED.n');
SELECT upsert('995, 1020, 5', 'UPDATE SET email = EXCLUDED.email WHERE %1$I.id <> 1000 RETURNING *');
SELECT upsert('1, 0', 'UPDATE SET n = 3 RETURNING *');
SELECT upsert('1, 5', 'UPDATE SET n = 3 WHERE false');
SELECT same('INSERT INTO %1$I (id) VALUES (5), (5) ON CONFLICT (id) DO UPDATE SET n = 1');
CALL drop_both('see_before');
CALL drop_both('see_email');
SELECT upsert('1, 1030, 100', 'UPDATE SET n = EXCLUDED.n + 1 RETURNING id, twice');

-- a trigger's operator is a function that somebody can tell from the others
BEGIN;
CREATE FUNCTION note(int, int) RETURNS text LANGUAGE plpgsql AS 'BEGIN INSERT INTO seen (what) VALUES (concat($1, '' '', $2)); RETURN $2; END';
CREATE OPERATOR <~> (LEFTARG = int, RIGHTARG = int, FUNCTION = note);
CREATE FUNCTION operate() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.at := NEW.id <~> NEW.n; RETURN NEW; END';
CREATE TRIGGER w BEFORE INSERT OR UPDATE ON item FOR EACH ROW EXECUTE FUNCTION operate();
TRUNCATE seen;
INSERT INTO item (id, n) VALUES (10, 1), (15, 2) ON CONFLICT (id) DO UPDATE SET n = 3;
SELECT string_agg(what, ', ' ORDER BY no) FROM seen WHERE ours IS NULL;
ROLLBACK;

-- a trigger changes a row of the statement, or the row itself, or reads the table
CALL trigger_both('w', 'BEFORE INSERT ON %I FOR EACH ROW WHEN (NEW.id = 1) EXECUTE FUNCTION write_again(2)');
SELECT same('INSERT INTO %1$I (id) VALUES (1), (2) ON CONFLICT (id) DO UPDATE SET n = 21');
SELECT same('INSERT INTO %1$I (id) VALUES (2), (1) ON CONFLICT (id) DO UPDATE SET n = 22');
CALL drop_both('w');
CALL trigger_both('w', 'BEFORE INSERT ON %I FOR EACH ROW EXECUTE FUNCTION write_again(2)');
SELECT same('INSERT INTO %1$I (id) VALUES (2) ON CONFLICT (id) DO UPDATE SET n = 23');
CALL drop_both('w');
CALL trigger_both('w', 'BEFORE UPDATE ON %I FOR EACH ROW WHEN (NEW.id = 1) EXECUTE FUNCTION write_again(2)');
SELECT same('INSERT INTO %1$I (id) VALUES (1), (2) ON CONFLICT (id) DO UPDATE SET n = 24');
CALL drop_both('w');
CALL trigger_both('w', 'AFTER UPDATE ON %I FOR EACH ROW WHEN (NEW.id = 1) EXECUTE FUNCTION write_again(2)');
SELECT same('INSERT INTO %1$I (id) VALUES (1), (2) ON CONFLICT (id) DO UPDATE SET n = 25');
CALL drop_both('w');
CALL trigger_both('w', 'BEFORE INSERT ON %I FOR EACH ROW WHEN (NEW.id < 3) EXECUTE FUNCTION write_in_block(3)');
SELECT same('INSERT INTO %1$I (id) VALUES (1), (2), (3) ON CONFLICT (id) DO UPDATE SET n = 27');
SELECT same('INSERT INTO %1$I (id) VALUES (1), (4), (2) ON CONFLICT (id) DO UPDATE SET n = 28');
CALL drop_both('w');
CALL trigger_both('w', 'BEFORE INSERT OR UPDATE ON %I FOR EACH ROW EXECUTE FUNCTION count_rows()');
SELECT same('INSERT INTO %1$I (id, n, email) SELECT i, n, '''' FROM (VALUES (1, 1), (2001, 2), (2, 3), (2002, 4)) AS v (i, n) ON CONFLICT (id) DO UPDATE SET n = EXCLUDED.n + 5 RETURNING id, at');
CALL drop_both('w');
CALL trigger_both('w', 'BEFORE UPDATE ON %I FOR EACH ROW WHEN (NEW.n = 26) EXECUTE FUNCTION write_again(1)');
INSERT INTO twin (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = 26;
\echo :SQLSTATE
INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = 26;
\echo :SQLSTATE
CALL drop_both('w');

-- another part of the statement changes the same row, or another one
CREATE FUNCTION outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	nrows bigint;
BEGIN
	EXECUTE statement;
	GET DIAGNOSTICS nrows = ROW_COUNT;
	RETURN nrows || ' rows';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE FUNCTION outcomes(statement text) RETURNS TABLE (ours text, twin text) LANGUAGE sql AS $$
	SELECT outcome(format(statement, 'item')), outcome(format(statement, 'twin')) $$;
SELECT * FROM outcomes('WITH a AS (INSERT INTO %1$I (id) VALUES (3) ON CONFLICT (id) DO UPDATE SET n = 31 RETURNING id) INSERT INTO %1$I (id) SELECT id FROM a ON CONFLICT (id) DO UPDATE SET n = 32');
SELECT * FROM outcomes('WITH a AS (UPDATE %1$I SET n = 33 WHERE id = 3 RETURNING id) INSERT INTO %1$I (id) SELECT id FROM a ON CONFLICT (id) DO UPDATE SET n = 34');
SELECT * FROM outcomes('WITH a AS (INSERT INTO %1$I (id) VALUES (3) ON CONFLICT (id) DO UPDATE SET n = 35) UPDATE %1$I SET n = 36 WHERE id = 3');
SELECT * FROM outcomes('WITH a AS (INSERT INTO %1$I (id) VALUES (2003) RETURNING id) INSERT INTO %1$I (id) SELECT id FROM a ON CONFLICT (id) DO UPDATE SET n = 37');
SELECT * FROM outcomes('WITH a AS (DELETE FROM %1$I WHERE id = 3 RETURNING id) INSERT INTO %1$I (id) SELECT id + 1 FROM a ON CONFLICT (id) DO UPDATE SET n = 38');
SELECT * FROM outcomes('WITH a AS (INSERT INTO %1$I (id) VALUES (3) ON CONFLICT (id) DO UPDATE SET n = 39 RETURNING id) INSERT INTO %1$I (id) SELECT id + 2 FROM a ON CONFLICT (id) DO UPDATE SET n = 40');
SELECT same('INSERT INTO %1$I (id) VALUES (3) ON CONFLICT (id) DO UPDATE SET n = %1$I.n + 1');

-- the transaction has written the rows before
BEGIN;
SELECT upsert('1, 5', 'UPDATE SET n = 31');
SELECT upsert('1, 5', 'UPDATE SET n = %1$I.n + 1');
SAVEPOINT s;
SELECT upsert('3, 8', 'UPDATE SET n = %1$I.n + 2 RETURNING id, n');
ROLLBACK TO s;
SELECT upsert('3, 8', 'UPDATE SET n = %1$I.n + 3 RETURNING id, n');
CALL trigger_both('w', 'BEFORE INSERT ON %I FOR EACH ROW EXECUTE FUNCTION write_again(2)');
INSERT INTO item (id) VALUES (2) ON CONFLICT (id) DO UPDATE SET n = 23;
\echo :SQLSTATE
ROLLBACK;
DO $$
BEGIN
	INSERT INTO item (id) VALUES (1), (5000) ON CONFLICT (id) DO UPDATE SET n = 41 WHERE item.id > 1;
	RAISE NOTICE 'found: %', FOUND;
	INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = 41 WHERE false;
	RAISE NOTICE 'found: %', FOUND;
	DELETE FROM item WHERE id = 5000;
END $$;

-- another unique constraint, with NULLs and columns of the key
CREATE TRIGGER t BEFORE UPDATE ON pair FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
CREATE TRIGGER t BEFORE UPDATE ON pair_twin FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
SELECT same('INSERT INTO %1$I VALUES (1, 1, ''a''), (1, NULL, ''b''), (1, NULL, ''c''), (2, 1, ''d'') ON CONFLICT (b, a) DO UPDATE SET v = EXCLUDED.v', 'pair', 'pair_twin');
SELECT same('INSERT INTO %1$I VALUES (1, NULL, ''e''), (1, 1, ''a''), (2, 1, ''f''), (3, 1, NULL), (2, 1, ''f'') ON CONFLICT (a, b) DO UPDATE SET v = EXCLUDED.v RETURNING *', 'pair', 'pair_twin');
SELECT same('INSERT INTO %1$I VALUES (1, NULL, ''e''), (1, 1, ''a''), (2, 1, ''f''), (3, 1, NULL) ON CONFLICT (a, b) DO UPDATE SET v = EXCLUDED.v RETURNING *', 'pair', 'pair_twin');
SELECT same('INSERT INTO %1$I VALUES (1, 1), (2, 1) ON CONFLICT (a, b) DO UPDATE SET b = %1$I.b + 1 RETURNING *', 'pair', 'pair_twin');
SELECT same('INSERT INTO %1$I VALUES (1, 2), (1, 1), (1, 5) ON CONFLICT (a, b) DO UPDATE SET b = 5', 'pair', 'pair_twin');

-- a partial index, and one in which NULLs are equal
CREATE UNIQUE INDEX ON pair (a, v) WHERE b > 10;
CREATE UNIQUE INDEX ON pair_twin (a, v) WHERE b > 10;
SELECT same('INSERT INTO %1$I VALUES (1, 11, ''p''), (1, 7, ''p''), (2, 12, ''p''), (3, NULL, ''p'') ON CONFLICT (a, v) WHERE b > 10 DO UPDATE SET b = EXCLUDED.b', 'pair', 'pair_twin');
SELECT same('INSERT INTO %1$I VALUES (1, 21, ''p''), (1, 3, ''p''), (2, 22, ''p''), (3, NULL, ''p'') ON CONFLICT (a, v) WHERE b > 10 DO UPDATE SET b = EXCLUDED.b RETURNING *', 'pair', 'pair_twin');
SELECT same('INSERT INTO %1$I VALUES (1, 31, ''p''), (2, 32, ''p''), (2, 33, ''p'') ON CONFLICT (a, v) WHERE b > 10 DO UPDATE SET b = EXCLUDED.b', 'pair', 'pair_twin');

-- triggers that give a row another key, which a later row has or leaves
CREATE FUNCTION next_key() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.b := NEW.b + 100; RETURN NEW; END';
CREATE FUNCTION other_row() RETURNS trigger LANGUAGE plpgsql AS 'DECLARE r record; BEGIN r := NEW; r.b := r.b + 100; RETURN r; END';
TRUNCATE pair, pair_twin;
SELECT same('INSERT INTO %1$I VALUES (9, 1), (8, 1)', 'pair', 'pair_twin');
CREATE TRIGGER next_key BEFORE UPDATE ON pair FOR EACH ROW EXECUTE FUNCTION next_key();
CREATE TRIGGER next_key BEFORE UPDATE ON pair_twin FOR EACH ROW EXECUTE FUNCTION next_key();
SELECT same('INSERT INTO %1$I VALUES (9, 1), (9, 1) ON CONFLICT (a, b) DO UPDATE SET v = NULL RETURNING *', 'pair', 'pair_twin');
SELECT same('INSERT INTO %1$I VALUES (9, 101), (9, 301) ON CONFLICT (a, b) DO UPDATE SET v = NULL RETURNING *', 'pair', 'pair_twin');
SELECT same('INSERT INTO %1$I VALUES (9, 201), (9, 301) ON CONFLICT (a, b) DO UPDATE SET v = NULL', 'pair', 'pair_twin');
DROP TRIGGER next_key ON pair;
DROP TRIGGER next_key ON pair_twin;
CREATE TRIGGER other_row BEFORE UPDATE ON pair FOR EACH ROW EXECUTE FUNCTION other_row();
CREATE TRIGGER other_row BEFORE UPDATE ON pair_twin FOR EACH ROW EXECUTE FUNCTION other_row();
SELECT same('INSERT INTO %1$I VALUES (8, 1), (8, 1) ON CONFLICT (a, b) DO UPDATE SET v = NULL RETURNING *', 'pair', 'pair_twin');
DROP TRIGGER other_row ON pair;
DROP TRIGGER other_row ON pair_twin;

-- a domain whose check writes, and a cast
CREATE FUNCTION tell(v text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO seen (ours, what) VALUES (is_ours(split_part(v, ' ', 1)), substr(v, strpos(v, ' ')));
	RETURN true;
END $$;
CREATE DOMAIN told AS text CHECK (tell(VALUE));
CREATE FUNCTION use_domain() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE t told; BEGIN t := concat(TG_TABLE_NAME, ' ', TG_OP, ' ', NEW.id); RETURN NEW; END $$;
CALL trigger_both('use_domain', 'BEFORE INSERT OR UPDATE ON %I FOR EACH ROW EXECUTE FUNCTION use_domain()');
SELECT upsert('1, 5', 'UPDATE SET n = 3');
CALL drop_both('use_domain');
DROP FUNCTION use_domain;
DROP DOMAIN told;
CREATE TYPE voice AS (v text);
CREATE FUNCTION to_voice(v text) RETURNS voice LANGUAGE plpgsql AS 'BEGIN RETURN ROW(tell(v)::text)::voice; END';
CREATE CAST (text AS voice) WITH FUNCTION to_voice(text);
CREATE FUNCTION use_cast() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE t voice; BEGIN t := concat(TG_TABLE_NAME, ' ', TG_OP, ' ', NEW.id)::voice; RETURN NEW; END $$;
CALL trigger_both('use_cast', 'BEFORE INSERT OR UPDATE ON %I FOR EACH ROW EXECUTE FUNCTION use_cast()');
SELECT upsert('1, 5', 'UPDATE SET n = 4');
CALL drop_both('use_cast');
DROP CAST (text AS voice);
CREATE TABLE equal (a int, b int, v text, UNIQUE NULLS NOT DISTINCT (a, b));
CREATE TABLE equal_twin (LIKE equal INCLUDING ALL);
SELECT shuttle.distribute_table('equal', 'a');
CREATE TRIGGER t BEFORE UPDATE ON equal FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
CREATE TRIGGER t BEFORE UPDATE ON equal_twin FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
SELECT same('INSERT INTO %1$I VALUES (1, NULL, ''a''), (NULL, 1, ''b''), (NULL, NULL, ''c''), (1, 1, ''d'') ON CONFLICT (a, b) DO UPDATE SET v = EXCLUDED.v', 'equal', 'equal_twin');
SELECT same('INSERT INTO %1$I VALUES (1, NULL, ''e''), (NULL, 1, ''f''), (NULL, 2, ''f''), (NULL, NULL, ''g''), (1, 1, ''h'') ON CONFLICT (a, b) DO UPDATE SET v = %1$I.v || EXCLUDED.v RETURNING *', 'equal', 'equal_twin');
SELECT same('INSERT INTO %1$I VALUES (NULL, NULL, ''e''), (NULL, NULL, ''f'') ON CONFLICT (a, b) DO UPDATE SET v = EXCLUDED.v', 'equal', 'equal_twin');

-- row by row
SET shuttle.enable_write_buffer = off;
SELECT upsert('1, 100, 9', 'UPDATE SET n = EXCLUDED.n RETURNING id, n');
RESET shuttle.enable_write_buffer;

-- functions that the source calls: one reads the table, one has a block with EXCEPTION
CREATE FUNCTION counted(int, text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	n int;
BEGIN
	EXECUTE format('SELECT sum(n) FROM %I WHERE id <= $1', $2) INTO n USING $1;
	RETURN n;
END $$;
CREATE FUNCTION counted_in_block(int, text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	RETURN counted($1, $2);
EXCEPTION WHEN division_by_zero THEN
	RETURN 0;
END $$;
SELECT same('INSERT INTO %1$I (id, n) SELECT i, counted(i, ''%1$I'') FROM generate_series(1, 5) i ON CONFLICT (id) DO UPDATE SET n = mod(EXCLUDED.n, 100) + 1');
SELECT same('INSERT INTO %1$I (id, n) SELECT i, counted_in_block(i, ''%1$I'') FROM generate_series(1, 5) i ON CONFLICT (id) DO UPDATE SET n = mod(EXCLUDED.n, 100) + 1');
SET shuttle.enable_write_buffer = off;
SELECT same('INSERT INTO %1$I (id, n) SELECT i, counted_in_block(i, ''%1$I'') FROM generate_series(1, 5) i ON CONFLICT (id) DO UPDATE SET n = mod(EXCLUDED.n, 100) + 1');
RESET shuttle.enable_write_buffer;
-- a cursor of its own makes the statement's rows be written, and their triggers' slots
CREATE FUNCTION counted_by_loop(int, text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	total int := 0;
	one int;
BEGIN
	FOR one IN EXECUTE format('SELECT n FROM %I WHERE id <= $1', $2) USING $1 LOOP
		total := total + one;
	END LOOP;
	RETURN total;
END $$;
SELECT same('INSERT INTO %1$I (id, n) VALUES (1, 2), (2, counted_by_loop(3, ''%1$I'')) ON CONFLICT (id) DO UPDATE SET n = mod(EXCLUDED.n, 100) + 1');

-- into a view
CREATE VIEW item_view AS SELECT id AS key, n AS number FROM item;
CREATE VIEW twin_view AS SELECT id AS key, n AS number FROM twin;
SELECT same('INSERT INTO %1$I AS v VALUES (1, 2), (8000, 3) ON CONFLICT (key) DO UPDATE SET number = EXCLUDED.number + v.number RETURNING *', 'item_view', 'twin_view');

-- kept plans, and requests: three for each tablet, whatever the number of rows
CALL drop_both('see_first');
CALL drop_both('see_statement');
CALL drop_both('see_after');
CALL drop_both('see_when');
-- a trigger of updates alone sees whole rows, too
CALL trigger_both('see_updated', 'AFTER UPDATE ON %I FOR EACH ROW EXECUTE FUNCTION see()');
SELECT same('INSERT INTO %1$I (id, n) VALUES (1, 2), (6000, 3) ON CONFLICT (id) DO UPDATE SET n = EXCLUDED.n');
SELECT same('INSERT INTO %1$I (id, n) VALUES (1, 2), (6000, 3) ON CONFLICT (id) DO UPDATE SET n = 9 RETURNING n');
CALL drop_both('see_updated');
SET plan_cache_mode = force_generic_plan;
PREPARE one (int, text) AS INSERT INTO item (id, email) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET email = EXCLUDED.email || $2 RETURNING email, at;
EXECUTE one (1, 'X');
EXECUTE one (6000, 'Y');
EXECUTE one (6000, 'Z');
DEALLOCATE one;
RESET plan_cache_mode;
CREATE FUNCTION requests(statement text) RETURNS TABLE (of text, n text) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, DIST, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || statement INTO plan;
	RETURN QUERY SELECT k, sum(v::text::int)::text
		FROM unnest(ARRAY['Storage Write Requests', 'Storage Flush Requests']) k, jsonb_path_query(plan, ('strict $.**."' || k || '"')::jsonpath) v GROUP BY k
		UNION ALL SELECT k, jsonb_path_query_first(plan, ('$.**."' || k || '"')::jsonpath)::text
		FROM unnest(ARRAY['Conflict Resolution', 'Conflict Filter', 'Tuples Inserted', 'Conflicting Tuples', 'Rows Removed by Conflict Filter']) k;
END $$;
SELECT * FROM requests('INSERT INTO item (id, n) SELECT i, 5 FROM generate_series(1, 1200) i ON CONFLICT (id) DO UPDATE SET n = EXCLUDED.n WHERE item.id > 10');
SELECT * FROM requests('INSERT INTO item (id, n) SELECT i, 5 FROM generate_series(1, 20) i ON CONFLICT (id) DO UPDATE SET n = EXCLUDED.n WHERE item.id > 10');
EXPLAIN (VERBOSE, COSTS OFF) INSERT INTO item (id, n) VALUES (1, 2) ON CONFLICT (id) DO UPDATE SET n = EXCLUDED.n + item.n WHERE item.n < EXCLUDED.n;

-- what is refused
\set VERBOSITY default
INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = (SELECT 1);
INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET email = item.ctid::text;
CREATE FUNCTION largest() RETURNS int LANGUAGE sql STABLE AS 'SELECT max(n) FROM item';
INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = largest();
\set VERBOSITY terse
SELECT * FROM shuttle.check();
