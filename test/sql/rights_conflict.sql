-- ON CONFLICT wants the privileges that core wants, also where a node executes the statement as a whole:
-- the answers of an ordinary table, a reference table and a distributed one.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
CREATE TABLE d (id int PRIMARY KEY, a int, g int, t text);
CREATE TABLE r (id int PRIMARY KEY, a int, g int, t text);
CREATE TABLE l (id int PRIMARY KEY, a int, g int, t text);
SELECT shuttle.distribute_table('d', 'id');
SELECT shuttle.reference_table('r');
INSERT INTO d SELECT i, i, i, i FROM generate_series(1, 10) AS i;
INSERT INTO r SELECT i, i, i, i FROM generate_series(1, 10) AS i;
INSERT INTO l SELECT i, i, i, i FROM generate_series(1, 10) AS i;
CREATE VIEW d_view AS SELECT * FROM d;
CREATE VIEW r_view AS SELECT * FROM r;
CREATE VIEW l_view AS SELECT * FROM l;
CREATE ROLE rights_clerk;
GRANT USAGE ON SCHEMA shop TO rights_clerk;
GRANT INSERT, UPDATE, SELECT (id, a) ON d, r, l, d_view, r_view, l_view TO rights_clerk;
CREATE FUNCTION outcomes(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r text;
	t text;
BEGIN
	FOREACH t IN ARRAY '{l,r,d}'::text[] LOOP
		BEGIN
			EXECUTE format(q, t);
			r := concat_ws(' ', r, 'done');
		EXCEPTION WHEN OTHERS THEN
			r := concat_ws(' ', r, SQLSTATE);
		END;
	END LOOP;
	RETURN r;
END $$;
GRANT ALL ON FUNCTION outcomes TO rights_clerk;
SET ROLE rights_clerk;
SELECT q, outcomes(q) FROM unnest(ARRAY[
	'INSERT INTO %1$s AS x (id, g) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET a = EXCLUDED.g',
	'INSERT INTO %1$s AS x (id, a) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET g = EXCLUDED.a',
	'INSERT INTO %1$s AS x (id, a) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET g = 3',
	'INSERT INTO %1$s AS x (id, a) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET a = 3 WHERE EXCLUDED.g = 1',
	'INSERT INTO %1$s AS x (id, a) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET a = 3 WHERE x.g = 1',
	'INSERT INTO %1$s AS x (id, a) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET a = x.g',
	'INSERT INTO %1$s AS x (id, a) VALUES (1, 5), (2, 6) ON CONFLICT (id) DO UPDATE SET a = EXCLUDED.g',
	'INSERT INTO %1$s AS x (id, a) SELECT id, 5 FROM %1$s ON CONFLICT (id) DO UPDATE SET a = EXCLUDED.g',
	'INSERT INTO %1$s AS x (id, a) SELECT id, 5 FROM %1$s WHERE id = 3 ON CONFLICT (id) DO UPDATE SET a = EXCLUDED.g',
	'INSERT INTO %1$s AS x (id, a) SELECT id, g FROM %1$s WHERE id = 3 ON CONFLICT (id) DO UPDATE SET a = EXCLUDED.a',
	'INSERT INTO %1$s AS x (id, a) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET t = EXCLUDED::text',
	'INSERT INTO %1$s AS x (id, a) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET (a, g) = (SELECT EXCLUDED.a, EXCLUDED.g)',
	'INSERT INTO %1$s AS x (id, a) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET (a, g) = (EXCLUDED.a, EXCLUDED.g)',
	'INSERT INTO %1$s AS x (id, a) VALUES (1, 5) ON CONFLICT (id) DO NOTHING RETURNING g',
	'INSERT INTO %1$s AS x (id, a) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET a = 1 RETURNING g',
	'INSERT INTO %1$s AS x (id, a) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET a = 1 RETURNING a',
	'INSERT INTO %1$s_view AS x (id, a) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET a = EXCLUDED.g',
	'INSERT INTO %1$s_view AS x (id, a) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET a = EXCLUDED.a',
	'WITH w AS (INSERT INTO %1$s AS x (id, a) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET a = EXCLUDED.g) SELECT 1'
]) AS q;
RESET ROLE;
REVOKE SELECT ON d, r, l FROM rights_clerk;
REVOKE SELECT (id) ON d, r, l FROM rights_clerk;
SET ROLE rights_clerk;
SELECT q, outcomes(q) FROM unnest(ARRAY[
	'INSERT INTO %1$s AS x (id, g) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET a = 1',
	'INSERT INTO %1$s AS x (id, g) VALUES (1, 5) ON CONFLICT ON CONSTRAINT %1$s_pkey DO UPDATE SET a = 1',
	'INSERT INTO %1$s AS x (id, g) VALUES (1, 5) ON CONFLICT DO NOTHING',
	'INSERT INTO %1$s AS x (id, g) VALUES (1, 5) ON CONFLICT (id) DO NOTHING'
]) AS q;
RESET ROLE;
DROP OWNED BY rights_clerk;
DROP ROLE rights_clerk;
DROP SCHEMA shop CASCADE;
