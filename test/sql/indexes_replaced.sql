-- A key is dropped and another one added in one statement, as for a plain table.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM generate_series(1, 3) AS i, shuttle.use_node('n' || i);
CREATE SCHEMA plain;
CREATE TABLE person (customer int NOT NULL, id int NOT NULL, email text, CONSTRAINT person_pkey PRIMARY KEY (id), CONSTRAINT person_email UNIQUE (email));
INSERT INTO person SELECT i % 5, i, 'p' || i FROM generate_series(1, 20) AS i;
CREATE TABLE plain.person (LIKE person INCLUDING ALL);
ALTER TABLE plain.person RENAME CONSTRAINT person_email_key TO person_email;
INSERT INTO plain.person SELECT * FROM person;
CREATE TABLE other (customer int NOT NULL, id int NOT NULL, CONSTRAINT other_pkey PRIMARY KEY (customer, id));
INSERT INTO other SELECT customer, id FROM person;
CREATE TABLE plain.other (LIKE other INCLUDING ALL);
INSERT INTO plain.other SELECT * FROM other;
CREATE TABLE alone (id int PRIMARY KEY, v int);
CREATE TABLE everywhere (id int PRIMARY KEY, v int);
CREATE TABLE parts (id int, v int NOT NULL, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (100);
INSERT INTO alone SELECT id, id FROM person;
INSERT INTO everywhere TABLE alone;
CREATE TABLE plain.alone (LIKE alone INCLUDING ALL);
CREATE TABLE plain.everywhere (LIKE alone INCLUDING ALL);
CREATE TABLE plain.parts (id int, v int NOT NULL, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE plain.part PARTITION OF plain.parts FOR VALUES FROM (0) TO (100);
SELECT shuttle.distribute_tables('{person.customer, other.customer, alone.id}', 4);
SELECT shuttle.distribute_table('parts', 'id', 4);
SELECT shuttle.reference_table('everywhere');
CREATE FUNCTION keys_of(oid) RETURNS text STABLE RETURN (SELECT string_agg(format('%s: %s', conname, pg_get_constraintdef(oid)), ', ' ORDER BY conname)
	FROM pg_constraint WHERE conrelid = $1 AND contype IN ('p', 'u'));
-- Runs ALTER TABLE on both, and tells what the keys are then, if they are the same.
CREATE FUNCTION alter_both(t text, actions text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	ends text[];
	state text;
BEGIN
	FOR i IN 1 .. 2 LOOP
		state := 'done';
		BEGIN
			EXECUTE format('ALTER TABLE %s.%I %s', (ARRAY['plain', 'shop'])[i], t, actions);
		EXCEPTION WHEN OTHERS THEN
			state := SQLSTATE || ' ' || SQLERRM;
		END;
		ends[i] := state || '; ' || keys_of(format('%s.%I', (ARRAY['plain', 'shop'])[i], t)::regclass);
	END LOOP;
	RETURN CASE WHEN ends[1] = ends[2] THEN ends[1] ELSE 'differs: ' || array_to_string(ends, ' | ') END;
END $$;
SELECT alter_both('person', 'DROP CONSTRAINT person_pkey, ADD PRIMARY KEY (id) DEFERRABLE');
SELECT alter_both('person', 'DROP CONSTRAINT person_pkey, ADD PRIMARY KEY (id)');
SELECT alter_both('person', 'DROP CONSTRAINT person_email, ADD CONSTRAINT person_email UNIQUE (email) DEFERRABLE INITIALLY DEFERRED');
SELECT alter_both('person', 'ADD CONSTRAINT pair UNIQUE (email, id), DROP CONSTRAINT person_email');
SELECT alter_both('person', 'DROP CONSTRAINT person_pkey, ADD PRIMARY KEY (customer, id)');
SELECT alter_both('person', 'DROP CONSTRAINT person_pkey, ADD PRIMARY KEY (id) DEFERRABLE INITIALLY DEFERRED');
SELECT alter_both('person', 'ADD PRIMARY KEY (id), DROP CONSTRAINT person_pkey');
SELECT alter_both('person', 'ADD PRIMARY KEY (id)');
SELECT alter_both('other', 'DROP CONSTRAINT other_pkey, ADD PRIMARY KEY (customer, id) DEFERRABLE');
SELECT alter_both('other', 'DROP CONSTRAINT other_pkey, ADD PRIMARY KEY (customer, id)');
SELECT alter_both('other', 'DROP CONSTRAINT other_pkey, ADD CONSTRAINT other_pkey PRIMARY KEY (id, customer)');
SELECT alter_both('other', 'DROP CONSTRAINT other_pkey, ADD PRIMARY KEY (id)');
SELECT alter_both('alone', 'DROP CONSTRAINT alone_pkey, ADD PRIMARY KEY (id) DEFERRABLE');
SELECT alter_both('alone', 'DROP CONSTRAINT alone_pkey, ADD CONSTRAINT v PRIMARY KEY (v) DEFERRABLE');
SELECT alter_both('alone', 'ADD PRIMARY KEY (id) DEFERRABLE, DROP CONSTRAINT v');
SELECT alter_both('everywhere', 'DROP CONSTRAINT everywhere_pkey, ADD PRIMARY KEY (id, v)');
SELECT alter_both('everywhere', 'DROP CONSTRAINT everywhere_pkey, ADD PRIMARY KEY (id) DEFERRABLE');
SELECT alter_both('parts', 'DROP CONSTRAINT parts_pkey, ADD PRIMARY KEY (id) DEFERRABLE');
SELECT alter_both('parts', 'DROP CONSTRAINT parts_pkey, ADD PRIMARY KEY (id, v)');
INSERT INTO person VALUES (1, 7, 'p99');
INSERT INTO other VALUES (4, 7);
SELECT * FROM shuttle.check();
DROP SCHEMA shop, plain CASCADE;
