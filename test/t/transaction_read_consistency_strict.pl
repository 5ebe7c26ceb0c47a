# With shuttle.read_consistency = strict all reads see prefixes of one order of commits,
# which agrees with real time: also reads of one node or of local rows alone, and commits on
# one node or here alone. With atomic the same checks find reads that do not fit.
# SHUTTLE_LONG=n has n times as many reads.
use strict;
use warnings;

use POSIX qw(_exit);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use ShuttleCommit;
use ShuttleProxy;
use ShuttleSession;
use ShuttleWriters;

my $n = 300 * ($ENV{SHUTTLE_LONG} // 1);
my $nreaders = 3;
my $cluster = ShuttleCommit->new(3, query_conf => "shuttle.commit_wait = 800\nshuttle.recovery_interval = 0\n");
my ($query, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });
my $directory = PostgreSQL::Test::Utils::tempdir();
my $user = $query->safe_psql('postgres', 'SELECT current_user');
my $proxy = ShuttleProxy->new($nodes[1]);

# node2 under another name, past the proxy
$query->safe_psql('postgres', "CREATE SERVER past FOREIGN DATA WRAPPER shuttle OPTIONS (host '@{[ $nodes[1]->host ]}', port '@{[ $nodes[1]->port ]}', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER past OPTIONS (user '$user');
	CREATE FOREIGN TABLE past2 (id int, v int) SERVER past OPTIONS (table_name 'account');
	CREATE TABLE account0 AS SELECT i AS id, $ShuttleCommit::balance AS v FROM generate_series(1, $ShuttleCommit::accounts) i;
	CREATE UNIQUE INDEX ON account0 (id);
	ALTER SERVER node2 OPTIONS (SET host '127.0.0.1', SET port '@{[ $proxy->port ]}')");

$query->safe_psql('postgres', "DROP USER MAPPING FOR CURRENT_USER SERVER node$_; CREATE USER MAPPING FOR PUBLIC SERVER node$_ OPTIONS (user '$user')") for 1 .. 3;
$query->safe_psql('postgres', q{
	SELECT shuttle.use_node('node' || i) FROM generate_series(1, 3) AS i;
	CREATE TABLE item (id int PRIMARY KEY, v int);
	INSERT INTO item SELECT i, 100 FROM generate_series(1, 50) AS i;
	SELECT shuttle.distribute_table('item', 'id', tablets => 6)});
my ($item, $other_item) = split /\n/, $query->safe_psql('postgres', q{SELECT min(item.id) FROM item
	JOIN pg_foreign_table f ON f.ftrelid = item.tableoid JOIN pg_foreign_server s ON s.oid = f.ftserver
	WHERE srvname IN ('node1', 'node3') GROUP BY srvname});

# ---- the first strict read

my $one = ShuttleSession->new($query, 'postgres');
my $reader = ShuttleSession->new($query, 'postgres');
$reader->run('SET shuttle.read_consistency = strict;');
$one->run('SELECT v FROM account2 WHERE id = 1;');
$proxy->hold('^COMMIT');
$one->send('BEGIN; UPDATE account2 SET v = v + 1 WHERE id = 5; COMMIT;');
ok($proxy->is_held, 'a commit on one node is under way');
like(($reader->run('SELECT v FROM account1 WHERE id = 5;'))[1], qr/40001: +could not read in the order of commits/, 'the first strict read waits for it, and then it is an error');
$reader->send('SET shuttle.commit_wait = 20000; SELECT v FROM account1 WHERE id = 5; SELECT v FROM past2 WHERE id = 5; RESET shuttle.commit_wait;');
usleep(300_000);
$proxy->thaw;
is(($reader->result)[0], "100\n101", 'who waits goes on when it has ended');
$one->result;

# ---- what one has seen all others see, on other nodes, too

my $balance = sub { my ($consistency, $table) = @_; return $reader->run("SET shuttle.read_consistency = $consistency; SELECT v FROM $table WHERE id = 1;"); };
$proxy->hold('^COMMIT PREPARED');
$one->send('BEGIN; UPDATE account1 SET v = v - 10 WHERE id = 1; UPDATE account2 SET v = v + 10 WHERE id = 1; COMMIT;');
ok($proxy->is_held, 'COMMIT PREPARED does not arrive at the second node');
is(($balance->('strict', 'past2'))[0], '100', 'it is not seen yet');
ok($nodes[0]->poll_query_until('postgres', 'SELECT v = 90 FROM account WHERE id = 1'), 'the first node has committed');
is(($balance->('strict', 'account3'))[0], '100', 'nodes that take no part are read at once');
is(($balance->('strict', 'account1'))[0], '90', 'it is seen on the first node');
is(($balance->('atomic', 'past2'))[0], '100', 'atomic: and not on the second one');
like(($balance->('strict', 'past2'))[1], qr/40001: +storage node "past" has not finished a transaction/, 'strict: an error');
$reader->send('SET shuttle.commit_wait = 20000; EXPLAIN (ANALYZE, DIST, COSTS OFF) SELECT (SELECT v FROM past2 WHERE id = 1) + (SELECT v FROM account3 WHERE id = 1); RESET shuttle.commit_wait;');
usleep(300_000);
like(($one->result)[1], qr/08007/, 'the commit gives up');
$proxy->thaw;
$query->safe_psql('postgres', 'SELECT * FROM shuttle.recover()');
like(($reader->result)[0], qr/Snapshot Retries: [1-9]/, 'who waits goes on when recovery has finished it; EXPLAIN shows it');
is(($balance->('strict', 'past2'))[0], '110', 'behind it');
is($query->safe_psql('postgres', q{SELECT sum(snapshots_retaken) > 0 AND sum(window_wait_ms) > 0 FROM shuttle.node_stats}), 't', 'retries and waits are counted');
$cluster->is_settled('behind the decision');

# ---- acknowledged, and not there yet

$proxy->hold('^COMMIT PREPARED');
is(($one->run('SET shuttle.commit_wait = 0; BEGIN; UPDATE account1 SET v = v - 10 WHERE id = 2; UPDATE account2 SET v = v + 10 WHERE id = 2; COMMIT; RESET shuttle.commit_wait;'))[0], '', 'a commit has returned');
is(($reader->run('SET shuttle.read_consistency = atomic; SELECT v FROM past2 WHERE id = 2;'))[0], '100', 'atomic: the second node shows the state of before');
like(($reader->run('SET shuttle.read_consistency = strict; SELECT v FROM past2 WHERE id = 2;'))[1], qr/40001: +storage node "past" has not finished/, 'strict: it does not');
$proxy->thaw;
$query->safe_psql('postgres', 'SELECT * FROM shuttle.recover()');
is(($reader->run('SELECT v FROM past2 WHERE id = 2;'))[0], '110', 'behind it');

# ---- a commit on one node whose answer does not come, and one that does not arrive

$one->run('BEGIN; UPDATE account2 SET v = v + 1 WHERE id = 3;');
$proxy->mute(1);
$one->send('COMMIT;');
ok($nodes[1]->poll_query_until('postgres', 'SELECT v = 101 FROM account WHERE id = 3'), 'the node has committed');
is(($reader->run('SELECT v FROM past2 WHERE id = 3;'))[0], '101', 'it is seen by its identifier');
$proxy->mute(0);
is(($one->result)[1], '', 'the answer comes');
$one->run('BEGIN; UPDATE account2 SET v = v + 1 WHERE id = 4;');
$proxy->cut(1);
like(($one->run('COMMIT;'))[1], qr/08/, 'COMMIT was lost');
is(($reader->run('SELECT v FROM past2 WHERE id = 4; SELECT (SELECT v FROM account1 WHERE id = 4) + (SELECT v FROM past2 WHERE id = 4);'))[0], "100\n200", 'reads go on');
cmp_ok($reader->seconds, '<', 0.7, 'at once');
is(($reader->run("UPDATE item SET v = 1 WHERE id = $item; SELECT v FROM item WHERE id = $item; INSERT INTO item VALUES (1000, 5); SELECT v FROM item WHERE id = 1000; DELETE FROM item WHERE id = 1000;"))[0], "1\n5", 'its own writes');

# ---- refused

like(($reader->run("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT v FROM $_ WHERE id = 1;"))[1], qr/0A000: +cannot read in the order of commits/, "SERIALIZABLE: $_"), $reader->run('ROLLBACK;')
	for 'account1', 'account0';
is(($reader->run('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM pg_class WHERE relname = $$pg_class$$; SELECT 1; COMMIT;'))[0], "1\n1", 'catalogs are not concerned');

# ---- what is read at once, and over several sessions

my %value = map { $_ => "(SELECT v FROM account$_ WHERE id = 1)" } 0 .. 3;

# Readers print pairs; returns how many there are, and how many do not fit to the one before.
sub read_pairs
{
	my ($consistency, $sql, $check) = @_;
	open(my $file, '>', "$directory/read.sql") or die "no file: $!";
	print $file "SET shuttle.read_consistency = $consistency;\n", "$sql\n" x $n;
	close $file;
	my @pids;
	for my $reader (1 .. $nreaders)
	{
		my $pid = fork() // die "could not fork: $!";
		if ($pid == 0)
		{
			system("psql -XAtq -f '$directory/read.sql' -d '@{[ $query->connstr('postgres') ]}' > '$directory/out$reader' 2>&1");
			_exit(0);
		}
		push @pids, $pid;
	}
	waitpid($_, 0) for @pids;
	my @lines = map { split /\n/, slurp_file("$directory/out$_") } 1 .. $nreaders;
	my @errors = grep { /ERROR/ } @lines;
	is("@errors[0 .. ($#errors > 2 ? 2 : $#errors)]", '', "$consistency: no read fails") if $consistency eq 'strict';
	my @pairs = map { /^(\d+)[| ](\d+)$/ ? [ $1, $2 ] : () } @lines;
	return (scalar @pairs, $check->(@pairs));
}

# Two series of commits: whoever sees more of one sees no less of the other one.
sub count_forks
{
	my @pairs = sort { $a->[0] <=> $b->[0] || $a->[1] <=> $b->[1] } @_;
	return scalar grep { $pairs[$_]->[1] < $pairs[ $_ - 1 ]->[1] } 1 .. $#pairs;
}

# One series: what was seen is not gone a statement later.
sub count_gone { return scalar grep { $_->[1] < $_->[0] } @_; }

# What writers do: a statement for a table each, or for an item.
my $add = sub {
	my ($what) = @_;
	return "UPDATE item SET v = v + 1 WHERE id = $what;\n" if !ref $what;
	my $sql = join '', map { "UPDATE account$_ SET v = v + 1 WHERE id = 1;\n" } @$what;
	return @$what > 1 ? "BEGIN;\n${sql}COMMIT;\n" : $sql;
};
for my $case (
	[ 'two nodes, commits on one', [ 1 ], [ 3 ], "SELECT $value{1}, $value{3};", \&count_forks ],
	[ 'a node and here, commits on either', [ 1 ], [ 0 ], "SELECT $value{1}, $value{0};", \&count_forks ],
	[ 'statements by their key', $item, $other_item, "SELECT (SELECT v FROM item WHERE id = $item), (SELECT v FROM item WHERE id = $other_item);", \&count_forks ],
	[ 'two nodes, one behind the other', [ 1, 3 ], [ 2 ], "SELECT v FROM account1 WHERE id = 1 \\gset a\nSELECT v FROM account3 WHERE id = 1 \\gset b\n\\echo :av :bv", \&count_gone ],
	[ 'a node behind local rows', [ 0, 3 ], [ 2 ], "SELECT v FROM account0 WHERE id = 1 \\gset a\nSELECT v FROM account3 WHERE id = 1 \\gset b\n\\echo :av :bv", \&count_gone ],
	[ 'local rows behind a node', [ 3, 0 ], [ 2 ], "SELECT v FROM account3 WHERE id = 1 \\gset a\nSELECT v FROM account0 WHERE id = 1 \\gset b\n\\echo :av :bv", \&count_gone ],
  )
{
	my ($label, $left, $right, $sql, $check) = @$case;
	$query->safe_psql('postgres', join ' ', 'UPDATE item SET v = 100;', map { "UPDATE account$_ SET v = 100 WHERE id = 1;" } 0 .. 3);
	my @writers = map { ShuttleWriters->new($query, $add->($_), rate => 0) } $left, $right;
	$_->start(600) for @writers;
	$query->poll_query_until('postgres', ref $left ? "SELECT bool_and(v > 110) FROM (SELECT v FROM account$left->[0] WHERE id = 1 UNION ALL SELECT v FROM account$right->[0] WHERE id = 1) AS w"
		: "SELECT min(v) > 110 FROM item WHERE id IN ($left, $right)") or die 'nobody writes';
	my ($nstrict, $bad) = read_pairs('strict', $sql, $check);
	is($bad, 0, "$label, strict: all of $nstrict reads fit");
	is($nstrict, $nreaders * $n, "$label, strict: none has failed");
	my ($natomic, $bad_of_atomic) = read_pairs('atomic', $sql, $check);
	note("$label, atomic: $bad_of_atomic of $natomic do not fit");
	cmp_ok($bad_of_atomic, '>', 0, "$label, atomic: some do not fit") if $label ne 'local rows behind a node';
	$_->stop for @writers;
}

note($query->safe_psql('postgres', 'SELECT server, snapshots_retaken, commit_fences, window_wait_ms FROM shuttle.node_stats'));
$cluster->stop;
done_testing();
