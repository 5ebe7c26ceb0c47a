# Tablets move between nodes while clients write to them: no row is lost, doubled or in
# the wrong place, and nothing is left, also of moves that were interrupted.
# expected in server log: terminated by signal 9
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use ShuttleCommit;
use ShuttlePoints;
use ShuttleSession;
use ShuttleWriters;

my $cluster = ShuttleCommit->new(3, conf => "wal_level = logical\nmax_wal_senders = 10\nmax_replication_slots = 10\nmax_logical_replication_workers = 10\nmax_worker_processes = 20\nmax_sync_workers_per_subscription = 2\nwal_retrieve_retry_interval = 200ms\n");
my ($query, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });
my $points = ShuttlePoints->new($query);

$query->safe_psql('postgres', qq{DROP USER MAPPING FOR CURRENT_USER SERVER node$_; CREATE USER MAPPING FOR PUBLIC SERVER node$_;}) for 1 .. 3;
$query->safe_psql('postgres', q{SELECT shuttle.use_node('node1'); SELECT shuttle.use_node('node2'); SELECT shuttle.use_node('node3');
	CREATE SCHEMA shop; CREATE SEQUENCE shop.numbers; CREATE TYPE shop.kind AS ENUM ('a', 'b');
	CREATE TABLE shop.region (id int PRIMARY KEY); INSERT INTO shop.region VALUES (0), (1); SELECT shuttle.reference_table('shop.region');
	CREATE TABLE shop.customer (id int PRIMARY KEY, n int, region int REFERENCES shop.region);
	CREATE TABLE shop.orders (id int, customer_id int REFERENCES shop.customer, kind shop.kind, twice int GENERATED ALWAYS AS (id * 2) STORED, PRIMARY KEY (customer_id, id));
	CREATE TABLE shop.log (customer_id int, note text);
	INSERT INTO shop.customer SELECT i, 0, i % 2 FROM generate_series(1, 100) AS i;});
$query->safe_psql('postgres', q{SELECT shuttle.distribute_tables('{shop.customer.id, shop.orders.customer_id, shop.log.customer_id}', 4, nodes => '{node1,node2}');
	CREATE INDEX ON shop.orders (kind);
	CREATE FUNCTION shop.add(c int) RETURNS int LANGUAGE plpgsql AS $$DECLARE r int; BEGIN SELECT count(*) INTO r FROM shop.orders WHERE customer_id = c; RETURN r; END$$;});

my $writers = ShuttleWriters->new($query, q{\set c random(1, 100)
BEGIN;
UPDATE shop.customer SET n = n + 1 WHERE id = :c;
INSERT INTO shop.orders (id, customer_id, kind) VALUES (nextval('shop.numbers'), :c, 'a');
INSERT INTO shop.log VALUES (:c, 'made');
UPDATE shop.log SET note = 'changed' WHERE customer_id = :c AND note = 'made';
COMMIT;
});

sub all_fits
{
	my ($label) = @_;
	is($query->safe_psql('postgres', q{SELECT count(*) FROM shop.customer AS c WHERE n <> (SELECT count(*) FROM shop.orders WHERE customer_id = c.id)
		OR n <> (SELECT count(*) FROM shop.log WHERE customer_id = c.id AND note = 'changed')}), '0', "$label: no row is lost or doubled");
	is($query->safe_psql('postgres', q{SELECT * FROM shuttle.check()}), '', "$label: check finds nothing");
	is(join(' ', map { $_->safe_psql('postgres', q{SELECT (SELECT count(*) FROM pg_publication) + (SELECT count(*) FROM pg_subscription) + (SELECT count(*) FROM pg_replication_slots)}) } @nodes),
		'0 0 0', "$label: nothing is left");
	return;
}

sub server_of { return $query->safe_psql('postgres', qq{SELECT string_agg(srvname, ' ' ORDER BY ftrelid::regclass::text) FROM pg_foreign_table AS f JOIN pg_foreign_server AS s ON s.oid = ftserver WHERE ftrelid::regclass::text LIKE 'shuttle\\_tablets.%\\_t$_[0]'}); }

# first without traps, and to a node that never had a table of the group and loses it again
$query->safe_psql('postgres', "CALL shuttle.move_tablet('shop.log_t3', '$_')") for 'node3', 'node2';
is($nodes[2]->safe_psql('postgres', q{SELECT count(*) FROM pg_class WHERE relnamespace = 'shop'::regnamespace AND relkind IN ('r', 'p') AND relname <> 'region'}), '0', 'a node without tablets has no tables');
$query->safe_psql('postgres', q{SELECT shuttle.distribute_function('shop.add(int)', 'c', 'shop.orders'); ALTER TABLE shop.orders ADD COLUMN note text});
all_fits('moves without traps');

# rows that refer to each other are deleted on the old node, and must not be on the new one
$query->safe_psql('postgres', q{CREATE TABLE shop.tree (owner int, id int, parent int, PRIMARY KEY (owner, id), FOREIGN KEY (owner, parent) REFERENCES shop.tree);
	INSERT INTO shop.tree SELECT i % 40, i, nullif(i - 40, i % 40 - 40) FROM generate_series(0, 3999) AS i;});
