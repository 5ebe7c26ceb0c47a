# The way to a storage node: reset connections, a line that freezes, and one
# that carries 4 kB a second. A cancel and statement_timeout take effect at once.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use ShuttleFaults;

my $faults = ShuttleFaults->new;
my $proxy = $faults->{proxy};
my $ours = $faults->ours;
my %states = $faults->states;
my $session = $faults->session;

my $lost = qr/^ERROR:  08006: connection to storage node "far" was lost\n/;
my $in_doubt = qr/^ERROR:  08007: connection to storage node "far" was lost\n(?:.*\n)*HINT:  It was lost during COMMIT/;
my $cancelled = qr/(?:^|\n)ERROR:  57014: canceling statement due to user request/;
my $timed_out = qr/(?:^|\n)ERROR:  57014: canceling statement due to statement timeout/;

sub end_transaction
{
	my ($state, $label) = @_;
	if ($states{$state}[0] =~ /BEGIN/ && $state ne 'in COMMIT')
	{
		like($faults->one($session, 'SELECT 1;'), qr/^ERROR:  25P02/, "$label: the transaction is aborted");
	}
	$session->run('ROLLBACK; RESET ALL;');
	return;
}

# ---- reset, in every state

for my $state (sort keys %states)
{
	my $label = "reset, $state";
	$faults->reach($session, $state, $label);
	if ($states{$state}[2])
	{
		my ($asked) = $faults->control->run("SELECT pid $ours AND wait_event = 'PgSleep';");
		$proxy->reset;
		ok($faults->control->poll("SELECT count(*) > 0 $ours AND wait_event = 'PgSleep' AND pid <> $asked"),
			"$label: is asked again");
	}
	$proxy->reset;
	my ($out, $err) = $session->result;
	like($err, $state eq 'in COMMIT' ? $in_doubt : $lost, $label);
	end_transaction($state, $label);
	$faults->is_clean($session, $label);
}

# A ROLLBACK is sent and not waited for: what became of it shows with the next use.
for my $state ('a read', 'a write', 'a savepoint')
{
	my $label = "reset, ROLLBACK behind $state is not answered";
	$session->run('BEGIN; SELECT count(*) FROM numbers;');
	$session->run("INSERT INTO written VALUES (1, 'x');") if $state ne 'a read';
	$session->run("SAVEPOINT s; INSERT INTO written VALUES (2, 'x');") if $state eq 'a savepoint';
	$proxy->mute(1);
	is($faults->one($session, 'ROLLBACK;'), '', "$label: nothing is told");
	$proxy->reset;
	$proxy->mute(0);
	$faults->is_clean($session, $label);
	$session->run("BEGIN; INSERT INTO written VALUES (1, 'x'); SAVEPOINT s; INSERT INTO written VALUES (2, 'x');");
	$label .= ', within a transaction';
	$proxy->mute(1);
	is($faults->one($session, 'ROLLBACK TO s;'), '', "$label: nothing is told");
	$proxy->reset;
	$proxy->mute(0);
	like($faults->one($session, 'SELECT count(*) FROM written;'), $lost, $label);
	$session->run('ROLLBACK;');
	$faults->is_clean($session, $label);
}

# ---- frozen, in every state

sub cancel
{
	my $began = time();
	$faults->{node}->safe_psql('postgres', "SELECT pg_cancel_backend(@{[ $session->pid ]})");
	my ($out, $err) = $session->result;
	return ($err, $session->ended - $began);
}

for my $state (sort keys %states)
{
	my $label = "frozen, cancelled, $state";
	$faults->reach($session, $state, $label);
	$proxy->freeze;
	my ($err, $elapsed) = cancel();
	like($err, $state eq 'in COMMIT' ? $in_doubt : $cancelled, $label);
	unlike($err, qr/WARNING/, "$label: no more than that");
	cmp_ok($elapsed, '<', 3, "$label: takes effect at once (s)");
	$proxy->thaw;
	end_transaction($state, $label);
	$faults->is_clean($session, $label);

	next if $state eq 'in COMMIT';
	$label = "frozen, statement_timeout, $state";
	my ($before, $statement) = @{ $states{$state} };
	$session->run("$before SET statement_timeout = '300ms';");
	$proxy->freeze;
	($err) = ($session->run($statement))[1];
	like($err, $timed_out, $label);
	cmp_ok($session->seconds, '<', 3, "$label: takes effect at once (s)");
	$proxy->thaw;
	end_transaction($state, $label);
	$faults->is_clean($session, $label);
}

