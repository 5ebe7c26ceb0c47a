# The line to a node, or the node itself, fails, or takes its time, at each half of a commit
# over two nodes: cancels, lost connections and waits that end in time. All is there
# afterwards, or nothing.
# trap 27
use strict;
use warnings;

use Test::More;

use ShuttleCommit;
use ShuttleProxy;
use ShuttleSession;

my $cluster = ShuttleCommit->new(2, query_conf => 'shuttle.deadlock_timeout = 0');
my ($query, $one, $two) = ($cluster->{query}, @{ $cluster->{nodes} });
my $proxy = ShuttleProxy->new($one);
my $port = $proxy->port;
$query->safe_psql('postgres', "ALTER SERVER node1 OPTIONS (SET host '127.0.0.1', SET port '$port')");
my $session = ShuttleSession->new($query, 'postgres');
my $transfer = 0;
my $before = $cluster->state;
my $wait_seconds = 30;

sub begin_transfer
{
	my $more = shift // '';
	$transfer++;
	my ($out, $err) = $session->run("BEGIN; UPDATE account1 SET v = v - 10 WHERE id = 1; UPDATE account2 SET v = v + 10 WHERE id = 1;
		INSERT INTO ledger VALUES ($transfer); $more");
	is($err, '', 'begins');
	return;
}

sub after
{
	my ($v1, $v2, $n) = split /\|/, $before;
	return join '|', $v1 - 10, $v2 + 10, $n + 1;
}

sub is_over
{
	my ($expected, $label) = @_;
	$cluster->is_settled($label, $wait_seconds);
	is($cluster->state, $expected, "$label: " . ($expected eq $before ? 'nothing' : 'all'));
	$before = $expected;
	my ($out, $err) = $session->run('SELECT sum(v) IS NOT NULL FROM account1;');
	is("$out$err", 't', "$label: the session goes on");
	return;
}

# ---- nothing fails

begin_transfer();
$proxy->trips($session->pid);
$session->run('COMMIT;');
is($proxy->trips($session->pid), 2, 'a commit over two nodes and here: two round trips');
is_over(after(), 'nothing fails');

# ---- the first half

begin_transfer();
$proxy->hold('^PREPARE TRANSACTION');
$session->send('COMMIT;');
ok($proxy->is_held, 'PREPARE does not arrive');
$query->safe_psql('postgres', "SELECT pg_cancel_backend(@{[ $session->pid ]})");
my ($out, $err) = $session->result;
like($err, qr/^ERROR:  57014/m, 'PREPARE does not arrive: cancelled');
$proxy->thaw;
is_over($before, 'PREPARE does not arrive');

begin_transfer();
$proxy->mute(1);
$session->send('COMMIT;');
ok($one->poll_query_until('postgres', 'SELECT count(*) = 1 FROM pg_prepared_xacts'), 'node1 has prepared it, and nobody hears of it');
$proxy->reset;
($out, $err) = $session->result;
like($err, qr/^ERROR:  08006: connection to storage node "node1" was lost/m, 'the answer is lost');
$proxy->mute(0);
is_over($before, 'the answer is lost');

# ---- a node that takes its time, and one that refuses

$one->safe_psql('postgres', q{
	CREATE TABLE slow (id int);
	CREATE FUNCTION take_time() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NULL; END';
	CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION take_time()});
$query->safe_psql('postgres', 'CREATE FOREIGN TABLE slow (id int) SERVER node1');
begin_transfer('INSERT INTO slow VALUES (1);');
$session->send('COMMIT;');
ok($one->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep'}), 'a node takes its time');
$query->safe_psql('postgres', "SELECT pg_cancel_backend(@{[ $session->pid ]})");
($out, $err) = $session->result;
like($err, qr/^ERROR:  57014/m, 'a node takes its time: cancelled');
cmp_ok($session->seconds, '<', 20, 'a node takes its time: in time');
is_over($before, 'a node takes its time');

# ---- one node alone writes: rows that are locked on another one stay so until it has committed

$session->run('BEGIN; SELECT v FROM account2 WHERE id = 2 FOR UPDATE; INSERT INTO slow VALUES (1);');
$session->send('COMMIT;');
ok($one->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep'}), 'locked rows: the commit takes its time');
$two->psql('postgres', 'SELECT FROM account WHERE id = 2 FOR UPDATE NOWAIT', stderr => \my $locked);
like($locked, qr/could not obtain lock/, 'locked rows: are locked');
$query->safe_psql('postgres', "SELECT pg_cancel_backend(@{[ $session->pid ]})");
($out, $err) = $session->result;
like($err, qr/^ERROR:  57014/m, 'locked rows: cancelled');
is_over($before, 'locked rows');
$session->run('BEGIN; SELECT v FROM account2 WHERE id = 2 FOR UPDATE; UPDATE account1 SET v = v WHERE id = 2;');
$proxy->trips($session->pid);
($out, $err) = $session->run('COMMIT;');
is($err . $proxy->trips($session->pid), 1, 'locked rows: one round trip');
ok($two->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_locks WHERE mode = 'RowShareLock'}), 'locked rows: are given up');
is_over($before, 'locked rows, committed');

# ---- the second half

begin_transfer();
$session->run("SET shuttle.commit_wait = '300ms';");
$proxy->hold('^COMMIT PREPARED');
$session->send('COMMIT;');
ok($proxy->is_held, 'COMMIT PREPARED does not arrive');
($out, $err) = $session->result;
like($err, qr/^WARNING:  08007: storage node "node1" has not committed yet/m, 'COMMIT PREPARED does not arrive: a warning');
unlike($err, qr/ERROR/, 'and no error');
cmp_ok($session->seconds, '<', 20, 'after shuttle.commit_wait');
is($one->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'), 1, 'the node holds it');
$proxy->thaw;
is_over(after(), 'COMMIT PREPARED does not arrive');

# ---- a name that the client's encoding lacks: what is told then must not fail

$query->safe_psql('postgres', 'ALTER SERVER node1 RENAME TO U&"n\2192"');
$session->run('SET client_encoding = LATIN1;');
begin_transfer();
$proxy->hold('^COMMIT PREPARED');
$session->send('COMMIT;');
ok($proxy->is_held, 'a strange name: COMMIT PREPARED does not arrive');
($out, $err) = $session->result;
like($err, qr/^WARNING:  08007: storage node "n\?\?\?" has not committed yet/m, 'a strange name: a warning');
unlike($err, qr/ERROR|PANIC/, 'a strange name: and no error');
$proxy->thaw;
is_over(after(), 'a strange name');

$two->safe_psql('postgres', q{
	CREATE TABLE refused (id int);
	CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE division_by_zero; END';
	CREATE CONSTRAINT TRIGGER refused AFTER INSERT ON refused DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()});
$query->safe_psql('postgres', q{ALTER SERVER U&"n\2192" OPTIONS (ADD shuttle_two_phase 'off'); ALTER SERVER node2 OPTIONS (ADD shuttle_two_phase 'off');
	CREATE FOREIGN TABLE refused (id int) SERVER node2});
($out, $err) = $session->run('BEGIN; UPDATE account1 SET v = v WHERE id = 1; INSERT INTO refused VALUES (1); COMMIT;');
like($err, qr/^WARNING:  08007: storage node "n\?\?\?" has committed/m, 'a strange name: a warning behind an error');
like($err, qr/^ERROR:  22012/m, 'a strange name: and the error');
is_over($before, 'a strange name, behind an error');

$session->quit;
$cluster->stop;
done_testing();
