-- Who is not the owner of a partition does not wait for its parent; rights on each name of a partition.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
\i :test/include/routed.sql
SELECT count(*) > 0 FROM shuttle.use_node('n1');
SELECT count(*) > 0 FROM shuttle.use_node('n2');
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dblink SCHEMA public;
RESET client_min_messages;
SET search_path = shop, public;
CREATE TABLE t (k int, at int, kind text) PARTITION BY RANGE (at);
CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (10);
CREATE TABLE t4 PARTITION OF t FOR VALUES FROM (30) TO (40) PARTITION BY LIST (kind);
CREATE TABLE t4a PARTITION OF t4 FOR VALUES IN ('a');
SELECT shuttle.distribute_table('t', 'k', tablets => 2);
CREATE ROLE shuttle_test_sam;
GRANT USAGE ON SCHEMA shop, shuttle TO shuttle_test_sam;
GRANT USAGE ON FOREIGN SERVER n1, n2 TO shuttle_test_sam;
GRANT SELECT ON t TO shuttle_test_sam;
SELECT dblink_connect('other', format('host=%s port=%s dbname=%s', split_part(current_setting('unix_socket_directories'), ',', 1),
	current_setting('port'), current_database()));
SELECT dblink_exec('other', 'BEGIN');
SELECT * FROM dblink('other', 'SELECT count(*) FROM shop.t') AS r(n bigint);
SET ROLE shuttle_test_sam;
SET lock_timeout = '300ms';
SELECT shuttle.local_table('t1');
SELECT shuttle.local_tables('{t1,t4a}');
SELECT shuttle.distribute_table('t1', 'k');
SELECT shuttle.distribute_tables('{t1.k}');
RESET lock_timeout;
SELECT dblink_exec('other', 'COMMIT');
SELECT * FROM t a, t4 b WHERE a.k = 3 AND b.k = 3 AND a.at = 34 AND a.kind = 'a' AND b.kind = 'a' AND b.at = 34;
RESET ROLE;
SELECT is_routed('SELECT * FROM t a, t4 b WHERE a.k = 3 AND b.k = 3 AND a.at = 34 AND a.kind = ''a'' AND b.kind = ''a'' AND b.at = 34');
SELECT is_routed('SELECT * FROM t a, t b WHERE a.k = 3 AND b.k = 3 AND a.at = 34 AND a.kind = ''a'' AND b.kind = ''a'' AND b.at = 34');
SELECT dblink_disconnect('other');
DROP TABLE t;
DROP OWNED BY shuttle_test_sam;
DROP ROLE shuttle_test_sam;
