# Reads in one state while a node is behind the decision of a commit, after a restart of
# this server that left a commit half done, and where they are refused.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use ShuttleCommit;
use ShuttleProxy;
use ShuttleSession;

my $cluster = ShuttleCommit->new(3, query_conf => "shuttle.recovery_interval = 0\nshuttle.commit_wait = 800\n");
my ($query, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });
my $user = $query->safe_psql('postgres', 'SELECT current_user');
my $proxy = ShuttleProxy->new($nodes[1]);
my ($port, $far) = ($nodes[1]->port, $proxy->port);

# node2 under another name, past the proxy: who reads by it must know that it is the same
$query->safe_psql('postgres', "CREATE SERVER past FOREIGN DATA WRAPPER shuttle OPTIONS (host '@{[ $nodes[1]->host ]}', port '$port', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER past OPTIONS (user '$user');
	CREATE FOREIGN TABLE past2 (id int, v int) SERVER past OPTIONS (table_name 'account');
	ALTER SERVER node2 OPTIONS (SET host '127.0.0.1', SET port '$far')");

my $one = ShuttleSession->new($query, 'postgres');
my $reader = ShuttleSession->new($query, 'postgres');
$reader->run('SET shuttle.read_consistency = atomic;');
my $sum = sub { my ($left, $right) = @_; return "SELECT (SELECT v FROM $left WHERE id = 1) + (SELECT v FROM $right WHERE id = 1);"; };
is(($reader->run($sum->('account1', 'past2')))[0], '200', 'before');

# ---- a node that is behind the decision

$proxy->hold('^COMMIT PREPARED');
$one->send('BEGIN; UPDATE account1 SET v = v - 10 WHERE id = 1; UPDATE account2 SET v = v + 10 WHERE id = 1; COMMIT;');
ok($proxy->is_held, 'COMMIT PREPARED does not arrive');
ok($nodes[0]->poll_query_until('postgres', 'SELECT v = 90 FROM account WHERE id = 1'), 'the other node has committed');
is(($reader->run('SET shuttle.read_consistency = node; ' . $sum->('account1', 'past2')))[0], '190', 'node: half of it is seen');
$reader->run('SET shuttle.read_consistency = atomic;');
is(($reader->run($sum->('account1', 'account3')))[0], '190', 'nodes of which one takes no part are read at once');
like(($reader->run($sum->('account1', 'past2')))[1], qr/40001: +storage node "past" has not finished a transaction/, 'atomic: it is waited for, and then an error');
like(($one->result)[1], qr/08007/, 'the commit gives up');
like(($reader->run('BEGIN ISOLATION LEVEL REPEATABLE READ; ' . $sum->('account1', 'past2')))[1], qr/40001/, 'REPEATABLE READ: an error as well');
$reader->run('ROLLBACK;');
$reader->send('SET shuttle.commit_wait = 20000; ' . $sum->('account1', 'past2'));
usleep(300_000);
$proxy->thaw;
$query->safe_psql('postgres', 'SELECT * FROM shuttle.recover()');
is(($reader->result)[0], '200', 'who waits goes on when recovery has finished it');
$cluster->is_settled('behind the decision');
is(($reader->run($sum->('account1', 'account2')))[0], '200', 'behind it');
is($query->safe_psql('postgres', 'SELECT sum(window_wait_ms) > 0 FROM shuttle.node_stats'), 't', 'waits are counted');

# ---- a transaction that fails when its window is open leaves nothing behind

$reader->run('RESET shuttle.commit_wait;');
$query->safe_psql('postgres', 'CREATE TABLE late (id int, CONSTRAINT once UNIQUE (id) DEFERRABLE INITIALLY DEFERRED); INSERT INTO late VALUES (1)');
like(($one->run('BEGIN; UPDATE account1 SET v = v - 10 WHERE id = 1; UPDATE account3 SET v = v + 10 WHERE id = 1; INSERT INTO late VALUES (1); COMMIT;'))[1],
	qr/23505/, 'a commit that fails');
is(($reader->run($sum->('account1', 'account3')))[0], '190', 'is not waited for');

# ---- a restart: what was prepared before it has no window

sub leave
{
	my ($server) = @_;
	my $name = $query->safe_psql('postgres', "SELECT 'shuttle_' || cluster || '_' || (SELECT oid FROM pg_database WHERE datname = current_database()) || '_' || pg_current_xact_id()
		FROM shuttle.identity") . '_0000000000000001';
	my $oid = $query->safe_psql('postgres', "SELECT oid FROM pg_foreign_server WHERE srvname = '$server'");
	$nodes[2]->safe_psql('postgres', "BEGIN; UPDATE account SET v = v + 10 WHERE id = 1; PREPARE TRANSACTION '${name}_${oid}_1'");
	$query->safe_psql('postgres', "INSERT INTO shuttle.commit_records VALUES ('$name', ARRAY[$oid], now())");
	return;
}
leave('node3');
$nodes[0]->safe_psql('postgres', 'UPDATE account SET v = v - 10 WHERE id = 1');
$query->stop('immediate');
$query->start;
is($query->safe_psql('postgres', "SET shuttle.read_consistency = node; " . $sum->('account1', 'account3')), '180', 'node: half of it is seen');
is($query->safe_psql('postgres', "SET shuttle.read_consistency = atomic; " . $sum->('account1', 'account3')), '190', 'atomic: it is finished first');
$cluster->is_settled('restart');

# ---- snapshot isolation over nodes

$one = ShuttleSession->new($query, 'postgres');
$reader = ShuttleSession->new($query, 'postgres');
my $begin = 'SET shuttle.read_consistency = atomic; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT v FROM account1 WHERE id = 2;';
$_->run($begin) for $one, $reader;
is(($one->run('UPDATE account3 SET v = v + 1 WHERE id = 2; UPDATE account1 SET v = v - 1 WHERE id = 2; COMMIT;'))[1], '', 'the first committer');
is(($reader->run('SELECT v FROM account3 WHERE id = 2;'))[0], '100', 'a node that is read later belongs to the first state');
like(($reader->run('UPDATE account1 SET v = v - 1 WHERE id = 2;'))[1], qr/40001/, 'wins');
$reader->run('ROLLBACK;');

# ---- what was read or written before the setting is changed stays

$reader->run('RESET shuttle.read_consistency; BEGIN ISOLATION LEVEL REPEATABLE READ; UPDATE account1 SET v = v + 5 WHERE id = 3; SET LOCAL shuttle.read_consistency = atomic;');
$one->run('RESET shuttle.read_consistency; BEGIN; UPDATE account1 SET v = v - 7 WHERE id = 4; UPDATE account3 SET v = v + 7 WHERE id = 4; COMMIT;');
like(($reader->run('SELECT (SELECT v FROM account1 WHERE id = 4) + (SELECT v FROM account3 WHERE id = 4);'))[1], qr/40001: +could not read storage nodes in one state/,
	'a node that was written before does not begin again');
$reader->run('ROLLBACK;');
$reader->run('BEGIN ISOLATION LEVEL REPEATABLE READ; UPDATE account1 SET v = v + 5 WHERE id = 3; SET LOCAL shuttle.read_consistency = atomic;');
is(($reader->run('SELECT (SELECT v FROM account1 WHERE id = 4) + (SELECT v FROM account3 WHERE id = 4); COMMIT;'))[0], '200', 'nothing committed in between');
is(($reader->run('SELECT v FROM account1 WHERE id = 3;'))[0], '105', 'the write is kept');

# ---- a node that is away, and not needed

$reader->run('SET shuttle.read_consistency = atomic;');
my $unneeded = 'SELECT (SELECT v FROM account1 WHERE id = 4) + CASE WHEN random() < 2 THEN 0 ELSE (SELECT v FROM account3 WHERE id = 4) END;';
$nodes[2]->stop('immediate');
is(($reader->run($unneeded))[0], '93', 'a node that has gone');
is($query->safe_psql('postgres', "SET shuttle.read_consistency = atomic; $unneeded"), '93', 'a node that cannot be reached');
is($query->safe_psql('postgres', "BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL shuttle.read_consistency = atomic; $unneeded COMMIT"), '93', '... by REPEATABLE READ');
like(($reader->run('SELECT (SELECT v FROM account1 WHERE id = 4) + (SELECT v FROM account3 WHERE id = 4);'))[1], qr/08/, 'one that is needed');
$nodes[2]->start;

# ---- refused

like(($reader->run('BEGIN ISOLATION LEVEL SERIALIZABLE; ' . $sum->('account1', 'account3')))[1], qr/0A000: +cannot read several storage nodes in one state/, 'SERIALIZABLE');
$reader->run('ROLLBACK;');
is(($reader->run('BEGIN ISOLATION LEVEL SERIALIZABLE; SET LOCAL shuttle.read_consistency = node; ' . $sum->('account1', 'account3') . ' COMMIT;'))[0], '190', '... not with node');
$query->safe_psql('postgres', "SELECT shuttle.add_query_node('past')");
like(($reader->run($sum->('account1', 'account3')))[1], qr/0A000/, 'other query nodes');
is(($reader->run('SELECT v FROM account1 WHERE id = 1;'))[0], '80', '... not for one node');
$cluster->stop;
done_testing();
