# Somebody is killed at each point of PREPARE TRANSACTION, COMMIT PREPARED and ROLLBACK PREPARED
# over two nodes and a table here: all is there afterwards, or nothing, and what was
# prepared stays so until the client ends it. SHUTTLE_LONG=20 runs each row 20 times.
# trap 27, 28, 29
# expected in server log: terminated by signal 9
use strict;
use warnings;

use Test::More;
use Time::HiRes qw(time usleep);

use ShuttleCommit;
use ShuttlePoints;
use ShuttleSession;

my $cluster = ShuttleCommit->new(2);
my ($query, $one) = ($cluster->{query}, $cluster->{nodes}[0]);
my $points = ShuttlePoints->new($query);
plan skip_all => 'the server has no points to stop at' unless defined $points;

my @steps = (
	(map { [ 'PREPARE TRANSACTION', $_ ] } 'before-prepare', 'prepare-sent', 'recorded', 'client-prepared'),
	(map { my $point = $_; map { [ "$_ PREPARED", $point ] } 'COMMIT', 'ROLLBACK' } 'client-prepared-listed', 'client-decided'));
my @victims = ('storage backend', 'storage server', 'query backend', 'query server');
my $rounds = $ENV{SHUTTLE_LONG} // 1;
my $transfer = 0;

# A session that ends what another prepared has no connection to a node before it has decided.
sub end_one
{
	my ($victim, $pid) = @_;
	return $cluster->kill_victim($victim, $pid) if $victim ne 'storage backend';
	my $backend = $one->safe_psql('postgres', "SELECT max(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
	$cluster->kill_backend($backend) if $backend ne '';
	return;
}

sub held { return $query->safe_psql('postgres', "SELECT count(*) FROM pg_prepared_xacts WHERE gid = 'g$transfer'"); }

# What of it is prepared on nodes is what the client has prepared here.
sub agrees
{
	my ($held, $label) = @_;
	my $deadline = time() + 20;
	my $wanted = $held ? 2 : 0;
	usleep(20_000) while $cluster->nprepared != $wanted && time() < $deadline;
	return is($cluster->nprepared, $wanted, "$label: the nodes agree");
}

for my $round (1 .. $rounds)
{
	for my $step (@steps)
	{
		my ($command, $point) = @$step;
		for my $victim (@victims)
		{
			$transfer++;
			my $label = "$victim killed at $point of $command" . ($rounds > 1 ? ", round $round" : '');
			my $before = $cluster->state;
			my ($v1, $v2, $n) = split /\|/, $before;
			my $after = join '|', $v1 - 10, $v2 + 10, $n + 1;
			my $session = ShuttleSession->new($query, 'postgres');
			$session->run("BEGIN; UPDATE account1 SET v = v - 10 WHERE id = 1; UPDATE account2 SET v = v + 10 WHERE id = 1;
				INSERT INTO ledger VALUES ($transfer);");
			$session->run("PREPARE TRANSACTION 'g$transfer';") if $command ne 'PREPARE TRANSACTION';
			$points->arm($point);
			$session->send("$command 'g$transfer';");
			unless ($points->reached($point, $session->pid))
			{
				fail("$label: does not get there");
				next;
			}
			end_one($victim, $session->pid);
			$points->release($point) if $victim =~ /storage/;
			my ($out, $err) = $session->result;
			$session->quit;
			$cluster->bring_up;
			$points->forget;
			my $held = held();
			agrees($held, $label);
			is($cluster->state, $before, "$label: nobody sees what is prepared") if $held;
			is($held, $err =~ /^ERROR/m ? 0 : 1, "$label: what the client was told")
				if $command eq 'PREPARE TRANSACTION' && $victim =~ /storage/;
			if ($command eq 'PREPARE TRANSACTION')
			{
				$query->safe_psql('postgres', "COMMIT PREPARED 'g$transfer'") if $held;
				is($cluster->state, $held ? $after : $before, "$label: all or nothing");
				next;
			}
			is($held, $point eq 'client-prepared-listed' && $victim =~ /query/ ? 1 : 0, "$label: decided or not");
			$query->safe_psql('postgres', "$command 'g$transfer'") if $held;
			$cluster->is_settled($label);
			is($cluster->state, $command =~ /^COMMIT/ ? $after : $before, "$label: as the client wants it");
		}
	}
}

# Records are forgotten in the end.
ok($query->poll_query_until('postgres', 'SELECT count(*) = 0 FROM shuttle.commit_records'), 'no record is left');
$cluster->stop;
done_testing();
