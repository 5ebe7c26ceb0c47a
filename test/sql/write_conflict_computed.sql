-- ON CONFLICT DO UPDATE into a distributed table, with values that are computed here for each row,
-- does what it does on a local table.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1') AS a, shuttle.use_node('n2') AS b;
SET shuttle.tablets = 4;
SET client_min_messages = warning;
CREATE TABLE item (id int PRIMARY KEY, email text, n int DEFAULT 7, at timestamptz, doc jsonb);
CREATE TABLE twin (LIKE item INCLUDING ALL);
SELECT shuttle.distribute_table('item', 'id');
RESET client_min_messages;
CREATE FUNCTION clean(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN lower(btrim($1)); END';
CREATE FUNCTION mark() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.n := NEW.n * 2; RETURN NEW; END';

-- Runs a statement for both tables and compares what it returns and what they hold then.
CREATE FUNCTION same(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	told text[] := '{}';
	name text;
	answer text;
	ndifferent bigint;
BEGIN
	FOREACH name IN ARRAY ARRAY['item', 'twin'] LOOP
		BEGIN
			EXECUTE format('WITH w AS (' || statement || ' RETURNING %1$I.*) SELECT array_agg(w::text ORDER BY w::text) FROM w', name) INTO answer;
		EXCEPTION WHEN OTHERS THEN
			answer := SQLSTATE;
		END;
		told := told || coalesce(answer, '{}');
	END LOOP;
	SELECT count(*) INTO ndifferent FROM (
		(TABLE item EXCEPT ALL TABLE twin) UNION ALL (TABLE twin EXCEPT ALL TABLE item)) AS d;
	RETURN CASE WHEN told[1] = told[2] AND ndifferent = 0 THEN 'same: ' || CASE WHEN told[1] LIKE '{%' THEN
		cardinality(told[1]::text[]) || ' rows' ELSE told[1] END ELSE ndifferent || ' differ: ' || told::text END;
END $$;
CREATE FUNCTION upsert(ids text, tail text) RETURNS text LANGUAGE sql AS $$
	SELECT same(format('INSERT INTO %%1$I (id, email, n, at) SELECT mod(i, 1000), '' A'' || i, i, ''2024-05-06 07:08:09+00'' FROM generate_series(%s) i ON CONFLICT (id) DO ', ids) || tail) $$;
SELECT upsert('1, 40', 'NOTHING');
SELECT upsert('21, 60', 'UPDATE SET doc = jsonb_build_object(''email'', clean(EXCLUDED.email), ''at'', EXCLUDED.at), email = concat(EXCLUDED.id, EXCLUDED.at)');
SELECT upsert('1, 80', 'UPDATE SET doc = to_jsonb(EXCLUDED), n = %1$I.n + length(format(''%%s'', EXCLUDED.at)) WHERE %1$I.n > 10');
SELECT upsert('1, 80', 'UPDATE SET email = clean(EXCLUDED.email) || %1$I.email WHERE to_char(EXCLUDED.n, ''FM99'') <> ''7''');
SELECT upsert('900, 1010', 'UPDATE SET doc = to_jsonb(EXCLUDED.n)');
SELECT upsert('990, 2010', 'UPDATE SET doc = to_jsonb(EXCLUDED.n)');
CREATE TRIGGER mark BEFORE INSERT ON item FOR EACH ROW EXECUTE FUNCTION mark();
CREATE TRIGGER mark BEFORE INSERT ON twin FOR EACH ROW EXECUTE FUNCTION mark();
SELECT upsert('1, 20', 'UPDATE SET doc = jsonb_build_array(EXCLUDED.n, EXCLUDED.id)');
DROP TRIGGER mark ON item;
DROP TRIGGER mark ON twin;
SELECT same('INSERT INTO %1$I (id) VALUES (5) ON CONFLICT (id) DO UPDATE SET doc = jsonb_build_object(''n'', EXCLUDED.n)');

-- kept plans: one row by its key, and several
SET plan_cache_mode = force_generic_plan;
PREPARE one (int, text) AS INSERT INTO item (id, email) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET email = clean(EXCLUDED.email), doc = jsonb_build_object('by', $2) RETURNING email, doc;
EXECUTE one (1, ' X ');
EXECUTE one (2000, ' Y ');
EXECUTE one (2000, ' Z ');
PREPARE more (int, int) AS INSERT INTO item (id, n) SELECT i, i FROM generate_series($1, $2) i ON CONFLICT (id) DO UPDATE SET doc = jsonb_build_object('to', $2, 'n', EXCLUDED.n) RETURNING id, doc;
EXECUTE more (1, 2);
EXECUTE more (3, 3);
SELECT * FROM shuttle.check();
