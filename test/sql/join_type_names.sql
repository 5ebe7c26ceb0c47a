-- Names of tables and columns that look like parameters, quotes and comments.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 7 AS k FROM generate_series(1, 30) i;
CREATE TABLE "b $1 -- ""/*'" AS SELECT i AS "$1", i % 5 AS "k'$2", i AS p1, i AS ord, i AS "E'" FROM generate_series(1, 15) i;
CREATE TABLE shuttle_keys AS SELECT i AS p1, i % 5 AS p2, i AS ord FROM generate_series(1, 15) i;
CREATE TABLE tag$1$x AS SELECT i AS a$1, i % 5 AS "$1$" FROM generate_series(1, 15) i;
CALL test.mirror('b $1 -- "/*''', 'shuttle_keys', 'tag$1$x');
SELECT test.same_rows('SELECT a.id, "$1", b."E''" FROM a LEFT JOIN "b $1 -- ""/*''" AS b ON b."k''$2" = a.k AND b."$1" > a.id % 4');
SELECT test.same_rows('SELECT a.id, b FROM a LEFT JOIN "b $1 -- ""/*''" AS b ON b.ord = a.k AND b.p1 = a.k');
SELECT test.same_rows('SELECT a.id, b.* FROM a LEFT JOIN shuttle_keys AS b ON b.p2 = a.k AND b.p1 < a.id');
SELECT test.same_rows('SELECT a.id, b.* FROM a LEFT JOIN shuttle_keys AS b ON b.ord = a.k');
SELECT test.same_rows('SELECT a.id, b.* FROM a LEFT JOIN tag$1$x AS b ON b."$1$" = a.k AND b.a$1 < a.id');
