# Loads of a distributed table, by distribute_table() and by COPY: the memory of the session does
# not grow with the rows, a cancel or timeout ends them soon and leaves all as it was, and
# the rows are those of before.
use strict;
use warnings;

use Cwd qw(abs_path);
use Test::More;
use Time::HiRes qw(time usleep);

use ShuttleCommit;
use ShuttleSession;

plan skip_all => 'needs /proc' unless -r "/proc/$$/status";

my $nrows = 400_000;
my $allowed_mb = 48;		# the rows have 60 MB when they are buffered
my $allowed_seconds = 10;	# usually 0.1, but the machine may be busy

my $cluster = ShuttleCommit->new(2);
my $query = $cluster->{query};
my $file = abs_path($query->basedir) . '/rows';

$query->safe_psql('postgres', q{DROP USER MAPPING FOR CURRENT_USER SERVER node1; DROP USER MAPPING FOR CURRENT_USER SERVER node2;
	CREATE USER MAPPING FOR PUBLIC SERVER node1; CREATE USER MAPPING FOR PUBLIC SERVER node2;});
$query->safe_psql('postgres', qq{SELECT shuttle.use_node('node1'); SELECT shuttle.use_node('node2');
	CREATE TABLE item (id bigint, part int, note text);
	INSERT INTO item SELECT i, nullif(i % 10, 0), 'row ' || i || repeat('x', 70) FROM generate_series(1, $nrows) AS i;
	COPY item TO '$file'; ANALYZE item;});
my $sum = 'SELECT count(*), sum(hashtextextended(i::text, 0)) FROM item AS i';
my $rows = $query->safe_psql('postgres', $sum);
my $session = ShuttleSession->new($query, 'postgres');
my $looker = ShuttleSession->new($query, 'postgres');

sub anonymous_mb
{
	open my $status, '<', '/proc/' . $session->pid . '/status' or return 0;
	my ($kb) = map { /^RssAnon:\s+(\d+)/ ? $1 : () } <$status>;
	close $status;
	return ($kb // 0) / 1024;
}

# Runs it to its end; returns by how much the session's memory grew meanwhile.
sub run_watched
{
	my $statement = shift;
	my $before = anonymous_mb();
	my $most = $before;

	$session->send($statement);
	my $state = "SELECT state = 'active' FROM pg_stat_activity WHERE pid = " . $session->pid;
	my $began = time();
	for (my $active = 't'; $active eq 't' || time() < $began + 0.5; usleep(10_000))
	{
		my $now = anonymous_mb();
		$most = $now if $now > $most;
		($active) = $looker->run("$state;");
	}
	my (undef, $error) = $session->result;
	unlike($error, qr/ERROR/, "$statement has no error");
	cmp_ok($most - $before, '<', $allowed_mb, 'memory');
	return;
}

# Cancels it when the query returns t.
sub cancelled_at
{
	my ($statement, $when) = @_;

	$session->send($statement);
	ok($looker->poll($when, 60), "$statement has begun");
	my $at = time();
	$query->safe_psql('postgres', 'SELECT pg_cancel_backend(' . $session->pid . ')');
	my (undef, $error) = $session->result;
	like($error, qr/57014/, 'it is cancelled');
	cmp_ok($session->ended - $at, '<', $allowed_seconds, 'soon');
	return;
}

sub nodes_have
{
	return join ' ', map { $_->safe_psql('postgres',
		q{SELECT count(*) FROM pg_class WHERE relname ~ '^item'}) } @{ $cluster->{nodes} };
}

cancelled_at(q{SELECT shuttle.distribute_table('item', 'id');}, 'SELECT count(*) = 1 FROM shuttle.progress WHERE rows > 10000');
$session->run(q{SET statement_timeout = '300ms';});
my (undef, $error) = $session->run(q{SELECT shuttle.distribute_table('item', 'id');});
like($error, qr/57014/, 'a timeout ends it, too');
cmp_ok($session->seconds, '<', $allowed_seconds, 'soon');
$session->run('RESET statement_timeout;');
is($query->safe_psql('postgres', q{SELECT relkind FROM pg_class WHERE relname = 'item'}), 'r', 'the table stays local');
is($query->safe_psql('postgres', $sum), $rows, 'with its rows');
is(nodes_have(), '0 0', 'nodes have nothing of it');

run_watched(q{SELECT shuttle.distribute_table('item', 'id');});
is($query->safe_psql('postgres', $sum), $rows, 'the rows are equal');

$query->safe_psql('postgres', 'TRUNCATE item');
cancelled_at("COPY item FROM '$file';", 'SELECT count(*) = 1 FROM pg_stat_progress_copy WHERE tuples_processed > 10000');
is($query->safe_psql('postgres', 'SELECT count(*) FROM item'), '0', 'no row stays');
run_watched("COPY item FROM '$file';");
is($query->safe_psql('postgres', $sum), $rows, 'the rows are equal');
$cluster->stop;
done_testing();
