# A storm: clients of two query nodes update five rows of three nodes in any order.
# Each transaction commits or gets 40P01; and who waits for whom, as the nodes tell
# every 100 ms, has no cycle that stays.
# SHUTTLE_LONG=1 lasts 30 s, else 6 s.
# trap 32
use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

use ShuttleCommit;
use ShuttleSession;

my $seconds = $ENV{SHUTTLE_LONG} ? 30 : 6;
my $nclients = 20;
my $timeout_ms = 300;
my $most_seconds = 2 * $timeout_ms / 1000 + 1;

# Beside other tests, a search may wait for the processor.
my $grace = 8;

my $conf = "shuttle.deadlock_timeout = '${timeout_ms}ms'\nmax_connections = 60";
my $cluster = ShuttleCommit->new(3, query_conf => $conf);
my @queries = ($cluster->{query}, $cluster->add_query($conf));
my @nodes = @{ $cluster->{nodes} };

# Row 1 is on node 2, row 2 on node 3, row 3 on node 1, ...
$_->safe_psql('postgres', q{
	CREATE FUNCTION strike(struck int[]) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		i int;
	BEGIN
		FOREACH i IN ARRAY struck LOOP
			EXECUTE format('UPDATE account%s SET v = v + 1 WHERE id = %s', i % 3 + 1, i);
		END LOOP;
	END $$}) for @queries;

my $script = PostgreSQL::Test::Utils::tempdir . '/storm.sql';
append_to_file($script, 'SELECT strike(ARRAY(SELECT i FROM generate_series(1, 5) AS i ORDER BY random() LIMIT 3));');

# ---- who waits for whom

my $edges = q{SELECT waiting.application_name || ' > ' || holding.application_name
	FROM pg_stat_activity AS waiting, unnest(pg_blocking_pids(waiting.pid)) AS blocker
	JOIN pg_stat_activity AS holding ON holding.pid = blocker
	WHERE waiting.wait_event_type = 'Lock' AND waiting.application_name ~ '^pg_shuttle .*:.* ';};

# The edges that all nodes tell of, each with the time since when it was there.
sub look
{
	my ($watchers, $since) = @_;
	$_->send($edges) for @$watchers;
	my %seen;
	for my $watcher (@$watchers)
	{
		my ($out, $err) = $watcher->result;
		die $err if $err ne '';
		$seen{$_} = $since->{$_} // time() for split /\n/, $out;
	}
	return \%seen;
}

sub has_cycle
{
	my %blockers;
	for my $edge (@_)
	{
		my ($waiting, $holding) = split / > /, $edge;
		push @{ $blockers{$waiting} }, $holding;
	}

	# Who waits for nobody that waits is in no cycle.
	my $nleft;
	do
	{
		$nleft = keys %blockers;
		for my $waiting (keys %blockers)
		{
			delete $blockers{$waiting} unless grep { exists $blockers{$_} } @{ $blockers{$waiting} };
		}
	} until keys %blockers == $nleft;
	return $nleft > 0;
}

# For how long the oldest cycle has been there: all of its edges have; 0: there is none.
sub oldest_cycle
{
	my $since = shift;
	my @oldest_first = sort { $since->{$a} <=> $since->{$b} } keys %$since;
	return 0 unless has_cycle(@oldest_first);
	for my $i (0 .. $#oldest_first)
	{
		return time() - $since->{ $oldest_first[$i] } if has_cycle(@oldest_first[ 0 .. $i ]);
	}
	return;
}

is(has_cycle('a > b', 'b > c', 'd > a'), '', 'a chain is none');
is(has_cycle('a > b', 'c > a', 'b > d', 'b > c'), 1, 'a cycle with a tail is one');

# ---- the storm

my @storms;
for my $query (@queries)
{
	my $output = PostgreSQL::Test::Utils::tempdir . '/' . $query->name;
	my @command = ('pgbench', '-n', '-c', $nclients / 2, '-T', $seconds, '-f', $script, '--failures-detailed',
		$query->connstr('postgres'));
	push @storms, { output => $output, run => IPC::Run::start(\@command, '<', \undef, '>&', $output) };
}

my @watchers = map { ShuttleSession->new($_, 'postgres') } @nodes;
my ($since, $longest, $ncycles, $nlooks) = ({}, 0, 0, 0);
my $end = time() + $seconds;
while (time() < $end)
{
	my $next = time() + 0.1;
	$since = look(\@watchers, $since);
	my $age = oldest_cycle($since);
	$longest = $age if $age > $longest;
	$ncycles++ if $age > 0;
	$nlooks++;
	my $pause = $next - time();
	sleep($pause) if $pause > 0;
}
my ($ncommitted, $ndeadlocks) = (0, 0);
for my $storm (@storms)
{
	ok($storm->{run}->finish, 'the clients come to their end') or diag(slurp_file($storm->{output}));
	my %number = slurp_file($storm->{output}) =~ /number of (transactions actually processed|deadlock failures|serialization failures): (\d+)/g;
	$ncommitted += $number{'transactions actually processed'};
	$ndeadlocks += $number{'deadlock failures'};
	is($number{'serialization failures'}, 0, 'whoever fails does so by 40P01');
}
is(oldest_cycle(look(\@watchers, {})), 0, 'no cycle is left');
$_->quit for @watchers;
diag(sprintf '%d committed, %d got 40P01; %d looks, a cycle in %d of them, the longest for %.2f s (at most %.1f)',
	$ncommitted, $ndeadlocks, $nlooks, $ncycles, $longest, $most_seconds);
cmp_ok($ncommitted, '>', 0, 'some commit');
cmp_ok($ncycles, '>', 0, 'there were cycles');
cmp_ok($longest, '<', $most_seconds + $grace, 'none of them stays');

my $sum = 0;
$sum += $_->safe_psql('postgres', "SELECT sum(v) - $ShuttleCommit::balance * $ShuttleCommit::accounts FROM account") for @nodes;
is($sum, 3 * $ncommitted, 'what committed is there, and nothing else');

$cluster->stop;
done_testing();
