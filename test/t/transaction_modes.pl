# Read only, deferrable and serializable transactions, nodes that end idle ones,
# statement_timeout and PREPARE TRANSACTION: the node's transaction is as the local one.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use ShuttleSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf',
	"session_preload_libraries = 'pg_shuttle'\njit = off\nmax_prepared_transactions = 5");
$node->start;
my $far = PostgreSQL::Test::Cluster->new('far');
$far->init;
$far->append_conf('postgresql.conf', 'jit = off');
$far->start;
my ($host, $port) = ($far->host, $far->port);
my $user = $node->safe_psql('postgres', 'SELECT current_user');

$far->safe_psql('postgres', q{
	CREATE TABLE a AS SELECT i AS id, 0 AS v FROM generate_series(1, 500) i;
	ALTER TABLE a ADD PRIMARY KEY (id);
	CREATE TABLE written (id int);
	CREATE FUNCTION writes(i int) RETURNS int LANGUAGE sql VOLATILE AS
		'INSERT INTO public.written VALUES (i) RETURNING id';
	CREATE VIEW writing AS SELECT public.writes(0) AS w;
	CREATE VIEW modes AS SELECT current_setting('transaction_isolation') AS isolation,
		current_setting('transaction_read_only') AS read_only, current_setting('transaction_deferrable') AS deferrable;
	CREATE VIEW timeout AS SELECT setting::int AS ms FROM pg_settings WHERE name = 'statement_timeout';
});
$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE SERVER far FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres', shuttle_two_phase 'off');
	CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user '$user');
	IMPORT FOREIGN SCHEMA public FROM SERVER far INTO public;
	ALTER FOREIGN TABLE writing OPTIONS (ADD shuttle_volatile 'on');
	CREATE TABLE here (id int);
});

my $session = ShuttleSession->new($node, 'postgres');
my $writer = ShuttleSession->new($far, 'postgres');
my $watcher = ShuttleSession->new($far, 'postgres');
my $ours = q{FROM pg_stat_activity WHERE application_name LIKE 'pg_shuttle%'};

