# trap 33, trap 19: cancel and statement_timeout take effect in every wait for a
# node, and what comes after them is right.
#
# A cancel waits for one round trip and keeps the connection.  Limits of time are far
# above what that takes, and far below what is cancelled; where a node is silent for the
# second that it may be, below two of them.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

use ShuttleFar;
use ShuttleSession;

my ($node, $proxy) = ShuttleFar::start(q{
	CREATE TABLE numbers AS SELECT i AS id, i % 10 AS n FROM generate_series(1, 1000) i;
	ALTER TABLE numbers ADD PRIMARY KEY (id);
	CREATE TABLE written (id int PRIMARY KEY, v text);
	CREATE TABLE locked AS SELECT i AS id, 'free' AS v FROM generate_series(1, 20) i;
	ALTER TABLE locked ADD PRIMARY KEY (id);

	-- Rows that take their time: every one, and those from the 16th on.
	CREATE FUNCTION nap(seconds float8) RETURNS int LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_sleep(seconds); RETURN 1; END';
	CREATE VIEW slow AS SELECT id, nap(60) AS n FROM numbers;
	CREATE VIEW slow_later AS SELECT id, CASE WHEN id > 15 THEN nap(60) ELSE 0 END AS n FROM numbers;
	CREATE VIEW brief AS SELECT id, nap(0.005) AS n FROM numbers WHERE id = 1;
	CREATE TABLE slow_to_write (id int);
	CREATE FUNCTION take_time() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_sleep(60); RETURN NEW; END';
	CREATE TRIGGER slow BEFORE INSERT ON slow_to_write FOR EACH ROW EXECUTE FUNCTION take_time();
	CREATE TABLE slow_to_commit (id int);
	CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON slow_to_commit DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION take_time();
	ANALYZE;
}, options => "shuttle_two_phase 'off'", conf => "shuttle.deadlock_timeout = 0\nshuttle.enable_row_counts = off");
my $port = $proxy->port;
my $user = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('postgres', qq{
	CREATE SERVER far2 FOREIGN DATA WRAPPER shuttle OPTIONS (host '127.0.0.1', port '$port', dbname 'far', shuttle_two_phase 'off');
	CREATE USER MAPPING FOR CURRENT_USER SERVER far2 OPTIONS (user '$user');
	CREATE SCHEMA imported;
	CREATE FOREIGN TABLE numbers (id int, n int) SERVER far;
	CREATE FOREIGN TABLE numbers2 (id int, n int) SERVER far2 OPTIONS (table_name 'numbers');
	CREATE FOREIGN TABLE written (id int, v text) SERVER far;
	CREATE FOREIGN TABLE locked (id int, v text) SERVER far;
	CREATE FOREIGN TABLE locked_estimated (id int, v text) SERVER far
		OPTIONS (table_name 'locked', shuttle_remote_estimate 'true');
	CREATE FOREIGN TABLE slow (id int, n int) SERVER far;
	CREATE FOREIGN TABLE slow2 (id int, n int) SERVER far2 OPTIONS (table_name 'slow');
	CREATE FOREIGN TABLE slow_later (id int, n int) SERVER far;
	CREATE FOREIGN TABLE brief (id int, n int) SERVER far;
	CREATE FOREIGN TABLE slow_to_write (id int) SERVER far;
	CREATE FOREIGN TABLE slow_to_commit (id int) SERVER far;
	CREATE TABLE wanted AS SELECT i AS id FROM generate_series(1, 100) i;
	ANALYZE wanted;
	CREATE FUNCTION here(i int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN i; END';
	CREATE PROCEDURE commit_often() LANGUAGE plpgsql AS
		'BEGIN FOR i IN 101 .. 120 LOOP INSERT INTO written VALUES (i); COMMIT; END LOOP; END';
});

my $control = ShuttleSession->new($node, 'far');
my $holder = ShuttleSession->new($node, 'far');

my $batched = q{SET shuttle.debug_force_batched_join = on; SET shuttle.batch_size = 4;};

# Each wait: settings, a statement that waits, and what the node's process of
# it waits for.
my %waits = (
	'scan' => [ '', 'SELECT count(n) FROM slow', 'PgSleep' ],
	'one row' => [ '', 'SELECT n FROM slow WHERE id = 7', 'PgSleep' ],
	'page two' => [ 'SET shuttle.fetch_limit = 10;', 'SELECT count(n) FROM slow_later', 'PgSleep' ],
	'a batch in the middle' => [ $batched,
		'SELECT count(b.n) FROM wanted a JOIN slow_later b ON b.id = a.id', 'PgSleep' ],
	'two scans' => [ '', 'SELECT count(a.n + b.n) FROM slow a JOIN numbers b ON b.id = here(a.id)', 'PgSleep' ],
	'row lock' => [ '', 'SELECT v FROM locked WHERE id = 3 FOR UPDATE', 'transactionid' ],
	'direct update' => [ '', q{UPDATE locked SET v = 'x' WHERE id = 3}, 'transactionid' ],
	'update of rows' => [ '', q{UPDATE locked SET v = 'x' WHERE here(id) = 3}, 'transactionid' ],
	'delete of rows' => [ '', q{DELETE FROM locked WHERE here(id) BETWEEN 2 AND 4}, 'transactionid' ],
	'insert' => [ '', 'INSERT INTO slow_to_write VALUES (1), (2)', 'PgSleep' ],
	'truncate' => [ '', 'TRUNCATE locked', 'relation' ],
	'analyze' => [ '', 'ANALYZE slow', 'PgSleep' ],
	'estimate' => [ '', 'EXPLAIN SELECT * FROM locked_estimated', 'relation' ],
	'other node' => [ '', 'SELECT count(n) FROM slow2', 'PgSleep' ],
);
my %locks = (
	'truncate' => 'LOCK TABLE locked IN ROW SHARE MODE;',
	'estimate' => 'LOCK TABLE locked IN ACCESS EXCLUSIVE MODE;',
);
$locks{$_} = 'UPDATE locked SET v = v WHERE id = 3;'
  for 'row lock', 'direct update', 'update of rows', 'delete of rows';

# Statements of the session under test that run on the node.
my $ours = q{FROM pg_stat_activity WHERE datname = 'far' AND application_name LIKE 'pg_shuttle %'};

sub waits_for
{
	my $event = shift;
	return $control->poll("SELECT count(*) > 0 $ours AND state = 'active' AND wait_event = '$event'");
}

# Cancels what a session runs, and returns its error and how long that took.
sub cancel
{
	my $session = shift;
	my $pid = $session->pid;
	$proxy->trips($pid);
	$control->run("SELECT pg_cancel_backend($pid);");
	my ($out, $err) = $session->result;
	return ($err, $session->ended - $control->began);
}

# Runs a statement that waits, and stops it.
sub stop_waiting
{
	my ($session, $how, $statement, $event) = @_;
	if ($how eq 'timeout')
	{
		$session->run("SET statement_timeout = '120ms';");
		my ($out, $err) = $session->run("$statement;");
		my $elapsed = $session->seconds - 0.12;
		$session->run('SET statement_timeout = 0;');
		return ($err, $elapsed);
	}
	$session->send("$statement;");
	ok(waits_for($event), "waits: $statement");
	return cancel($session);
}

# A node that was out of reach notices only after a while that it works for
# nobody.
sub end_left_behind
{
	$control->run("SELECT pg_terminate_backend(pid) $ours AND state = 'active';");
	ok($control->poll("SELECT count(*) = 0 $ours AND state = 'active'"), 'what was left behind is gone');
	return;
}

sub is_usable
{
	my ($session, $label) = @_;
	my ($out, $err) = $session->run(
		'SELECT count(*) FROM numbers; SELECT n FROM numbers WHERE id = 17; SELECT count(*) FROM numbers2;');
	is("$out$err", "1000\n7\n1000", "$label: session is usable");
	ok($control->poll("SELECT count(*) = 0 $ours AND state = 'active' AND wait_event IS DISTINCT FROM 'ClientRead'"),
		"$label: nothing is left running");
	is(($control->run("SELECT count(*) $ours;"))[0], 2, "$label: connections");
	return;
}

sub check_wait
{
	my ($session, $name, $how, $rtt_ms) = @_;
	my ($settings, $statement, $event) = @{ $waits{$name} };
	my $label = "$name, $how, $rtt_ms ms";

	$holder->run("BEGIN; $locks{$name}") if $locks{$name};
	$session->run("RESET ALL; $settings");
	$proxy->connections;
	my ($err, $elapsed) = stop_waiting($session, $how, $statement, $event);
	like($err, qr/^ERROR:  57014: canceling statement due to \Q@{[ $how eq 'timeout' ? 'statement timeout' : 'user request' ]}\E/,
		$label);
	cmp_ok($proxy->trips($session->pid), '<=', 2, "$label: waits for ROLLBACK alone") if $how eq 'cancel';
	cmp_ok($elapsed, '<', 5, "$label: takes effect at once");
	is_usable($session, $label);
	is($proxy->connections, 0, "$label: keeps the connection");

	# The same in a savepoint, whose transaction goes on.
	if ($how eq 'timeout')
	{
		$holder->run('ROLLBACK;') if $locks{$name};
		return;
	}
	$control->run('TRUNCATE written;');
	$session->run(q{BEGIN; INSERT INTO written VALUES (1, 'before'); SELECT count(*) FROM numbers2; SAVEPOINT a;});
	($err) = stop_waiting($session, $how, $statement, $event);
	like($err, qr/57014/, "$label, savepoint");
	(undef, $err) = $session->run(q{
		ROLLBACK TO a;
		INSERT INTO written VALUES (2, 'after');
		SELECT count(*) FROM numbers;
		COMMIT;});
	is($err, '', "$label, savepoint: goes on");
	is(($control->run('SELECT id FROM written ORDER BY id;'))[0], "1\n2", "$label, savepoint: committed");
	$holder->run('ROLLBACK;') if $locks{$name};
	return;
}

# The waits, near and far.
my $session = ShuttleSession->new($node, 'postgres');
for my $rtt_ms (0, 50)
{
	$proxy->delay_ms($rtt_ms);
	is_usable($session, "at $rtt_ms ms");
	for my $name (sort keys %waits)
	{
		next if $rtt_ms > 0 && $name !~ /page|batch|lock|insert|analyze|estimate|two/;
		check_wait($session, $name, 'cancel', $rtt_ms);
		check_wait($session, $name, 'timeout', $rtt_ms) if $rtt_ms == 0;
	}
}
$proxy->delay_ms(0);

# A COMMIT that the node is still at: whatever is told is what the node has.
{
	$session->run('BEGIN; INSERT INTO slow_to_commit VALUES (1);');
	$session->send('COMMIT;');
	ok(waits_for('PgSleep'), 'waits: commit');
	my ($err, $elapsed) = cancel($session);
	like($err, qr/57014/, 'commit is cancelled');
	is_usable($session, 'commit');
	is(($control->run('SELECT count(*) FROM slow_to_commit;'))[0], 0, 'nothing was committed');
}

# One that the node has done, and whose answer is on its way: nothing is left to be cancelled.
for my $timeout (0, '150ms')
{
	my $label = "COMMIT was done, statement_timeout $timeout";
	$session->run("BEGIN; INSERT INTO written VALUES (77, 'x'); SET statement_timeout = '$timeout';");
	$proxy->delay_ms(250);
	$session->send('COMMIT;');
	ok($control->poll('SELECT count(*) = 1 FROM written WHERE id = 77'), $label);
	my ($err) = $timeout eq '0' ? cancel($session) : ($session->result)[1];
	$proxy->delay_ms(0);
	is($err, '', "$label: no error");
	is_usable($session, $label);
	$session->run('RESET statement_timeout; DELETE FROM written;');
}

# It ends a procedure that goes on behind its COMMIT.
{
	$proxy->delay_ms(250);
	my ($out, $err) = $session->run(q{SET statement_timeout = '350ms'; CALL commit_often();});
	$proxy->delay_ms(0);
	like($err, qr/^ERROR:  57014: canceling statement due to statement timeout/, 'a procedure that commits ends');
	is_usable($session, 'a procedure that commits');
	$session->run('RESET statement_timeout; DELETE FROM written;');
}

# trap 19: a cancel that comes late never hits the next statement.  What ends
# the timeout is under it too, and so it stands there twice.
{
	my ($out, $err) = $session->run(join '', map { my $ms = 2 + $_ % 12; qq{
		SET statement_timeout = $ms;
		SELECT 'brief', count(n) FROM brief;
		SET statement_timeout = 0;
		SET statement_timeout = 0;
		SELECT 'next', count(*) FROM numbers WHERE id = $_;} } 1 .. 100);
	my $errors = () = $err =~ /ERROR:  57014/g;
	my $right = () = $out =~ /^next\|1$/mg;
	my $brief = () = $out =~ /^brief\|1$/mg;
	is($right, 100, "late cancels: no statement behind one is hit ($errors cancelled, $brief not)");
	cmp_ok($errors + $brief, '>=', 100, 'late cancels: each is cancelled or not');
	is_usable($session, 'late cancels');

	# Within a transaction, by savepoints.
	($out, $err) = $session->run("BEGIN; INSERT INTO written VALUES (100, 'kept');" . join('', map { my $ms = 2 + $_ % 12; qq{
		SAVEPOINT a;
		SET LOCAL statement_timeout = $ms;
		SELECT 'brief', count(n) FROM brief;
		ROLLBACK TO a;
		ROLLBACK TO a;
		SELECT 'next', count(*) FROM written WHERE id = 100;} } 1 .. 100) . 'COMMIT;');
	$right = () = $out =~ /^next\|1$/mg;
	is(join("\n", grep { /ERROR/ && !/57014/ } split /\n/, $err), '', 'late cancels in savepoints: no other error');
	is($right, 100, 'late cancels in savepoints: no statement behind one is hit');
	is_usable($session, 'late cancels in savepoints');
	is(($control->run('SELECT count(*) FROM written WHERE id = 100;'))[0], 1, 'late cancels in savepoints: committed');
}

# The node does not answer at all.
my @silent = ('page two', 'a batch in the middle', 'direct update');
for my $name (@silent)
{
	my ($settings, $statement, $event) = @{ $waits{$name} };

	$holder->run("BEGIN; $locks{$name}") if $locks{$name};
	$session->run("RESET ALL; $settings SELECT count(*) FROM numbers;");
	$session->send("$statement;");
	ok(waits_for($event), "silent node: waits: $name");
	$proxy->freeze;
	my ($err, $elapsed) = cancel($session);
	$proxy->thaw;
	like($err, qr/^ERROR:  57014/, "silent node: $name");
	end_left_behind();
	cmp_ok($elapsed, '<', 2, "silent node: $name: takes effect");
	(my $out, $err) = $session->run('SELECT count(*) FROM numbers;');
	is("$out$err", '1000', "silent node: $name: the next statement connects again");
	$holder->run('ROLLBACK;') if $locks{$name};
}

# Two of them: the time is not twice as long.
{
	$session->run('SELECT count(*) FROM numbers a, numbers2 b WHERE a.id = 1 AND b.id = 1;');
	$session->send('SELECT count(a.n + b.n) FROM slow a JOIN slow2 b ON b.id = here(a.id);');
	ok($control->poll("SELECT count(*) >= 2 $ours AND wait_event = 'PgSleep'"), 'two silent nodes: waits');
	$proxy->freeze;
	my ($err, $elapsed) = cancel($session);
	$proxy->thaw;
	like($err, qr/^ERROR:  57014/, 'two silent nodes');
	ok($control->poll("SELECT count(*) = 0 $ours AND state = 'active'", 10),
		'two silent nodes: what was left behind ends by itself');
	cmp_ok($elapsed, '<', 2, 'two silent nodes: takes effect');
	my ($out) = $session->run('SELECT count(*) FROM numbers;');
	is($out, '1000', "two silent nodes: the next statement connects again");
}

# In a savepoint: what was done on the node before is lost with the connection,
# and stays so.  Only a node that was first used inside may begin again.
for my $before (
	'',
	'SELECT count(*) FROM numbers;',
	'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM numbers;',
	q{INSERT INTO written VALUES (200, 'lost');})
{
	my $label = "silent node in a savepoint, before: '$before'";
	$session->run("BEGIN; $before SAVEPOINT a;");
	$session->send('SELECT count(n) FROM slow;');
	ok(waits_for('PgSleep'), "$label: waits");
	$proxy->freeze;
	my ($err, $elapsed) = cancel($session);
	$proxy->thaw;
	like($err, qr/^ERROR:  57014/, $label);
	end_left_behind();
	my ($out, $err2) = $session->run('ROLLBACK TO a; SELECT count(*) FROM numbers;');
	if ($before eq '')
	{
		is("$out$err2", '1000', "$label: it may begin again");
	}
	else
	{
		like($err2, qr/^ERROR:  08006: connection to storage node "far" was lost/, "$label: lost");
	}
	(undef, $err2) = $session->run('ROLLBACK TO a; COMMIT;');
	like($err2, $before =~ /INSERT/ ? qr/^ERROR:  08006/ : qr/^$/, "$label: commit");
	is(($control->run('SELECT count(*) FROM written WHERE id = 200;'))[0], 0, "$label: nothing committed");
	($out) = $session->run('SELECT count(*) FROM numbers;');
	is($out, '1000', "$label: the next transaction connects again");
}

# Connecting.
for my $how ('cancel', 'timeout')
{
	my $fresh = ShuttleSession->new($node, 'postgres');
	$proxy->freeze;
	if ($how eq 'timeout')
	{
		$fresh->run("SET statement_timeout = '200ms';");
		my ($out, $err) = $fresh->run('SELECT count(*) FROM numbers;');
		like($err, qr/^ERROR:  57014/, 'connecting: timeout');
		ok($fresh->seconds <= 4, 'connecting: timeout takes effect') or diag($fresh->seconds);
		$fresh->run('SET statement_timeout = 0;');
	}
	else
	{
		my $pid = $fresh->pid;
		my $database = ShuttleSession->new($node, 'postgres');
		$fresh->send('SELECT count(*) FROM numbers;');
		ok($database->poll("SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $pid"),
			'connecting: waits');
		my ($err, $elapsed) = cancel($fresh);
		like($err, qr/^ERROR:  57014/, 'connecting: cancel');
		ok($elapsed <= 4, 'connecting: cancel takes effect') or diag($elapsed);
	}
	$proxy->thaw;
	my ($out, $err) = $fresh->run('SELECT count(*) FROM numbers;');
	is("$out$err", '1000', "connecting, $how: session is usable");
}

# A cancel that comes before the statement does: the node's process is stopped,
# gets both, and looks at the signal first.
{
	my $fresh = ShuttleSession->new($node, 'postgres');
	my $pid = $fresh->pid;
	$fresh->run('SELECT count(*) FROM numbers;');
	my ($node_pid) = $control->run("SELECT pid $ours AND application_name LIKE '%:$pid%';");
	kill 'STOP', $node_pid;
	$fresh->send('INSERT INTO slow_to_write VALUES (1);');
	ok($control->poll("SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $pid"), 'early cancel: waits');
	$control->run("SELECT pg_cancel_backend($pid);");
	my $deadline = time() + 10;
	until (slurp_file("/proc/$node_pid/status") =~ /^ShdPnd:\s+\w*[2367abef]$/m || time() > $deadline) { }
	kill 'CONT', $node_pid;
	my ($out, $err) = $fresh->result;
	like($err, qr/^ERROR:  57014/, 'early cancel: error');
	ok($control->poll("SELECT count(*) = 0 $ours AND state = 'active'", 5), 'early cancel: the statement has ended');
	($out, $err) = $fresh->run('SELECT count(*) FROM numbers;');
	is("$out$err", '1000', 'early cancel: session is usable');
}

# Ending the session ends its statement on the node.
{
	my $fresh = ShuttleSession->new($node, 'postgres');
	my $pid = $fresh->pid;
	$fresh->send('SELECT count(n) FROM slow;');
	ok(waits_for('PgSleep'), 'terminate: waits');
	$control->run("SELECT pg_terminate_backend($pid);");
	$fresh->result;
	cmp_ok($fresh->ended - $control->began, '<', 5, 'terminate takes effect');
}
$session->quit;
ok($control->poll("SELECT count(*) = 0 $ours"), 'no connection is left');

$holder->quit;
$control->quit;
$node->stop;
done_testing();
