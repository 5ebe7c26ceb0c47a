# shuttle_pooler 'transaction': a node behind PgBouncer in transaction mode, whose
# sessions other clients get in the next moment.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use ShuttleProxy;
use ShuttleSession;

my ($pgbouncer) = grep { -x } '/usr/sbin/pgbouncer', '/usr/bin/pgbouncer';
plan skip_all => 'pgbouncer is not installed' unless defined $pgbouncer;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "session_preload_libraries = 'pg_shuttle'\njit = off");
$node->start;
my $user = $node->safe_psql('postgres', 'SELECT current_user');
my ($host, $port) = ($node->host, $node->port);
$node->safe_psql('postgres', 'CREATE DATABASE far');
$node->safe_psql('far', q{
	CREATE SCHEMA other;
	CREATE TABLE numbers AS SELECT i AS id, i % 10 AS n, timestamptz '2024-01-01 12:00+00' + i * interval '1 hour' AS t FROM generate_series(1, 5000) i;
	ALTER TABLE numbers ADD PRIMARY KEY (id);
	CREATE TABLE written (id int PRIMARY KEY);
	CREATE VIEW named AS SELECT count(*) FROM pg_prepared_statements;
	CREATE VIEW checked AS SELECT current_setting('client_connection_check_interval', true) AS every;
	ANALYZE;
});

# One session of the node for all clients.
my $pool_port = PostgreSQL::Test::Cluster::get_free_port();
my $dir = PostgreSQL::Test::Utils::tempdir;
open(my $file, '>', "$dir/pgbouncer.ini") or die;
print $file qq{[databases]
far = host=$host port=$port dbname=far user=$user
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $pool_port
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 1
logfile = $dir/log
};
close $file;
my $pool = fork() // die;
if ($pool == 0)
{
	open STDOUT, '>', '/dev/null';
	open STDERR, '>', '/dev/null';
	exec $pgbouncer, '-q', "$dir/pgbouncer.ini" or die;
}
END { kill 'TERM', $pool if defined $pool && $pool > 0; }

my $pooled = "host=127.0.0.1 port=$pool_port dbname=far user=$user";
for my $try (1 .. 100)
{
	last if system("psql -Xqc 'SELECT 1' '$pooled' >/dev/null 2>&1") == 0;
	usleep(100_000);
}

$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE SERVER far FOREIGN DATA WRAPPER shuttle
		OPTIONS (host '127.0.0.1', port '$pool_port', dbname 'far', shuttle_pooler 'transaction');
	CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user '$user');
	IMPORT FOREIGN SCHEMA public FROM SERVER far INTO public;
	CREATE TABLE wanted AS SELECT i AS id FROM generate_series(1, 300) i;
	ANALYZE wanted;
});

my $session = ShuttleSession->new($node, 'postgres');
my $second = ShuttleSession->new($node, 'postgres');