$query->safe_psql('postgres', q{SELECT shuttle.distribute_table('shop.tree', 'owner', 2, nodes => '{node1,node2}')});
for my $node ('node3', 'node2', 'node1')
{
	my $session = ShuttleSession->new($query, 'postgres');
	$points->arm('move-done') if defined $points;
	$session->send("CALL shuttle.move_tablet('shop.tree_t0', '$node');");
	if (defined $points)
	{
		ok($points->reached('move-done', $session->pid), "a tree moves to $node");
		usleep(1_000_000);
		$points->release('move-done');
		$points->forget;
	}
	$session->result;
	$session->quit;
	is($query->safe_psql('postgres', 'SELECT count(*), count(parent) FROM shop.tree'), '4000|3960', "a tree is whole on $node");
}
(undef, undef, my $tree_error) = $query->psql('postgres', 'INSERT INTO shop.tree SELECT i, 9000, 8000 FROM generate_series(0, 39) AS i');
like($tree_error, qr/foreign key/, 'its foreign key holds');
$query->safe_psql('postgres', 'DROP TABLE shop.tree');

$writers->start(12);
for my $move ([ 0, 'node3' ], [ 1, 'node3' ], [ 0, 'node2' ], [ 2, 'node2' ], [ 0, 'node1' ])
{
	my ($number, $node) = @$move;
	my ($out, $err) = ('', '');
	$query->psql('postgres', "CALL shuttle.move_tablet('shop.orders_t$number', '$node')", stdout => \$out, stderr => \$err);
	is($err, '', "tablet $number moves to $node");
	is(server_of($number), "$node $node $node", 'and those that are colocated with it');
}
my ($done, $errors) = $writers->end;
is($errors, '', 'no writer had an error');
cmp_ok($done, '>', 50, 'they wrote');
is($query->safe_psql('postgres', 'SELECT sum(n) FROM shop.customer'), $done, 'each row that was acknowledged is there, and no other');
all_fits('moves under writers');
is($query->safe_psql('postgres', q{SELECT count(*) FROM generate_series(1, 100) AS c WHERE shop.add(c) <> (SELECT n FROM shop.customer WHERE id = c)}), '0', 'calls see the rows');

# writers that use the tables in another order than a move does
my $others = ShuttleWriters->new($query, q{\set c random(1, 100)
BEGIN;
INSERT INTO shop.orders (id, customer_id, kind) VALUES (nextval('shop.numbers'), :c, 'a');
\sleep 5 ms
UPDATE shop.customer SET n = n + 1 WHERE id = :c;
INSERT INTO shop.log VALUES (:c, 'changed');
COMMIT;
});
$others->start(60);
(undef, undef, my $late) = $query->psql('postgres', q{SET statement_timeout = '40s'; CALL shuttle.move_tablet('shop.orders_t0', 'node3')});
is($late, '', 'a tablet moves that is written in another order of tables');
$query->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pgbench'});
$others->end;
is(server_of(0), 'node3 node3 node3', 'and those that are colocated with it');
all_fits('another order of tables');
$query->safe_psql('postgres', q{CALL shuttle.move_tablet('shop.orders_t0', 'node1')});

my ($code, $out, $err) = $query->psql('postgres', q{INSERT INTO shop.orders VALUES (1, 1000)});
like($err, qr/foreign key/, 'foreign keys hold on new nodes');

# ---- refusals
for my $case ([ q{BEGIN; CALL shuttle.move_tablet('shop.orders_t0', 'node2')}, qr/transaction block/ ], [ q{CALL shuttle.move_tablet('shop.orders', 'node2')}, qr/not a tablet/ ],
	[ q{CALL shuttle.move_tablet('shop.orders_t0', 'nowhere')}, qr/does not exist/ ])
{
	(undef, undef, $err) = $query->psql('postgres', $case->[0]);
	like($err, $case->[1], "refused: $case->[0]");
}

# ---- interruptions
SKIP:
{
	skip 'the server has no points to stop at', 1 unless defined $points;
	my @victims = ('cancel', 'query backend', 'old node', 'new node');
	my $round = 0;
	for my $point ('move-made', 'move-subscribed', 'move-copied', 'move-locked', 'move-changed', 'move-done')
	{
		for my $victim ($victims[ $round++ % 4 ], $victims[ $round % 4 ])
		{
			my $label = "$victim at $point";
			my $before = server_of(0);
			my ($from) = split / /, $before;
			my $to = $from eq 'node1' ? 'node2' : 'node1';
			$writers->start(5);
			my $session = ShuttleSession->new($query, 'postgres');
			$points->arm($point);
			$session->send("CALL shuttle.move_tablet('shop.customer_t0', '$to');");
			ok($points->reached($point, $session->pid), "$label: gets there");
			if ($victim eq 'cancel') { $query->safe_psql('postgres', 'SELECT pg_cancel_backend(' . $session->pid . ')'); }
			elsif ($victim eq 'query backend') { $cluster->kill_backend($session->pid); }
			else { $cluster->kill_server($nodes[ substr($victim eq 'old node' ? $from : $to, -1) - 1 ]); }
			$points->release($point) if $victim !~ /query/;
			$session->result if $victim !~ /node/;
			if ($victim =~ /node/) { $cluster->bring_up; $session->result; }
			$session->quit;
			$writers->end;
			$cluster->bring_up;
			$points->forget;
			$cluster->is_settled($label, 30);
			$query->safe_psql('postgres', 'SELECT * FROM shuttle.check(repair => true)');
			my $after = server_of(0);
			ok($after eq $before || $after eq "$to $to $to", "$label: all tablets are on one node: $after");
			all_fits($label);
		}
	}
}
$cluster->stop;
done_testing();
