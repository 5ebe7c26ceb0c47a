-- Deferrable unique constraints of reference tables are checked when those of an ordinary table are. Copies get
-- rows one after the other, and check them last.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
CREATE SCHEMA plain;
CREATE TABLE kind (id int PRIMARY KEY, code int UNIQUE DEFERRABLE, rank int);
ALTER TABLE kind ADD CONSTRAINT kind_rank UNIQUE (rank) DEFERRABLE INITIALLY DEFERRED;
CREATE TABLE plain.kind (LIKE kind);
ALTER TABLE plain.kind ADD PRIMARY KEY (id), ADD CONSTRAINT kind_code_key UNIQUE (code) DEFERRABLE,
	ADD CONSTRAINT kind_rank UNIQUE (rank) DEFERRABLE INITIALLY DEFERRED;
CREATE TABLE item (id int PRIMARY KEY, kind_id int CONSTRAINT item_kind REFERENCES kind DEFERRABLE);
INSERT INTO kind SELECT i, i, i FROM generate_series(1, 6) AS i;
INSERT INTO plain.kind TABLE kind;
SELECT shuttle.reference_table('kind');
SELECT shuttle.distribute_table('item', 'id', 2);
SELECT server, error, result FROM shuttle.run_on_nodes($$SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'shop.kind'::regclass AND contype = 'u' ORDER BY 1$$, '{n1}');

-- Each script is run on both, in a transaction: what each statement came to, and the rows then.
CREATE FUNCTION script(side text, statements text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	told text := '';
	statement text;
BEGIN
	PERFORM set_config('search_path', side || ', shop', true);
	BEGIN
		FOREACH statement IN ARRAY statements LOOP
			told := told || left(statement, 3) || ' ';
			EXECUTE statement;
		END LOOP;
		SET CONSTRAINTS ALL IMMEDIATE;
		-- copies have the same rows
		IF side = 'shop' AND EXISTS (SELECT FROM shuttle.check()) THEN
			told := told || 'other copies ';
		END IF;
		told := told || (SELECT string_agg(format('%s-%s-%s', id, code, rank), ' ' ORDER BY id) FROM kind);
		RAISE EXCEPTION USING ERRCODE = 'ZZ000';
	EXCEPTION
		WHEN SQLSTATE 'ZZ000' THEN
			RETURN told;
		WHEN OTHERS THEN
			RETURN told || SQLSTATE || ' ' || SQLERRM;
	END;
END $$;
CREATE TABLE scripts (n serial, statements text[]);
INSERT INTO scripts (statements) VALUES
	('{UPDATE kind SET code = 7 - code}'),
	('{UPDATE kind SET code = 7 - code\, id = id + 10}'),
	('{UPDATE kind SET id = id + 10\, code = code % 6 + 1\, rank = rank % 6 + 1}'),
	('{UPDATE kind SET code = code % 6 + 1 WHERE id < 10, UPDATE kind SET rank = 7 - rank}'),
	('{UPDATE kind SET code = 2 WHERE id = 1}'),
	('{SET CONSTRAINTS kind_code_key DEFERRED, UPDATE kind SET code = 2 WHERE id = 1, UPDATE kind SET code = 1 WHERE id = 2}'),
	('{SET CONSTRAINTS kind_code_key DEFERRED, UPDATE kind SET code = 2 WHERE id = 1}'),
	('{SET CONSTRAINTS kind_code_key DEFERRED, UPDATE kind SET code = 2 WHERE id = 1, SET CONSTRAINTS kind_code_key IMMEDIATE}'),
	('{SET CONSTRAINTS kind_rank IMMEDIATE, UPDATE kind SET rank = 2 WHERE id = 1}'),
	('{SET CONSTRAINTS ALL IMMEDIATE, UPDATE kind SET rank = 7 - rank\, code = 7 - code\, id = id + 10}'),
	('{SET CONSTRAINTS ALL IMMEDIATE, UPDATE kind SET rank = 2 WHERE id = 1}'),
	('{SET CONSTRAINTS ALL DEFERRED, UPDATE kind SET rank = 2 WHERE id = 1, DELETE FROM kind WHERE id = 2, INSERT INTO kind VALUES (2\, 2\, 1)}'),
	('{UPDATE kind SET rank = 2 WHERE id = 1, UPDATE kind SET rank = 1 WHERE id = 2}'),
	('{DELETE FROM kind WHERE id = 1, INSERT INTO kind VALUES (11\, 1\, 1), UPDATE kind SET code = 12 - code WHERE code IN (1\, 11)}'),
	('{INSERT INTO kind VALUES (1\, 9\, 9) ON CONFLICT (id) DO UPDATE SET code = 9, UPDATE kind SET code = code + 1}'),
	('{WITH d AS (DELETE FROM kind WHERE id < 3 RETURNING *) INSERT INTO kind SELECT id + 20\, 3 - code\, 3 - rank FROM d}');
SELECT n, statements, script('plain', statements) = script('shop', statements) AS same, script('shop', statements) AS outcome FROM scripts ORDER BY n;

-- a foreign key on nodes, by its name, and constraints that are added and dropped later
ALTER TABLE kind ADD COLUMN word text, ADD CONSTRAINT kind_word UNIQUE (word) DEFERRABLE;
UPDATE kind SET word = id;
INSERT INTO item SELECT i, i FROM generate_series(1, 6) AS i;
BEGIN;
SET CONSTRAINTS item_kind DEFERRED;
SET CONSTRAINTS item_kind IMMEDIATE;
DELETE FROM item WHERE id > 3;
UPDATE kind SET id = CASE WHEN id > 3 THEN id + 10 ELSE id END, word = 7 - id;
SELECT i.id, k.word FROM item AS i JOIN kind AS k ON k.id = i.kind_id ORDER BY 1;
COMMIT;
SELECT * FROM shuttle.check();
ALTER TABLE kind DROP CONSTRAINT kind_rank;
SELECT * FROM shuttle.check();
-- what was made before
SELECT server, ok, error FROM shuttle.run_on_nodes('ALTER TABLE shop.kind DROP CONSTRAINT kind_word; ALTER TABLE shop.kind ADD CONSTRAINT kind_word UNIQUE (word) DEFERRABLE', '{n1,n2}') ORDER BY 1;
SELECT problem, repaired FROM shuttle.check() ORDER BY 1;
DROP SCHEMA plain CASCADE;
DROP SCHEMA shop CASCADE;
