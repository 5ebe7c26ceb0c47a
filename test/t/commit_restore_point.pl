# shuttle.create_restore_point(): all servers restored to it show the same transactions,
# while others commit over several nodes; what it refuses, and that nothing stays held.
# The commands are those of docs/backup.md. With SHUTTLE_FULL_RESTORES=1 ten points are restored.
use strict;
use warnings;

use File::Basename qw(dirname);
use File::Spec;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use ShuttleCommit;
use ShuttlePoints;
use ShuttleSession;

# ---- the page's blocks, in its order

open(my $file, '<', dirname(__FILE__) . '/../../docs/backup.md') or die "no page: $!";
my $page = do { local $/; <$file> };
close $file;
my %blocks;
push @{ $blocks{$1} }, $2 while $page =~ /^```(\w+)\n(.*?)^```/gms;
is(join(' ', map { "$_:" . @{ $blocks{$_} } } sort keys %blocks), 'ini:2 sh:2 sql:4', 'the page has the blocks that are run here');
my ($make_point, $switch, $lead, $finish) = @{ $blocks{sql} };

# A block with its examples replaced.
sub block
{
	my ($text, %replace) = @_;
	$text =~ s/\Q$_\E/$replace{$_}/g for sort keys %replace;
	return $text;
}

sub shell
{
	my ($text, %environment) = @_;
	local @ENV{ keys %environment } = values %environment;
	return system('bash', '-ec', $text) == 0;
}

# ---- two nodes and a query node, which archive

