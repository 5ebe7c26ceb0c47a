# Large tables move while four writers change them: no row is lost, doubled or in the wrong
# place, and nobody is held up for long. Then each side is killed at each step of a move.
#
# With SHUTTLE_FULL_MOVES=moves there are a million rows and 20 moves in a row, and it is an
# error if writers were held up for long; with SHUTTLE_FULL_MOVES=kills every pair of a
# step and a side; without, a part of that.
# expected in server log: terminated by signal 9
use strict;
use warnings;

use File::Spec;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use ShuttleCommit;
use ShuttlePoints;
use ShuttleSession;

my $full = $ENV{SHUTTLE_FULL_MOVES} // '';
my $nrows = $full ? 1_000_000 : 20_000;	# of four tablets, and a quarter of them in a foreign table
my $nsingle = $nrows / 4;
my $nmoves = $full eq 'moves' ? 20 : 4;

my $cluster = ShuttleCommit->new(2, conf => "wal_level = logical\nmax_wal_senders = 10\nmax_replication_slots = 10\nmax_logical_replication_workers = 10\nmax_worker_processes = 20\nwal_retrieve_retry_interval = 200ms\nmax_wal_size = 8GB\n");
my ($query, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });
my $points = ShuttlePoints->new($query);

$nodes[0]->safe_psql('postgres', "CREATE TABLE single AS SELECT i AS id, 0 AS n, repeat('s', 50) AS note FROM generate_series(1, $nsingle) i; ALTER TABLE single ADD PRIMARY KEY (id)");
$query->safe_psql('postgres', qq{DROP USER MAPPING FOR CURRENT_USER SERVER node$_; CREATE USER MAPPING FOR PUBLIC SERVER node$_; SELECT shuttle.use_node('node$_')}) for 1 .. 2;
$query->safe_psql('postgres', qq{CREATE TABLE spread AS SELECT i AS id, 0 AS n, repeat('x', 50) AS note FROM generate_series(1, $nrows) i; ALTER TABLE spread ADD PRIMARY KEY (id);
	CREATE FOREIGN TABLE single (id int, n int, note text) SERVER node1; CREATE TABLE written (id int, single int); SELECT shuttle.distribute_table('spread', 'id', 4);});

# ---- writers, who connect again when a server was killed

my $directory = File::Spec->rel2abs(PostgreSQL::Test::Utils::tempdir());
append_to_file("$directory/write.sql", qq{\\set id random(1, $nrows)
\\set single random(1, $nsingle)
BEGIN;
UPDATE spread SET n = n + 1 WHERE id = :id;
UPDATE single SET n = n + 1 WHERE id = :single;
INSERT INTO written VALUES (:id, :single);
COMMIT;
});

sub start_writers
{
	my ($log) = @_;
	append_to_file("$directory/go", '');
	my $pid = fork() // die "could not fork: $!";
	return $pid if $pid;
	chdir $directory;
	open(STDOUT, '>', '/dev/null'); open(STDERR, '>', "$directory/errors");
	my @command = ('pgbench', '-n', '-c', 4, '-M', 'prepared', '-f', 'write.sql', '-l', "--log-prefix=$log", '-h', $query->host, '-p', $query->port);
	while (-e "$directory/go") { system(@command, '-T', 3, 'postgres') == 0 or usleep(100_000); }
	POSIX::_exit(0);
}

sub end_writers
{
	my ($pid) = @_;
	unlink "$directory/go";
	waitpid($pid, 0);
	return;
}

# The longest transaction, in seconds, of those that ended in a time.
sub longest
{
	my ($log, $since, $until) = @_;
	my $longest = 0;
	for my $file (glob "$directory/$log.*")
	{
		open(my $lines, '<', $file) or die "no log: $!";
		while (my $line = <$lines>)
		{
			my (undef, undef, $took_us, undef, $s, $us) = split ' ', $line;
			my $end = $s + $us / 1e6;
			$longest = $took_us / 1e6 if $end > $since && $end < $until && $took_us / 1e6 > $longest;
		}
	}
	return $longest;
}

