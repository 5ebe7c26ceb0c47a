-- What is constant in checks, indexes, statistics and domains is computed when they are read. Whatever we read them for, functions
-- of the table's owner run as the owner.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SET client_min_messages = warning;
DROP ROLE IF EXISTS constants_owner, constants_remote;
CREATE ROLE constants_owner;
CREATE ROLE constants_remote LOGIN;
GRANT CREATE ON DATABASE tablets_n1, tablets_n2, tablets_n3 TO constants_remote;
SELECT format('ALTER USER MAPPING FOR PUBLIC SERVER n%s OPTIONS (SET user ''constants_remote'', ADD password_required ''false'')', n) FROM generate_series(1, 3) AS n \gexec
GRANT USAGE ON FOREIGN SERVER n1, n2, n3 TO constants_owner;
CREATE SCHEMA constants AUTHORIZATION constants_owner;
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
SET ROLE constants_owner;
SET search_path = constants;
CREATE FUNCTION one(what text) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF current_database() !~ '^tablets_n' AND current_user <> 'constants_owner' THEN
		RAISE WARNING '% is computed as %', what, current_user;
	END IF;
	RETURN 1;
END $$;
CREATE DOMAIN d AS int CHECK (constants.one('domain') = 1);
-- analyzed, never analyzed, and to be referred to
SELECT format($f$
CREATE TABLE %1$s (id int PRIMARY KEY, v int CHECK (v > constants.one('check of %1$s') - 1), d d, code int,
	g int GENERATED ALWAYS AS (id + constants.one('generated column of %1$s')) STORED, CHECK (constants.one('constant check of %1$s') = 1));
CREATE INDEX %1$s_e ON %1$s ((v + constants.one('index of %1$s')));
CREATE INDEX %1$s_p ON %1$s (v) WHERE constants.one('predicate of %1$s') = 1;
CREATE UNIQUE INDEX %1$s_u ON %1$s ((code + constants.one('unique index of %1$s'))) WHERE code > constants.one('unique predicate of %1$s');
CREATE STATISTICS %1$s_s ON (v + constants.one('statistics of %1$s')), (v - 3) FROM %1$s;
ALTER TABLE %1$s ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON %1$s USING (constants.one('policy of %1$s') = 1);
INSERT INTO %1$s SELECT i, i, i, i + 100 FROM generate_series(1, 9) AS i;
$f$, n) FROM unnest('{t,u,r,q,l,m,k,o,p}'::text[]) AS n \gexec
ALTER TABLE k ADD FOREIGN KEY (v) REFERENCES m;
ALTER TABLE o ADD FOREIGN KEY (v) REFERENCES l;
CREATE TABLE w (id int, v int) PARTITION BY RANGE ((v + constants.one('partition key')));
CREATE TABLE w_1 PARTITION OF w FOR VALUES FROM (0) TO (100) PARTITION BY LIST ((v % constants.one('key of a partition')));
CREATE TABLE w_1_1 PARTITION OF w_1 FOR VALUES IN (0);
CREATE TABLE w_2 PARTITION OF w DEFAULT;
CREATE TABLE w_3 (LIKE w);
INSERT INTO w SELECT i, i FROM generate_series(1, 9) AS i;
ANALYZE q, m;
-- each statement in a session that has computed nothing yet
\set QUIET on
\set SHOW_CONTEXT never
\set VERBOSITY terse
\c
SELECT shuttle.distribute_table('constants.t', 'id', 2);
\c
SELECT shuttle.reference_table('constants.r');
\c
SELECT count(*) > 0 FROM shuttle.advise();
\c
ALTER TABLE constants.u ADD FOREIGN KEY (v) REFERENCES constants.t;
\c
ALTER TABLE constants.t ADD FOREIGN KEY (v) REFERENCES constants.l;
\c
SELECT * FROM shuttle.check();
\c
ANALYZE constants.t, constants.r;
\c
SELECT shuttle.distribute_tables('{constants.m.id,constants.k.v}');
\c
SELECT shuttle.local_tables('{constants.m,constants.k}');
\c
SELECT shuttle.table_size('constants.t') > 0;
\c
SELECT count(*) FROM shuttle.use_node('n3');
\c
SELECT * FROM shuttle.check(repair => true);
\c
CREATE INDEX ON constants.t (g);
\c
CREATE UNIQUE INDEX ON constants.t (g) WHERE constants.one('new index') = 1;
\c
REINDEX TABLE constants.t;
\c
ALTER TABLE constants.t ALTER code TYPE bigint USING code + 1;
\c
ALTER TABLE constants.t ALTER d TYPE int USING d + 1;
\c
ALTER TABLE constants.t ADD COLUMN x int DEFAULT (random() * 10)::int;
\c
ALTER TABLE constants.t ADD COLUMN y int GENERATED ALWAYS AS (v + 3) STORED;
\c
CREATE STATISTICS constants.t_v ON v, id FROM constants.t;
\c
SELECT shuttle.local_table('constants.t');
\c
SELECT shuttle.local_table('constants.r');
\c
SELECT shuttle.distribute_table('constants.w', 'id', 2);
\c
SELECT shuttle.distribute_table('constants.w_3', 'id', 2, colocate_with => 'constants.w_1_1');
\c
SELECT * FROM shuttle.check();
\c
SELECT * FROM shuttle.check(repair => true);
\c
SELECT count(*) > 0 FROM shuttle.advise();
\c
CREATE INDEX ON constants.w (v);
\c
SELECT shuttle.local_table('constants.w_1_1');
\c
SELECT shuttle.distribute_table('constants.w_1_1', 'id');
\c
SELECT shuttle.local_table('constants.w');
-- one table that cannot be read does not keep others from being repaired
\c
CREATE TABLE constants.unread (id int PRIMARY KEY, code int UNIQUE);
SELECT shuttle.distribute_table('constants.unread', 'id', 2);
ALTER TABLE constants.unread OWNER TO constants_owner;
REVOKE ALL ON constants.unread FROM constants_owner;
SELECT relation, problem FROM shuttle.check(repair => true);
DROP TABLE constants.unread;
-- also for the owner
\c
SET ROLE constants_owner;
SELECT shuttle.distribute_table('constants.q', 'id', 2);
\c
SET ROLE constants_owner;
SELECT shuttle.distribute_table('constants.o', 'id', 2);
\c
SET ROLE constants_owner;
ALTER TABLE constants.p ADD FOREIGN KEY (v) REFERENCES constants.q;
\c
SET ROLE constants_owner;
ALTER TABLE constants.p VALIDATE CONSTRAINT p_v_fkey;
\c
SET ROLE constants_owner;
SELECT shuttle.reference_table('constants.u');
\c
SET ROLE constants_owner;
SELECT shuttle.local_table('constants.o');
-- a reader without rights on a referred table, and one whose owner may not read it
\c
SET client_min_messages = warning;
CREATE ROLE constants_other;
CREATE TABLE constants.other (id int PRIMARY KEY, v int);
INSERT INTO constants.other VALUES (1, 1), (2, 10);
ALTER TABLE constants.other OWNER TO constants_other;
GRANT USAGE ON SCHEMA constants TO constants_other;
GRANT USAGE ON FOREIGN SERVER n1, n2, n3 TO constants_other;
GRANT REFERENCES ON constants.q TO constants_other;
SET ROLE constants_other;
ALTER TABLE constants.other ADD FOREIGN KEY (v) REFERENCES constants.q;
REVOKE ALL ON constants.other FROM constants_other;
DELETE FROM constants.other WHERE v = 10;
RESET ROLE;
DELETE FROM constants.other WHERE v = 10;
SET ROLE constants_other;
ALTER TABLE constants.other ADD FOREIGN KEY (v) REFERENCES constants.q;
RESET ROLE;
SELECT conname, convalidated FROM pg_constraint WHERE conrelid = 'constants.other'::regclass AND contype = 'f';
SELECT * FROM shuttle.check();
DROP SCHEMA constants, shop CASCADE;
DROP SERVER n1, n2, n3 CASCADE;
DROP DATABASE tablets_n1 WITH (FORCE);
DROP DATABASE tablets_n2 WITH (FORCE);
DROP DATABASE tablets_n3 WITH (FORCE);
DROP OWNED BY constants_owner, constants_other;
DROP ROLE constants_owner, constants_other, constants_remote;