my $conf = "max_wal_senders = 5\nautovacuum = off\n" . block($blocks{ini}[0], '/archive' => '../archives');
my $cluster = ShuttleCommit->new(2, conf => $conf, query_conf => "shuttle.recovery_interval = 0\n");
my ($query, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });
my @servers = ($query, @nodes);
my $session = ShuttleSession->new($query, 'postgres');
my $stops = ShuttlePoints->new($query);
$_->safe_psql('postgres', 'CREATE TABLE journal (transfer bigint PRIMARY KEY, v int)') for @nodes;
$query->safe_psql('postgres', 'CREATE SEQUENCE transfers; CREATE FOREIGN TABLE journal1 (transfer bigint, v int) SERVER node1 OPTIONS (table_name \'journal\');
	CREATE FOREIGN TABLE journal2 (transfer bigint, v int) SERVER node2 OPTIONS (table_name \'journal\')');

my %backup;
for my $server (@servers)
{
	$backup{ $server->name } = $server->backup_dir . '/base';
	mkdir $server->backup_dir;
	ok(shell($blocks{sh}[0], SERVER => $server->connstr, BACKUP => $backup{ $server->name }), 'a base backup of ' . $server->name);
}

# ---- points under load: some writers do not wait for COMMIT PREPARED
# The nodes' points are there long before the query node's.

my $script = PostgreSQL::Test::Utils::tempdir() . '/transfer.sql';
PostgreSQL::Test::Utils::append_to_file($script, <<'END');
\set from random(1, 20)
\set to random(1, 20)
\set amount random(1, 9)
BEGIN;
SELECT nextval('transfers') AS n \gset
UPDATE account1 SET v = v - :amount WHERE id = :from;
INSERT INTO journal1 VALUES (:n, -:amount);
UPDATE account2 SET v = v + :amount WHERE id = :to;
INSERT INTO journal2 VALUES (:n, :amount);
INSERT INTO ledger VALUES (:n, 1, 2, :amount);
COMMIT;
END

sub start_writers
{
	my ($nclients, $options) = @_;
	my $pid = fork();
	return $pid if $pid;
	local $ENV{PGOPTIONS} = $options;
	open(STDOUT, '>', '/dev/null');
	open(STDERR, '>', PostgreSQL::Test::Utils::tempdir() . "/writers$nclients.log");
	exec('pgbench', '-n', '-c', $nclients, '-j', $nclients, '-T', 60, '-R', 25 * $nclients, '-h', $query->host, '-p', $query->port, '-f', $script, 'postgres') or POSIX::_exit(3);
}

my @writers = (start_writers(4, ''), start_writers(1, '-c shuttle.commit_wait=0'));
my $ledger = 'SELECT count(*) FROM ledger';
$query->poll_query_until('postgres', 'SELECT count(*) > 50 FROM ledger') or die 'no transfer';
my (@points, %lsns);
for my $name ($ENV{SHUTTLE_FULL_RESTORES} ? map { "day$_" } 1 .. 10 : ('friday', 'saturday', 'sunday'))
{
	usleep(200_000);
	$stops->arm('nodes-have-points') if $stops;
	$session->send(block($make_point, friday => $name));
	if ($stops)
	{
		ok($stops->reached('nodes-have-points', $session->pid), "$name: the nodes have it");
		usleep(200_000);
		$stops->release('nodes-have-points');
	}
	my ($out, $err) = $session->result;
	like($out, qr{^node1\|[0-9A-F]+/[0-9A-F]+\nnode2\|[0-9A-F]+/[0-9A-F]+\n\|[0-9A-F]+/[0-9A-F]+$}, "$name: a row for each server");
	is($err, '', 'no error');
	push @points, $name;
	%lsns = map { split /\|/ } split /\n/, $out;
}
my $count = $query->safe_psql('postgres', $ledger);
usleep(300_000);
cmp_ok($query->safe_psql('postgres', $ledger), '>', $count, 'writers go on');
kill 'TERM', @writers;
waitpid($_, 0) for @writers;
$session->run($switch);
for my $server (@servers)
{
	my $lsn = $lsns{ $server == $query ? '' : $server->name };
	$server->poll_query_until('postgres', "SELECT last_archived_wal >= pg_walfile_name('$lsn') FROM pg_stat_archiver") or die 'not archived';
}

# ---- each of them restored

sub restore_to
{
	my ($server, $name) = @_;
	my $restored = PostgreSQL::Test::Cluster->new($server->name . "_$name");
	mkdir $restored->basedir;
	ok(shell(block($blocks{sh}[1], '/archive' => File::Spec->rel2abs($server->archive_dir), friday => $name), BACKUP => $backup{ $server->name }, PGDATA => $restored->data_dir), "$name: files of " . $server->name);
	$restored->append_conf('postgresql.conf', 'port = ' . $restored->port . "\nunix_socket_directories = '" . $restored->host . "'\narchive_mode = off\n" . ($server == $query ? $blocks{ini}[1] : ''));
	chmod 0700, $restored->data_dir;
	$restored->start;
	return $restored;
}

my $halves = 'SELECT count(*) FROM (SELECT transfer FROM journal1) a FULL JOIN (SELECT transfer FROM journal2) b USING (transfer)
	FULL JOIN (SELECT transfer FROM ledger) c USING (transfer) WHERE a.transfer IS NULL OR b.transfer IS NULL OR c.transfer IS NULL';
my $total = 'SELECT (SELECT sum(v) FROM account1) + (SELECT sum(v) FROM account2)';
my $expected = 2 * $ShuttleCommit::accounts * $ShuttleCommit::balance;
my ($before, $nprepared) = (0, 0);
for my $name (@points)
{
	my ($copy, @copies) = map { restore_to($_, $name) } @servers;
	$_->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'not promoted' for $copy, @copies;
	for my $i (1 .. 2)
	{
		$copy->safe_psql('postgres', block($lead, node1 => "node$i", '10.0.0.7' => $copies[ $i - 1 ]->host, 5432 => $copies[ $i - 1 ]->port));
	}
	$nprepared += $_->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts') for @copies;
	is((split /\n/, $copy->safe_psql('postgres', $finish) . "\n.")[-1], '.', "$name: nothing is left prepared");
	is($copy->safe_psql('postgres', $total), $expected, 'no money is lost or made');
	my $nhalf = $copy->safe_psql('postgres', $halves);
	is($nhalf, 0, 'no transfer is half done');
	my $n = $copy->safe_psql('postgres', $ledger);
	cmp_ok($n, '>', $before, "$n transfers, more than at the point before");
	$before = $n;
	$_->stop('immediate') for $copy, @copies;
}
note("$nprepared transactions were prepared in restored nodes");
$query->safe_psql('postgres', 'SELECT * FROM shuttle.recover()');

# ---- what it refuses

sub refused
{
	my ($label, $sql, $error) = @_;
	my ($out, $err) = $session->run($sql);
	like($err, $error, $label);
	is($query->safe_psql('postgres', q{SELECT count(*) FROM pg_locks WHERE relation = 'shuttle.commit_records'::regclass}), 0, 'and nothing is held');
	$session->run('ROLLBACK;');
	return;
}

my $point = q{SELECT * FROM shuttle.create_restore_point('p');};
refused('in a transaction block', "BEGIN; $point", qr/^ERROR:  25001: shuttle.create_restore_point\(\) cannot run inside a transaction block$/m);
refused('a long name', q{SELECT * FROM shuttle.create_restore_point(repeat('x', 64));}, qr/^ERROR:  22023: value too long for restore point \(maximum 63 characters\)$/m);
refused('no such server', q{SELECT * FROM shuttle.create_restore_point('p', '{nowhere}');}, qr/^ERROR:  42704: server "nowhere" does not exist$/m);
is(($session->run(q{SELECT server FROM shuttle.create_restore_point('p', '{node2}');}))[0], "node2\n", 'some servers');
is(($session->run(q{SELECT * FROM shuttle.create_restore_point(NULL);}))[0], '', 'no name');
refused('by whom it was not granted', "CREATE ROLE someone; SET ROLE someone; $point RESET ROLE;", qr/^ERROR:  42501: permission denied for (schema shuttle|function create_restore_point)$/m);
$nodes[1]->safe_psql('postgres', 'CREATE ROLE limited LOGIN');
$query->safe_psql('postgres', q{ALTER USER MAPPING FOR CURRENT_USER SERVER node2 OPTIONS (SET user 'limited')});
refused('a role on a node that may not', $point, qr/^ERROR:  55000: storage node "node2" cannot make a restore point\n.*DETAIL:  Its role limited may not execute pg_create_restore_point\(text\)\.$/ms);
my $user = $query->safe_psql('postgres', 'SELECT current_user');
$query->safe_psql('postgres', qq{ALTER USER MAPPING FOR CURRENT_USER SERVER node2 OPTIONS (SET user '$user')});
$nodes[1]->stop('fast');
refused('a node that is away', $point, qr/^ERROR:  08001: no restore point can be made because storage node "node2" does not answer$/m);
$nodes[1]->start;

# ---- a lock that is not given up, a cancel

my $other = ShuttleSession->new($query, 'postgres');
$other->run('BEGIN; LOCK TABLE shuttle.commit_records IN ROW EXCLUSIVE MODE;');
($session->run('SET lock_timeout = 700;'));
my ($out, $err) = $session->run($point);
like($err, qr/^ERROR:  55P03: commits over several nodes could not be held back within 700 ms$/m, 'a lock that is not given up');
$session->run('RESET lock_timeout;');
$session->send($point);
$other->poll(q{SELECT count(*) > 0 FROM pg_locks WHERE relation = 'shuttle.commit_records'::regclass AND NOT granted}) or die 'nobody waits';

# Commits do not queue behind it for long.
my $writer = ShuttleSession->new($query, 'postgres');
$writer->run('BEGIN; UPDATE account1 SET v = v WHERE id = 1; UPDATE account2 SET v = v WHERE id = 1; COMMIT;');
cmp_ok($writer->seconds, '<', 5, 'writers get ahead of it') or diag($writer->seconds);
$query->safe_psql('postgres', 'SELECT pg_cancel_backend(' . $session->pid . ')');
like(($session->result)[1], qr/^ERROR:  57014: canceling statement due to user request$/m, 'a cancel ends it');
$session->send($point);
$other->poll(q{SELECT count(*) > 0 FROM pg_locks WHERE relation = 'shuttle.commit_records'::regclass AND NOT granted}) or die 'nobody waits';
$other->run('COMMIT;');
is(($session->result)[1], '', 'it goes on when the lock is given up');
$_->quit for $other, $writer;

# ---- another query node

my $peer = $cluster->add_query($conf . "max_prepared_transactions = 50\n");
my $at_peer = ShuttleSession->new($peer, 'postgres');
$at_peer->run('SELECT count(*) FROM account1;');
is(($session->run('SELECT server FROM shuttle.create_restore_point(\'p\') ORDER BY 1;'))[0], "node1\nnode2\npeer\n", 'another query node gets the point, too');
my $held = ShuttleSession->new($peer, 'postgres');
$held->run('BEGIN; LOCK TABLE shuttle.commit_records IN ROW EXCLUSIVE MODE;');
$session->send($point);
ok($at_peer->poll(q{SELECT count(*) > 0 FROM pg_locks WHERE relation = 'shuttle.commit_records'::regclass AND NOT granted}), 'its commits are waited for');
$held->run('COMMIT;');
is(($session->result)[1], '', 'until they end');
ok($at_peer->poll(q{SELECT count(*) = 0 FROM pg_locks WHERE relation = 'shuttle.commit_records'::regclass}), 'nothing is held there');
$session->run(q{SELECT shuttle.remove_query_node('peer');});
refused('a query node that is not named', q{SELECT * FROM shuttle.create_restore_point('p', '{node1,node2}');}, qr/^ERROR:  55000: another query node uses storage node "node1"\nDETAIL: .*, the role of its session \w+\.$/ms);

$_->quit for $at_peer, $held, $session;
$cluster->stop;
done_testing();
