-- Values that travel in binary are those of texts, bit for bit, for every type.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\i :test/include/transfer.sql

-- numbers
CALL pair.travels('bools', 'bool', 't', 'f');
CALL pair.travels('int2s', 'int2', '0', '-0', '1', '9999', '-9999', '10000', '32767', '-32768');
CALL pair.travels('int4s', 'int4', '0', '7', '-7', '999999999', '1000000000', '2147483647', '-2147483648');
CALL pair.travels('int8s', 'int8', '0', '-1', '999999999999999999', '1000000000000000000', '9223372036854775807', '-9223372036854775808');
CALL pair.travels('oids', 'oid', '0', '1', '4294967295');
CALL pair.travels('float4s', 'float4', '0', '-0', '1', '0.1', '-1.5', '3.4028235e38', '1e-45', '1.17549435e-38', 'NaN', 'Infinity', '-Infinity');
CALL pair.travels('float8s', 'float8', '0', '-0', '1', '0.1', '0.30000000000000004', '1.7976931348623157e308', '5e-324', '2.2250738585072014e-308', 'NaN', 'Infinity', '-Infinity', '123456789012345678');
-- a NaN with a sign, as processors make it, has none in text
INSERT INTO node.float8s SELECT 100, 'Infinity'::float8 - 'Infinity'::float8;
INSERT INTO node.float4s SELECT 100, 'Infinity'::float4 - 'Infinity'::float4;
SELECT pair.transfer('float8s'), pair.transfer('float4s');
CALL pair.travels('numerics', 'numeric', '0', '0.00', '-0.0', '1', '1.0', '1.00', '-1.5', '10000', '9999', '0.0001', '0.00001', '1e-1000', '1e1000', '12345678901234567890.123456789', 'NaN', 'Infinity', '-Infinity', repeat('9', 3000) || '.' || repeat('9', 3000), '100000000', '0.1000');
CALL pair.travels('scaled', 'numeric(12, 3)', '0', '1.5', '-999999999.999', 'NaN', '0.001');

-- times
CALL pair.travels('dates', 'date', '2000-01-01', '1999-12-31', '2024-02-29', '1900-02-28', '0001-01-01', '0001-12-31 BC', '4714-11-24 BC', '9999-12-31', '10000-01-01', '5874897-12-31', 'infinity', '-infinity');
CALL pair.travels('times', 'time', '00:00', '23:59:59.999999', '24:00', '12:34:56.7', '12:34:56.000001');
CALL pair.travels('timetzs', 'timetz', '00:00+00', '23:59:59.999999-15:59', '24:00+14', '12:34:56.7+05:30');
CALL pair.travels('timestamps', 'timestamp', '2000-01-01', '1999-12-31 23:59:59.999999', '2024-02-29 23:59:59.9', '0001-01-01 00:00:00.000001', '0001-12-31 23:59:59 BC', '4714-11-24 00:00:00 BC', '9999-12-31 23:59:59.999999', '10000-01-01', '294276-12-31 23:59:59.999999', 'infinity', '-infinity');
CALL pair.travels('timestamptzs', 'timestamptz', '2000-01-01+00', '1999-12-31 23:59:59.999999+00', '2024-07-01 12:00:00.5+00', '1883-11-18 12:00+00', '0001-01-01 12:00+00', '0001-12-31 23:59:59+00 BC', '4714-11-25 00:00+00 BC', '9999-12-31 12:00+00', '294276-12-31 12:00+00', 'infinity', '-infinity');
SET timezone = 'America/New_York';
SELECT pair.transfer('timestamptzs');
SET timezone = 'Asia/Kathmandu';
SELECT pair.transfer('timestamptzs');
SET timezone = 'Africa/Monrovia';
SELECT pair.transfer('timestamptzs');
RESET timezone;
CALL pair.travels('seconds', 'timestamptz(0)', '2024-02-29 23:59:59+00', '2024-02-29 23:59:59.7+00');
CALL pair.travels('intervals', 'interval', '0', '1 mon', '-1 mon -2 days -03:04:05.678901', '1 year -2 days 100:00', '178000000 years', '-178000000 years', '0.000001 s');
CALL pair.travels('days', 'interval day to hour', '3 days 04:00', '-7 days');

