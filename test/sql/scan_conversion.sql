-- A value that cannot be converted is named as the statement names it.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
CREATE TABLE node.word (id int, w text);
INSERT INTO node.word VALUES (1, 'one'), (2, 'x');
CREATE FOREIGN TABLE ours.word (id int, number int OPTIONS (column_name 'w')) SERVER our_node OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE stock.word (id int, number int OPTIONS (column_name 'w')) SERVER stock_node OPTIONS (schema_name 'node');
CREATE FUNCTION pair.context(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	context text;
	side text;
	contexts text[];
BEGIN
	FOREACH side IN ARRAY '{stock,ours}'::text[] LOOP
		BEGIN
			PERFORM set_config('search_path', side, true);
			EXECUTE query;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
			contexts := contexts || split_part(context, E'\n', 1);
		END;
	END LOOP;
	RETURN CASE WHEN contexts[1] = contexts[2] THEN 'same: ' ELSE contexts[1] || ' OURS ' END || contexts[2];
END $$;
SELECT pair.context(query) FROM unnest(ARRAY[
	'SELECT * FROM word WHERE id = 1',
	'SELECT * FROM word w (x1, x2) WHERE x1 = 1',
	'SELECT w.x2, b.id FROM word w (x1, x2), branch b WHERE b.id = w.x1 AND b.id = 1',
	'SELECT w, b.id FROM word w (x1, x2), branch b WHERE b.id = w.x1 AND b.id = 1',
	'SELECT count(*), min(x2) FROM word w (x1, x2)',
	'UPDATE word SET id = 3 WHERE id = 1 RETURNING number',
	'UPDATE word w SET id = 3 FROM branch b WHERE b.id = w.id AND b.id = 1 RETURNING w.number',
	'UPDATE word SET id = 3 WHERE pair.here(id) = 1 RETURNING number',
	'ANALYZE word']) AS query;
-- and in a batch
SET search_path = ours;
SET shuttle.enable_batched_join = on;
SET shuttle.debug_force_batched_join = on;
\set VERBOSITY default
SELECT v.i, w.x2 FROM (VALUES (1), (2)) v (i) JOIN word w (x1, x2) ON w.x1 = v.i;

-- all partitions have one alias: the second line of the context names the table and its node
CREATE TABLE ours.words (id int, number int) PARTITION BY LIST (id);
CREATE FOREIGN TABLE ours.words_1 PARTITION OF ours.words FOR VALUES IN (1) SERVER our_node OPTIONS (schema_name 'node', table_name 'word_parts');
CREATE FOREIGN TABLE ours.words_2 PARTITION OF ours.words FOR VALUES IN (2) SERVER our_node OPTIONS (schema_name 'node', table_name 'word_parts');
CREATE VIEW node.word_parts AS SELECT id, CASE WHEN id = 1 THEN '1' ELSE w END AS number FROM node.word;
SELECT * FROM ours.words w WHERE id = 2;

-- also where no scan asks: rows that are written and returned, and samples
CREATE TABLE node.unlike (id int, number text);
INSERT INTO node.unlike VALUES (1, '1'), (3, 'three');
CREATE FUNCTION node.spell() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.number := 'three'; RETURN NEW; END$$;
CREATE TRIGGER spell BEFORE INSERT OR UPDATE ON node.unlike FOR EACH ROW EXECUTE FUNCTION node.spell();
CREATE FOREIGN TABLE ours.words_3 PARTITION OF ours.words FOR VALUES IN (3) SERVER our_node OPTIONS (schema_name 'node', table_name 'unlike');
DELETE FROM ours.words WHERE id = 3 RETURNING number;
INSERT INTO ours.words VALUES (3, 3), (3, 4) RETURNING number;
SET shuttle.enable_write_buffer = off;
INSERT INTO ours.words VALUES (3, 3) RETURNING number;
RESET shuttle.enable_write_buffer;
UPDATE ours.words w SET number = v.i FROM (VALUES (3, 3), (4, 4)) v (i, id) WHERE v.i = w.id RETURNING w.number;
ANALYZE ours.words_3;

-- what the session has set for its own texts is nothing to those of a node
RESET shuttle.debug_force_batched_join;
CREATE TABLE node.texts (id int, t text[], r real[], x xml);
CREATE FOREIGN TABLE ours.texts (id int, t text[], r real[], x xml) SERVER our_node OPTIONS (schema_name 'node');
INSERT INTO ours.texts VALUES (1, '{a,NULL}', '{1,NULL}');
-- where the server knows xml
DO $$
BEGIN
	UPDATE node.texts SET x = 'no <b>document</b>';
EXCEPTION WHEN feature_not_supported THEN
END $$;
SET array_nulls = off;
SET xmloption = document;
SELECT id, t[2] IS NULL AS t, r[2] IS NULL AS r, coalesce(x::text, 'no <b>document</b>') AS x FROM ours.texts;
UPDATE ours.texts SET id = pair.here(2) + random() * 0 RETURNING t[2] IS NULL AS t, r[2] IS NULL AS r, coalesce(x::text, 'no <b>document</b>') AS x;
SELECT t[2] IS NULL AS t, r[2] IS NULL AS r FROM node.texts;
RESET array_nulls;
RESET xmloption;
