-- A node plans a request for all its rows, where the plan takes them all, and for
-- the first where it does not; postgres_fdw's cursors are planned for a tenth.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
CREATE VIEW node.fraction AS
SELECT current_setting('cursor_tuple_fraction') AS tuple_fraction, id FROM node.account;
CREATE FOREIGN TABLE stock.fraction (tuple_fraction text, id int) SERVER stock_node OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE ours.fraction (tuple_fraction text, id int) SERVER our_node OPTIONS (schema_name 'node');
SELECT DISTINCT tuple_fraction FROM stock.fraction;
SELECT DISTINCT tuple_fraction FROM ours.fraction;
SELECT DISTINCT tuple_fraction FROM (SELECT * FROM ours.fraction WHERE pair.here(id) > 0 LIMIT 5) f;
-- the rows are the same
SELECT pair.same('SELECT a.id, b.city FROM account a JOIN branch b ON b.id = a.branch ORDER BY a.id');
