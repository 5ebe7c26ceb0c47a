# Somebody is killed while a table is distributed, or brought back: all of it is
# done afterwards, here and on nodes, or nothing.
# expected in server log: terminated by signal 9
use strict;
use warnings;

use Test::More;

use ShuttleCommit;
use ShuttlePoints;
use ShuttleSession;

my $cluster = ShuttleCommit->new(2);
my ($query, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });
my $points = ShuttlePoints->new($query);
plan skip_all => 'the server has no points to stop at' unless defined $points;

# In their order; the decision falls at the last one.
my @points = ('tables-on-nodes', 'rows-copied', 'kind-changed', 'prepared', 'committed');
my @victims = ('storage server', 'query backend', 'query server');
my %action = (
	local => q{SELECT shuttle.distribute_tables('{shop.customer.id, shop.orders.customer_id}', 4)},
	spread => q{SELECT shuttle.local_tables('{shop.orders, shop.customer}')});

$query->safe_psql('postgres', q{DROP USER MAPPING FOR CURRENT_USER SERVER node1; DROP USER MAPPING FOR CURRENT_USER SERVER node2;
	CREATE USER MAPPING FOR PUBLIC SERVER node1; CREATE USER MAPPING FOR PUBLIC SERVER node2;});
$query->safe_psql('postgres', q{SELECT shuttle.use_node('node1'); SELECT shuttle.use_node('node2');
	CREATE SCHEMA shop; CREATE TABLE shop.customer (id int PRIMARY KEY, name text);
	CREATE TABLE shop.orders (id int, customer_id int REFERENCES shop.customer, PRIMARY KEY (customer_id, id));
	INSERT INTO shop.customer SELECT i, 'c' || i FROM generate_series(1, 100) AS i;
	INSERT INTO shop.orders SELECT i, 1 + i % 100 FROM generate_series(1, 500) AS i;});

# What there is: "local" or "spread" if all of it fits together, else what does not.
sub found
{
	my $here = $query->safe_psql('postgres', q{SELECT string_agg(relkind, '' ORDER BY relname) || ' ' ||
		(SELECT count(*) FROM shuttle.tables) || ' ' || (SELECT count(*) FROM shop.customer) || ' ' || (SELECT count(*) FROM shop.orders)
		FROM pg_class WHERE relname IN ('customer', 'orders')});
	my @there = map { $_->safe_psql('postgres', q{SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace WHERE nspname = 'shop' AND relkind IN ('r', 'p')}) } @nodes;
	return 'local' if "$here @there" eq 'rr 0 100 500 0 0';
	return 'spread' if "$here @there" eq 'pp 2 100 500 6 6';
	return "$here @there";
}

sub other { return $_[0] eq 'local' ? 'spread' : 'local'; }

sub kill_at
{
	my ($point, $victim) = @_;
	my $before = found();
	return unless is($before eq 'local' || $before eq 'spread', 1, "all fits before: $before");
	my $label = ($before eq 'local' ? 'distribute' : 'bring back') . ", $victim killed at $point";
	my $session = ShuttleSession->new($query, 'postgres');
	$points->arm($point);
	$session->send("$action{$before};");
	return fail("$label: does not get there") unless $points->reached($point, $session->pid);
	$cluster->kill_victim($victim, $session->pid);
	$points->release($point) if $victim =~ /storage/;
	my ($out, $err) = $session->result;
	$session->quit;
	$cluster->bring_up;
	$points->forget;
	$cluster->is_settled($label, 30);
	my $done = $victim =~ /query/ ? $point eq 'committed' : $err !~ /^ERROR/m;
	is(found(), $done ? other($before) : $before, "$label: " . ($done ? 'all' : 'nothing'));
	is($query->safe_psql('postgres', 'SELECT * FROM shuttle.check()'), '', "$label: check() finds nothing");
	return;
}

# Both ways: what is found decides what is done next.
for my $way (qw(local spread))
{
	for my $victim (@victims)
	{
		for my $point (@points)
		{
			next if $point eq 'tables-on-nodes' && $way eq 'spread';
			$query->safe_psql('postgres', $action{ other($way) }) if found() ne $way;
			kill_at($point, $victim);
		}
	}
}
# A transaction that has committed here can still be prepared on a node.
$query->safe_psql('postgres', $action{local}) if found() eq 'local';
my $tablet = $nodes[0]->safe_psql('postgres', q{SELECT min(tableoid::regclass::text) FROM shop.customer});
my $row = $nodes[0]->safe_psql('postgres', qq{SELECT min(id) FROM $tablet});
$nodes[0]->safe_psql('postgres', qq{BEGIN; UPDATE $tablet SET name = 'prepared' WHERE id = $row; PREPARE TRANSACTION 'late'});
my $session = ShuttleSession->new($query, 'postgres');
$session->send("$action{spread};");
ok($nodes[0]->poll_query_until('postgres', q{SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)}), 'who brings a table back waits for it');
$nodes[0]->safe_psql('postgres', q{COMMIT PREPARED 'late'});
$session->result;
$session->quit;
is($query->safe_psql('postgres', q{SELECT name FROM shop.customer WHERE id = } . $row), 'prepared', 'and has its row');
is(found(), 'local', 'the tables are back');
is($query->safe_psql('postgres', q{SELECT count(*) FROM pg_constraint WHERE conrelid = 'shop.orders'::regclass AND contype = 'f'}),
	1, 'the foreign key is there');
$cluster->stop;
done_testing();
