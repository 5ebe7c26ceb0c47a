# Deadlocks that no server can see alone: over two nodes, over a node and a lock of
# the query node, over two query nodes. One of each cycle gets 40P01, all others go
# on.
# trap 32
use strict;
use warnings;

use IO::Socket::INET;
use List::Util qw(min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

use ShuttleCommit;
use ShuttleSession;

my $timeout_ms = 300;
my $cluster = ShuttleCommit->new(3, query_conf => "shuttle.deadlock_timeout = '${timeout_ms}ms'\nmax_connections = 60");
my ($query, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });
my $other = $cluster->add_query("shuttle.deadlock_timeout = '${timeout_ms}ms'");
my $most_seconds = 2 * $timeout_ms / 1000 + 1;

for my $server ($query, $other)
{
	$server->safe_psql('postgres', 'CREATE TABLE lock (id int PRIMARY KEY, n int); INSERT INTO lock VALUES (1, 0), (2, 0)');
}

sub sessions
{
	my @sessions = map { ShuttleSession->new($_, 'postgres') } @_;
	# the first transaction is the oldest
	$_->run('BEGIN; SELECT 1;') for @sessions;
	return @sessions;
}

# On a loaded machine an answer may take a while longer than the search.
my $grace = 8;

sub is_victim
{
	my ($session, $label, $began) = @_;
	my ($out, $err) = $session->result;
	like($err, qr/^ERROR:  40P01: deadlock detected\nDETAIL:  Process \d+ of server [0-9a-f]{16} waits for process \d+ of server [0-9a-f]{16}/,
		"$label: is the victim");
	cmp_ok($session->ended - $began, '<', $most_seconds + $grace, "$label: soon enough");
	$session->run('ROLLBACK;');
	return $err;
}

sub goes_on
{
	my ($session, $label) = @_;
	my ($out, $err) = $session->result;
	is($err, '', "$label: goes on");
	($out, $err) = $session->run('COMMIT;');
	is($err, '', "$label: commits");
	return;
}

sub waits_on
{
	my ($server, $what) = @_;
	ok($server->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM pg_stat_activity WHERE $what)"),
		"waits on " . $server->name);
	return;
}

sub update { my ($i, $id) = @_; return "UPDATE account$i SET v = v WHERE id = $id;"; }

# ---- two nodes

{
	my ($old, $young) = sessions($query, $query);
	$old->run(update(1, 1));
	$young->run(update(2, 1));
	$old->send(update(2, 1));
	waits_on($nodes[1], "application_name ~ ':@{[ $old->pid ]} '");
	my $began = time();
	$young->send(update(1, 1));
	my $err = is_victim($young, 'two nodes, the younger', $began);
	like($err, qr/ on "node1"\./, 'the cycle is told: one node');
	like($err, qr/ on "node2"\./, 'and the other one');
	goes_on($old, 'two nodes, the older');
	$_->quit for $old, $young;
}

# The younger one waits first.
{
	my ($old, $young) = sessions($query, $query);
	$old->run(update(1, 2));
	$young->run(update(2, 2));
	$young->send(update(1, 2));
	waits_on($nodes[0], "application_name ~ ':@{[ $young->pid ]} '");
	my $began = time();
	$old->send(update(2, 2));
	is_victim($young, 'two nodes, the younger, which waited first', $began);
	goes_on($old, 'two nodes, the older, which closed the cycle');
	$_->quit for $old, $young;
}

# ---- a node, and a lock here: only one of them can give up

{
	my ($old, $young) = sessions($query, $query);
	$old->run('UPDATE lock SET n = n WHERE id = 1;');
	$young->run(update(1, 3));
	$young->send('UPDATE lock SET n = n WHERE id = 1;');
	waits_on($query, "pid = @{[ $young->pid ]}");
	my $began = time();
	$old->send(update(1, 3));
	my $err = is_victim($old, 'a node and here, who waits for the node', $began);
	goes_on($young, 'a node and here, who waits here');
	$_->quit for $old, $young;
}