sub one
{
	my ($sql, $by) = @_;
	my ($out, $err) = ($by // $session)->run($sql);
	return $err eq '' ? $out : "$out$err";
}

# ---- modes

for my $mode ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')
{
	my $reading = $mode eq 'READ COMMITTED' ? 'repeatable read|on|off' : lc($mode) . '|off|off';
	is(one("BEGIN ISOLATION LEVEL $mode; SELECT * FROM modes;"), $reading, "$mode: reading");
	is(one('INSERT INTO written VALUES (1); SELECT * FROM modes; ROLLBACK;'), lc($mode) . '|off|off', "$mode: writing");
	is(one("BEGIN ISOLATION LEVEL $mode READ ONLY; SELECT * FROM modes; COMMIT;"),
		($mode eq 'READ COMMITTED' ? 'repeatable read' : lc $mode) . '|on|off', "$mode: read only");

	# read only from some statement on, for good or within a savepoint
	is(one("BEGIN ISOLATION LEVEL $mode; INSERT INTO written VALUES (1); SELECT w FROM writing;"), 0, "$mode: a view that writes");
	is(one('SET TRANSACTION READ ONLY; SELECT read_only FROM modes;'), 'on', "$mode: read only from now on");
	like(one('SELECT w FROM writing;'), qr/^ERROR:  25006/, "$mode: and nothing writes any more");
	one('ROLLBACK;');
	is(one("BEGIN ISOLATION LEVEL $mode; INSERT INTO written VALUES (1); SAVEPOINT s; SET TRANSACTION READ ONLY; SELECT read_only FROM modes;"),
		'on', "$mode: read only savepoint");
	is(one('ROLLBACK TO s; SELECT read_only FROM modes; SELECT w FROM writing;'), "off\n0", "$mode: rolled back");
	is(one('SAVEPOINT t; SET TRANSACTION READ ONLY; SELECT read_only FROM modes; RELEASE t; SELECT read_only FROM modes; SELECT w FROM writing; ROLLBACK;'),
		"on\noff\n0", "$mode: released");
}
is(one('BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE; SELECT * FROM modes; COMMIT;'), 'serializable|on|on', 'deferrable');
is(one('SELECT count(*) FROM written;'), 0, 'nothing was written');

# A deferrable one waits on the node until its snapshot is safe.
one('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM a; UPDATE a SET v = 1 WHERE id = 1;', $writer);
$session->send('BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE; SELECT count(*) FROM a; COMMIT;');
ok($watcher->poll("SELECT count(*) = 1 $ours AND wait_event = 'SafeSnapshot'"), 'deferrable: waits');
one('COMMIT;', $writer);
is(($session->result)[0], 500, 'deferrable: goes on');

# Nothing else does, though the remote user's defaults would have it so: neither the
# settings of a new connection, nor the question for the order of texts, nor a transaction
# that is not deferrable here.
one(q{ALTER ROLE CURRENT_USER SET default_transaction_isolation = 'serializable';
	ALTER ROLE CURRENT_USER SET default_transaction_read_only = on;
	ALTER ROLE CURRENT_USER SET default_transaction_deferrable = on;}, $watcher);
one('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM a; UPDATE a SET v = 2 WHERE id = 1;', $writer);
for my $read ([ 'SELECT count(*) FROM a;', 500 ],
	[ 'SELECT isolation FROM modes ORDER BY isolation;', 'repeatable read' ],
	[ 'BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY; SELECT * FROM modes; COMMIT;', 'serializable|on|off' ],
	[ q{SELECT id FROM a WHERE id = 1; DISCARD ALL; SET statement_timeout = '8s'; SELECT count(*) FROM a;}, "1\n500" ])
{
	my ($sql, $answer) = @$read;
	$session->quit;
	$session = ShuttleSession->new($node, 'postgres');
	is(one("SET statement_timeout = '8s'; $sql"), $answer, "the remote user's defaults: $sql");
	cmp_ok($session->seconds, '<', 7, 'and does not wait');
}
one('COMMIT;', $writer);

# A node that is not to be written to by default is not.
my $refusal = one('INSERT INTO written VALUES (3);');
like($refusal, qr/^ERROR:  25006: cannot execute INSERT in a read-only transaction/m, "the remote user's defaults: no write");
unlike($refusal, qr/shuttle_volatile/, 'and no hint for reads that write');
is(one('SELECT count(*) FROM written;'), 0, 'nothing was written');
one(q{ALTER ROLE CURRENT_USER RESET ALL;}, $watcher);

# ---- a node that ends transactions that do nothing

$far->safe_psql('postgres', q{ALTER ROLE CURRENT_USER SET idle_in_transaction_session_timeout = '300ms'});
$session->quit;
$session = ShuttleSession->new($node, 'postgres');
my $gone = "SELECT count(*) = 0 $ours";
my $lost = qr/^ERROR:  08006: connection to storage node "far" was lost\nDETAIL:  terminating connection due to idle-in-transaction timeout/m;

one('BEGIN; INSERT INTO here VALUES (1); INSERT INTO written VALUES (1);');
ok($watcher->poll($gone), 'idle in transaction: it is ended');
like(one('SAVEPOINT s; SELECT count(*) FROM a;'), $lost, 'after a write: an error that says why');
like(one('ROLLBACK TO s; INSERT INTO written VALUES (2);'), $lost, 'again and again');
one('ROLLBACK TO s;');
like(one('COMMIT;'), $lost, 'and no COMMIT');
is(one('SELECT (SELECT count(*) FROM here), (SELECT count(*) FROM written);'), '0|0', 'nothing was written, here or there');

is(one('BEGIN; SELECT count(*) FROM a;'), 500, 'READ COMMITTED, only reads');
ok($watcher->poll($gone), 'idle in transaction: it is ended');
like(one('SELECT count(*) FROM a;'), $lost, 'an error, too');
is(one('ROLLBACK; SELECT count(*) FROM a;'), 500, 'the next transaction connects again');

is(one('BEGIN; SET LOCAL shuttle.fetch_limit = 10; SET LOCAL shuttle.fetch_ahead = 1; DECLARE c CURSOR FOR SELECT id FROM a ORDER BY id; FETCH 1 FROM c;'),
	1, 'READ COMMITTED, a cursor');
ok($watcher->poll($gone), 'idle in transaction: it is ended');
like(one('FETCH 100 FROM c;'), $lost, 'the rest of a cursor is lost');
one('ROLLBACK;');

# its last words are read while another node is waited for
$node->safe_psql('postgres', "CREATE SERVER beside FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER beside OPTIONS (user '$user');
	CREATE FOREIGN TABLE beside (id int) SERVER beside OPTIONS (table_name 'a')");
is(one('BEGIN; SELECT count(*) FROM a;'), 500, 'two nodes');
ok($watcher->poll($gone), 'idle in transaction: it is ended');
is(one('SELECT count(*) FROM beside;'), 500, 'another node answers');
like(one('SELECT count(*) FROM a;'), $lost, 'behind that, an error that says why');
is(one(q{ROLLBACK; SELECT shuttle.disconnect('beside');}), 't', 'its connection is closed');
$node->safe_psql('postgres', 'DROP SERVER beside CASCADE');

is(one('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM a;'), 500, 'REPEATABLE READ');
ok($watcher->poll($gone), 'idle in transaction: it is ended');
like(one('SELECT count(*) FROM a;'), $lost, 'a snapshot is lost');
is(one('ROLLBACK; SELECT count(*) FROM a;'), 500, 'the next transaction connects again');

is(one('BEGIN ISOLATION LEVEL REPEATABLE READ; INSERT INTO here VALUES (1); SELECT count(*) FROM a;'), 500, 'reads, and a write here');
ok($watcher->poll($gone), 'idle in transaction: it is ended');
is(one('COMMIT; SELECT count(*) FROM here;'), 1, 'what was read can be committed');

$far->safe_psql('postgres', q{ALTER ROLE CURRENT_USER RESET idle_in_transaction_session_timeout;
	ALTER ROLE CURRENT_USER SET idle_session_timeout = '300ms'});
$session->quit;
$session = ShuttleSession->new($node, 'postgres');
is(one('SELECT count(*) FROM a;'), 500, 'idle_session_timeout: used');
ok($watcher->poll($gone), 'idle_session_timeout: ended');
is(one('INSERT INTO written VALUES (4); SELECT count(*) FROM a;'), 500, 'idle_session_timeout: used again');
is(one('DELETE FROM written RETURNING id;'), 4, 'and written once');
$far->safe_psql('postgres', q{ALTER ROLE CURRENT_USER RESET idle_session_timeout});

# ---- statement_timeout

# That of an earlier statement serves as long as it fits: never shorter than what is
# left of the session's own, and never much longer.
{
	$far->safe_psql('postgres', q{ALTER ROLE CURRENT_USER SET log_statement = 'all'});
	$session->quit;
	$session = ShuttleSession->new($node, 'postgres');
	my $offset = -s $far->logfile;
	my $set = sub { my $n = () = slurp_file($far->logfile, $offset) =~ /SET LOCAL statement_timeout = |set_config\(.statement_timeout/g; return $n; };
	one("BEGIN; SET LOCAL statement_timeout = '10min'; INSERT INTO written VALUES (70); UPDATE a SET v = 1 WHERE id = 2;
		UPDATE a SET v = 2 WHERE id = 2; SELECT count(*) FROM a;");
	is($set->(), 1, 'statement_timeout is set once in a transaction');
	for my $timeout ([ '2s', 2000 ], [ '1900ms', 1900 ], [ '1s', 1000 ], [ '1h', 3_600_000 ])
	{
		my ($is, $ms) = @$timeout;
		my $found = one("SET LOCAL statement_timeout = '$is'; SELECT ms FROM timeout;");
		cmp_ok($found, '>=', $ms, "$is: the session ends the statement first");
		cmp_ok($found, '<=', $ms + 1100, "$is: the node's is not much longer");
	}
	is($set->(), 4, 'and set again where it does not fit');
	one(q{SAVEPOINT s; SET LOCAL statement_timeout = '5s'; SELECT ms FROM timeout; ROLLBACK TO s;});
	cmp_ok(one('SELECT ms FROM timeout;'), '>=', 3_600_000, 'behind a savepoint');
	one('SET LOCAL statement_timeout = 0;');
	is(one('SELECT ms FROM timeout; ROLLBACK;'), 0, 'and none where the session has none');
	$far->safe_psql('postgres', q{ALTER ROLE CURRENT_USER RESET log_statement});
}

# ---- PREPARE TRANSACTION

# What it does where the library is preloaded: commit_client_prepared.pl.
my $left = 'SELECT (SELECT count(*) FROM written), (SELECT count(*) FROM here WHERE id = 7), (SELECT count(*) FROM pg_prepared_xacts);';
is(one(q{BEGIN; INSERT INTO here VALUES (7); SELECT count(*) FROM a; PREPARE TRANSACTION 'p'; ROLLBACK PREPARED 'p';}), 500, 'PREPARE TRANSACTION after a read');
is(one($left), '0|0|0', 'all is rolled back');
one('BEGIN; INSERT INTO here VALUES (7); INSERT INTO written VALUES (60);');
like(one(q{PREPARE TRANSACTION 'p';}), qr/^ERROR:  55000: cannot PREPARE a transaction that has written on storage node "far"\n/, 'PREPARE TRANSACTION after a write');
is(one($left), '0|0|0', 'all is rolled back');
one('BEGIN; INSERT INTO here VALUES (7); INSERT INTO written VALUES (60);');
$far->safe_psql('postgres', q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name ~ '^pg_shuttle .*/'});
like(one('SAVEPOINT s; SELECT count(*) FROM a;'), qr/^ERROR:  08006/, 'PREPARE TRANSACTION: what was written is lost');
like(one(q{ROLLBACK TO s; PREPARE TRANSACTION 'p';}), qr/^ERROR:  08006/,
	'and nothing is prepared without it');
is(one('SELECT (SELECT count(*) FROM here WHERE id = 7), (SELECT count(*) FROM pg_prepared_xacts);'), '0|0', 'all is rolled back');
is(one(q{BEGIN; INSERT INTO here VALUES (8); PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p'; SELECT count(*) FROM here WHERE id = 8;}), 1,
	'PREPARE TRANSACTION without the node');
is(one(q{BEGIN; INSERT INTO here VALUES (9); SAVEPOINT s; INSERT INTO written VALUES (60); ROLLBACK TO s;
	PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p'; SELECT (SELECT count(*) FROM here WHERE id = 9), (SELECT count(*) FROM written);}), '1|0',
	'and where nothing was done on it that is left');

$_->quit for $session, $writer, $watcher;
$node->stop;
$far->stop;
done_testing();
