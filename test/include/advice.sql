-- Does what shuttle.advise() says, and brings all tables back.
SELECT * FROM shuttle.advise();
\set ECHO none
SET client_min_messages = warning;
CREATE TEMP TABLE advice AS SELECT * FROM shuttle.advise();
SELECT format('SELECT shuttle.reference_table(%L)', relation) FROM advice WHERE kind = 'reference'
\gexec
SELECT format('SELECT shuttle.distribute_tables(%L, tablets => 3)', array_agg(format('%s.%I', relation, key)))
FROM advice JOIN pg_attribute ON attrelid = relation AND attname = key WHERE kind = 'distribute'
GROUP BY atttypid, attcollation ORDER BY atttypid, attcollation
\gexec
\set ECHO all
SELECT count(*) FROM advice;
SELECT relation, kind FROM shuttle.tables ORDER BY 1;
SELECT * FROM shuttle.check();
\set ECHO none
SELECT format('SELECT shuttle.local_tables(%L)', array_agg(relation)) FROM advice WHERE kind <> 'local'
\gexec
DROP TABLE advice;
\set ECHO all
