# Memory of a session that reads much from one node: long scans, two at a time,
# LIMIT, wrong estimates of rows and of their width, one row of a gigabyte, read,
# cancelled and written, batches of wide rows. Measured is RssAnon, several hundred times a second,
# against the same query where the tables are local.
#
# With SHUTTLE_FULL_MEMORY=1 there are 5 million narrow rows, 1 GB of
# wide ones and one of 1 GB; else a fraction of that, but more than a session may
# keep.
use strict;
use warnings;

use IO::Select;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

use ShuttleSession;

plan skip_all => 'needs /proc' unless -r "/proc/$$/status";

my $full = $ENV{SHUTTLE_FULL_MEMORY} // 0;
my $nlong = $full ? 5_000_000 : 300_000;
my $nwide = $full ? 1000 : 150;		# rows of 1 MB
my $nsame = $full ? 1_000_000 : 200_000;
my $huge_mb = $full ? 1000 : 100;
my $allowed_mb = 16;
my $most_seconds = 300;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
autovacuum = off
fsync = off
wal_level = minimal
max_wal_senders = 0
jit = off
max_parallel_workers_per_gather = 0
});
$node->start;
my ($host, $port) = ($node->host, $node->port);
my $user = $node->safe_psql('postgres', 'SELECT current_user');

# Values of wide rows are made as they are read.
my $tables = qq{
	CREATE TABLE long AS SELECT i AS id, i % 1000 AS n FROM generate_series(1, $nlong) i;
	ALTER TABLE long ADD PRIMARY KEY (id);
	CREATE TABLE numbers AS SELECT i AS id FROM generate_series(1, $nwide) i;
	ALTER TABLE numbers ADD PRIMARY KEY (id);
	CREATE VIEW wide AS SELECT id, repeat('w', 1000000) AS t FROM numbers;
	CREATE VIEW late AS SELECT id, CASE WHEN id < 10000 THEN 'x' ELSE repeat('w', 1000000) END AS t
		FROM long WHERE id < 10000 + $nwide ORDER BY id;
	CREATE VIEW huge AS SELECT 1 AS id, repeat('h', $huge_mb * 1000000) AS t;
	CREATE TABLE written (id int, t text);
	CREATE VIEW too_long AS SELECT 1 AS id, repeat('a', 600000000) AS t, repeat('b', 600000000) AS u;
	CREATE TABLE same AS SELECT 7 AS k, i AS id FROM generate_series(1, $nsame) i;
	CREATE INDEX ON same (k);
	CREATE TABLE few AS SELECT i AS k, 'few ' || i AS t FROM generate_series(1, 20000) i;
	ALTER TABLE few ADD PRIMARY KEY (k);
	VACUUM ANALYZE;
};
$node->safe_psql('postgres', 'CREATE DATABASE far');
$node->safe_psql('far', $tables);
$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	ALTER DATABASE postgres SET session_preload_libraries = 'pg_shuttle';
	CREATE TABLE numbers AS SELECT i AS id FROM generate_series(1, $nwide) i;
	CREATE TABLE many AS SELECT 7 AS k, i AS id FROM generate_series(1, $nsame) i;
	CREATE SERVER far FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'far');
	CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user '$user');
	CREATE FOREIGN TABLE long (id int, n int) SERVER far;
	CREATE FOREIGN TABLE wrong (id int, n int) SERVER far OPTIONS (table_name 'long');
	CREATE FOREIGN TABLE wide (id int, t text) SERVER far;
	CREATE FOREIGN TABLE late (id int, t text) SERVER far;
	CREATE FOREIGN TABLE huge (id int, t text) SERVER far;
	CREATE FOREIGN TABLE written (id int, t text) SERVER far;
	CREATE FOREIGN TABLE too_long (id int, t text, u text) SERVER far;
	CREATE FOREIGN TABLE same (k int, id int) SERVER far;
	CREATE FOREIGN TABLE few (k int, t text) SERVER far;
	ANALYZE numbers, many, long, same, few;
	UPDATE pg_class SET reltuples = 100, relpages = 1 WHERE oid = 'wrong'::regclass;
	UPDATE pg_class SET reltuples = $nwide, relpages = 10 WHERE oid = 'wide'::regclass;
	UPDATE pg_class SET reltuples = 100000, relpages = 1000 WHERE oid = 'late'::regclass;
});
$node->safe_psql('far', qq{
	CREATE VIEW wrong AS SELECT * FROM long;
	CREATE TABLE many AS SELECT 7 AS k, i AS id FROM generate_series(1, $nsame) i;
	ANALYZE many;
});

