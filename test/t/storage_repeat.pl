# What is sent again without anybody seeing it: the first packet of a transaction
# over a connection that turns out to be dead, and a prepared statement that is
# out of date because a table was altered.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleFar;
use ShuttleSession;

my ($node, $proxy) = ShuttleFar::start(q{
	CREATE TABLE numbers AS SELECT i AS id, i % 10 AS n FROM generate_series(1, 1000) i;
	ALTER TABLE numbers ADD PRIMARY KEY (id);
	CREATE TABLE others AS SELECT id, n FROM numbers;
	ALTER TABLE numbers ALTER COLUMN n TYPE text;
	ALTER TABLE others ADD PRIMARY KEY (id);
	CREATE TABLE written (id int PRIMARY KEY, v text);
	ANALYZE;
}, options => "shuttle_two_phase 'off'", conf => 'shuttle.enable_row_counts = off');
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE numbers (id int, n int) SERVER far;
	CREATE FOREIGN TABLE others (id int, n int) SERVER far;
	CREATE FOREIGN TABLE written (id int, v text) SERVER far;
	CREATE TABLE wanted AS SELECT i AS id FROM generate_series(1, 100) i;
	ANALYZE wanted;
	CREATE TABLE here (id int);
	CREATE FUNCTION local(i int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN i; END';
	CREATE FUNCTION caught(query text) RETURNS text LANGUAGE plpgsql AS
		'DECLARE answer text; BEGIN EXECUTE query INTO answer; RETURN answer; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END';
});
$proxy->connections;

my $control = ShuttleSession->new($node, 'far');
my $session = ShuttleSession->new($node, 'postgres');
my $ours = q{FROM pg_stat_activity WHERE datname = 'far' AND application_name LIKE 'pg_shuttle%'};
my $gone = qr/^ERROR:  08006: connection to storage node "far" was lost$/m;