sub one
{
	my ($sql, $by) = @_;
	my ($out, $err) = ($by // $session)->run($sql);
	return $err eq '' ? $out : "$out$err";
}

sub neighbour
{
	my $sql = shift;
	my $out = `psql -XAtqc "$sql" '$pooled' 2>&1`;
	chomp $out;
	return $out;
}

my $settings = 'SELECT current_setting(\'search_path\'), current_setting(\'extra_float_digits\'), current_setting(\'cursor_tuple_fraction\'), current_setting(\'client_connection_check_interval\', true), current_setting(\'default_transaction_read_only\')';
my $before = neighbour($settings);
like($before, qr/^"\$user", public\|/, 'another client of the pool has its search_path');
is(neighbour('SELECT pg_backend_pid()'), neighbour('SELECT pg_backend_pid()'), 'from the only session there is');

is(one('SELECT count(*), sum(n) FROM numbers;'), '5000|22500', 'an aggregate');
is(neighbour($settings), $before, 'it still has it when we have used the session');
is(neighbour('SELECT count(*) FROM written'), 0, 'and finds its tables');

# the same text again and again: never a named statement
is(one("SELECT n FROM numbers WHERE id = $_;"), $_ % 10, "a repeated text, $_") for 1 .. 4;
one('PREPARE p(int) AS SELECT n FROM numbers WHERE id = $1; SET plan_cache_mode = force_generic_plan;');
is(one('EXECUTE p(3); EXECUTE p(4); EXECUTE p(5);'), "3\n4\n5", 'a prepared statement of the user');
is(one('SELECT * FROM named;'), 0, 'none on the node');

# a node that nobody listens to any more finds out
is(one('SELECT every FROM checked;'), '2s', 'client_connection_check_interval, in the transaction');

# statements of administrators
is(one(q{SELECT ok, result FROM shuttle.run_on_nodes('SELECT count(*) FROM numbers');}), 't|[{"count": "5000"}]', 'run_on_nodes');
is(one(q{SELECT ok FROM shuttle.run_on_nodes('VACUUM written');}), 't', 'run_on_nodes: outside of a transaction');
is(neighbour($settings), $before, 'nothing stays of it');
is(one(q{BEGIN READ ONLY; SELECT ok FROM shuttle.run_on_nodes('SELECT 1'); SELECT ok, sqlstate FROM shuttle.run_on_nodes('INSERT INTO written VALUES (77)'); COMMIT;}),
	"t\nf|25006", 'run_on_nodes of a transaction that is read only');
is(neighbour($settings), $before, 'nothing stays of that');
is(neighbour('SELECT count(*) FROM written'), 0, 'nothing was written');

# DISCARD is for sessions, and this one is not ours
is(neighbour('PREPARE theirs AS SELECT 1'), '', 'another client leaves something there');
is(one('SELECT count(*) FROM numbers; DISCARD ALL; SELECT count(*) FROM numbers; BEGIN; DISCARD TEMP; DISCARD PLANS; COMMIT;'), "5000\n5000", 'DISCARD');
is(neighbour('SELECT name FROM pg_prepared_statements'), 'theirs', 'it is still there');
neighbour('DEALLOCATE theirs');

# pages, batches, types that depend on settings
is(one('SET shuttle.fetch_limit = 100; SELECT count(*) FROM (SELECT id FROM numbers OFFSET 0) x; RESET shuttle.fetch_limit;'), 5000, 'pages');
is(one('SET shuttle.debug_force_batched_join = on; SET enable_hashjoin = off; SET enable_mergejoin = off; SELECT count(*), sum(n.n) FROM wanted w JOIN numbers n ON n.id = w.id;'),
	'300|1350', 'batches');
one('RESET ALL;');
is(one(q{SET timezone = 'Asia/Tokyo'; SELECT t FROM numbers WHERE id = 1; RESET timezone;}), '2024-01-01 22:00:00+09', 'times');

# transactions: begun, rolled back, and two sessions that take turns
is(one('BEGIN; INSERT INTO written VALUES (1); SAVEPOINT s; INSERT INTO written VALUES (2); ROLLBACK TO s; SELECT count(*) FROM written; COMMIT;'), 1, 'a transaction');
is(one("INSERT INTO written VALUES ($_) RETURNING id;", $_ % 2 ? $session : $second), $_, "turns, $_") for 10 .. 15;
like(one('INSERT INTO written VALUES (1);'), qr/^ERROR:  23505/, 'an error');
is(one('SELECT count(*) FROM written;', $second), 7, 'does not stay in the session');
is(neighbour($settings), $before, 'nothing of ours does');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE datname = 'far' AND backend_type = 'client backend'"), 1,
	'one session served all of them');

# The pooler hands the session to the next client when it has handed on the end of a
# transaction, though on a slow line a part of our next one may be there already.
my $proxy = ShuttleProxy->new(PoolerAddress->new($pool_port));
$proxy->rate(2_000_000);
my $theirs = "$dir/theirs.sql";
open(my $script, '>', $theirs) or die;
print $script "INSERT INTO theirs VALUES (1);\n" x 3000;
close $script;
$node->safe_psql('far', 'CREATE TABLE theirs (i int); CREATE TABLE wide (id int, t text)');
one(qq{CREATE SERVER slow FOREIGN DATA WRAPPER shuttle
		OPTIONS (host '127.0.0.1', port '@{[ $proxy->port ]}', dbname 'far', shuttle_pooler 'transaction');
	CREATE USER MAPPING FOR CURRENT_USER SERVER slow OPTIONS (user '$user');
	CREATE FOREIGN TABLE slow_numbers (id int) SERVER slow OPTIONS (table_name 'numbers');
	CREATE FOREIGN TABLE slow_wide (id int, t text) SERVER slow OPTIONS (table_name 'wide');
	SET statement_timeout = '30s';});
my $neighbours = fork() // die;
if ($neighbours == 0)
{
	open STDOUT, '>', '/dev/null';
	exec 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $theirs, $pooled or die;
}
for my $end ('COMMIT;', 'ROLLBACK;', 'BEGIN PERFORM count(*) FROM slow_numbers; PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN NULL; END;')
{
	is(one(qq{DO \$\$
		BEGIN
			FOR i IN 1 .. 10 LOOP
				@{[ $end =~ /PERFORM/ ? '' : 'PERFORM count(*) FROM slow_numbers;' ]} $end
				INSERT INTO slow_wide VALUES (i, repeat('x', 100000));
				COMMIT;
			END LOOP;
		END \$\$;}), '', "transactions behind each other on a slow line: $end");
}
waitpid($neighbours, 0);
is($?, 0, 'no other client meets an error');
is(neighbour('SELECT count(*) FROM theirs'), 3000, 'nor are their writes rolled back');
is(one('SELECT count(*), sum(id) FROM slow_wide;'), '30|165', 'and ours are there');

undef $proxy;
$_->quit for $session, $second;
kill 'TERM', $pool;
waitpid($pool, 0);
undef $pool;
$node->stop;
done_testing();

package PoolerAddress;

sub new { my ($class, $port) = @_; return bless { port => $port }, $class; }
sub host { return '127.0.0.1'; }
sub port { return $_[0]->{port}; }