sub anonymous_kb
{
	my $pid = shift;
	open(my $status, '<', "/proc/$pid/status") or return 0;
	my ($kb) = map { /^RssAnon:\s+(\d+)/ ? $1 : () } <$status>;
	return $kb // 0;
}

# Runs a query in a new session; returns what it says and the most memory it had.
sub peak
{
	my ($database, $settings, $query) = @_;
	my $session = ShuttleSession->new($node, $database);
	$session->run("SET work_mem = '4MB'; $settings");
	my $began_kb = anonymous_kb($session->pid);
	my $most_kb = $began_kb;
	my $select = IO::Select->new($session->{out}, $session->{err});
	my $deadline = time() + $most_seconds;

	$session->send($query);
	until ($select->can_read(0.002) || time() > $deadline)
	{
		my $kb = anonymous_kb($session->pid);
		$most_kb = $kb if $kb > $most_kb;
	}
	my ($out, $err) = $session->result;
	my $after_kb = anonymous_kb($session->pid);
	$session->quit;
	return ($out, $err, ($most_kb - $began_kb) / 1024, ($after_kb - $began_kb) / 1024);
}

# The same here and there: the same answer, and not much more memory.
sub compare
{
	my ($label, $settings, $query) = @_;
	$settings .= ' SET shuttle.debug_force_batched_join = on;' if $label =~ /^batch/;
	my ($local, $local_error, $local_mb) = peak('far', $settings =~ s/SET shuttle[^;]*;//gr, $query);
	my ($ours, $error, $our_mb) = peak('postgres', $settings, $query);
	is("$ours$error", "$local$local_error", "$label: answer");
	note(sprintf('%s: %.1f MB, local %.1f MB', $label, $our_mb, $local_mb));
	cmp_ok($our_mb, '<=', $local_mb + $allowed_mb, "$label: memory");
	return;
}

sub pages
{
	my ($label, $settings, $query, $most_requests, $most_rows) = @_;
	my $plan = $node->safe_psql('postgres', "$settings EXPLAIN (ANALYZE, DIST, FORMAT JSON) $query");
	my ($requests) = $plan =~ /.*"Storage Read Requests": (\d+)/s;
	my ($rows) = $plan =~ /.*"Storage Rows Returned": (\d+)/s;
	cmp_ok($requests, '<=', $most_requests, "$label: requests");
	cmp_ok($rows, '<=', $most_rows, "$label: rows");
	return;
}

# ---- many narrow rows

my $merge = 'SET enable_hashjoin = off; SET enable_nestloop = off; SET enable_material = off;';
my $scan = 'SELECT count(*), sum(n) FROM (SELECT * FROM long OFFSET 0) x';
my $join = 'SELECT count(*), sum(b.n) FROM (SELECT * FROM long ORDER BY id OFFSET 0) a
	JOIN (SELECT * FROM long ORDER BY id OFFSET 0) b USING (id)';
compare('scan', '', "$scan;");
compare('estimate of 100 rows', '', "@{[ $scan =~ s/long/wrong/r ]};");
compare('join of two scans', $merge, "$join;");
compare('hash join of two scans', 'SET enable_mergejoin = off; SET enable_nestloop = off;', "$join;");
my $limit = 'SELECT * FROM (SELECT * FROM long OFFSET 0) x LIMIT 1';
my $join_limit = $join =~ s/count.*?FROM/a.id, b.n FROM/sr . ' LIMIT 1';
compare('LIMIT 1', '', "$limit;");
compare('LIMIT 1 of a join', $merge, "$join_limit;");
pages('LIMIT 1', '', $limit, 2, 2048);
pages('LIMIT 1 of a join', $merge, $join_limit, 4, 4096);

# ---- rows that are wider than expected

my $bytes = 'SELECT count(*), sum(octet_length(t)) FROM (SELECT * FROM %s OFFSET 0) x';
compare('wide rows', '', sprintf("$bytes;", 'wide'));
compare('wide rows behind narrow ones', '', sprintf("$bytes;", 'late'));
compare('wide rows in the way', $merge, q{SELECT count(*), sum(octet_length(a.t)) FROM
	(SELECT * FROM wide ORDER BY id OFFSET 0) a JOIN (SELECT * FROM wide ORDER BY id OFFSET 0) b USING (id);});
compare('wide rows, read twice in a transaction', '', sprintf("BEGIN; $bytes; SAVEPOINT a; $bytes; COMMIT;", 'wide', 'wide'));

# ---- batched joins

my $nested = 'SET enable_hashjoin = off; SET enable_mergejoin = off;';
compare('batch: wide inner rows', $nested,
	'SELECT count(*), sum(octet_length(w.t)) FROM numbers o JOIN wide w ON w.id = o.id;');
compare('batch: wide outer rows', $nested,
	q{SELECT count(*), sum(octet_length(o.t)) FROM (SELECT id, repeat('o', 1000000) AS t FROM numbers OFFSET 0) o
		JOIN few ON few.k = o.id;});
compare('batch: one key for all outer rows', $nested,
	'SELECT count(*), min(few.t) FROM many JOIN few ON few.k = many.k;');
compare('batch: one key for all inner rows', "$nested SET enable_seqscan = off;",
	'SELECT count(*), sum(s.id) FROM (SELECT * FROM numbers WHERE id IN (3, 7)) o JOIN same s ON s.k = o.id;');

# ---- one row

sub free_mb
{
	open(my $meminfo, '<', '/proc/meminfo') or return 0;
	my ($kb) = map { /^MemAvailable:\s+(\d+)/ ? $1 : () } <$meminfo>;
	return ($kb // 0) / 1024;
}

SKIP:
{
	skip "needs @{[ 9 * $huge_mb ]} MB of memory", 4 if free_mb() < 9 * $huge_mb;
	my ($out, $err, $mb, $after_mb) = peak('postgres', '', sprintf("$bytes;", 'huge'));
	note(sprintf('row of %d MB: %.1f MB, %.1f MB behind it', $huge_mb, $mb, $after_mb));
	is("$out$err", '1|' . $huge_mb * 1000000, 'huge row');

	# in libpq's buffer, which doubles; as a result; stored; as a value; and what core's
	# aggregate keeps of its first row
	cmp_ok($mb, '<=', 5.5 * $huge_mb + $allowed_mb, 'huge row: memory');
	($out, $err, $mb, $after_mb) = peak('postgres', '', sprintf("$bytes; SELECT count(*) FROM (SELECT * FROM long WHERE id < 10 OFFSET 0) x;", 'huge'));
	is("$out$err", '1|' . $huge_mb * 1000000 . "\n9", 'huge row: next statement');
	cmp_ok($after_mb, '<=', $allowed_mb, 'huge row: memory of the next statement');
}

# What libpq has gathered of a row that nobody waits for any more, or sent of one,
# is given back as well.
SKIP:
{
	skip "needs @{[ 9 * $huge_mb ]} MB of memory", 6 if free_mb() < 9 * $huge_mb;
	my $next = 'SET statement_timeout = 0; SELECT count(*) FROM (SELECT * FROM few WHERE k < 3 OFFSET 0) x;';
	for my $timeout_ms (100, 300, 500, 700)
	{
		my ($out, $err, $mb, $after_mb) = peak('postgres', '',
			"SET statement_timeout = $timeout_ms; @{[ sprintf($bytes, 'huge') ]}; $next");
		cmp_ok($after_mb, '<=', $allowed_mb, "huge row, given up after $timeout_ms ms: memory of the next statement");
	}
	my ($out, $err, $mb, $after_mb) = peak('postgres', '',
		"INSERT INTO written SELECT 1, repeat('h', $huge_mb * 1000000); $next");
	is("$out$err", '2', 'huge row is written');
	cmp_ok($after_mb, '<=', $allowed_mb, 'huge row is written: memory of the next statement');
}

SKIP:
{
	skip 'needs 5000 MB of memory, and SHUTTLE_FULL_MEMORY=1', 1 if !$full || free_mb() < 5000;
	my ($out, $err) = peak('postgres', '', q{SELECT count(t), count(u) FROM (SELECT * FROM too_long OFFSET 0) x; SELECT count(*) FROM few WHERE k < 3;});
	like("$err\n$out", qr/^ERROR:  54000: .*\n(?:.*\n)*CONTEXT:  storage node "far".*\n(?:.*\n)*2$/, 'row of more than 1 GB');
}

$node->stop;
done_testing();