sub one
{
	my ($sql, $by) = @_;
	my ($out, $err) = ($by // $session)->run($sql);
	return $err eq '' ? $out : "$out$err";
}

# ---- a connection that is dead, which shows only when something is sent

my $batched = 'SET shuttle.debug_force_batched_join = on; SET shuttle.batch_size = 4;';
my @firsts = (
	[ 'SELECT count(*) FROM numbers;', '1000' ],
	[ 'SELECT n FROM numbers WHERE id = 13;', '3' ],
	[ 'SELECT count(*) FROM (SELECT id FROM numbers OFFSET 0) x;', '1000' ],
	[ 'SET shuttle.fetch_limit = 10; SELECT count(*) FROM (SELECT id FROM numbers OFFSET 0) x; RESET ALL;', '1000' ],
	[ 'SELECT count(*) FROM numbers a, others b WHERE b.id = local(a.id);', '1000' ],
	[ 'SELECT n FROM numbers WHERE id = 13 FOR UPDATE;', '3' ],
	[ 'BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM numbers; COMMIT;', '1000' ],
	[ 'BEGIN ISOLATION LEVEL REPEATABLE READ; SAVEPOINT a; SAVEPOINT b; SELECT count(*) FROM numbers; RELEASE a; COMMIT;', '1000' ],
	[ 'BEGIN; SAVEPOINT a; SAVEPOINT b; SELECT count(*) FROM numbers; ROLLBACK TO a; SELECT n FROM numbers WHERE id = 13; COMMIT;', "1000\n3" ],
	[ "INSERT INTO written VALUES (1, 'x') RETURNING id;", '1' ],
	[ "INSERT INTO written VALUES (1, 'x'), (2, 'y'); SELECT count(*) FROM written;", '2' ],
	[ "BEGIN; SAVEPOINT a; INSERT INTO written VALUES (1, 'x'); RELEASE a; COMMIT; SELECT v FROM written;", 'x' ],
	[ "UPDATE written SET v = 'none'; SELECT count(*) FROM written;", '0' ],
	[ "SELECT caught('SELECT count(*) FROM numbers');", '1000' ],
	[ "$batched SELECT count(*) FROM wanted a JOIN numbers b ON b.id = a.id; RESET ALL;", '100' ],
	[ "$batched SELECT b.id FROM wanted a JOIN numbers b ON b.id = a.id ORDER BY a.id LIMIT 2; RESET ALL;", "1\n2" ],
	[ 'DECLARE c CURSOR WITH HOLD FOR SELECT id FROM numbers ORDER BY id; FETCH 2 FROM c; CLOSE c;', "1\n2" ],
	[ 'EXPLAIN (COSTS OFF) SELECT * FROM numbers; SELECT count(*) FROM numbers;', "Foreign Scan on numbers\n1000" ],
	[ 'ANALYZE numbers;', '' ],
	[ 'TRUNCATE written;', '' ],
	[ "COPY written FROM stdin;\n5\tfive\n\\.\nSELECT count(*) FROM written;", '1' ]);

# How it dies: by a RST in place of an answer; by words of the node that are
# read only after something was sent.
my %deaths = (
	'reset' => sub {
		my $sql = shift;
		$proxy->cut(1);
		return one($sql);
	},
	'terminated' => sub {
		my $sql = shift;
		$proxy->freeze;
		$control->run("SELECT pg_terminate_backend(pid, 10000) $ours;");
		$session->send($sql);
		ok($control->poll("SELECT count(*) > 0 FROM pg_stat_activity WHERE pid = @{[ $session->pid ]} AND wait_event_type = 'Extension'"),
			'... waits');
		$proxy->thaw;
		my ($out, $err) = $session->result;
		return $err eq '' ? $out : "$out$err";
	});

for my $how (sort keys %deaths)
{
	for my $first (@firsts)
	{
		my ($sql, $answer) = @$first;
		$control->run('TRUNCATE written;');
		is(one('SELECT count(*) FROM numbers;'), 1000, "$how, then $sql: connected");
		$proxy->connections;

		# Nothing is sent for it before a statement of its own follows.
		my $result = $deaths{$how}->($sql);
		is($result, $answer, "$how, then $sql");
		is($proxy->connections, 1, "$how, then $sql: one new connection");
	}

	# What was done before in the transaction is lost with the connection.
	for my $before ('SELECT n FROM numbers WHERE id = 1;', "INSERT INTO written VALUES (7, 'lost');",
		'SAVEPOINT a; SELECT n FROM numbers WHERE id = 1; ROLLBACK TO a; SELECT n FROM others WHERE id = 1;')
	{
		$session->run("BEGIN; INSERT INTO here VALUES (1); $before");
		like($deaths{$how}->('SELECT count(*) FROM numbers;'), $gone, "$how in a transaction, after $before");
		$session->run('COMMIT;');
		is(one('SELECT count(*) FROM here;'), 0, "$how in a transaction, after $before: rolled back");
	}
	$control->run('TRUNCATE written;');

	# A statement that had it all to itself in a savepoint is sent again.
	$session->run('SELECT n FROM numbers WHERE id = 1; BEGIN; INSERT INTO here VALUES (1); SAVEPOINT a;');
	is($deaths{$how}->('SELECT count(*) FROM numbers;'), 1000, "$how, first in a savepoint");
	is(one('ROLLBACK TO a; SELECT n FROM numbers WHERE id = 2; COMMIT; DELETE FROM here RETURNING id;'), "2\n1",
		"$how, first in a savepoint: the transaction goes on");
}

# Once, not for ever; and the next one is right.
for my $statement ('SELECT count(*) FROM numbers;', "INSERT INTO written VALUES (9, 'never');")
{
	$session->run('SELECT count(*) FROM numbers;');
	$proxy->connections;
	$proxy->cut(2);
	like(one($statement), $gone, "twice in a row: $statement");
	$proxy->cut(0);
	is($proxy->connections, 1, "twice in a row: $statement: no third try");
	is(one('SELECT count(*) FROM numbers; SELECT count(*) FROM written;'), "1000\n0", "twice in a row: $statement: usable");
}

# A node that is gone is an error, and a cancel has its way meanwhile.
{
	$session->run('SELECT count(*) FROM numbers;');
	$proxy->refuse(1);
	$proxy->cut(1);
	like(one('SELECT count(*) FROM numbers;'), qr/^ERROR:  08001: could not connect to server "far"/, 'gone for good');
	$proxy->refuse(0);
	is(one('SELECT count(*) FROM numbers;'), 1000, 'back again');
}

# ---- statements that were prepared before a table was altered

# Each is prepared; then the type of a column goes to and fro, and it is used.
# The table is not written anew by that, so that older snapshots see its rows.
my $prepare = q{
	SELECT n FROM numbers WHERE id = 3;
	SELECT n FROM numbers WHERE id = 3;
	SELECT n FROM numbers WHERE id = 3;};
my @types = ('varchar', 'text');
my $altered = 0;

sub alter
{
	my ($table, $column) = @_;
	my $type = $types[ $altered++ % @types ];
	is(one("ALTER TABLE $table ALTER COLUMN $column TYPE $type;", $control), '', "$table.$column is $type");
	return;
}

my @uses = (
	[ '', 'SELECT n FROM numbers WHERE id = 3;', '3' ],
	[ 'BEGIN;', 'SELECT n FROM numbers WHERE id = 3;', '3' ],
	[ 'BEGIN; SELECT count(*) FROM others;', 'SELECT n FROM numbers WHERE id = 3;', '3' ],
	[ 'BEGIN; SELECT count(*) FROM others; SAVEPOINT a;', 'SELECT n FROM numbers WHERE id = 3;', '3' ],
	[ 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM others;', 'SELECT n FROM numbers WHERE id = 3;', '3' ],
	[ 'BEGIN ISOLATION LEVEL SERIALIZABLE; SAVEPOINT a;', 'SELECT n FROM numbers WHERE id = 3;', '3' ],
	[ "BEGIN; INSERT INTO written VALUES (1, 'kept');", 'SELECT n FROM numbers WHERE id = 3;', '3' ],
	[ "BEGIN; INSERT INTO written VALUES (1, 'kept'); SAVEPOINT a;", 'SELECT n FROM numbers WHERE id = 3;', '3' ],
	[ '', "SELECT caught('SELECT n FROM numbers WHERE id = 3');", '3' ],
	[ '', 'EXPLAIN (ANALYZE, COSTS OFF, SUMMARY OFF, TIMING OFF, DIST) SELECT n FROM numbers WHERE id = 3;', qr/Storage Rows Returned: 1/ ],
	[ '', 'SELECT a.n, b.n FROM numbers a, others b WHERE a.id = 3 AND b.id = local(4);', '3|4' ],
	[ '', 'SELECT a.n, b.n FROM others a, numbers b WHERE a.id = 3 AND b.id = local(4);', '3|4' ]);
for my $use (@uses)
{
	my ($before, $sql, $answer) = @$use;
	my $fresh = ShuttleSession->new($node, 'postgres');
	my $label = "altered, $before $sql";
	$control->run('TRUNCATE written;');

	# the second time, the one of the first is prepared
	$fresh->run($prepare . $sql x 3);
	for my $time (1, 2)
	{
		$fresh->run($before);
		my $offset = -s $node->logfile;
		alter('numbers', 'n');
		my $result = one($sql, $fresh);
		ref $answer ? like($result, $answer, $label) : is($result, $answer, $label);
		like(slurp_file($node->logfile, $offset), qr/cached plan must not change result type/, "$label: met a plan that was out of date");
		is(one('SELECT count(*) FROM others;', $fresh), 1000, "$label: the transaction goes on");
		$fresh->run($before =~ /BEGIN/ ? 'COMMIT;' : '');
		is(one('SELECT count(*) FROM written;', $fresh), $before =~ /INSERT/ ? 1 : 0, "$label: what was written is there")
		  if $before =~ /BEGIN/;
		$control->run('TRUNCATE written;');
		$fresh->run($sql x 3);
	}
	$fresh->quit;
}

# Batches that are asked for ahead, in the middle of which nothing is lost.
{
	my $fresh = ShuttleSession->new($node, 'postgres');
	my $join = 'SELECT count(*), sum(b.n) FROM wanted a JOIN numbers b ON b.id = a.id;';
	$fresh->run("$batched $join $join $join");
	for my $time (1 .. 3)
	{
		alter('numbers', 'n');
		is(one($join, $fresh), '100|450', 'altered, batched join');
	}
	$fresh->quit;
}

# Parameters of writes get their types when they are prepared.
{
	my $fresh = ShuttleSession->new($node, 'postgres');
	my $insert = sub { my ($id, $v) = @_; return "INSERT INTO written SELECT $id, local($v)::text;"; };
	$control->run('ALTER TABLE written ALTER COLUMN v TYPE int2 USING 1;');
	$fresh->run(join '', map { $insert->($_, $_) } 1 .. 4);
	$control->run('ALTER TABLE written ALTER COLUMN v TYPE int8 USING v;');
	is(one($insert->(5, 2000000000), $fresh), '', 'altered, insert of a larger number');
	$fresh->run(join '', map { $insert->($_, $_) } 6 .. 9);
	$control->run('ALTER TABLE written ALTER COLUMN v TYPE text USING v;');
	is(one('BEGIN; ' . $insert->(10, 10) . ' COMMIT;', $fresh), '', 'altered, insert of another type');
	$fresh->run(join '', map { $insert->($_, $_) } 11 .. 14);

	# Behind other work it cannot be sent again; but the next one is right.
	$control->run('ALTER TABLE written ALTER COLUMN v TYPE date USING current_date;');
	my $date = "INSERT INTO written SELECT 15, local(20)::text || '240101';";
	like(one("BEGIN; UPDATE others SET n = n WHERE id = 1; $date", $fresh), qr/^ERROR:  42804: column "v" is of type date/, 'altered, insert behind other work');
	is(one("ROLLBACK; $date", $fresh), '', 'altered, insert behind other work: again');
	$control->run("ALTER TABLE written ALTER COLUMN v TYPE text USING 'x'; TRUNCATE written;");
	$fresh->quit;
}

# An error that it would have had in any case is shown, once, and as it is.
{
	my $fresh = ShuttleSession->new($node, 'postgres');
	$fresh->run("INSERT INTO written SELECT local($_), 'v';") for 1 .. 4;
	$control->run('ALTER TABLE written ALTER COLUMN id TYPE int2;');
	like(one("INSERT INTO written SELECT local(70000), 'v';", $fresh),
		qr/^ERROR:  22003: (?:value "70000" is out of range for type smallint|smallint out of range)\n(?:.*\n)*CONTEXT:  .*storage node "far"/s, 'a number that is too large now');
	is(one('SELECT count(*) FROM written;', $fresh), 4, '... was not written');
	$control->run('ALTER TABLE numbers DROP COLUMN n;');
	like(one('SELECT n FROM numbers WHERE id = 3;', $fresh), qr/^ERROR:  42703: column "n" does not exist/, 'a column that is gone');
	is(one('SELECT count(*) FROM others;', $fresh), 1000, '... and the next one is right');
	$fresh->quit;
}

$session->quit;
ok($control->poll("SELECT count(*) = 0 $ours"), 'no connection is left');
$control->quit;
$node->stop;
done_testing();
