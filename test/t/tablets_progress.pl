# Other sessions see how far a table is while it is distributed or brought back.
use strict;
use warnings;

use Test::More;

use ShuttleCommit;
use ShuttlePoints;
use ShuttleSession;

my $cluster = ShuttleCommit->new(2);
my $query = $cluster->{query};
my $points = ShuttlePoints->new($query);
plan skip_all => 'the server has no points to stop at' unless defined $points;

$query->safe_psql('postgres', q{DROP USER MAPPING FOR CURRENT_USER SERVER node1; DROP USER MAPPING FOR CURRENT_USER SERVER node2;
	CREATE USER MAPPING FOR PUBLIC SERVER node1; CREATE USER MAPPING FOR PUBLIC SERVER node2;});
$query->safe_psql('postgres', q{SELECT shuttle.use_node('node1'); SELECT shuttle.use_node('node2');
	CREATE TABLE kind (id int PRIMARY KEY); CREATE TABLE item (id int PRIMARY KEY, name text); CREATE ROLE other;
	INSERT INTO item SELECT i, 'name ' || i FROM generate_series(1, 20000) AS i; ANALYZE item;});
my $progress = 'SELECT relation, command, phase, rows, estimated_rows, bytes > 200000, percent FROM shuttle.progress';
my $session = ShuttleSession->new($query, 'postgres');

sub stopped_at
{
	my ($point, $statement, $expected) = @_;
	$points->arm($point);
	$session->send($statement);
	ok($points->reached($point, $session->pid), "$statement gets to $point");
	is($query->safe_psql('postgres', $progress), $expected, 'what others see');
	is($query->safe_psql('postgres', "SET ROLE other; $progress"), '', 'but not a role without rights');
	is($query->safe_psql('postgres', 'SELECT pid FROM shuttle.progress'), $session->pid, 'its process');
	return;
}

sub goes_on
{
	my $point = shift;
	$points->release($point);
	my (undef, $error) = $session->result;
	unlike($error, qr/ERROR/, 'it goes on');
	is($query->safe_psql('postgres', $progress), '', 'nothing is left');
	return;
}

stopped_at('tables-on-nodes', q{SELECT shuttle.distribute_table('item', 'id');},
	'item|distribute|making tables on nodes|0|20000|f|0.0');
goes_on('tables-on-nodes');
$query->safe_psql('postgres', q{SELECT shuttle.local_table('item')});
stopped_at('rows-copied', q{SELECT shuttle.distribute_table('item', 'id');}, 'item|distribute|copying rows|20000|20000|t|99.9');
goes_on('rows-copied');
stopped_at('rows-copied', q{SELECT shuttle.local_table('item');}, 'item|local|copying rows|20000|20000|t|99.9');
goes_on('rows-copied');

# a session that failed shows nothing of what it does later
$session->run('CREATE TABLE bad (id int);');
$cluster->{nodes}[1]->safe_psql('postgres', 'CREATE TABLE bad (id int)');
my (undef, $error) = $session->run(q{SELECT shuttle.distribute_table('bad', 'id');});
like($error, qr/42P07/, 'a node has such a table');
is($query->safe_psql('postgres', $progress), '', 'nothing is left of what failed');
$session->run('SELECT count(*) FROM account1;');
is($query->safe_psql('postgres', $progress), '', 'nor of what comes later');
$cluster->stop;
done_testing();
