-- ON CONFLICT DO UPDATE that uses virtual generated columns of the stored row and of EXCLUDED, beside an ordinary table.
-- write_conflict_virtual_18_1.out: older versions have no such columns.
SELECT current_setting('server_version_num')::int < 180000 AS is_older \gset
\if :is_older
\quit
\endif
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1') AS a, shuttle.use_node('n2') AS b;
CREATE SCHEMA plain;
CREATE TABLE shop.item (id int PRIMARY KEY, gone int, v int, w int GENERATED ALWAYS AS (v * 2) VIRTUAL, name text);
ALTER TABLE shop.item DROP COLUMN gone;
CREATE TABLE plain.item (LIKE shop.item INCLUDING ALL);
SELECT shuttle.distribute_table('item', 'id', tablets => 4);
INSERT INTO shop.item (id, v, name) SELECT i, i, 'n' FROM generate_series(1, 10) AS i;
INSERT INTO plain.item (id, v, name) SELECT i, i, 'n' FROM generate_series(1, 10) AS i;
CREATE FUNCTION public.outcome(side text, action text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	rows text;
BEGIN
	PERFORM set_config('search_path', side, true);
	BEGIN
		EXECUTE format('WITH i AS (INSERT INTO item (id, v) VALUES (1, 100), (2, 200), (20, 3) ON CONFLICT (id) DO UPDATE SET %s RETURNING *)
			SELECT string_agg(i::text, '' '' ORDER BY id) FROM i', action) INTO rows;
		RAISE EXCEPTION USING ERRCODE = 'ZZ000';
	EXCEPTION
		WHEN SQLSTATE 'ZZ000' THEN
			RETURN rows;
		WHEN OTHERS THEN
			RETURN SQLSTATE || ' ' || SQLERRM;
	END;
END $$;
SELECT action, public.outcome('shop', action), public.outcome('shop', action) = public.outcome('plain', action) AS same FROM unnest(ARRAY[
	'name = concat(item.w)', 'name = concat(EXCLUDED.w)', 'v = item.w', 'v = EXCLUDED.w + item.w', 'name = item::text', 'name = EXCLUDED::text',
	'v = 5 WHERE item.w > 3', 'v = (SELECT count(*) FROM item AS i WHERE i.w < item.w)', 'v = (SELECT max(i.w) FROM item AS i WHERE i.v < EXCLUDED.w)',
	'w = DEFAULT', 'v = (SELECT 1), w = DEFAULT']) AS action;
DROP SCHEMA plain, shop CASCADE;
