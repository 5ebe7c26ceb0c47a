# Windows of commits and what reads make of them: of a transaction behind one that wrote here, of a COMMIT whose
# answer is lost, and beside shipped calls.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use ShuttleCommit;
use ShuttleProxy;
use ShuttleSession;

my $cluster = ShuttleCommit->new(3, query_conf => "shuttle.commit_wait = 800\nshuttle.recovery_interval = 0\n");
my ($query, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });
my $user = $query->safe_psql('postgres', 'SELECT current_user');
my $slow1 = ShuttleProxy->new($nodes[0]);
my $proxy = ShuttleProxy->new($nodes[1]);
$query->safe_psql('postgres', "
	CREATE SERVER past FOREIGN DATA WRAPPER shuttle OPTIONS (host '@{[ $nodes[1]->host ]}', port '@{[ $nodes[1]->port ]}', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER past OPTIONS (user '$user');
	CREATE FOREIGN TABLE past2 (id int, v int) SERVER past OPTIONS (table_name 'account');
	CREATE SERVER slow1 FOREIGN DATA WRAPPER shuttle OPTIONS (host '127.0.0.1', port '@{[ $slow1->port ]}', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER slow1 OPTIONS (user '$user');
	CREATE FOREIGN TABLE slow_account1 (id int, v int) SERVER slow1 OPTIONS (table_name 'account');
	CREATE TABLE account0 AS SELECT i AS id, 100 AS v FROM generate_series(1, 20) i;
	ALTER SERVER node2 OPTIONS (SET host '127.0.0.1', SET port '@{[ $proxy->port ]}')");
$query->safe_psql('postgres', "DROP USER MAPPING FOR CURRENT_USER SERVER node$_; CREATE USER MAPPING FOR PUBLIC SERVER node$_ OPTIONS (user '$user')") for 1 .. 3;
$query->safe_psql('postgres', q{
	SELECT shuttle.use_node('node' || i) FROM generate_series(1, 2) AS i;
	CREATE TABLE item (id int PRIMARY KEY, v int);
	INSERT INTO item SELECT i, 100 FROM generate_series(1, 50) AS i;
	SELECT shuttle.distribute_table('item', 'id', tablets => 6);
	CREATE FUNCTION v_of(i int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT v FROM item WHERE id = i); END';
	SELECT shuttle.distribute_function('v_of(int)', 'i', 'item')});
my ($x1, $x2) = split /\n/, $query->safe_psql('postgres', q{SELECT min(item.id) FROM item
	JOIN pg_foreign_table f ON f.ftrelid = item.tableoid JOIN pg_foreign_server s ON s.oid = f.ftserver GROUP BY srvname ORDER BY srvname});
sub session { my $session = ShuttleSession->new($query, 'postgres'); $session->run($_[0]); return $session; }
sub answer { my ($session, $sql) = @_; return join ' ', grep { $_ ne '' } $session->run($sql); }

# ---- a writer that waits for a row has no window that its transaction before it left
my $one = session("SELECT v FROM item WHERE id = $x1;");
my $two = session('SELECT 1;');
my $strict = session('SET shuttle.read_consistency = strict; SELECT v FROM account1 WHERE id = 5;');
my $atomic = session('SET shuttle.read_consistency = atomic;');
$one->run('INSERT INTO account0 VALUES (1000, 1);');
$two->run("BEGIN; UPDATE item SET v = v WHERE id = $x1;");
$one->send("UPDATE item SET v = v + 1 WHERE id = $x1;");
usleep(300_000);
is(answer($strict, "SELECT v FROM item WHERE id = $x1;"), '100', 'strict beside a writer that waits');
is(answer($atomic, "SELECT i.v + a.v FROM item i, account0 a WHERE i.id = $x1 AND a.id = 1;"), '200', 'atomic, with rows here');
$two->run('ROLLBACK;');
$one->result;

# ---- a COMMIT whose answer is lost: who began before does not see a later one without it
my ($r1, $r2) = map { session('SET shuttle.read_consistency = strict; SET shuttle.commit_wait = 20000;
	SELECT v FROM past2 WHERE id = 7; SELECT v FROM slow_account1 WHERE id = 7; SELECT v FROM account1 WHERE id = 7;') } 1 .. 2;
$two->run('SELECT v FROM account1 WHERE id = 1;');
$one->run('BEGIN; UPDATE account2 SET v = v + 1 WHERE id = 7;');
$slow1->freeze;
$r1->send('SELECT a.v, b.v FROM past2 a, slow_account1 b WHERE a.id = 7 AND b.id = 7;');
usleep(500_000);
$proxy->mute(1);
$one->send('COMMIT;');
ok($nodes[1]->poll_query_until('postgres', 'SELECT v = 101 FROM account WHERE id = 7'), 'the node has committed');
$proxy->reset;
$proxy->mute(0);
like(join(' ', $one->result), qr/08/, 'the answer is lost');
is(answer($r2, 'SELECT a.v, b.v FROM past2 a, account1 b WHERE a.id = 7 AND b.id = 7;'), '101|100', 'it is seen');
$two->run('UPDATE account1 SET v = v + 1 WHERE id = 7;');
$slow1->thaw;
isnt(($r1->result)[0], '100|101', 'a later one is not seen without it');

# ---- calls are not shipped where their reads have to fit others
my $caller = session("SET shuttle.read_consistency = atomic; SELECT v_of($x1); SELECT v_of($x2);");
$caller->run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT v_of($x1);");
my $old = $query->safe_psql('postgres', "SELECT v FROM item WHERE id = $x2");
$query->safe_psql('postgres', "BEGIN; UPDATE item SET v = v - 5 WHERE id = $x1; UPDATE item SET v = v + 5 WHERE id = $x2; COMMIT;");
like(answer($caller, "SELECT v_of($x2);"), qr/^$old$|40001/, 'REPEATABLE READ: a call on another node');
$caller->run('ROLLBACK;');

$cluster->stop;
done_testing();
