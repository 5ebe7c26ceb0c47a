# A standby that is a query node commits over two storage nodes, and the primary server decides. Somebody is killed at each
# point: all is there afterwards, or nothing, as the client was told, and no node holds anything prepared.
# trap 27, 28, 29
# expected in server log: terminated by signal 9
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use ShuttlePoints;
use ShuttleQueryNodes;
use ShuttleSession;

my $cluster = ShuttleQueryNodes->new(apart => 1, conf => "shuttle.recovery_interval = 1\nwal_retrieve_retry_interval = 100ms\nautovacuum = off", sql => q{
	CREATE TABLE account (id int PRIMARY KEY, n int CHECK (n >= -10000));
	CREATE TABLE journal (account int, transfer int, PRIMARY KEY (account, transfer));
	INSERT INTO account SELECT i, 0 FROM generate_series(1, 40) AS i;
	SELECT shuttle.distribute_tables('{account.id,journal.account}', 4);
	SELECT shuttle.register_query_node('q2')});
my ($primary, %nodes) = ($cluster->{primary}, %{ $cluster->{far} });
my $standby;
sub on_primary { return $primary->safe_psql('postgres', $_[0]); }
sub wait_for_lease { return $cluster->wait_for_lease($standby); }

sub add_standby
{
	$standby = $cluster->add_standby($_[0], "shuttle.query_node_name = 'q2'");
	return wait_for_lease();
}
add_standby('standby');

my ($one) = on_primary(q{SELECT min(a.id) FROM account AS a JOIN shuttle.tablets AS t ON t.tablet = a.tableoid WHERE t.node = 'n1'});
my ($two) = on_primary(q{SELECT min(a.id) FROM account AS a JOIN shuttle.tablets AS t ON t.tablet = a.tableoid WHERE t.node = 'n2'});
my $transfer = 0;