# What a cancel meets in COMMIT is told as it is: done, or not.
{
	my $label = 'COMMIT was done, its answer frozen, cancelled';
	$session->run("BEGIN; INSERT INTO here VALUES (1); INSERT INTO written VALUES (1, 'x');");
	$proxy->mute(1);
	$session->send('COMMIT;');
	ok($faults->control->poll('SELECT count(*) = 1 FROM node.written'), "$label: is there");
	my ($err) = cancel();
	like($err, $in_doubt, "$label: nobody knows");
	$proxy->mute(0);
	is($faults->one($session, 'DELETE FROM written RETURNING id;'), 1, "$label: the node has it");
	$faults->is_clean($session, $label);
}

# ---- 4 kB a second

{
	$proxy->rate(4000);
	is($faults->one($session, 'SELECT n FROM numbers WHERE id = 17;'), 7, 'slow: a row');
	is($faults->one($session, "BEGIN; INSERT INTO written VALUES (1, 'x'); SELECT v FROM written; DELETE FROM written; COMMIT;"), 'x', 'slow: a transaction');
	is($faults->one($session, "BEGIN; INSERT INTO written VALUES (1, 'x'); ROLLBACK; SELECT count(*) FROM written;"), 0, 'slow: rolled back');

	# What comes would take minutes.
	my %long = (
		'a scan' => [ '', 'SELECT sum(length(t)) FROM wide;' ],
		'pages' => [ 'SET shuttle.fetch_limit = 100;', 'SELECT sum(length(t)) FROM wide WHERE id > local(0);' ],
		'pages behind a read' => [ 'SET shuttle.fetch_limit = 100; BEGIN; SELECT count(*) FROM numbers;', 'SELECT sum(length(t)) FROM wide WHERE id > local(0);' ],
		'a join' => [ 'SET shuttle.debug_force_batched_join = on;', 'SELECT sum(length(b.t)) FROM wanted a JOIN wide b ON b.id = a.id WHERE b.id > local(0);' ],
		'a write' => [ '', "INSERT INTO written SELECT i, repeat('x', 1000) FROM generate_series(1, 300) i;" ],
		'a write behind a read' => [ 'BEGIN; SELECT count(*) FROM numbers;', "INSERT INTO written SELECT i, repeat('x', 1000) FROM generate_series(1, 300) i;" ],
	);
	$long{'a scan'}[1] = 'SELECT sum(length(t)) FROM wide WHERE id > local(0);';
	for my $name (sort keys %long)
	{
		my ($before, $statement) = @{ $long{$name} };
		my $label = "slow, $name, cancelled";
		$session->run($before);
		$proxy->answered;
		$session->send($statement);
		usleep(500_000);
		my ($err, $elapsed) = cancel();
		like($err, $cancelled, $label);
		cmp_ok($elapsed, '<', 3, "$label: takes effect at once (s)");
		$session->run('ROLLBACK; RESET ALL;');
		is($faults->one($session, 'SELECT n FROM numbers WHERE id = 17;'), 7, "$label: next");
		cmp_ok($session->seconds, '<', 10, "$label: next, in time (s)");

		$label = "slow, $name, statement_timeout";
		$session->run("$before SET statement_timeout = '500ms';");
		($err) = ($session->run($statement))[1];
		like($err, $timed_out, $label);
		cmp_ok($session->seconds, '<', 4, "$label: takes effect at once (s)");
		$session->run('SET statement_timeout = 0; ROLLBACK; RESET ALL;');
		is($faults->one($session, 'SELECT n FROM numbers WHERE id = 17;'), 7, "$label: next");
		cmp_ok($session->seconds, '<', 10, "$label: next, in time (s)");
	}

	# Rows that nobody reads do not hold up the end of a statement for long.
	$session->run('SET shuttle.fetch_limit = 100;');
	is($faults->one($session, 'SELECT id FROM wide LIMIT 1;'), 1, 'slow: LIMIT');
	is($faults->one($session, 'BEGIN; DECLARE c CURSOR FOR SELECT id, t FROM numbers JOIN wide USING (id) WHERE id > local(0); COMMIT; SELECT 1;'), 1, 'slow: a cursor that nobody reads');
	cmp_ok($session->seconds, '<', 10, 'slow: a cursor that nobody reads, in time (s)');

	# In a savepoint the connection is needed, and what comes has to be read.
	my $label = 'slow, in a savepoint';
	$session->run("BEGIN; INSERT INTO written VALUES (1, 'x'); SAVEPOINT a; SET LOCAL statement_timeout = '500ms';");
	like(($session->run('SELECT sum(length(t)) FROM wide WHERE id > local(0);'))[1], $timed_out, $label);
	$session->run("ROLLBACK TO a; SET LOCAL statement_timeout = '500ms';");
	like(($session->run('SELECT count(*) FROM numbers;'))[1], $timed_out, "$label: the next one waits, and can be stopped");
	$proxy->rate(0);
	is($faults->one($session, 'ROLLBACK TO a; SELECT v FROM written; ROLLBACK; RESET ALL;'), 'x', "$label: nothing was lost");
	$faults->is_clean($session, $label);
}

