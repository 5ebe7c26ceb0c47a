-- A server that has the packages joins with itself, in batches.
CREATE EXTENSION pg_shuttle CASCADE;
LOAD 'pg_shuttle';

CREATE TABLE product AS SELECT i AS id, 'product ' || i AS name FROM generate_series(1, 20000) i;
ALTER TABLE product ADD PRIMARY KEY (id);
CREATE TABLE orders AS SELECT i AS id, i * 7 AS product_id FROM generate_series(1, 500) i;
ANALYZE product, orders;

DO $$
BEGIN
	EXECUTE format('CREATE SERVER self FOREIGN DATA WRAPPER shuttle OPTIONS (host %L, port %L, dbname %L)',
				   split_part(current_setting('unix_socket_directories'), ',', 1),
				   current_setting('port'), current_database());
END
$$;
CREATE USER MAPPING FOR CURRENT_USER SERVER self;
CREATE SCHEMA far;
IMPORT FOREIGN SCHEMA public LIMIT TO (product) FROM SERVER self INTO far;
ANALYZE far.product;

-- The rows are those of a join without other servers, and few requests were made.
SET shuttle.debug_force_batched_join = on;
DO $$
DECLARE
	plan json;
	wrong int;
BEGIN
	SELECT count(*) INTO wrong
	FROM (SELECT o.id, p.name FROM orders o LEFT JOIN far.product p ON p.id = o.product_id
		  EXCEPT ALL
		  SELECT o.id, p.name FROM orders o LEFT JOIN product p ON p.id = o.product_id) AS more;
	ASSERT wrong = 0, format('%s rows differ', wrong);
	EXECUTE 'EXPLAIN (ANALYZE, DIST, FORMAT JSON)
			 SELECT o.id, p.name FROM orders o JOIN far.product p ON p.id = o.product_id' INTO plan;
	ASSERT plan::text LIKE '%Look Ahead%', plan;
	ASSERT (plan -> 0 ->> 'Storage Read Requests')::int BETWEEN 1 AND 3, plan;
END
$$;

SELECT server, state FROM shuttle.nodes;
DROP EXTENSION pg_shuttle CASCADE;
