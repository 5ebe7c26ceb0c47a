# Tablets of partitions move and are split while clients write to the partitioned table, and partitions
# are made then; a dump restores the table over the same nodes.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleCommit;
use ShuttleWriters;

my $cluster = ShuttleCommit->new(3, conf => "wal_level = logical\nmax_wal_senders = 10\nmax_replication_slots = 10\nmax_logical_replication_workers = 10\nmax_worker_processes = 20\nmax_sync_workers_per_subscription = 2\nwal_retrieve_retry_interval = 200ms\n");
my $query = $cluster->{query};

$query->safe_psql('postgres', qq{DROP USER MAPPING FOR CURRENT_USER SERVER node$_; CREATE USER MAPPING FOR PUBLIC SERVER node$_; SELECT shuttle.use_node('node$_');}) for 1 .. 3;
$query->safe_psql('postgres', q{
	CREATE SEQUENCE numbers START 1000;
	CREATE TABLE events (id int, device int, at date, n int, PRIMARY KEY (device, at, id)) PARTITION BY RANGE (at);
	CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
	CREATE TABLE events_2 PARTITION OF events FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
	CREATE TABLE events_default PARTITION OF events DEFAULT;
	INSERT INTO events SELECT i, i % 20, '2026-01-01'::date + i % 80, 0 FROM generate_series(1, 400) AS i;
	SELECT shuttle.distribute_table('events', 'device', 4, nodes => '{node1,node2}')});

# Rows move between partitions; each client has rows of its own.
my $writers = ShuttleWriters->new($query, q{\set i 4 * random(0, 99) + :client_id + 1
\set d random(0, 79)
BEGIN;
INSERT INTO events SELECT v, 100 + :client_id, '2026-01-15'::date + (v % 40)::int, 0 FROM nextval('numbers') AS v;
UPDATE events SET at = '2026-01-01'::date + :d::int, n = n + 1 WHERE id = :i;
COMMIT;
DELETE FROM events WHERE id >= 1000 AND device = 100 + :client_id;
});
$writers->start(15);
for my $call ([ 'move_tablet', 'events_1_t1', 'node3' ], [ 'split_tablet', 'events_2_t0', 'node3' ])
{
	my ($code, undef, $error) = $query->psql('postgres', sprintf q{CALL shuttle.%s('%s', '%s')}, @$call);

	is($error, '', "$call->[0] of $call->[1]");
}
my ($done, $errors) = $writers->end;
cmp_ok($done, '>', 0, 'clients wrote');
is($errors, '', 'and met no error');
is($query->safe_psql('postgres', 'SELECT * FROM shuttle.check()'), '', 'check');
is($query->safe_psql('postgres', q{SELECT count(*), count(DISTINCT id), sum((n > 0)::int) > 0 FROM events WHERE id < 1000}), '400|400|t', 'no row is lost or there twice');
is($query->safe_psql('postgres', q{SELECT count(DISTINCT (SELECT string_agg(node || bounds, ' ' ORDER BY bounds) FROM shuttle.tablets AS t WHERE t.relation = s.relation))
	FROM shuttle.tables AS s WHERE kind = 'distributed'}), '1', 'all partitions are spread alike');

# new partitions are spread as the others are now
$query->safe_psql('postgres', q{DELETE FROM events WHERE at >= '2026-03-01'; CREATE TABLE events_3 PARTITION OF events FOR VALUES FROM ('2026-03-01') TO ('2026-04-01')});
is($query->safe_psql('postgres', q{SELECT count(DISTINCT (SELECT string_agg(node || bounds, ' ' ORDER BY bounds) FROM shuttle.tablets AS t WHERE t.relation = s.relation))
	FROM shuttle.tables AS s WHERE kind = 'distributed'}), '1', 'the new partition, too');
$query->safe_psql('postgres', q{INSERT INTO events SELECT 5000 + i, i, '2026-03-02', 0 FROM generate_series(1, 20) AS i});

# a second query node
my $rows = q{SELECT count(*), sum(hashtext(e::text)) FROM events AS e};
my $expected = $query->safe_psql('postgres', $rows);
$query->safe_psql('postgres', 'CREATE DATABASE same');
my $dump = $query->basedir . '/events.sql';
$query->command_ok([ 'pg_dump', '-f', $dump, '-d', $query->connstr('postgres') ], 'dump');
{
	local $ENV{PGOPTIONS} = '-c shuttle.enable_ddl=off';
	$query->command_ok([ 'psql', '-X', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', $query->connstr('same') ], 'restore');
}
is($query->safe_psql('same', $rows), $expected, 'the same rows');
is($query->safe_psql('same', 'SELECT * FROM shuttle.check()'), '', 'check of the restored one');
is($query->safe_psql('same', q{INSERT INTO events VALUES (5001, 1, '2026-03-02', 9) ON CONFLICT (device, at, id) DO UPDATE SET n = 7 RETURNING n}), '7', 'a conflict there');
$query->safe_psql('same', q{CREATE TABLE events_4 PARTITION OF events FOR VALUES FROM ('2026-04-01') TO ('2026-05-01'); ALTER TABLE events ADD COLUMN note text});
is($query->safe_psql('same', q{INSERT INTO events VALUES (1, 1, '2026-04-02', 9, 'x') RETURNING note}), 'x', 'DDL there');
is($query->safe_psql('same', 'SELECT * FROM shuttle.check()'), '', 'check after DDL');

done_testing();