sub all_fits
{
	my ($label) = @_;
	for my $table ([ 'spread', $nrows, 'id' ], [ 'single', $nsingle, 'single' ])
	{
		my ($name, $count, $column) = @$table;
		is($query->safe_psql('postgres', "SELECT count(*), count(DISTINCT id), sum(n) - (SELECT count(*) FROM written) FROM $name"), "$count|$count|0", "$label: no row of $name is lost or doubled, and no change");
		is($query->safe_psql('postgres', "SELECT count(*) FROM (SELECT $column AS id, count(*) AS n FROM written GROUP BY 1) AS w JOIN $name USING (id) WHERE $name.n <> w.n"), '0', "$label: each row of $name was changed as often as was written");
	}
	is($query->safe_psql('postgres', 'SELECT * FROM shuttle.check()'), '', "$label: each row is where it belongs");
	is(join(' ', map { $_->safe_psql('postgres', 'SELECT (SELECT count(*) FROM pg_publication) + (SELECT count(*) FROM pg_subscription) + (SELECT count(*) FROM pg_replication_slots)') } @nodes), '0 0', "$label: nothing is left");
	return;
}

# Calls that move something to where it is not, in turn.
sub next_move
{
	my ($number) = @_;
	my $name = ('spread_t0', 'spread_t1', 'single')[ $number % 3 ];
	my $from = $query->safe_psql('postgres', "SELECT srvname FROM pg_foreign_table JOIN pg_foreign_server AS s ON s.oid = ftserver WHERE ftrelid = (SELECT oid FROM pg_class WHERE relname = '$name')");
	my $to = $from eq 'node1' ? 'node2' : 'node1';
	my $procedure = $name eq 'single' ? 'move_table' : 'move_tablet';
	return ("CALL shuttle.$procedure('$name', '$to');", $from, $to);
}

# ---- moves in a row

my $writers = start_writers('moves');
my @held_up;
my @windows;
for my $number (1 .. $nmoves)
{
	my ($call) = next_move($number);
	my $start = time();
	my ($out, $err) = ('', '');
	$query->psql('postgres', $call, stdout => \$out, stderr => \$err);
	is($err, '', $call);
	push @windows, [ $start, time() + 0.2 ];
	usleep(300_000);
}
end_writers($writers);
is(slurp_file("$directory/errors") =~ s/^pgbench \(.*\n//rgm, '', 'no writer had an error');
@held_up = sort { $a <=> $b } map { longest('moves', @$_) } @windows;
my ($median, $most) = @held_up[ $#held_up / 2, -1 ];
diag(sprintf 'writers were held up %.2f s in the median of %d moves, %.2f s at most; moves took %.1f s in the mean', $median, $nmoves, $most,
	eval { my $sum = 0; $sum += $_->[1] - $_->[0] for @windows; $sum / @windows }) if $full eq 'moves';
if ($full eq 'moves')
{
	cmp_ok($median, '<=', 0.5, 'the median of the times for which writers were held up');
	cmp_ok($most, '<=', 1, 'the longest of them');
}
all_fits("$nmoves moves in a row");

# ---- each side is killed at each step

SKIP:
{
	skip 'only moves', 1 if $full eq 'moves';
	skip 'the server has no points to stop at', 1 unless defined $points;
	my $number = 0;
	my @steps = ('move-made', 'move-subscribed', 'move-copied', 'move-locked', 'move-changed', 'move-done');
	for my $step ($full eq 'kills' ? @steps : @steps[ 1, 4 ])
	{
		for my $side ('query node', 'old node', 'new node')
		{
			my ($call, $from, $to) = next_move($number++);
			my $label = "$side at $step";
			my $writers = start_writers('kills');
			my $session = ShuttleSession->new($query, 'postgres');
			$points->arm($step);
			$session->send($call);
			ok($points->reached($step, $session->pid), "$label: gets there");
			if ($side eq 'query node') { $cluster->kill_server($query, $session->pid); }
			else
			{
				$cluster->kill_server($nodes[ substr($side eq 'old node' ? $from : $to, -1) - 1 ]);
				$points->release($step);
			}
			$cluster->bring_up;
			$session->result;
			$session->quit;
			usleep(500_000);
			end_writers($writers);
			$points->forget;
			$cluster->is_settled($label, 30);
			$query->safe_psql('postgres', 'SELECT * FROM shuttle.check(repair => true)');
			all_fits($label);
		}
	}
}
$cluster->stop;
done_testing();
