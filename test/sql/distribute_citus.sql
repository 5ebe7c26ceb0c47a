-- Functions with the names of Citus, for programs that call them.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1') AS a, shuttle.use_node('n2') AS b;
SELECT shuttle.install_citus_names('shop');
CREATE TABLE warehouse (w_id int PRIMARY KEY, w_name text);
CREATE TABLE stock (s_w_id int, s_i_id int, PRIMARY KEY (s_w_id, s_i_id));
CREATE TABLE alone (a bigint);
INSERT INTO warehouse SELECT i, 'w' || i FROM generate_series(1, 20) AS i;
SELECT create_distributed_table('warehouse', 'w_id');
SELECT create_distributed_table('stock', 's_w_id', colocate_with => 'warehouse');
SELECT create_distributed_table('alone', 'a', 'hash', shard_count => 3);
SELECT create_distributed_table('alone', 'a', 'append');
SELECT relation, count(*) FROM shuttle.tablets GROUP BY 1 ORDER BY 1;
SELECT count(DISTINCT group_id) FROM shuttle.tables;
SELECT count(*), bool_and(node_port::text = current_setting('port')) FROM master_get_active_worker_nodes();
SELECT undistribute_table('warehouse');
SELECT count(*) FROM warehouse;
CREATE FUNCTION stock_of(w int) RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM stock WHERE s_w_id = w';
SELECT create_distributed_function('stock_of(int)', 'w', colocate_with := 'stock'), create_distributed_function('stock_of(int)');
SELECT create_distributed_function('stock_of(int)', '$1');
SELECT routine, argument FROM shuttle.routines;
