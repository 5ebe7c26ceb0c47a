# Readers of three nodes and this server sum up what clients move between them:
# with shuttle.read_consistency = atomic, and strict, each sum is right, whatever the statement
# looks like; with node the same check finds wrong ones.
# SHUTTLE_LONG=n has n times as many sums.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleCommit;
use ShuttleSession;
use ShuttleWriters;

my $long = $ENV{SHUTTLE_LONG} // 1;
my $cluster = ShuttleCommit->new(3);
my ($query, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });
my $total = 4 * $ShuttleCommit::accounts * $ShuttleCommit::balance;
$query->safe_psql('postgres', qq{
	CREATE TABLE account0 AS SELECT i AS id, $ShuttleCommit::balance AS v FROM generate_series(1, $ShuttleCommit::accounts) i;
	CREATE UNIQUE INDEX ON account0 (id);
	CREATE TABLE ids AS SELECT i AS id FROM generate_series(1, $ShuttleCommit::accounts) i;
	CREATE VIEW nodes AS SELECT v FROM account1 UNION ALL SELECT v FROM account2 UNION ALL SELECT v FROM account3;
	CREATE VIEW accounts AS SELECT v FROM nodes UNION ALL SELECT v FROM account0;
	CREATE FUNCTION total() RETURNS bigint LANGUAGE plpgsql VOLATILE AS 'DECLARE t bigint; BEGIN SELECT sum(v) INTO t FROM nodes; RETURN t; END';
	CREATE FUNCTION part(n int) RETURNS bigint LANGUAGE plpgsql STABLE AS 'DECLARE t bigint; BEGIN
		IF n = 1 THEN SELECT sum(v) INTO t FROM account1; ELSIF n = 2 THEN SELECT sum(v) INTO t FROM account2;
		ELSE SELECT sum(v) INTO t FROM account3; END IF; RETURN t; END'});

# Statements by their key, which are sent alone, without BEGIN: between those that read more.
my $user = $query->safe_psql('postgres', 'SELECT current_user');
$query->safe_psql('postgres', "DROP USER MAPPING FOR CURRENT_USER SERVER node$_; CREATE USER MAPPING FOR PUBLIC SERVER node$_ OPTIONS (user '$user')") for 1 .. 3;
$query->safe_psql('postgres', q{
	SELECT shuttle.use_node('node' || i) FROM generate_series(1, 3) AS i;
	CREATE TABLE item (id int PRIMARY KEY, n int);
	INSERT INTO item SELECT i, i FROM generate_series(1, 50) AS i;
	SELECT shuttle.distribute_table('item', 'id', tablets => 6);
	CREATE FUNCTION item_of(i int) RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN (SELECT n FROM item WHERE id = i); END'});
my @alone = map { ("SELECT n FROM item WHERE id = $_;", "SELECT n FROM item WHERE id = $_;",
	"UPDATE item SET n = n + 0 WHERE id = $_;", "SELECT sum(n) FROM item;", "SELECT n + item_of($_ + 1) - item_of($_ + 2) FROM item WHERE id = $_;",
	"SELECT n + v - (SELECT v FROM account0 WHERE id = 1) FROM item, account1 a WHERE item.id = $_ AND a.id = 1;",
	"BEGIN; SELECT n FROM item WHERE id = $_; SELECT n FROM item WHERE id = $_; COMMIT;") } 1 .. 20;
is($query->safe_psql('postgres', "SET shuttle.read_consistency = $_;\n" . join("\n", @alone)),
	join("\n", map { ($_, $_, 1275, $_ - 1, $_, $_, $_) } 1 .. 20), "statements that are sent alone, $_") for 'atomic', 'strict';

# Another session's snapshot is not one of nodes.
my $exporter = ShuttleSession->new($query, 'postgres');
my ($id) = $exporter->run('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_export_snapshot();');
my $imported = "BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$id'";
my (undef, undef, $refusal) = $query->psql('postgres', "SET shuttle.read_consistency = atomic; $imported; SELECT count(*) FROM account0; SELECT count(*) FROM account1");
like($refusal, qr/cannot read storage nodes in the state of another session's snapshot/, 'an imported snapshot');
is($query->safe_psql('postgres', "$imported; SELECT count(*) FROM account1"), $ShuttleCommit::accounts, 'with node nothing is promised');
$exporter->run('COMMIT;');
$exporter->quit;

# Transfers between nodes, in pairs of all kinds; with a fourth party, this server.
sub script
{
	my ($lowest) = @_;
	my @moves;
	for my $from ($lowest .. 3)
	{
		push @moves, map { [ $from, $_ ] } grep { $_ != $from } $lowest .. 3;
	}
	my $sql = "\\set a random(1, $ShuttleCommit::accounts)\n\\set b random(1, $ShuttleCommit::accounts)\n\\set move random(1, " . @moves . ")\n";
	for my $i (0 .. $#moves)
	{
		my ($from, $to) = @{ $moves[$i] };
		$sql .= ($i == 0 ? '\if' : '\elif') . ' :move = ' . ($i + 1) . "\nBEGIN;\nUPDATE account$from SET v = v - 1 WHERE id = :a;\n"
		  . "UPDATE account$to SET v = v + 1 WHERE id = :b;\nCOMMIT;\n";
	}
	return "$sql\\endif\n";
}

my $nodes_total = 3 * $ShuttleCommit::accounts * $ShuttleCommit::balance;
my $parts = '(SELECT sum(v) FROM account1) + (SELECT sum(v) FROM account2) + (SELECT sum(v) FROM account3)';

# What is read, each by one transaction; the numbers that it prints add up.
my %shapes = (
	statement => "SELECT $parts;",
	union => 'SELECT sum(v) FROM nodes;',
	function => 'SELECT total();',
	copy => 'COPY (SELECT v FROM nodes) TO STDOUT;',
	join => 'SELECT sum(a.v + b.v + c.v) FROM ids JOIN account1 a USING (id) JOIN account2 b USING (id) JOIN account3 c USING (id);',
	nested => 'SELECT sum(a.v + (SELECT b.v FROM account2 b WHERE b.id = a.id) + (SELECT c.v FROM account3 c WHERE c.id = a.id)) FROM account1 a;',
	stable => 'SELECT part(1) + part(2) + part(3);',
	cursor => "BEGIN;\nDECLARE c CURSOR FOR SELECT v FROM nodes;\nFETCH 3 FROM c;\nSELECT count(*) * 0 FROM account2;\nFETCH ALL FROM c;\nCOMMIT;",
	'cursor of a join' => "BEGIN;\nDECLARE c CURSOR FOR SELECT a.v + b.v + c.v FROM account1 a JOIN account2 b USING (id) JOIN account3 c USING (id);\nFETCH 3 FROM c;\nFETCH ALL FROM c;\nCOMMIT;",
	'cursor of a released savepoint' => "BEGIN;\nSAVEPOINT a;\nDECLARE c CURSOR FOR SELECT v FROM nodes;\nFETCH 3 FROM c;\nRELEASE a;\nSAVEPOINT b;\nROLLBACK TO b;\nFETCH ALL FROM c;\nCOMMIT;",
	'repeatable read' => "BEGIN ISOLATION LEVEL REPEATABLE READ;\n" . join('', map { "SELECT sum(v) FROM account$_;\n" } 1 .. 3) . 'COMMIT;',
	savepoints => "BEGIN;\nSAVEPOINT s;\nSELECT $parts;\nROLLBACK TO s;\nSELECT 0 * ($parts);\nCOMMIT;",
	'written elsewhere' => "BEGIN;\nINSERT INTO sums SELECT $parts RETURNING v;\nROLLBACK;",
);
my %shapes_here = (
	'and here' => "SELECT $parts + (SELECT sum(v) FROM account0);",
	'here, joined' => 'SELECT sum(h.v + a.v + b.v + c.v) FROM account0 h JOIN account1 a USING (id) JOIN account2 b USING (id) JOIN account3 c USING (id);',
	'here, by bitmap' => "SET enable_seqscan = off; SET enable_indexscan = off; SELECT $parts + (SELECT sum(v) FROM account0 WHERE id BETWEEN 1 AND 1000);",
	'repeatable read, here' => "BEGIN ISOLATION LEVEL REPEATABLE READ;\n" . join('', map { "SELECT sum(v) FROM account$_;\n" } 0 .. 3) . 'COMMIT;',
	'repeatable read, here at last' => "BEGIN ISOLATION LEVEL REPEATABLE READ;\n" . join('', map { "SELECT sum(v) FROM account$_;\n" } 1 .. 3, 0) . 'COMMIT;',
	'repeatable read, at once' => "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT $parts + (SELECT sum(v) FROM account0);\nSELECT 0 * ($parts + (SELECT sum(v) FROM account0));\nCOMMIT;",
	'repeatable read, a cursor' => "BEGIN ISOLATION LEVEL REPEATABLE READ;\nDECLARE c CURSOR FOR SELECT v FROM accounts;\nFETCH 3 FROM c;\nSELECT 0 * count(*) FROM account0;\nFETCH ALL FROM c;\nSELECT 0 * sum(v) FROM account2;\nCOMMIT;",
);
$query->safe_psql('postgres', 'CREATE TABLE sums (v bigint)');

# Reads $n times; returns the numbers of sums that were wrong, of those that were right,
# and of transactions that failed by 40001, which print fewer rows. Other errors fail the
# test.
my %nrows;

sub read_sums
{
	my ($label, $consistency, $sql, $expected, $n) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir();
	open(my $file, '>', "$directory/read.sql") or die "no file: $!";
	print $file "SET shuttle.read_consistency = $consistency;\nSET shuttle.debug_force_batched_join = on;\n\\set VERBOSITY verbose\n";
	print $file "\\echo begin\n$sql\n\\echo end\n" x $n;
	close $file;
	my $out = qx(psql -XAtq -f '$directory/read.sql' -d '@{[ $query->connstr('postgres') ]}' 2>'$directory/errors');
	my ($wrong, $right, $failed) = (0, 0, 0);
	for my $one (split /^begin$/m, $out)
	{
		next unless $one =~ /^end$/m;
		my @rows = $one =~ /^(-?\d+)$/mg;
		my $sum = 0;
		$sum += $_ for @rows;
		$nrows{$label} //= @rows;
		if (@rows != $nrows{$label}) { $failed++; }
		elsif ($sum == $expected) { $right++; }
		else { $wrong++; note("$label: $sum"); }
	}
	my $errors = slurp_file("$directory/errors");
	$errors =~ s/^.*(?:DETAIL|HINT|CONTEXT|LOCATION|LINE).*\n//mg;
	my @other = grep { /ERROR|FATAL|PANIC|server closed/ && !/40001|25P02/ } split /\n/, $errors;
	is("@other[0 .. ($#other > 2 ? 2 : $#other)]", '', "$label, $consistency: no other error");
	return ($wrong, $right, $failed);
}

sub run_shapes
{
	my ($shapes, $lowest, $expected, $n) = @_;
	is_deeply([ read_sums($_, 'atomic', $shapes->{$_}, $expected, 1) ], [ 0, 1, 0 ], "$_: without writers") for sort keys %$shapes;
	my $writers = ShuttleWriters->new($query, script($lowest), rate => 0);
	$writers->start(600);
	$query->poll_query_until('postgres', "SELECT EXISTS (SELECT FROM account3 WHERE v <> $ShuttleCommit::balance)") or die 'nobody writes';
	my ($wrong_of_node, $all) = (0, 0);
	for my $shape (sort keys %$shapes)
	{
		my ($wrong) = read_sums($shape, 'node', $shapes->{$shape}, $expected, $n / 4);
		$wrong_of_node += $wrong;
		for my $consistency ('atomic', 'strict')
		{
			my ($bad, $right, $failed) = read_sums($shape, $consistency, $shapes->{$shape}, $expected, $n);
			is($bad, 0, "$shape, $consistency: no sum is wrong");
			note("$shape, $consistency: $right right, $failed failed; node: $wrong wrong");
			cmp_ok($right, '>', 0, "$shape, $consistency: sums are right");

			# the first transaction of a session knows of no node when it reads local rows
			cmp_ok($failed, '<=', $shape eq 'repeatable read, here' ? 1 : 0, "$shape, $consistency: none has failed that had to fit")
			  if $shape =~ /^repeatable read/;
			$all += $right;
		}
	}
	cmp_ok($wrong_of_node, '>', 0, "node: $wrong_of_node sums are wrong, the others: $all are right");
	$writers->stop;
	return;
}

run_shapes(\%shapes, 1, $nodes_total, 40 * $long);
run_shapes(\%shapes_here, 0, $total, 40 * $long);
note($query->safe_psql('postgres', 'SELECT server, snapshots_retaken, commit_fences, window_wait_ms FROM shuttle.node_stats'));
$cluster->stop;
done_testing();
