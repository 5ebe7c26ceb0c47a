-- check() finds definitions that a node has changed, and tells what mends them.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE FUNCTION positive(int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 > 0';
CREATE DOMAIN "my COLLATE c" AS int;
CREATE TABLE "Item $1%s" (id int PRIMARY KEY, n int NOT NULL CONSTRAINT small CHECK (n < 100), "50%" varchar(9) CHECK ("50%" IN ('a', 'b')),
	label text COLLATE "C", twice int GENERATED ALWAYS AS (n * 2) STORED, word varchar(3) GENERATED ALWAYS AS (CASE WHEN label IN ('x', 'y') THEN 'yes' ELSE 'no' END) STORED,
	CHECK (positive(n)), UNIQUE (n, id), odd "my COLLATE c");
CREATE UNIQUE INDEX once ON "Item $1%s" (id, label) INCLUDE (n) WHERE "50%" IN ('a', 'c');
CREATE INDEX many ON "Item $1%s" (lower(label), n DESC);
CREATE TABLE kind (id int PRIMARY KEY, name varchar(9) NOT NULL CHECK (name IN ('a', 'b')));
SELECT shuttle.reference_table('kind');
INSERT INTO kind VALUES (1, 'a');
SELECT shuttle.distribute_table('"Item $1%s"', 'id', tablets => 2);
INSERT INTO "Item $1%s" (id, n, "50%", label) SELECT i, i, 'a', 'x' FROM generate_series(1, 10) AS i;
SELECT * FROM shuttle.check();

-- each change, and back as the hints say
CREATE PROCEDURE change(statement text) LANGUAGE plpgsql AS $f$
BEGIN
	PERFORM FROM shuttle.run_on_nodes(statement, '{n2}') AS r WHERE NOT ok;
	IF FOUND THEN
		RAISE EXCEPTION '%', (SELECT error FROM shuttle.run_on_nodes(statement, '{n2}'));
	END IF;
END $f$;
CALL change('ALTER TABLE shop."Item $1%s" DROP CONSTRAINT small, ADD CONSTRAINT small CHECK (n < 101)');
CALL change('ALTER TABLE shop."Item $1%s" ALTER n DROP NOT NULL, ALTER "50%" TYPE varchar(8), ADD COLUMN extra int DEFAULT 7');
CALL change('DROP INDEX shop.once; CREATE INDEX once ON shop."Item $1%s" (id, label) INCLUDE (n) WHERE "50%" IN (''a'', ''c'')');
CALL change('DROP INDEX shop.many; CREATE INDEX many ON shop."Item $1%s" (lower(label), n)');
CALL change('ALTER TABLE shop."Item $1%s" DROP CONSTRAINT "Item $1%s_n_id_key", ADD CONSTRAINT "Item $1%s_n_id_key" UNIQUE (id, n), ADD CONSTRAINT more CHECK (id <> 99)');
CALL change('ALTER TABLE shop."Item $1%s" DROP COLUMN twice, ADD COLUMN twice int GENERATED ALWAYS AS (n * 3) STORED, DROP COLUMN word, ADD COLUMN word varchar(3)');
CALL change('ALTER TABLE shop."Item $1%s" ALTER label TYPE text COLLATE "POSIX"');
CALL change('ALTER TABLE shop."Item $1%s" ALTER odd TYPE text');
CALL change('ALTER TABLE shop.kind DROP CONSTRAINT kind_name_check, ADD CONSTRAINT kind_name_check CHECK (name IN (''a'', ''c'')), ALTER name DROP NOT NULL');
\x on
SELECT * FROM shuttle.check();
\x off
SELECT format('CALL change(%L)', r[1]) AS mend FROM shuttle.check(), regexp_matches(hint, '^Run on the node: (.*);$') AS r
\gexec
SELECT * FROM shuttle.check();

-- a renamed column keeps its values
CALL change('ALTER TABLE shop."Item $1%s" RENAME "50%" TO "N 2"');
CALL change('ALTER TABLE shop."Item $1%s" RENAME label TO other');
CALL change('ALTER TABLE shop."Item $1%s" ADD COLUMN extra varchar(3)');
SELECT problem, hint FROM shuttle.check() WHERE problem ~ 'column';
SELECT format('CALL change(%L)', r[1]) AS mend FROM shuttle.check(), regexp_matches(hint, '^Run on the node: (.*);$') AS r
	WHERE problem ~ 'column'
\gexec
SELECT * FROM shuttle.check();
SELECT count("50%"), count(label) FROM "Item $1%s";
SET shuttle.enable_ddl = off;
ALTER TABLE kind DISABLE TRIGGER ALL;
RESET shuttle.enable_ddl;
UPDATE kind SET name = 'b';
SELECT * FROM shuttle.check();
SELECT * FROM shuttle.check(repair => true);

-- single tablets that were given what their table has not, or other bounds; a foreign key that was lost
CREATE TABLE owner (id int PRIMARY KEY);
SELECT shuttle.distribute_table('owner', 'id', tablets => 4);
CREATE TABLE pet (id int, owner int, note text, PRIMARY KEY (owner, id));
SELECT shuttle.distribute_table('pet', 'owner', colocate_with => 'owner');
ALTER TABLE pet ADD FOREIGN KEY (owner) REFERENCES owner;
INSERT INTO owner SELECT generate_series(1, 20);
INSERT INTO pet SELECT i, i, 'a' FROM generate_series(1, 20) AS i;
SELECT array_agg(format('shop.%I', relname) ORDER BY relname) AS pets FROM pg_class
	WHERE oid IN (SELECT tablet FROM shuttle.tablets WHERE relation = 'pet'::regclass AND node = 'n2') \gset
SELECT (:'pets'::text[])[1] AS one, (:'pets'::text[])[2] AS two \gset
SELECT format('CALL change(%L)', format(t, :'one')) AS own FROM unnest('{"ALTER TABLE %s ADD CONSTRAINT odd CHECK (id <> 7)",
	"ALTER TABLE %s ALTER note SET NOT NULL", "CREATE UNIQUE INDEX odd_note ON %s (note, id)"}'::text[]) AS t
\gexec
CALL change('ALTER TABLE shop.pet DROP CONSTRAINT pet_owner_fkey');
SELECT replace(replace(problem, :'one', 'ONE'), :'two', 'TWO') AS problem, replace(replace(hint, :'one', 'ONE'), :'two', 'TWO') AS hint FROM shuttle.check();
SELECT format('CALL change(%L)', r[1]) AS mend FROM shuttle.check(), regexp_matches(hint, '^Run on the node: (.*);$') AS r
\gexec
SELECT * FROM shuttle.check();
CALL change(format('DELETE FROM shop.pet; ALTER TABLE shop.pet DETACH PARTITION %1$s; ALTER TABLE shop.pet DETACH PARTITION %2$s; '
	'ALTER TABLE shop.pet ATTACH PARTITION %1$s FOR VALUES WITH (MODULUS 4, REMAINDER 3)', :'one', :'two'));
SELECT replace(replace(problem, :'one', 'ONE'), :'two', 'TWO') AS problem, replace(replace(hint, :'one', 'ONE'), :'two', 'TWO') AS hint FROM shuttle.check();
SELECT format('CALL change(%L)', r[1]) AS mend FROM shuttle.check(), regexp_matches(hint, '^Run on the node: (.*);$') AS r
\gexec
SELECT * FROM shuttle.check();

-- triggers and rules, of the table and of one tablet
CALL change('CREATE FUNCTION shop."Spy %s"() RETURNS trigger LANGUAGE plpgsql AS ''BEGIN RETURN NEW; END'';'
	'CREATE TRIGGER "Left %s" BEFORE INSERT ON shop.pet FOR EACH ROW EXECUTE FUNCTION shop."Spy %s"()');
SELECT format('CALL change(%L)', format(t, :'one')) AS own
FROM unnest('{"CREATE TRIGGER own AFTER UPDATE ON %s EXECUTE FUNCTION shop.\"Spy %%s\"()","CREATE RULE kept AS ON DELETE TO %s DO INSTEAD NOTHING"}'::text[]) AS t
\gexec
SELECT relation, node, replace(problem, :'one', 'ONE') AS problem, replace(hint, :'one', 'ONE') AS hint FROM shuttle.check();
SELECT format('CALL change(%L)', r[1]) AS mend FROM shuttle.check(), regexp_matches(hint, '^Run on the node: (.*);$') AS r
\gexec
SELECT * FROM shuttle.check();
DROP SCHEMA shop CASCADE;
