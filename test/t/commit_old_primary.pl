# A primary that has shuttle.query_node_name, and that goes on after its standby, with a name of its own, was promoted: it
# finishes nothing of what the promoted one has prepared on nodes, in a commit that waits or for a client.
# trap 28, 29
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleCommit;
use ShuttleSession;

my $cluster = ShuttleCommit->new(2, conf => "wal_level = replica\nmax_wal_senders = 5\n", query_conf => "shuttle.recovery_interval = 0\n");
my ($old, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });
$old->backup('base');

sub states { return $_[0]->safe_psql('postgres', 'SELECT DISTINCT state FROM shuttle.transactions ORDER BY 1'); }
sub recovered { return $_[0]->safe_psql('postgres', q{SELECT string_agg(concat_ws(':', server, committed, rolled_back, unfinished), ' ' ORDER BY server) FROM shuttle.recover()}); }

# A standby that was promoted, whose synchronous standby never comes.
sub promoted
{
	my ($name, $number) = @_;
	my $standby = PostgreSQL::Test::Cluster->new("standby$number");
	$standby->init_from_backup($old, 'base', has_streaming => 1);
	$standby->append_conf('postgresql.conf', "shuttle.query_node_name = '$name'");
	$standby->start;
	$old->wait_for_catchup($standby, 'replay');
	$standby->promote;
	$standby->safe_psql('postgres', "SET synchronous_commit = off; ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
	$standby->reload;
	$standby->poll_query_until('postgres', "SELECT current_setting('synchronous_standby_names') = 'nobody'") or die 'not reloaded';
	return $standby;
}

my $number = 0;
for my $case ([ '', 'q2' ], [ 'q1', 'q2' ], [ 'q1', '' ])
{
	my ($old_name, $name) = @$case;
	my $label = join ' and ', map { $_ eq '' ? 'no name' : "name $_" } @$case;
	$old->safe_psql('postgres', "ALTER SYSTEM SET shuttle.query_node_name = '$old_name'");
	$old->restart;
	my $new = promoted($name, ++$number);
	my $before = $cluster->state;

	# the commit is decided, and nodes have not been told
	my $session = ShuttleSession->new($new, 'postgres');
	$session->send('BEGIN; UPDATE account1 SET v = v - 1 WHERE id = 1; UPDATE account2 SET v = v + 1 WHERE id = 1; COMMIT;');
	my $waits = q{FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE 'COMMIT%'};
	$new->poll_query_until('postgres', "SELECT EXISTS (SELECT $waits)") or die 'no COMMIT waits';
	$new->safe_psql('postgres', "SELECT pg_cancel_backend(pid) $waits");
	like(($session->result)[1], qr/WARNING:  40003: storage node "node1" has not committed/, "$label: a commit that was not replicated");
	$session->quit;
	$_->poll_query_until('postgres', q{SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name LIKE 'pg_shuttle%')}) for @nodes;
	is(states($old), 'of a server that has replaced this one', "$label: is not the old primary's");
	is(recovered($old), 'node1:0:0:1 node2:0:0:1', "$label: which leaves it alone");

	$new->safe_psql('postgres', 'SET synchronous_commit = off; ALTER SYSTEM RESET synchronous_standby_names');
	$new->reload;
	$new->poll_query_until('postgres', "SELECT current_setting('synchronous_standby_names') = ''") or die 'not reloaded';
	is(recovered($new), 'node1:1:0:0 node2:1:0:0', "$label: the promoted one commits it");

	# a client's
	$session = ShuttleSession->new($new, 'postgres');
	is(($session->run("BEGIN; UPDATE account1 SET v = v - 1 WHERE id = 2; UPDATE account2 SET v = v + 1 WHERE id = 2; PREPARE TRANSACTION 'a';"))[1], '', "$label: a client prepares");
	$session->quit;
	is(states($old), 'of a server that has replaced this one', "$label: on the promoted one");
	is(recovered($old), 'node1:0:0:1 node2:0:0:1', "$label: and the old primary leaves it alone");
	is(($new->psql('postgres', "COMMIT PREPARED 'a'"))[2], '', "$label: until it is committed");
	my ($one, $two, $rest) = split /\|/, $before;
	is($cluster->state, join('|', $one - 2, $two + 2, $rest), "$label: all is there");
	$new->stop;
}

$cluster->stop;
done_testing();