# A transaction that writes on both nodes, but for its COMMIT.
sub transfer
{
	my $session = shift;
	$transfer++;
	return $session->run("BEGIN; UPDATE account SET n = n - 10 WHERE id = $one; INSERT INTO journal VALUES ($one, $transfer);
		UPDATE account SET n = n + 10 WHERE id = $two; INSERT INTO journal VALUES ($two, $transfer);");
}

# What a reader of each node finds: both parts of each transfer are there, or none is.
sub state
{
	return on_primary(qq{SELECT (SELECT n FROM account WHERE id = $one), (SELECT n FROM account WHERE id = $two), (SELECT count(*) FROM journal WHERE account = $one),
		(SELECT count(*) FROM journal WHERE account = $two)});
}
sub later { my ($a, $b, $c, $d) = split /\|/, $_[0]; return join '|', $a - 10, $b + 10, $c + 1, $d + 1; }
sub nprepared { my $n = 0; $n += $_->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts') for values %nodes; return $n; }

sub is_settled
{
	my $label = shift;
	my $deadline = time() + 60;
	usleep(20_000) while nprepared() > 0 && time() < $deadline;
	my $n = nprepared();
	return if $n == 0;
	fail("$label: $n transactions are still prepared");
	diag(on_primary('SELECT * FROM shuttle.transactions'));
	return;
}

# ---- without faults
my $session = ShuttleSession->new($standby, 'postgres');
my $before = state();
transfer($session);
is(($session->run('COMMIT;'))[1], '', 'a standby commits on two nodes');
is(state(), later($before), 'and both have it');
is(nprepared(), 0, 'nothing is left prepared');
is(($session->run('UPDATE account SET n = n; SELECT count(*) FROM account;'))[0], 40, 'a statement that writes on all of them');
$before = state();
transfer($session);
like(($session->run("INSERT INTO journal VALUES ($two, $transfer);"))[1], qr/23505/, 'an error on one node');
$session->run('ROLLBACK;');
is(state(), $before, 'rolls back both');
transfer($session);
$session->run("SAVEPOINT a; UPDATE account SET n = 0 WHERE id IN ($one, $two); ROLLBACK TO a;");
is(($session->run('COMMIT;'))[1], '', 'with a savepoint');
is(state(), later($before), 'that was rolled back');
like(($session->run("UPDATE account SET id = $two + 1000 WHERE id = $one + 2000; SELECT 1;"))[0], qr/1/, 'a key that changes');
is(on_primary("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pg_shuttle query node q2'"), 1, 'one connection to the primary server is kept');

# A node that does not prepare.
on_primary("ALTER SERVER n2 OPTIONS (ADD shuttle_two_phase 'off')");
$primary->wait_for_catchup($standby, 'replay');
my ($out, $err);
for (1 .. 20)
{
	($out, $err) = $session->run("BEGIN; UPDATE account SET n = n WHERE id = $one; UPDATE account SET n = n WHERE id = $two; COMMIT;");
	last if $err !~ /40001/;
}
like($err, qr/25006: cannot write on several storage nodes in one transaction of a standby\nDETAIL:  One of them has shuttle_two_phase 'off'/, 'each node has to prepare');
on_primary('ALTER SERVER n2 OPTIONS (DROP shuttle_two_phase)');
$primary->wait_for_catchup($standby, 'replay');

# The connection to the primary server is lost between two commits.
$session->run('ROLLBACK;');
for (1 .. 20)
{
	on_primary("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'pg_shuttle query node q2'");
	$before = state();
	transfer($session);
	($out, $err) = $session->run('COMMIT;');
	last if $err !~ /40001/;
}
is($err, '', 'it is opened again');
is(state(), later($before), 'for the next commit');

$session->quit;

# ---- faults
my $here = ShuttlePoints->new($primary, $standby);
my $there = ShuttlePoints->new($primary);

sub wait_until_it_answers
{
	my $server = shift;
	my $deadline = time() + 60;
	usleep(50_000) while time() < $deadline && $server->psql('postgres', 'SELECT 1', on_error_die => 0) != 0;
	return;
}

# Its postmaster ends all others when it has noticed, and the server recovers.
sub kill_backend
{
	my ($server, $pid) = @_;
	my $offset = -s $server->logfile;
	kill 'KILL', $pid;
	$server->wait_for_log(qr/ready to accept (read-only )?connections/, $offset);
	wait_until_it_answers($server);
	return;
}

sub link_pid { return on_primary(q{SELECT pid FROM pg_stat_activity WHERE application_name = 'pg_shuttle query node q2' ORDER BY backend_start DESC LIMIT 1}); }

# Points in their order, whether the session of the primary server stops there, and whether the decision has fallen.
my @points = (
	[ 'before-prepare', 0, 0 ], [ 'prepare-sent', 0, 0 ], [ 'prepared', 0, 0 ], [ 'decision-recorded', 1, 0 ], [ 'decision-committed', 1, 1 ],
	[ 'decision-sent', 0, undef ], [ 'decided', 0, 1 ], [ 'committed', 0, 1 ], [ 'commit-sent', 0, 1 ]);
my @victims = ('session of the standby', 'session of the primary server', 'primary server', 'storage node');

sub run_case
{
	my ($point, $on_primary, $decided, $victim) = @_;
	my $label = "$victim killed at $point";
	my $points = $on_primary ? $there : $here;
	wait_for_lease();
	$session = ShuttleSession->new($standby, 'postgres');
	transfer($session);
	$err = ($session->run('COMMIT;'))[1];		# it has its connections now
	if ($err ne '') { fail("$label: $err"); return; }
	$before = state();
	my $link = link_pid();
	transfer($session);
	$points->arm($point);
	$session->send('COMMIT;');
	if (!$points->reached($point, $on_primary ? $link : $session->pid)) { fail("$label: does not get there"); return; }
	if ($victim eq 'session of the standby') { kill_backend($standby, $session->pid); }
	elsif ($victim eq 'session of the primary server') { kill_backend($primary, $link); }
	elsif ($victim eq 'primary server') { $primary->stop('immediate'); }
	else { $nodes{n2}->stop('immediate'); }
	my $is_gone = $victim eq 'session of the standby' ? !$on_primary : $victim ne 'storage node' && $on_primary;
	if ($is_gone) { $points->forget; }
	elsif ($on_primary || $victim ne 'primary server') { $points->release($point); }

	# the primary server is still gone while the standby goes on
	else { $standby->safe_psql('postgres', "SELECT injection_points_detach('shuttle-$point'), injection_points_wakeup('shuttle-$point')") if $points->{injected}; $points->forget; }
	($out, $err) = $session->result;
	$session->quit;
	$primary->start if $victim eq 'primary server';
	$nodes{n2}->start if $victim eq 'storage node';
	is_settled($label);
	my $found = state();
	my $after = later($before);
	my $wanted = $victim eq 'session of the standby' && $on_primary ? $after :		# which has all of the packet
	  $victim eq 'session of the standby' ? (defined $decided ? ($decided ? $after : $before) : $found eq $before ? $before : $after) :
	  $err =~ /ERROR:  08007/ ? ($decided || $found ne $before ? $after : $before) : $err =~ /^ERROR|FATAL/m ? $before : $after;
	is($found, $wanted, "$label: " . ($err =~ /(ERROR:  \w+)/ ? $1 : 'no error'));

	# behind the decision nobody is told that it has failed
	unlike($err, qr/^ERROR/m, "$label: has committed") if $decided && !$on_primary && $victim ne 'session of the standby';
	unlike($err, qr/may not have committed/, "$label: nobody else has ended it") if $victim eq 'storage node';
	return;
}

if (defined $here)
{
	for my $point (@points)
	{
		run_case(@$point, $_) for @victims;
	}

	# ---- the commit goes on for long: recovery leaves it alone, before the decision and behind it
	wait_for_lease();
	$session = ShuttleSession->new($standby, 'postgres');
	for my $point ('prepared', 'decided')
	{
		$before = state();
		transfer($session);
		$here->arm($point);
		$session->send('COMMIT;');
		ok($here->reached($point, $session->pid), "a commit stops at $point");
		on_primary('SELECT count(*) FROM shuttle.recover()');
		is(nprepared(), 2, 'recovery leaves it alone');
		my ($code, $stdout, $stderr) = $primary->psql('postgres', q{SET lock_timeout = '500ms'; SELECT count(*) FROM shuttle.create_restore_point('p')}, on_error_die => 0);
		like($stderr, qr/commits over several nodes could not be held back/, 'and no restore point falls into it') if $point eq 'prepared';
		$here->release($point);
		is(($session->result)[1], '', 'it ends');
		is(state(), later($before), 'as it should');
	}
	is(nprepared(), 0, 'nothing is left prepared');
}
sub cancel { $standby->safe_psql('postgres', "SELECT pg_cancel_backend($_[0])"); return; }

# ---- the primary server stands still, and the client cancels: before and behind the decision
if (defined $there)
{
	for my $point ('decision-recorded', 'decision-committed')
	{
		wait_for_lease();
		$session = ShuttleSession->new($standby, 'postgres');
		transfer($session);
		$session->run('COMMIT;');
		$before = state();
		transfer($session);
		$there->arm($point);
		$session->send('COMMIT;');
		ok($there->reached($point, link_pid()), "the primary server stands still at $point");
		cancel($session->pid);
		like(($session->result)[1], qr/^ERROR:  08007: the transaction may have been committed/, 'a cancel is heeded');
		on_primary('SELECT count(*) FROM shuttle.recover()');
		is(nprepared(), 2, 'recovery leaves it alone');
		$there->release($point);
		is_settled($point);
		is(state(), later($before), 'then it commits it');
		$session->quit;
	}
}
wait_for_lease();
$session = ShuttleSession->new($standby, 'postgres');
transfer($session);
$session->run('COMMIT;');
$before = state();
my $link = link_pid();
sub cancel_commit
{
	my ($session, $label) = @_;
	transfer($session);
	$session->send('COMMIT;');
	$standby->poll_query_until('postgres', "SELECT query = 'COMMIT;' AND wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = @{[ $session->pid ]}");
	cancel($session->pid);
	return like(($session->result)[1], qr/^ERROR:  57014/, $label);
}
kill 'STOP', $link;
cancel_commit($session, 'a cancel while the primary server gives no name');
kill 'CONT', $link;
my $new = ShuttleSession->new($standby, 'postgres');
kill 'STOP', $primary->{_pid};
cancel_commit($new, 'a cancel while it takes no connection') for 1 .. 2;
kill 'CONT', $primary->{_pid};
$new->quit;
is(nprepared(), 0, 'nothing is prepared');
is(state(), $before, 'and nothing is written');

# ---- synchronous standbys of the primary server: one that never comes, and the one that commits
sub synchronous
{
	my ($names, $level) = @_;
	on_primary("SET synchronous_commit = off; ALTER SYSTEM SET synchronous_standby_names = '$names'");
	on_primary("SET synchronous_commit = off; ALTER SYSTEM SET synchronous_commit = '$level'");
	$primary->reload;
	$primary->poll_query_until('postgres', "SELECT current_setting('synchronous_standby_names') = '$names'") or die 'not reloaded';
	return;
}
synchronous('nobody', 'on');
transfer($session);
$session->send('COMMIT;');
$primary->poll_query_until('postgres', q{SELECT wait_event = 'SyncRep' FROM pg_stat_activity WHERE application_name = 'pg_shuttle query node q2' AND state = 'active'});
is(nprepared(), 2, 'the decision waits for a synchronous standby');
on_primary('SET synchronous_commit = off; SELECT pg_cancel_backend(' . link_pid() . ')');
like(($session->result)[1], qr/WARNING:  40003: storage node "n1" has not committed, and may roll back/, 'a decision that a promotion may lose is no decision yet');
is(nprepared(), 2, 'nodes are not told');
synchronous('', 'on');
is_settled('without synchronous standbys');
is(state(), later($before), 'then recovery commits it');
$before = state();
synchronous('standby', 'remote_apply');
transfer($session);
is(($session->run('COMMIT;'))[1], '', 'the standby itself is synchronous, and is to have replayed commits');
is(state(), later($before), 'all is there');
synchronous('', 'on');

# ---- many at once, while their connections to the primary server are ended
my @sessions = map { ShuttleSession->new($standby, 'postgres') } 1 .. 4;
my (%told, @wrong);
for my $round (1 .. 25)
{
	my @ids = map { ++$transfer } @sessions;
	for my $n (0 .. $#sessions)
	{
		# in one order, or they would wait for each other
		$sessions[$n]->send("BEGIN; UPDATE account SET n = n - 10 WHERE id = $one; INSERT INTO journal VALUES ($one, $ids[$n]);
			UPDATE account SET n = n + 10 WHERE id = $two; INSERT INTO journal VALUES ($two, $ids[$n]); COMMIT;");
	}
	on_primary(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pg_shuttle query node q2' AND pid % 2 = }
		. ($round / 2 % 2)) if $round % 2 == 0;
	for my $n (0 .. $#sessions)
	{
		$told{ $ids[$n] } = ($sessions[$n]->result)[1];
		$sessions[$n]->run('ROLLBACK;') if $told{ $ids[$n] } =~ /ERROR/;
	}
}
is_settled('many at once');
for my $id (sort { $a <=> $b } keys %told)
{
	my $found = on_primary("SELECT count(*) FROM journal WHERE transfer = $id");
	my $is_right = $told{$id} =~ /ERROR:  08007/ ? $found == 0 || $found == 2 : $found == ($told{$id} =~ /ERROR/ ? 0 : 2);
	push @wrong, "$id has $found: $told{$id}" if !$is_right;
}
is(join("\n", @wrong), '', 'each has all or nothing, as its client was told');
$_->quit for @sessions;
is(on_primary("SELECT sum(n) FROM account"), 0, 'nothing is lost or doubled');
$session->quit;
ok($primary->poll_query_until('postgres', 'SELECT count(*) = 0 FROM shuttle.commit_records'), 'no record is left');

# ---- promoted inside of COMMIT, while the old primary server goes on
if (defined $here)
{
	for my $case ([ 'prepared', 0 ], [ 'decided', 1 ])
	{
		my ($point, $decided) = @$case;
		wait_for_lease();
		$before = state();
		$session = ShuttleSession->new($standby, 'postgres');
		transfer($session);
		my $points = ShuttlePoints->new($primary, $standby);
		$points->arm($point);
		$session->send('COMMIT;');
		ok($points->reached($point, $session->pid), "a commit stops at $point");
		$primary->wait_for_catchup($standby, 'replay');
		$standby->promote;
		$points->release($point);
		$err = ($session->result)[1];

		# recovery of the promoted server may be faster
		$decided ? unlike($err, qr/^ERROR/m, 'it has committed when its server is promoted') :
		  like($err, qr/^ERROR:  40001: this server was promoted while the transaction was committed/, 'it fails when its server is promoted');
		is_settled($point);
		is(state(), $decided ? later($before) : $before, 'as was told');
		$session->quit;
		$standby->stop;
		add_standby("standby_$point");
	}
}

# ---- without the primary server
wait_for_lease();
$session = ShuttleSession->new($standby, 'postgres');
$before = state();
$primary->stop('immediate');
like((transfer($session))[1] . ($session->run('COMMIT;'))[1], qr/ERROR:  57P03: query node "q2" cannot (commit on several storage nodes|write) now/, 'without the primary server no commit on two nodes');
is(nprepared(), 0, 'nothing is prepared then');
like(($session->run("SELECT count(*) FROM journal WHERE account = $one;"))[0], qr/^\d+$/, 'reads go on');
$primary->start;
is(state(), $before, 'and nothing was written');

# ---- promoted inside a transaction on two nodes
wait_for_lease();
$before = state();
$session = ShuttleSession->new($standby, 'postgres');
transfer($session);
$primary->stop('immediate');
$standby->promote;
is(($session->run('COMMIT;'))[1], '', 'a transaction commits on two nodes when its server has been promoted');
is($standby->safe_psql('postgres', "SELECT n FROM account WHERE id IN ($one, $two) ORDER BY id = $two"), join("\n", (split /\|/, later($before))[0, 1]), 'all of it');
is(nprepared(), 0, 'nothing is left prepared');
$cluster->stop;
done_testing();
