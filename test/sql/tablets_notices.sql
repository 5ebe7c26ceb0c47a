-- Messages of nodes come once, as those of one server do: what several nodes say alike, and what is parsed here twice.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n3');
CREATE TABLE t (id int PRIMARY KEY, v int);
SELECT shuttle.distribute_table('t', 'id', 3);
INSERT INTO t VALUES (1, 7), (2, 7), (3, 8);
ALTER TABLE t DROP CONSTRAINT IF EXISTS nothing;
ALTER TABLE t DROP CONSTRAINT IF EXISTS nothing, DROP CONSTRAINT IF EXISTS nothing2, DROP CONSTRAINT IF EXISTS nothing;
-- what code says of a row
CREATE FUNCTION talk(a int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE NOTICE 'talk'; RETURN a; END $$;
INSERT INTO t SELECT i, 7 FROM generate_series(4, 9) AS i;
ALTER TABLE t ADD COLUMN g int GENERATED ALWAYS AS (talk(v)) STORED;
-- what it says in front of an error
CREATE FUNCTION fails(a int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE NOTICE 'before'; RAISE EXCEPTION 'fails'; END $$;
CREATE TABLE one (id int PRIMARY KEY, v int);
SELECT shuttle.distribute_table('one', 'id', 3);
INSERT INTO one VALUES (1, 7);
ALTER TABLE one ADD COLUMN g int GENERATED ALWAYS AS (fails(v)) STORED;
-- the body of a function that is looked at, and then runs here
CREATE FUNCTION looked(a int) RETURNS int LANGUAGE sql AS
	'SELECT v AS a_column_with_a_name_that_is_longer_than_the_sixty_three_bytes_that_it_may_have FROM shop.t WHERE id = a';
CREATE FUNCTION plain(a int) RETURNS int LANGUAGE sql AS
	'SELECT v AS a_column_with_a_name_that_is_longer_than_the_sixty_three_bytes_that_it_may_have FROM shop.t WHERE id = a';
SELECT shuttle.distribute_function('looked(int)', 'a');
SELECT plain(1);
SELECT looked(1);
\c
SET search_path = shop;
SELECT plain(1);
SELECT looked(1);
DROP SCHEMA shop CASCADE;