# ---- two query nodes, with local locks on both

{
	my ($a, $b, $c, $d) = sessions($query, $query, $other, $other);
	$a->run('UPDATE lock SET n = n WHERE id = 2;');
	$b->run(update(1, 4));
	$c->run(update(2, 4));
	$d->run('UPDATE lock SET n = n WHERE id = 2;');
	$b->send('UPDATE lock SET n = n WHERE id = 2;');
	waits_on($query, "pid = @{[ $b->pid ]}");
	$c->send('UPDATE lock SET n = n WHERE id = 2;');
	waits_on($other, "pid = @{[ $c->pid ]}");
	$a->send(update(2, 4));
	waits_on($nodes[1], "application_name ~ ':@{[ $a->pid ]} '");
	my $began = time();
	$d->send(update(1, 4));
	is_victim($d, 'two query nodes, the youngest that waits for a node', $began);
	goes_on($c, 'two query nodes, the one behind it');
	goes_on($a, 'two query nodes, the next');
	goes_on($b, 'two query nodes, the last');
	$_->quit for $a, $b, $c, $d;
}

# ---- a commit that waits, when another node has prepared

{
	$nodes[0]->safe_psql('postgres', q{CREATE TABLE late (id int);
		CREATE FUNCTION lock_late() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM 1 FROM public.account WHERE id = 9 FOR UPDATE; RETURN NULL; END';
		CREATE CONSTRAINT TRIGGER late AFTER INSERT ON late DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION lock_late()});
	$query->safe_psql('postgres', 'CREATE FOREIGN TABLE late (id int) SERVER node1');
	$nodes[1]->safe_psql('postgres', q{CREATE TABLE numbered (id int);
		CREATE FUNCTION lock_number() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NULL; END';
		CREATE TRIGGER numbered BEFORE INSERT ON numbered FOR EACH STATEMENT EXECUTE FUNCTION lock_number()});
	$query->safe_psql('postgres', 'CREATE FOREIGN TABLE numbered (id int) SERVER node2');

	# what node2 has prepared holds a row, or an advisory lock
	for my $change (update(2, 9), 'INSERT INTO numbered VALUES (1);')
	{
		my $label = "a commit that waits, behind $change";
		my ($old, $young) = sessions($query, $query);
		$old->run("INSERT INTO late VALUES (1); $change");
		$young->run(update(1, 9));
		$old->send('COMMIT;');
		waits_on($nodes[0], "application_name ~ ':@{[ $old->pid ]} '");
		my $began = time();
		$young->send($change);
		is_victim($young, $label, $began);
		my ($out, $err) = $old->result;
		is($err, '', "$label: commits");
		$_->quit for $old, $young;
	}
}

# ---- the youngest does not look

{
	my ($old, $young) = sessions($query, $query);
	$young->run('SET shuttle.deadlock_timeout = 0;');
	$old->run(update(1, 8));
	$young->run(update(2, 8));
	$young->send(update(1, 8));
	waits_on($nodes[0], "application_name ~ ':@{[ $young->pid ]} '");
	my $began = time();
	$old->send(update(2, 8));
	is_victim($old, 'the youngest does not look: the next one', $began);
	goes_on($young, 'the youngest does not look: goes on');
	$_->quit for $old, $young;
}

# ---- waits that are none

{
	my ($holder, $waiter) = sessions($query, $query);
	$holder->run(update(1, 5));
	$waiter->run(update(2, 5));
	$waiter->send(update(1, 5));
	waits_on($nodes[0], "application_name ~ ':@{[ $waiter->pid ]} '");
	# three looks are made meanwhile
	select(undef, undef, undef, 6 * $timeout_ms / 1000);
	$holder->run('COMMIT;');
	goes_on($waiter, 'a wait without a cycle');
	$_->quit for $holder, $waiter;
}

# ---- a query that runs in parallel: its leader waits for a node, or a worker here

