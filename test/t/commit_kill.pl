# Somebody is killed at each point of a commit over two nodes and a table here:
# all is there afterwards, or nothing, and no node holds anything prepared.
# SHUTTLE_LONG=20 runs each row of the table 20 times.
# trap 27, 28, 29
# expected in server log: terminated by signal 9
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

# In their order, and whether the decision has fallen there.
my @points = ('before-prepare', 'prepare-sent', 'recorded', 'prepared', 'committed', 'commit-sent');
my %decided = map { $_ => 1 } 'committed', 'commit-sent';
my @victims = ('storage backend', 'storage server', 'query backend', 'query server');
my $rounds = $ENV{SHUTTLE_LONG} // 1;
my $transfer = 0;

for my $round (1 .. $rounds)
{
	for my $point (@points)
	{
		for my $victim (@victims)
		{
			my $label = "$victim killed at $point" . ($rounds > 1 ? ", round $round" : '');
			my $before = $cluster->state;
			my ($v1, $v2, $n) = split /\|/, $before;
			my $after = join '|', $v1 - 10, $v2 + 10, $n + 1;
			my $session = ShuttleSession->new($query, 'postgres');
			$transfer++;
			$session->run("BEGIN; UPDATE account1 SET v = v - 10 WHERE id = 1; UPDATE account2 SET v = v + 10 WHERE id = 1;
				INSERT INTO ledger VALUES ($transfer);");
			$points->arm($point);
			$session->send('COMMIT;');
			unless ($points->reached($point, $session->pid))
			{
				fail("$label: does not get there");
				next;
			}
			$cluster->kill_victim($victim, $session->pid);
			$points->release($point) if $victim =~ /storage/;
			my ($out, $err) = $session->result;
			$session->quit;
			$cluster->bring_up;
			$points->forget;
			$cluster->is_settled($label);
			my $found = $cluster->state;
			if ($victim =~ /query/)
			{
				is($found, $decided{$point} ? $after : $before, "$label: " . ($decided{$point} ? 'all' : 'nothing'));
			}
			else
			{
				# who was told of an error has nothing, and a warning is none
				is($found, $err =~ /^ERROR/m ? $before : $after, "$label: what the client was told");
				unlike($err, qr/^ERROR/m, "$label: has committed") if $decided{$point} || $point eq 'prepared';
				# a server's process may go on for a while without its postmaster
				like($err, qr/^ERROR:  0800/m, "$label: has failed")
					if $point eq 'before-prepare' && $victim eq 'storage backend';
			}
		}
	}
}

# Records are forgotten in the end.
ok($query->poll_query_until('postgres', 'SELECT count(*) = 0 FROM shuttle.commit_records'), 'no record is left');
$cluster->stop;
done_testing();
