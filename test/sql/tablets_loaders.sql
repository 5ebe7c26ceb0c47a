-- Loaders turn foreign keys off: nodes follow DISABLE TRIGGER ALL and session_replication_role.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE a (id int PRIMARY KEY, v int);
CREATE TABLE b (id int, n int, PRIMARY KEY (id, n), FOREIGN KEY (id) REFERENCES a);
SELECT shuttle.distribute_tables('{a.id, b.id}', tablets => 3);
INSERT INTO b SELECT i, 1 FROM generate_series(1, 9) AS i;
-- as pg_dump --data-only --disable-triggers has it
ALTER TABLE b DISABLE TRIGGER ALL;
INSERT INTO b SELECT i, 1 FROM generate_series(1, 9) AS i;
INSERT INTO b VALUES (10, 1);
ALTER TABLE b ENABLE TRIGGER ALL;
INSERT INTO b VALUES (11, 1);
INSERT INTO a SELECT i, i FROM generate_series(1, 8) AS i;
DO $$ BEGIN DELETE FROM a WHERE id = 1; EXCEPTION WHEN foreign_key_violation THEN RAISE NOTICE 'it is referred to'; END $$;
ALTER TABLE a DISABLE TRIGGER ALL;
DELETE FROM a WHERE id = 1;
ALTER TABLE a ENABLE TRIGGER ALL;
DO $$ BEGIN DELETE FROM a WHERE id = 2; EXCEPTION WHEN foreign_key_violation THEN RAISE NOTICE 'it is referred to'; END $$;
-- the session's role
SET session_replication_role = replica;
INSERT INTO b VALUES (20, 1);
INSERT INTO b SELECT i, 1 FROM generate_series(21, 29) AS i;
COPY b FROM STDIN;
30	1
31	1
\.
DELETE FROM a WHERE id = 2;
PREPARE p(int) AS INSERT INTO b VALUES ($1, 2);
EXECUTE p(20);
RESET session_replication_role;
EXECUTE p(21);
INSERT INTO b VALUES (40, 1);
BEGIN;
INSERT INTO a VALUES (50, 1), (51, 1), (52, 1), (53, 1);
SET LOCAL session_replication_role = replica;
INSERT INTO b SELECT i, 1 FROM generate_series(50, 59) AS i;
SAVEPOINT s;
SET LOCAL session_replication_role = origin;
INSERT INTO b SELECT i, 2 FROM generate_series(50, 53) AS i;
ROLLBACK TO s;
INSERT INTO b SELECT i, 3 FROM generate_series(50, 59) AS i;
SAVEPOINT t;
SET LOCAL session_replication_role = origin;
INSERT INTO b SELECT i, 2 FROM generate_series(50, 53) AS i;
SAVEPOINT u;
INSERT INTO b SELECT i, 4 FROM generate_series(50, 59) AS i;
ROLLBACK TO u;
RELEASE t;
SET LOCAL session_replication_role = replica;
INSERT INTO b SELECT i, 4 FROM generate_series(50, 59) AS i;
COMMIT;
SELECT n, count(*), min(id), max(id), sum(id) FROM b GROUP BY n ORDER BY n;
-- who is no superuser here, or there
CREATE ROLE shop_loader LOGIN;
GRANT ALL ON SCHEMA shop TO shop_loader;
GRANT USAGE ON FOREIGN SERVER n1, n2 TO shop_loader;
ALTER TABLE b OWNER TO shop_loader;
ALTER TABLE a OWNER TO shop_loader;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
SET ROLE shop_loader;
ALTER TABLE b DISABLE TRIGGER ALL;
ALTER TABLE b DISABLE TRIGGER USER;
INSERT INTO b VALUES (60, 1);
RESET ROLE;
SELECT server, ok FROM shuttle.run_on_nodes('GRANT ALL ON SCHEMA shop TO shop_loader', '{n1,n2}') ORDER BY 1;
SELECT server, ok FROM shuttle.run_on_nodes('GRANT ALL ON ALL TABLES IN SCHEMA shop TO shop_loader', '{n1,n2}') ORDER BY 1;
CREATE USER MAPPING FOR CURRENT_USER SERVER n1 OPTIONS (user 'shop_loader', password_required 'false');
CREATE USER MAPPING FOR CURRENT_USER SERVER n2 OPTIONS (user 'shop_loader', password_required 'false');
SET session_replication_role = replica;
INSERT INTO b VALUES (3, 9);
INSERT INTO b VALUES (60, 1);
SELECT * FROM b WHERE id = 3 ORDER BY n;
RESET session_replication_role;
BEGIN;
SET LOCAL session_replication_role = replica;
INSERT INTO b VALUES (3, 10);
SET LOCAL session_replication_role = origin;
INSERT INTO b VALUES (3, 11);
COMMIT;
DROP USER MAPPING FOR CURRENT_USER SERVER n1;
DROP USER MAPPING FOR CURRENT_USER SERVER n2;
DROP SCHEMA shop CASCADE;
SET client_min_messages = warning;
DROP SERVER n1, n2 CASCADE;
DROP DATABASE tablets_n1 WITH (FORCE);
DROP DATABASE tablets_n2 WITH (FORCE);
DROP ROLE shop_loader;
