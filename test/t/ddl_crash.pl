# Somebody is killed, cancelled or cut off at a step of a statement that changes the query node and
# its storage nodes: all of it is done afterwards, here and there, or nothing. Each statement meets
# each step with one kind of fault; SHUTTLE_LONG=1: with all kinds.
# expected in server log: terminated by signal 9
use strict;
use warnings;

use Test::More;

use ShuttleCommit;
use ShuttlePoints;
use ShuttleSteps;

my $cluster = ShuttleCommit->new(2, query_conf => "wal_level = replica\n");
my $query = $cluster->{query};
my $points = ShuttlePoints->new($query);
plan skip_all => 'the server has no points to stop at' unless defined $points;

my $gone = q{CREATE TABLE shop.gone (id int PRIMARY KEY, v int); INSERT INTO shop.gone SELECT i, i FROM generate_series(1, 9) AS i;
	SELECT shuttle.distribute_table('shop.gone', 'id', 2);};
$query->safe_psql('postgres', qq{DROP USER MAPPING FOR CURRENT_USER SERVER node1; DROP USER MAPPING FOR CURRENT_USER SERVER node2;
	CREATE USER MAPPING FOR PUBLIC SERVER node1; CREATE USER MAPPING FOR PUBLIC SERVER node2;
	SELECT shuttle.use_node('node1'); SELECT shuttle.use_node('node2');
	CREATE SCHEMA shop; CREATE TABLE shop.customer (id int PRIMARY KEY, name text);
	CREATE TABLE shop.product (id int PRIMARY KEY, name text);
	CREATE TABLE shop.line (product int REFERENCES shop.product, no int, PRIMARY KEY (product, no));
	CREATE TABLE shop.country (id int PRIMARY KEY, name text);
	INSERT INTO shop.customer SELECT i, 'c' || i FROM generate_series(1, 40) AS i;
	INSERT INTO shop.product SELECT i, 'p' || i FROM generate_series(1, 10) AS i;
	INSERT INTO shop.line SELECT i % 10 + 1, i FROM generate_series(1, 30) AS i;
	INSERT INTO shop.country SELECT i, 'l' || i FROM generate_series(1, 50) AS i;
	SELECT shuttle.distribute_table('shop.customer', 'id', 2);
	SELECT shuttle.reference_table('shop.country');
	CREATE FUNCTION shop.name_of(a int) RETURNS text LANGUAGE sql AS 'SELECT name FROM shop.customer WHERE id = a';
	SELECT shuttle.distribute_function('shop.name_of(int)', 'a');
	$gone});

my $steps = ShuttleSteps->new($cluster, $points, 'shop');
my @commit = ([qw(before-prepare prepared)], [qw(prepare-sent committed)], [qw(recorded commit-sent)]);
my $customer = 'node LOCK TABLE shop.customer IN ACCESS SHARE MODE';
my $country = 'node LOCK TABLE shop.country IN ACCESS SHARE MODE';
my $written = 'node LOCK TABLE shop.customer IN ROW EXCLUSIVE MODE';
my @load = ('node CREATE TABLE shop.product (id int)', 'tables-on-nodes', 'rows-copied', 'kind-changed');

# statement, what takes it back, and its own steps
my @statements = (
	[ 'distribute group' => q{SELECT shuttle.distribute_tables('{shop.product.id, shop.line.product}', 2)}, q{SELECT shuttle.local_tables('{shop.product, shop.line}')}, @load ],
	[ 'local' => q{SELECT shuttle.local_table('shop.customer')}, q{SELECT shuttle.distribute_table('shop.customer', 'id', 2)}, $customer, 'rows-copied', 'kind-changed' ],
	[ 'reference' => q{SELECT shuttle.reference_table('shop.product')}, q{SELECT shuttle.local_table('shop.product')}, $load[0] ],
	[ 'local reference' => q{SELECT shuttle.local_table('shop.country')}, q{SELECT shuttle.reference_table('shop.country')}, $country ],
	[ 'foreign key' => q{ALTER TABLE shop.customer ADD CONSTRAINT f FOREIGN KEY (id) REFERENCES shop.country}, q{ALTER TABLE shop.customer DROP CONSTRAINT f}, $written ],
	[ 'column' => q{ALTER TABLE shop.customer ADD COLUMN note text DEFAULT 'x'}, q{ALTER TABLE shop.customer DROP COLUMN note}, $customer ],
	[ 'column of copies' => q{ALTER TABLE shop.country ADD COLUMN note text}, q{ALTER TABLE shop.country DROP COLUMN note}, $country ],
	[ 'type' => q{ALTER TABLE shop.customer ALTER COLUMN name TYPE varchar(20)}, q{ALTER TABLE shop.customer ALTER COLUMN name TYPE text}, $customer ],
	[ 'index' => q{CREATE INDEX customer_name ON shop.customer (name)}, q{DROP INDEX shop.customer_name}, $written ],
	[ 'rename' => q{ALTER TABLE shop.customer RENAME name TO title}, q{ALTER TABLE shop.customer RENAME title TO name}, $customer ],
	[ 'drop' => q{DROP TABLE shop.gone}, $gone, 'node LOCK TABLE shop.gone IN ACCESS SHARE MODE' ],
	[ 'function' => q{SELECT shuttle.local_function('shop.name_of(int)')}, q{SELECT shuttle.distribute_function('shop.name_of(int)', 'a', 'shop.customer')} ],
);
my $number = 0;
for my $entry (@statements)
{
	my ($name, $do, $undo, @own) = @$entry;
	my @places = (@own, $ENV{SHUTTLE_LONG} ? map { @$_ } @commit : @{ $commit[ $number % 3 ] });
	$steps->learn($name, $do, $undo);
	for my $place (@places)
	{
		my @faults = $ENV{SHUTTLE_LONG} ? (@ShuttleSteps::quick, @ShuttleSteps::slow) : $ShuttleSteps::quick[ $number++ % 4 ];
		$steps->fault($name, $place, $_) for @faults;
	}
	next if $ENV{SHUTTLE_LONG};
	$steps->fault($name, $places[ $number % @places ], $ShuttleSteps::slow[ $number % 2 ]);
	$number++;
}
$cluster->stop;
done_testing();
