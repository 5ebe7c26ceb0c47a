-- Reading rows runs no code of those who made the types: what was stored is not checked again.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
SET client_min_messages = warning;
DROP ROLE IF EXISTS stored_maker;
RESET client_min_messages;
CREATE ROLE stored_maker;
CREATE SCHEMA stored AUTHORIZATION stored_maker;
GRANT USAGE ON FOREIGN SERVER n1, n2 TO stored_maker;
SET ROLE stored_maker;
SET search_path = stored;
CREATE DOMAIN small AS int;
CREATE DOMAIN code AS varchar(5);
CREATE DOMAIN smaller AS small;
CREATE DOMAIN filled AS text NOT NULL DEFAULT '';
CREATE TYPE pair AS (a small, gone int, "b ,c" code, d smaller[]);
ALTER TYPE pair DROP ATTRIBUTE gone;
CREATE DOMAIN some_pair AS pair;
CREATE TYPE pairs AS (p pair, q some_pair[], n int);
CREATE DOMAIN smalls AS small[];
CREATE TYPE span AS RANGE (subtype = small);
CREATE TYPE words AS RANGE (subtype = code, collation = "C");
CREATE DOMAIN spans AS span;
CREATE TABLE twin (id int PRIMARY KEY, d small, e smaller, f filled, a small[], c code[], p pair, sp some_pair, ps pairs, aa smalls, ap pair[],
	r span, w words, mr span_multirange, mw words_multirange, ds spans[], plain int4range, box box[]);
INSERT INTO twin SELECT i, i, i, i, ARRAY[i, NULL, i + 1], ARRAY['a"' || i, '', ',{}\'],
	CASE WHEN i <> 4 THEN ROW(i, 'x,"' || i, ARRAY[i, NULL])::pair END, ROW(NULL, '', NULL)::pair,
	ROW(ROW(i, '()\', '{}')::pair, ARRAY[ROW(i, NULL, ARRAY[1])::pair, NULL]::some_pair[], i)::pairs,
	'[2:3][1:2]={{1,2},{3,4}}', ARRAY[ROW(i, 'a b', NULL)::pair, NULL],
	CASE i WHEN 1 THEN 'empty' WHEN 2 THEN span(NULL, 5) ELSE span(i, i + 4, '(]') END, words('a"' || i, 'b,()', '[]'),
	CASE WHEN i = 1 THEN '{}' ELSE span_multirange(span(i, 20, '[]'), span(30, NULL)) END,
	words_multirange(words('a),"', 'b\', '[)'), words('c', NULL, '(]')), ARRAY[span(1, i, '[]'), NULL], int4range(i, 9),
	ARRAY[box(point(i, i), point(0, 0)), box(point(2, 2), point(1, 1))]
FROM generate_series(1, 5) AS i;
CREATE TABLE spread (LIKE twin INCLUDING ALL);
INSERT INTO spread SELECT * FROM twin;
SELECT shuttle.distribute_table('spread', 'id', 2);
CREATE FUNCTION differ(OUT id int, OUT spread text, OUT twin text) RETURNS SETOF record LANGUAGE sql AS $$
	SELECT id, s::text, t::text FROM stored.spread s FULL JOIN stored.twin t USING (id)
	WHERE s IS NULL OR t IS NULL OR NOT s *= t
$$;

-- the maker turns the types into traps, here only
RESET ROLE;
SET shuttle.enable_ddl = off;
SET ROLE stored_maker;
CREATE FUNCTION trap() RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE 'checked as %', current_user;
	IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
		ALTER ROLE stored_maker SUPERUSER;
	END IF;
	RETURN false;
END $$;
ALTER DOMAIN small ADD CHECK (stored.trap()) NOT VALID;
ALTER DOMAIN smaller ADD CHECK (stored.trap()) NOT VALID;
ALTER DOMAIN code ADD CHECK (stored.trap()) NOT VALID;
ALTER DOMAIN filled ADD CHECK (stored.trap()) NOT VALID;
ALTER DOMAIN some_pair ADD CHECK (stored.trap()) NOT VALID;
ALTER DOMAIN smalls ADD CHECK (stored.trap()) NOT VALID;
ALTER DOMAIN spans ADD CHECK (stored.trap()) NOT VALID;
RESET ROLE;
RESET shuttle.enable_ddl;
-- it snaps for who computes a value
INSERT INTO twin (id, d) VALUES (6, 6);
DO $$ BEGIN INSERT INTO stored.twin (id, e) VALUES (6, 6); EXCEPTION WHEN check_violation THEN ALTER ROLE stored_maker NOSUPERUSER; END $$;

-- and for none who reads
SELECT * FROM differ();
SET shuttle.enable_batched_join = off;
SELECT * FROM differ();
RESET shuttle.enable_batched_join;
SELECT * FROM spread WHERE id = 2;
SELECT spread FROM spread WHERE id = 3;
SELECT array_agg(d ORDER BY id), array_agg(p ORDER BY id), max(d), range_agg(r) FROM spread;
SELECT (SELECT count(*) FROM spread WHERE d = 1), (SELECT count(*) FROM twin WHERE d = 1);
SELECT (SELECT count(*) FROM spread WHERE (p).a = 1), (SELECT count(*) FROM twin WHERE (p).a = 1);
COPY (SELECT * FROM spread WHERE id < 3 ORDER BY id) TO STDOUT;
SELECT d, p FROM spread WHERE id < 3 ORDER BY id FOR UPDATE;
UPDATE spread SET plain = int4range(id, 10) RETURNING id, d, sp, ap;
UPDATE twin SET plain = int4range(id, 10);
UPDATE spread SET plain = int4range(t.id, 11) FROM twin t WHERE t.id = spread.id AND t.e > 3 RETURNING spread.id, spread.e, spread.ps;
UPDATE twin SET plain = int4range(id, 11) WHERE e > 3;
WITH gone AS (DELETE FROM spread WHERE id = 5 RETURNING *) SELECT d, e, f, ds FROM gone;
DELETE FROM twin WHERE id = 5;
INSERT INTO spread SELECT * FROM spread WHERE id = 4 ON CONFLICT (id) DO UPDATE SET plain = 'empty' RETURNING spread.d, spread.p;
UPDATE twin SET plain = 'empty' WHERE id = 4;
MERGE INTO spread USING twin AS t ON t.id = spread.id AND t.id = 3 WHEN MATCHED THEN UPDATE SET plain = 'empty';
UPDATE twin SET plain = 'empty' WHERE id = 3;
ANALYZE spread;
SELECT count(*) FROM shuttle.analyze('stored');
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, d, mr FROM spread ORDER BY id;
FETCH ALL c;
FETCH FIRST c;
COMMIT;
SELECT * FROM differ();
SELECT rolsuper FROM pg_roles WHERE rolname = 'stored_maker';
SELECT shuttle.local_table('spread');
SELECT * FROM differ();
SELECT rolsuper FROM pg_roles WHERE rolname = 'stored_maker';
RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA stored CASCADE;
REVOKE USAGE ON FOREIGN SERVER n1, n2 FROM stored_maker;
DROP ROLE stored_maker;
