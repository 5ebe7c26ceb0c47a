# Writes and look-ups of a table with a global unique index: how many round trips a statement waits for. Rows and
# their entries may be on one node or on two.
use strict;
use warnings;

use Test::More;

use ShuttleTrips;

my $trips = ShuttleTrips->new;
my $session = $trips->session;

$trips->query->safe_psql('postgres', q{
	CREATE TABLE person (id int, customer int, email text, n int, PRIMARY KEY (customer, id));
	CREATE TABLE plain (LIKE person INCLUDING ALL);
	SELECT shuttle.distribute_table('person', 'customer', tablets => 4);
	SELECT shuttle.distribute_table('plain', 'customer', tablets => 4);
	INSERT INTO person SELECT i, i, 'p' || i, 0 FROM generate_series(1, 40) AS i;
	INSERT INTO plain TABLE person;
	ALTER TABLE person ADD UNIQUE (email);
	CREATE TABLE late (id int, customer int, email text, n int, PRIMARY KEY (customer, id), UNIQUE (email) DEFERRABLE INITIALLY DEFERRED);
	SELECT shuttle.distribute_table('late', 'customer', tablets => 4);
	INSERT INTO late TABLE person;
});

# Plans are made, connections are there, and nodes are asked what they need be asked once.
for my $i (1 .. 8)
{
	$session->run("INSERT INTO person VALUES (100 + $i, 100 + $i, 'warm$i', 0);");
	$session->run("UPDATE person SET email = 'warmer$i' WHERE customer = 100 + $i AND id = 100 + $i;");
	$session->run("UPDATE person SET n = 1 WHERE customer = 100 + $i AND id = 100 + $i;");
	$session->run("DELETE FROM person WHERE customer = 100 + $i AND id = 100 + $i;");
	$session->run("UPDATE plain SET n = 1 WHERE customer = $i AND id = $i;");
	$session->run("INSERT INTO late VALUES (100 + $i, 100 + $i, 'warm$i', 0);");
	$session->run("UPDATE late SET email = 'warmer$i' WHERE customer = 100 + $i AND id = 100 + $i;");
	$session->run("DELETE FROM late WHERE customer = 100 + $i AND id = 100 + $i;");
}
$trips->most('INSERT', 2, map { "INSERT INTO person VALUES ($_, $_, 'new$_', 0)" } 201 .. 206);
$trips->most('INSERT of 200 rows', 2, "INSERT INTO person SELECT i, i, 'many' || i, 0 FROM generate_series(301, 500) AS i");
$trips->most('UPDATE of another column by key', 1, map { "UPDATE person SET n = 2 WHERE customer = $_ AND id = $_" } 1 .. 4);
$trips->most('UPDATE of the value by key', 5, map { "UPDATE person SET email = 'other$_' WHERE customer = $_ AND id = $_" } 1 .. 6);
$trips->most('DELETE by key', 5, map { "DELETE FROM person WHERE customer = $_ AND id = $_" } 1 .. 6);
$trips->most('INSERT, deferrable', 2, map { "INSERT INTO late VALUES ($_, $_, 'new$_', 0)" } 201 .. 206);
$trips->most('UPDATE of the value by key, deferrable', 6, map { "UPDATE late SET email = 'other$_' WHERE customer = $_ AND id = $_" } 1 .. 6);
$trips->most('DELETE by key, deferrable', 6, map { "DELETE FROM late WHERE customer = $_ AND id = $_" } 1 .. 6);
$trips->most('ON CONFLICT, no conflict', 5, map { "INSERT INTO person VALUES ($_, $_, 'put$_', 0) ON CONFLICT (email) DO UPDATE SET n = 1" } 601 .. 604);
$trips->most('ON CONFLICT DO UPDATE', 6, map { "INSERT INTO person VALUES ($_, $_, 'p@{[ $_ - 690 ]}', 0) ON CONFLICT (email) DO UPDATE SET n = 1" } 701 .. 704);
$trips->most('ON CONFLICT DO NOTHING', 3, map { "INSERT INTO person VALUES ($_, $_, 'p@{[ $_ - 690 ]}', 0) ON CONFLICT DO NOTHING" } 701 .. 704);
for my $i (1 .. 2)
{
	$session->run("INSERT INTO person SELECT i, i, 'batch' || i, 0 FROM generate_series(2000 + 10 * $i, 2009 + 10 * $i) AS i ON CONFLICT (email) DO UPDATE SET n = 1;");
	$session->run("INSERT INTO person SELECT i, i, 'batch' || i, 0 FROM generate_series(2000 + 10 * $i, 2009 + 10 * $i) AS i ON CONFLICT (email) DO UPDATE SET n = 1;");
}
$trips->most('ON CONFLICT of 100 rows, no conflict', 6, "INSERT INTO person SELECT i, i, 'hundred' || i, 0 FROM generate_series(3001, 3100) AS i ON CONFLICT (email) DO UPDATE SET n = 1");
$trips->most('ON CONFLICT DO UPDATE of 100 rows', 6, "INSERT INTO person SELECT i, i, 'hundred' || i, 0 FROM generate_series(3001, 3100) AS i ON CONFLICT (email) DO UPDATE SET n = 1");
$trips->most('ON CONFLICT DO NOTHING of 100 rows', 2, "INSERT INTO person SELECT i, i, 'hundred' || i, 0 FROM generate_series(3001, 3100) AS i ON CONFLICT (email) DO NOTHING");
$trips->most('UPDATE of a table without such an index', 1, map { "UPDATE plain SET n = 2 WHERE customer = $_ AND id = $_" } 11 .. 12);
# The measured price of a round trip depends on how busy the machine is.
$trips->query->safe_psql('postgres', "ALTER SERVER $_ OPTIONS (ADD shuttle_round_trip_cost '1000')") for qw(n1 n2);
$session->run("SELECT * FROM person WHERE email = 'p10';");
$trips->most('SELECT by the value from all tablets', 1, map { "SELECT * FROM person WHERE email = 'p$_'" } 11 .. 16);
$trips->query->safe_psql('postgres', "ALTER SERVER $_ OPTIONS (SET shuttle_round_trip_cost '0')") for qw(n1 n2);
$session->run("SELECT * FROM person WHERE email = 'p10';");
$trips->most('SELECT by the value by the index', 2, map { "SELECT * FROM person WHERE email = 'p$_'" } 11 .. 16);
$session->run("SELECT * FROM person WHERE email IN ('p9', 'p10');");
$trips->most('SELECT by a list of values', 2, map { "SELECT * FROM person WHERE email IN ('p$_', 'p@{[ $_ + 1 ]}')" } 11 .. 16);
is($trips->query->safe_psql('postgres', 'SELECT * FROM shuttle.check()'), '', 'entries are those of the rows');

done_testing();
