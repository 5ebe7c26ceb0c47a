-- uuid, bytea, jsonb, json, inet, macaddr, geometry, text search, xid, tid.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, md5((i % 5)::text)::uuid AS u, decode(md5((i % 5)::text), 'hex') || '\x00'::bytea AS by,
	jsonb_build_object('k', i % 5, 'q', '"$1\', 'n', NULL) AS j, ('{"k":  ' || i % 5 || '}')::json AS js,
	('10.0.0.' || i % 5 || '/2' || i % 5)::inet AS ip, ('10.0.' || i % 5 || '.0/24')::cidr AS net,
	('08:00:2b:01:02:0' || i % 5)::macaddr AS mac, point(i % 5, -0.0) AS pt, circle(point(0, 0), i % 5) AS ci,
	('word' || i % 5 || ' it''s')::tsvector AS tv, (i % 5)::text::xid8 AS x8, ('(0,' || 1 + i % 5 || ')')::tid AS t
FROM generate_series(1, 30) i;
CREATE TABLE b AS SELECT id + 100 AS id, a.u, a.by, a.j, a.js, a.ip, a.net, a.mac, a.pt, a.ci, a.tv, a.x8, a.t FROM a WHERE id % 5 < 4;
CALL test.mirror('b');
SELECT c, test.same_rows(format('SELECT a.id, b.id, b.%1$s::text FROM a LEFT JOIN b ON b.%1$s = a.%1$s', c))
FROM unnest('{u,by,j,ip,net,mac,ci,tv,x8,t}'::text[]) AS c;
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.pt ~= a.pt');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.js ->> ''k'' = a.js ->> ''k''');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.j @> a.j AND b.j ? ''q''');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.ip << a.net OR b.ip = a.ip');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.u = a.u AND b.j = a.j AND b.ip = a.ip AND b.by = a.by');
SELECT test.same_rows('SELECT a.id, b.js FROM a LEFT JOIN b ON b.u = a.u');
