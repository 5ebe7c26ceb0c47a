-- COPY into foreign tables and through partitioned tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\set SHOW_CONTEXT never
SET search_path = ours;
COPY account (id, owner, weights) FROM stdin WITH (FORMAT csv, NULL 'none');
1001,"quoted ""text""\",{1}
1002,none,none
\.
SELECT id, branch, owner, weights FROM account WHERE id > 1000 ORDER BY id;
COPY account (id, balance) FROM stdin;
1003	12.345
1003	1
\.
SELECT count(*) FROM account WHERE id > 1000;
ALTER FOREIGN TABLE account OPTIONS (ADD batch_size '3');
COPY account (id, balance) FROM stdin;
1004	1.5
1005	2.5
1006	3.5
1007	4.5
\.
COPY account (id) FROM stdin WHERE id > 2000;
1999
2001
\.
SELECT id, balance FROM account WHERE id > 1002 ORDER BY id;
COPY (SELECT id FROM account WHERE id > 1005) TO stdout;

-- a trigger here, a constraint there, an error in the middle
CREATE FUNCTION pair.name_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN new.owner := 'row ' || new.id; RETURN CASE WHEN new.id <> 3002 THEN new END; END $$;
CREATE TRIGGER t BEFORE INSERT ON account FOR EACH ROW EXECUTE FUNCTION pair.name_row();
COPY account (id) FROM stdin;
3001
3002
3003
\.
DROP TRIGGER t ON account;
COPY account (id) FROM stdin;
4001
x
\.
COPY account (id) FROM stdin;
4001
1
\.
SELECT id, owner FROM account WHERE id > 3000 ORDER BY id;

-- through a partitioned table, in a transaction that goes on
CREATE TABLE node.even (id int, word text);
CREATE TABLE number (id int, word text) PARTITION BY LIST ((id & 1));
CREATE FOREIGN TABLE even PARTITION OF number FOR VALUES IN (0) SERVER our_node OPTIONS (schema_name 'node');
CREATE TABLE odd PARTITION OF number FOR VALUES IN (1);
BEGIN;
COPY number FROM stdin;
1	one
2	two
3	three
4	four
\.
SAVEPOINT s;
COPY number FROM stdin;
6	six
x	none
\.
ROLLBACK TO s;
COPY number FROM stdin;
8	eight
\.
SELECT * FROM even ORDER BY id;
COMMIT;
SELECT * FROM number ORDER BY id;
SELECT * FROM node.even ORDER BY id;
RESET search_path;

-- FREEZE means nothing for a foreign table; what core says of the option itself stays
SET search_path = ours;
SET client_min_messages = notice;
COPY account (id) FROM stdin (FREEZE, FORMAT csv, NULL 'none');
6001
\.
COPY account (id) FROM stdin WITH (FREEZE off);
6002
\.
COPY account (id) FROM '/dev/null' WITH (FREEZE perhaps);
COPY account (id) FROM '/dev/null' WITH (FREEZE, FREEZE);
\set QUIET on
CREATE FUNCTION pair.freeze(tbl text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('COPY %s (id) FROM PROGRAM ''echo 6003'' WITH (FREEZE on)', tbl);
	RETURN 'copied';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
\set QUIET off
SELECT pair.freeze('ours.account'), pair.freeze('ours.account');
SELECT pair.freeze('stock.account') <> 'copied', pair.freeze('node.account') <> 'copied';
SELECT id FROM account WHERE id > 6000 ORDER BY id;