# Another node, which is the query node itself, is as fast as it was: a slow one
# holds nobody up. And what one has committed is told if another one fails.
{
	my ($host, $port) = ($faults->{node}->host, $faults->{node}->port);
	my $user = $faults->{node}->safe_psql('postgres', 'SELECT current_user');
	is($faults->one($session, qq{
		CREATE SERVER near FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres', shuttle_two_phase 'off');
		CREATE USER MAPPING FOR CURRENT_USER SERVER near OPTIONS (user '$user');
		CREATE FOREIGN TABLE near_wanted (id int) SERVER near OPTIONS (schema_name 'public', table_name 'wanted');
		SELECT count(*) FROM near_wanted;}), 100, 'another node');
	$session->{files} += 1;
	$session->run('BEGIN; DECLARE c CURSOR FOR SELECT id, t FROM wide;');
	$proxy->rate(4000);
	$session->run('DECLARE d CURSOR FOR SELECT id, t FROM wide; SELECT count(*) FROM near_wanted;') for 1 .. 3;
	is($faults->one($session, 'ROLLBACK; BEGIN; SELECT count(*) FROM near_wanted; COMMIT;'), 100, 'another node beside a slow one');
	$proxy->rate(0);
	$faults->is_clean($session, 'another node beside a slow one');

	is($faults->one($session, q{
		CREATE TABLE public.unwilling (id int);
		CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not me'; END $$;
		CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON public.unwilling DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION refuse();
		CREATE FOREIGN TABLE near_unwilling (id int) SERVER near OPTIONS (schema_name 'public', table_name 'unwilling');}), '', 'one that fails in COMMIT');
	my ($out, $err) = $session->run("BEGIN; INSERT INTO here VALUES (1); INSERT INTO written VALUES (1, 'x'); INSERT INTO near_unwilling VALUES (1); COMMIT;");
	like($err, qr/^ERROR:  P0001: not me/m, 'another node fails in COMMIT');
	like($err, qr/^WARNING:  08007: storage node "far" has committed\n/m, 'another node fails in COMMIT: what was done is told');
	unlike($err, qr/WARNING:.*"near"/, 'another node fails in COMMIT: no more than that');
	is($faults->one($session, 'DELETE FROM written RETURNING id;'), 1, 'another node fails in COMMIT: it was done');
	$faults->is_clean($session, 'another node fails in COMMIT');
}

$session->quit;
ok($faults->is_left('the end'), 'no connection is left');
$faults->stop;
done_testing();