-- texts and bytes
CALL pair.travels('texts', 'text', '', ' ', 'a', 'it''s "q" \ {b} $1', E'line\nline\ttab\\x41', 'äöü € 𝄞', repeat('long ', 5000), 'NULL', '\x41');
CALL pair.travels('varchars', 'varchar(5)', '', 'a', 'abcde', 'äöü €');
CALL pair.travels('bpchars', 'char(5)', '', 'a', 'abcde', 'ä', '  x');
CALL pair.travels('names', 'name', '', 'a', repeat('n', 63));
CALL pair.travels('byteas', 'bytea', '', '\x', '\x00', '\xdeadBEEF', '\\x41', repeat('\000a', 5000));
SET bytea_output = 'escape';
SELECT pair.transfer('byteas');
RESET bytea_output;
CALL pair.travels('uuids', 'uuid', '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11');
CALL pair.travels('bits', 'bit(5)', '00000', '10101');
CALL pair.travels('varbits', 'varbit', '', '1', '1010101010101');
CALL pair.travels('jsons', 'json', '{}', '{"a": [1, 1.0, null], "a": "é"}', '"x"');
CALL pair.travels('jsonbs', 'jsonb', '{}', '{"a": [1, 1.00, null], "b": "é"}', '"x"', '1e5');
CALL pair.travels('inets', 'inet', '10.0.0.1', '10.0.0.0/8', '::1', '2001:db8::/32');
CALL pair.travels('cidrs', 'cidr', '10.0.0.0/8', '2001:db8::/32');
CALL pair.travels('macs', 'macaddr', '08:00:2b:01:02:03');
CALL pair.travels('macs8', 'macaddr8', '08:00:2b:01:02:03:04:05');

-- ranges
CALL pair.travels('int4ranges', 'int4range', 'empty', '[1,5]', '(,)', '[3,)', '(,3]');
CALL pair.travels('numranges', 'numrange', 'empty', '(1.0,1.50]', '[,NaN)', '(,)');
CALL pair.travels('dateranges', 'daterange', '[2024-01-01,2024-02-29]', '[-infinity,infinity]');
CALL pair.travels('tsranges', 'tsrange', '[2024-01-01 00:00,)', '("0001-01-01 BC",infinity]');
CALL pair.travels('tstzranges', 'tstzrange', '[2024-01-01 00:00+00,2024-01-02 00:00+05:30)');

-- arrays: none, empty, with NULLs, of several dimensions, with lower bounds
CALL pair.travels('int_arrays', 'int[]', '{}', '{1}', '{1,NULL,-3}', '{{1,2},{3,4}}', '[0:2]={1,2,3}', '[-2:-1][5:5]={{7},{NULL}}');
CALL pair.travels('float_arrays', 'float8[]', '{}', '{NaN,-0,Infinity}', '{NULL,1e-300,NaN}', '[2:3]={0.1,0.2}');
INSERT INTO node.float_arrays SELECT 100, ARRAY[NULL, 'Infinity'::float8 - 'Infinity'::float8, 1];
SELECT pair.transfer('float_arrays');
CALL pair.travels('float4_arrays', 'float4[]', '{}', '{NaN,-0,Infinity}', '{{NULL,1e-30},{1,2}}');
INSERT INTO node.float4_arrays SELECT 100, ARRAY['Infinity'::float4 - 'Infinity'::float4, NULL, 1];
SELECT pair.transfer('float4_arrays');
CALL pair.travels('text_arrays', 'text[]', '{}', '{""}', '{NULL,"NULL",null}', '{"a b","c\"d","e\\f","{g}"}', '{{a},{b}}');
CALL pair.travels('numeric_arrays', 'numeric(8, 2)[]', '{1,2.50,NULL,NaN}', '{}');
CALL pair.travels('time_arrays', 'timestamptz[]', '{2024-01-01 00:00+00,infinity,NULL}', '{}');
CALL pair.travels('range_arrays', 'int4range[]', '{"[1,2]",empty}');

-- domains over them, which check values as they come
CREATE DOMAIN node.price AS numeric(8, 2);
CREATE DOMAIN node.weight AS float8;
CREATE DOMAIN node.weights AS float8[];
CALL pair.travels('prices', 'node.price', '1', '2.50', 'NaN');
CALL pair.travels('weighed', 'node.weight', '1', 'NaN');
INSERT INTO node.weighed SELECT 100, 'Infinity'::float8 - 'Infinity'::float8;
SELECT pair.transfer('weighed');
CALL pair.travels('weighings', 'node.weights', '{1,NaN,NULL}');

-- all of them side by side, and none
CALL pair.travels('at', 'timestamptz', '2024-01-01 12:00:00.25+00');
CREATE TABLE node.wide AS
SELECT i AS id, a.v AS a, b.v AS b, c.v AS c, d.v AS d, e.v AS e, f.v AS f, g.v AS g, h.v AS h, j.v AS j, k.v AS k
FROM generate_series(1, 20) i LEFT JOIN node.bools a ON a.id = i LEFT JOIN node.int8s b ON b.id = i
	LEFT JOIN node.float8s c ON c.id = i LEFT JOIN node.numerics d ON d.id = i LEFT JOIN node.dates e ON e.id = i
	LEFT JOIN node.timestamptzs f ON f.id = i LEFT JOIN node.texts g ON g.id = i LEFT JOIN node.byteas h ON h.id = i
	LEFT JOIN node.numeric_arrays j ON j.id = i LEFT JOIN node.uuids k ON k.id = i;
SELECT pair.tables('wide') \g /dev/null
SELECT pair.transfer('wide');
