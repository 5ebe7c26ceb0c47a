# Writes of tables with foreign keys that the query node checks: how many round trips a statement waits for.
use strict;
use warnings;

use Test::More;

use ShuttleTrips;

my $trips = ShuttleTrips->new;
my $session = $trips->session;

$trips->query->safe_psql('postgres', q{
	CREATE TABLE plain (id int PRIMARY KEY, parent_id int);
	CREATE TABLE parent (id int PRIMARY KEY, n int);
	CREATE TABLE child (id int PRIMARY KEY, parent_id int REFERENCES parent);
	CREATE TABLE other (id int PRIMARY KEY, parent_id int REFERENCES parent, child_id int REFERENCES child);
	CREATE TABLE far (id int PRIMARY KEY, n int);
	CREATE TABLE late (id int PRIMARY KEY, far_id int REFERENCES far DEFERRABLE INITIALLY DEFERRED,
		other_id int REFERENCES far DEFERRABLE INITIALLY DEFERRED);
	CREATE TABLE whole (id int PRIMARY KEY, n int);
	CREATE TABLE part (id int PRIMARY KEY, whole_id int REFERENCES whole ON DELETE CASCADE);
	SELECT shuttle.distribute_table(t, 'id', tablets => 4) FROM unnest('{plain,parent,child,other,far,late,whole,part}'::text[]) AS t;
	INSERT INTO parent SELECT i, 0 FROM generate_series(1, 1000) AS i;
	INSERT INTO far TABLE parent;
	INSERT INTO whole TABLE parent;
	INSERT INTO child SELECT i, i FROM generate_series(1, 100) AS i;
	INSERT INTO part SELECT i, 501 + i / 1000 FROM generate_series(0, 5999) AS i;
});

# Plans are made, connections are there, and nodes are asked what they need be asked once.
for my $i (1 .. 8)
{
	my $id = 900_000 + $i;
	$session->run("INSERT INTO $_ VALUES ($id, $i);") for qw(plain child part);
	$session->run("INSERT INTO $_ VALUES ($id, $i, $i);") for qw(other late);
	$session->run("UPDATE child SET parent_id = $i + 1 WHERE id = $id;");
	$session->run("DELETE FROM child WHERE id = $id;");
	$session->run("INSERT INTO $_ VALUES ($id);") for qw(parent far whole);
	$session->run("UPDATE parent SET n = 1 WHERE id = $id;");
	$session->run("DELETE FROM $_ WHERE id = $id;") for qw(parent far whole);
}
# A session asks once for the columns of each tablet that it changes.
$session->run('DELETE FROM whole WHERE id BETWEEN 11 AND 50;');
$trips->most('INSERT without a key', 1, map { "INSERT INTO plain VALUES ($_, $_)" } 201 .. 204);
$trips->most('INSERT with a key', 2, map { "INSERT INTO child VALUES ($_, $_)" } 201 .. 208);
$trips->most('INSERT with two keys', 2, map { "INSERT INTO other VALUES ($_, $_, $_ - 200)" } 201 .. 208);
$trips->most('INSERT of 200 rows with a key', 3, 'INSERT INTO child SELECT i, i FROM generate_series(301, 500) AS i');
$trips->most('INSERT with two deferred keys', 2, map { "INSERT INTO late VALUES ($_, $_, $_ + 1)" } 201 .. 208);
$trips->most('UPDATE of the key', 3, map { "UPDATE child SET parent_id = 7 WHERE id = $_" } 1 .. 6);
# two nodes commit if the row gets to another one
$trips->most('UPDATE of a key that is referred to', 4, map { "UPDATE parent SET id = id + 10000 WHERE id = $_" } 951 .. 956);
$trips->most('UPDATE of another column of a parent', 1, map { "UPDATE parent SET n = 2 WHERE id = $_" } 1 .. 4);
$trips->most('DELETE of a parent of two tables', 4, map { "DELETE FROM parent WHERE id = $_" } 901 .. 906);
$trips->most('DELETE with two deferred keys', 4, map { "DELETE FROM far WHERE id = $_" } 901 .. 906);
$trips->most('DELETE of a parent and its 1000 children', 5, map { "DELETE FROM whole WHERE id = $_" } 501 .. 503);
is($trips->query->safe_psql('postgres', 'SELECT count(*) FROM part'), '3008', 'children are gone');
is($trips->query->safe_psql('postgres', 'SELECT * FROM shuttle.check()'), '', 'check');

done_testing();
