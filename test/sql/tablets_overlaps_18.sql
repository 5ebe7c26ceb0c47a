-- ON CONFLICT names a key WITHOUT OVERLAPS, which 18 has: no columns stand for it, and a tablet's has another name.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1') AS a, shuttle.use_node('n2') AS b;
CREATE SCHEMA plain;
-- what statements come to, there and in a plain table; older servers have no such key
CREATE FUNCTION outcome(statement text, path text, OUT text) LANGUAGE plpgsql AS $$
DECLARE
	nrows int;
BEGIN
	PERFORM set_config('search_path', path, true);
	EXECUTE statement;
	GET DIAGNOSTICS nrows = ROW_COUNT;
	$3 := nrows;
	PERFORM set_config('search_path', 'shop', true);
EXCEPTION WHEN OTHERS THEN
	$3 := sqlstate || ' ' || sqlerrm;
END $$;
-- 15 has no such syntax
SET check_function_bodies = off;
CREATE FUNCTION compare() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	key text := 'ON CONFLICT ON CONSTRAINT booked_key DO NOTHING';
	statement text;
	ours text;
	theirs text;
BEGIN
	IF current_setting('server_version_num')::int < 180000 THEN
		RETURN;
	END IF;
	CREATE TABLE booked (id int4range, at daterange, note text, CONSTRAINT booked_key PRIMARY KEY (id, at WITHOUT OVERLAPS));
	CREATE TABLE plain.booked (LIKE booked INCLUDING ALL);
	ALTER TABLE plain.booked RENAME CONSTRAINT booked_pkey TO booked_key;
	PERFORM shuttle.distribute_table('booked', 'id', 4);
	FOREACH statement IN ARRAY ARRAY[
		$s$INSERT INTO booked SELECT int4range(i, i, '[]'), '[2020-01-01,2020-02-01)', 'first' FROM generate_series(1, 20) AS i $s$ || key,
		$s$INSERT INTO booked VALUES ('[3,3]', '[2020-01-20,2020-03-01)', 'second') $s$ || key,
		$s$INSERT INTO booked VALUES ('[3,3]', '[2020-02-01,2020-03-01)', 'second') $s$ || key || ' RETURNING at',
		$s$INSERT INTO booked SELECT int4range(i, i, '[]'), '[2020-01-15,2020-03-01)', 'third' FROM generate_series(15, 25) AS i $s$ || key,
		$s$INSERT INTO booked VALUES ('[4,4]', '[2020-01-01,2020-03-01)') ON CONFLICT ON CONSTRAINT booked_key DO UPDATE SET note = 'x'$s$,
		$s$INSERT INTO booked VALUES ('[4,4]', '[2020-01-01,2020-03-01)') ON CONFLICT (id, at) DO NOTHING$s$,
		$s$INSERT INTO booked VALUES ('[4,4]', 'empty') $s$ || key] LOOP
		ours := outcome(statement, 'shop');
		theirs := outcome(statement, 'plain');
		IF ours <> theirs AND replace(ours, 'booked_t', '') <> theirs THEN
			RAISE WARNING '%: %, and not %', statement, ours, theirs;
		END IF;
	END LOOP;
	RETURN QUERY (SELECT b::text FROM booked AS b EXCEPT ALL SELECT b::text FROM plain.booked AS b)
		UNION ALL (SELECT b::text FROM plain.booked AS b EXCEPT ALL SELECT b::text FROM booked AS b);
	IF (SELECT count(*) FROM booked) <> 26 THEN
		RETURN NEXT (SELECT count(*) FROM booked);
	END IF;

	-- another key that a row can be in conflict with
	ALTER TABLE booked ADD UNIQUE (id, note);
	ours := outcome($s$INSERT INTO booked VALUES ('[4,4]', '[2020-01-01,2020-03-01)', 'first') $s$ || key, 'shop');
	IF ours NOT LIKE '0A000 ON CONFLICT of an INSERT into "booked" cannot be left to storage nodes' THEN
		RETURN NEXT ours;
	END IF;
END $$;
SELECT * FROM compare();