{
	$query->safe_psql('postgres', q{CREATE TABLE many AS SELECT i FROM generate_series(1, 20000) i; ANALYZE many;
		CREATE FOREIGN TABLE alias1 (id int, v int) SERVER node1 OPTIONS (table_name 'account');
		CREATE FUNCTION lock_one(i int) RETURNS int LANGUAGE plpgsql PARALLEL SAFE AS
			'BEGIN IF i = 5 THEN PERFORM pg_advisory_xact_lock_shared(7); END IF; RETURN i; END'});
	my $in_parallel = 'SET LOCAL max_parallel_workers_per_gather = 2; SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0;
		SET LOCAL min_parallel_table_scan_size = 0; SET LOCAL parallel_leader_participation = off;';

	my ($old, $young) = sessions($query, $query);
	$old->run('TRUNCATE alias1;');
	$young->run("LOCK lock; $in_parallel");
	$old->send('UPDATE lock SET n = n WHERE id = 1;');
	waits_on($query, "pid = @{[ $old->pid ]}");
	my $began = time();
	$young->send('SELECT count(*) FROM (SELECT i, 1 FROM many OFFSET 0) m LEFT JOIN (SELECT id FROM account1 WHERE id + random() > 0) a ON a.id = m.i;');
	is_victim($young, 'in parallel, the leader', $began);
	my ($out, $err) = $old->result;
	is($err, '', 'in parallel, whom it waited for: goes on');
	$_->run('ROLLBACK;') for $old;
	$_->quit for $old, $young;

	($old, $young) = sessions($query, $query);
	$old->run('SELECT pg_advisory_xact_lock(7);');
	$young->run(update(1, 10) . $in_parallel);
	$young->send('SELECT count(lock_one(i)) FROM many;');
	waits_on($query, "backend_type = 'parallel worker'");
	$began = time();
	$old->send(update(1, 10));
	is_victim($old, 'in parallel, who waits for a worker', $began);
	goes_on($young, 'in parallel, whose worker waits');
	$_->quit for $old, $young;
}

# ---- a server that answers nothing

{
	my $silence = IO::Socket::INET->new(Listen => 50, LocalAddr => '127.0.0.1') or die "no socket: $!";
	$query->safe_psql('postgres', "CREATE SERVER silent FOREIGN DATA WRAPPER shuttle OPTIONS (host '127.0.0.1', port '" . $silence->sockport . "');
		CREATE USER MAPPING FOR CURRENT_USER SERVER silent; SELECT shuttle.add_query_node('silent')");

	# the look at it is under way when the lock is given up
	my @seconds;
	for my $try (1 .. 3)
	{
		my ($holder, $waiter) = sessions($query, $query);
		$holder->run(update(1, 6));
		$waiter->send(update(1, 6));
		ok($query->poll_query_until('postgres', "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = @{[ $waiter->pid ]} AND now() - query_start > interval '@{[ 2 * $timeout_ms ]} ms')"), 'looks');
		my $released = time();
		$holder->run('COMMIT;');
		goes_on($waiter, 'silent: who has the lock');
		push @seconds, $waiter->ended - $released;
		$_->quit for $holder, $waiter;
	}
	cmp_ok(min(@seconds), '<', 0.6, 'silent: the end of a wait is not missed');

	my ($old, $young) = sessions($query, $query);
	$old->run(update(1, 7));
	$young->run(update(2, 7));
	$old->send(update(2, 7));
	waits_on($nodes[1], "application_name ~ ':@{[ $old->pid ]} '");
	my $began = time();
	$young->send(update(1, 7));
	is_victim($young, 'silent: a deadlock is found', $began);
	goes_on($old, 'silent: who is left');
	$_->quit for $old, $young;
	$query->safe_psql('postgres', q{SELECT shuttle.remove_query_node('silent'); DROP SERVER silent CASCADE});
}

$cluster->stop;
done_testing();
