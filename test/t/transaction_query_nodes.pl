# A standby that is a query node: it writes by definitions that the primary server has now, or not at all.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

use ShuttleQueryNodes;
use ShuttleSession;

my $cluster = ShuttleQueryNodes->new(conf => 'max_locks_per_transaction = 500', sql => q{
	CREATE TABLE account (id int PRIMARY KEY, n int, d int DEFAULT 1);
	CREATE TABLE entry (account int, id int, v int, PRIMARY KEY (account, id));
	CREATE TABLE kind (id int PRIMARY KEY);
	CREATE TABLE here (id int);
	CREATE TABLE unusual (id int PRIMARY KEY, u int UNIQUE);
	CREATE SEQUENCE s CACHE 20;
	INSERT INTO account SELECT i, 0, 0 FROM generate_series(1, 100) AS i;
	SELECT shuttle.distribute_tables('{account.id,entry.account}', 4);
	SELECT shuttle.distribute_table('unusual', 'id', 4);
	SELECT shuttle.reference_table('kind');
	CREATE VIEW rich AS SELECT id, n FROM account WHERE n > 100;
	CREATE FUNCTION pay(a int, v int) RETURNS int LANGUAGE plpgsql AS 'DECLARE r int; BEGIN UPDATE account SET n = n + v WHERE id = a RETURNING n INTO r; RETURN r; END';
	CREATE FUNCTION pay_here(a int, v int) RETURNS int LANGUAGE plpgsql AS 'DECLARE r int; BEGIN UPDATE account SET n = n + v WHERE id = a RETURNING n INTO r; RETURN r; END';
	CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.v := NEW.v + 1000; RETURN NEW; END';
	SELECT shuttle.distribute_function('pay(int, int)', 'a', 'account');
	SELECT shuttle.register_query_node('q2');
	SELECT shuttle.register_query_node('q2');
	CREATE ROLE reader; GRANT SELECT ON account TO reader});
my ($primary, $far) = ($cluster->{primary}, $cluster->{far}{n1});
my $standby = $cluster->add_standby('standby');
sub on_primary { return $primary->safe_psql('postgres', $_[0]); }

# keys of one node, and of the other
my ($key, $near) = split /\|/, on_primary(q{SELECT min(a.id), max(a.id) FROM account AS a JOIN shuttle.tablets AS t ON t.tablet = a.tableoid WHERE t.node = 'n1'});
my $other = on_primary(q{SELECT min(a.id) FROM account AS a JOIN shuttle.tablets AS t ON t.tablet = a.tableoid WHERE t.node = 'n2'});
sub one
{
	my ($session, $sql) = @_;
	my ($out, $err) = $session->run($sql);
	$session->run('ROLLBACK;') if $err =~ /ERROR/ && $sql =~ /BEGIN/;
	return $err =~ /ERROR/ ? $err : $out;
}

# The same, as a client does: again while tables are being changed.
sub repeated
{
	my ($session, $sql) = @_;
	my $answer;
	for (1 .. 20)
	{
		$answer = one($session, $sql);
		last unless $answer =~ /^ERROR:  40001/;
	}
	return $answer;
}

# ---- a standby without a name only reads
my $session = ShuttleSession->new($standby, 'postgres');
like(one($session, "UPDATE account SET n = 1 WHERE id = $key;"), qr/^ERROR:  25006: cannot execute \w+ in a read-only transaction/, 'a standby without a name writes nothing');
$standby->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nshuttle.query_node_name = 'q2'");
$standby->restart;
$cluster->wait_for_lease($standby);
$session = ShuttleSession->new($standby, 'postgres');
my $view = on_primary('SELECT name, role, connected, lease FROM shuttle.query_nodes ORDER BY role');
is($view, "primary|primary|t|\nq2|standby|t|00:00:10", 'the view shows it');

# ---- one connection string for both
for my $first ($primary, $standby)
{
	my ($second) = grep { $_ != $first } $primary, $standby;
	my $string = "host=@{[ $first->host ]},@{[ $second->host ]} port=@{[ $first->port ]},@{[ $second->port ]} dbname=postgres";
	my ($stdout, $stderr);
	IPC::Run::run([ 'psql', '-XAtqc', "UPDATE account SET n = 0 WHERE id = $key; SELECT pg_is_in_recovery()", "$string target_session_attrs=any" ], '>', \$stdout, '2>', \$stderr);
	is("$stdout$stderr", $first == $primary ? "f\n" : "t\n", 'a client that takes any server writes on the first');
	IPC::Run::run([ 'psql', '-XAtqc', 'SELECT pg_is_in_recovery()', "$string target_session_attrs=read-write" ], '>', \$stdout, '2>', \$stderr);
	is("$stdout$stderr", "f\n", 'one that wants read-write gets the primary server');
}

# ---- names of sessions
my $name = "SELECT count(DISTINCT substring(application_name, '[0-9a-f]{16}')) FROM pg_stat_activity WHERE application_name ~ '^pg_shuttle [0-9a-f]{16}:'";
my $there = ShuttleSession->new($primary, 'postgres');
$_->run("SELECT count(*) FROM account;") for $session, $there;
is($far->safe_psql('postgres', $name), 2, 'sessions of two query nodes have different names on nodes');
is(one($there, q{SELECT count(*) > 0 FROM shuttle.create_restore_point('point');}), 't', 'and restore points know them');

# ---- writes on one node
my $round = 0;
for my $case (
	[ "INSERT INTO entry VALUES ($key, 1, 1), ($key, 2, 2) RETURNING id", "1\n2" ],
	[ "UPDATE entry SET v = v + 1 WHERE account = $key RETURNING v", "2\n3" ],
	[ "INSERT INTO entry VALUES ($key, 1, 1) ON CONFLICT (account, id) DO UPDATE SET v = 10 RETURNING v", '10' ],
	[ "INSERT INTO entry SELECT id, 3, 3 FROM account WHERE id = $key", '' ],
	[ "WITH w AS (UPDATE entry SET v = 4 WHERE account = $key AND id = 3 RETURNING v) SELECT v FROM w", '4' ],
	[ "MERGE INTO entry AS e USING (VALUES ($key, 4)) AS s (a, i) ON e.account = s.a AND e.id = s.i AND e.account = $key WHEN NOT MATCHED THEN INSERT VALUES ($key, 4, 4)", '' ],
	[ "DELETE FROM entry WHERE account = $key AND id = 4 RETURNING v", '4' ],
	[ "UPDATE rich SET n = n + 1 WHERE id = $key", '' ],
	[ "BEGIN; SELECT id FROM account WHERE id = $key FOR UPDATE; UPDATE account SET n = 5 WHERE id = $key; SAVEPOINT a; UPDATE account SET n = 6 WHERE id = $key; ROLLBACK TO a; COMMIT; SELECT n FROM account WHERE id = $key", "$key\n5" ],
	[ "BEGIN; UPDATE account SET n = 9 WHERE id = $key; ROLLBACK; SELECT n FROM account WHERE id = $key", '5' ],
	[ "BEGIN READ WRITE; UPDATE account SET n = n + 1 WHERE id = $key RETURNING n; COMMIT", '6' ],
	[ "START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE; UPDATE account SET n = n + 1 WHERE id = $key RETURNING n; COMMIT", '7' ],
	[ "BEGIN; SET TRANSACTION READ WRITE; UPDATE account SET n = n + 1 WHERE id = $near RETURNING n; COMMIT", '1' ],
	[ "SELECT pay($key, 10)", '17' ], [ "SELECT pay_here($key, 10)", '27' ],
	[ "DO \$\$BEGIN BEGIN UPDATE account SET n = 1/0 WHERE id = $key; EXCEPTION WHEN division_by_zero THEN UPDATE account SET n = n + 1 WHERE id = $key; END; END\$\$; SELECT n FROM account WHERE id = $key", '28' ],
	[ "PREPARE u (int, int) AS UPDATE account SET n = n + \$2 WHERE id = \$1 RETURNING n; EXECUTE u ($key, 1); EXECUTE u ($near, 1); DEALLOCATE u", "29\n2" ],
	[ "BEGIN; DECLARE c CURSOR FOR SELECT id FROM account WHERE id = $key FOR UPDATE; FETCH ALL FROM c; UPDATE account SET n = n + 1 WHERE id = $key RETURNING n; COMMIT", "$key\n30" ],
	[ "UPDATE account SET n = n + 1 WHERE id IN ($key, $near) RETURNING n > 0", "t\nt" ],
	[ "CREATE TEMP TABLE t (i int)", qr/25006: cannot execute CREATE TABLE in a read-only transaction\nHINT:  Use the primary server: host / ],
	[ "INSERT INTO here VALUES (1)", qr/25006: cannot write to table "here" on a standby\nDETAIL:  It is a table of the primary server.\nHINT:  Use the primary server: host .*, port [0-9]+\./ ],
	[ "INSERT INTO kind VALUES (1)", qr/25006: cannot write to table "kind" on a standby\nDETAIL:  It is a reference table/ ],
	[ "INSERT INTO unusual VALUES (1, 1)", qr/25006: cannot write to table "unusual" on a standby\nDETAIL:  It has unique indexes or foreign keys/ ],
	[ "WITH w AS (INSERT INTO here VALUES (1)) UPDATE account SET n = 0 WHERE id = $key", qr/25006: cannot write to table "here"/ ],
	[ "INSERT INTO entry VALUES ($key, nextval('s'), 1)", qr/25006: cannot execute nextval\(\) in a read-only transaction/ ],
	[ "SELECT nextval('s')", qr/25006: cannot execute nextval\(\) in a read-only transaction/ ],
	[ "COPY entry FROM PROGRAM 'echo'", qr/25006: cannot execute COPY .*\nHINT:  Use the primary server: host / ],
	[ "TRUNCATE entry", qr/25006: cannot execute TRUNCATE/ ], [ "ALTER TABLE account ADD COLUMN e int", qr/25006: cannot execute ALTER TABLE/ ],
	[ "UPDATE account SET n = n", '' ],
	[ "BEGIN; UPDATE account SET n = n WHERE id = $key; UPDATE account SET n = n WHERE id = $other; COMMIT", '' ],
	[ "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT 1; COMMIT", qr/0A000: cannot use serializable mode in a hot standby/ ],
	[ "BEGIN READ ONLY; UPDATE account SET n = 0 WHERE id = $key; COMMIT", qr/25006: cannot execute \w+ in a read-only transaction/ ],
	[ "BEGIN; SELECT set_config('transaction_read_only', 'on', true); UPDATE account SET n = 0 WHERE id = $key; COMMIT", qr/25006: cannot execute \w+ in a read-only transaction/ ],
	[ "BEGIN READ ONLY; SELECT pay($key, 1); COMMIT", qr/25006: cannot execute \w+ in a read-only transaction/ ],
	[ "SET default_transaction_read_only = on; UPDATE account SET n = 0 WHERE id = $key", qr/25006: cannot execute \w+ in a read-only transaction/ ],
	[ "BEGIN READ WRITE; UPDATE account SET n = n + 1 WHERE id = $key RETURNING n; COMMIT; RESET default_transaction_read_only", '32' ],
	[ "SELECT n FROM account WHERE id = $key", '32' ], [ "SELECT count(*) FROM account WHERE n = 0", 98 ],
)
{
	my ($sql, $wanted) = @$case;
	my $answer = one($session, "$sql;");
	ref $wanted ? like($answer, $wanted, $sql) : is($answer, $wanted, $sql);
}
is($far->safe_psql('n1', "SELECT count(*) FROM pg_prepared_xacts"), 0, 'nothing is prepared');
is(on_primary("SELECT nextval('s')"), 1, 'the sequence has lost nothing');
$session->run('SET ROLE reader;');
like(one($session, "UPDATE account SET n = 0 WHERE id = $key;"), qr/42501: permission denied/, 'privileges hold');
$session->run('RESET ROLE;');

# ---- a deadlock over two storage nodes and two query nodes
$there->run("BEGIN; UPDATE account SET n = n + 1 WHERE id = $key;");
$session->run("BEGIN; SELECT id FROM account WHERE id = $other FOR UPDATE;");
$there->send("UPDATE account SET n = n WHERE id = $other;");
$session->send("UPDATE account SET n = n WHERE id = $key;");
my @ends = map { ($_->result)[1] } $there, $session;
is(scalar(grep { /ERROR:  40P01/ } @ends), 1, 'a deadlock is found');
$_->run('ROLLBACK;') for $there, $session;

# ---- definitions change: the standby writes by the new ones, at once
my $wrong = '';
for my $n (1 .. 8)
{
	on_primary("ALTER TABLE account ALTER d SET DEFAULT $n");
	my $d = repeated($session, "INSERT INTO account (id, n) VALUES (100 + $n, 0) RETURNING d;");
	$wrong .= "$d for $n\n" if $d ne $n;
}
is($wrong, '', 'a new default counts at once');
on_primary('CREATE TRIGGER t BEFORE INSERT ON entry FOR EACH ROW EXECUTE FUNCTION note()');
is(repeated($session, "INSERT INTO entry VALUES ($key, 50, 1) RETURNING v;"), 1001, 'and so does a new trigger');
on_primary('DROP TRIGGER t ON entry');
is(repeated($session, "INSERT INTO entry VALUES ($key, 51, 1) RETURNING v;"), 1, 'that was dropped');

# A transaction of the standby has written: the change waits for it.
$session->run("BEGIN; UPDATE account SET n = n + 1 WHERE id = $key;");
$there->send('ALTER TABLE account ALTER d SET DEFAULT 20;');
$primary->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE relation = 'shuttle.query_node_leases'::regclass AND mode = 'AccessExclusiveLock'});
is(on_primary("SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'account'::regclass"), 8, 'a change waits for a transaction that has written');
$session->run('COMMIT;');
is(($there->result)[1], '', 'and goes on behind it');
is(repeated($session, "INSERT INTO account (id, n) VALUES (120, 0) RETURNING d;"), 20, 'whose successor knows it');

# While definitions are being changed the standby waits, and then fails.
$there->run('BEGIN; ALTER TABLE account ALTER d SET DEFAULT 30;');
like(one($session, "UPDATE entry SET v = 0 WHERE account = $key;"), qr/40001: tables are being changed on the primary server/, 'no write while definitions change');
$there->run('COMMIT;');
is(repeated($session, "INSERT INTO account (id, n) VALUES (130, 0) RETURNING d;"), 30, 'then by the new ones');

# ---- replay is paused
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
$standby->poll_query_until('postgres', q{SELECT pg_get_wal_replay_pause_state() = 'paused'});
my $started = time();
my ($out, $err) = $there->run("SET lock_timeout = '3s'; ALTER TABLE account ALTER d SET DEFAULT 40;");
like($err, qr/55P03: query node "q2" holds up a change of definitions/, 'a change names the query node that holds it up');
cmp_ok(time() - $started, '>', 2, 'behind its time limit');
$standby->poll_query_until('postgres', q{SELECT now() - pg_last_xact_replay_timestamp() > interval '11 s'});
like(one($session, "UPDATE account SET n = 0 WHERE id = $key;"), qr/57P03: query node "q2" cannot write now\nDETAIL:  The last transaction .* Its lease is 10 s/, 'the lease is over');
is(one($session, "SELECT count(*) FROM account WHERE id = $key;"), 1, 'it reads');
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
$cluster->wait_for_lease($standby);
is(one($session, "UPDATE account SET n = n + 1 WHERE id = $key RETURNING n > 0;"), 't', 'it writes again');

# ---- replay is paused, and a tablet moves: what is written to it fails
my $tablet = on_primary("SELECT tableoid::regclass FROM account WHERE id = $key");
my $n = on_primary("SELECT n FROM account WHERE id = $key");
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
$standby->poll_query_until('postgres', q{SELECT pg_get_wal_replay_pause_state() = 'paused'});
on_primary("CALL shuttle.move_tablet('$tablet', 'n2')");
my @lost;
for my $write ("UPDATE account SET n = n + 1 WHERE id = $key", "UPDATE account SET n = n + 1 WHERE id IN ($key, $near)", "DELETE FROM entry WHERE account = $key",
	"SELECT id FROM account WHERE id = $key FOR UPDATE", "SELECT pay($key, 1)", "SELECT pay_here($key, 1)", "INSERT INTO entry VALUES ($key, 900, 1)",
	"INSERT INTO entry VALUES ($key, 1, 1) ON CONFLICT (account, id) DO UPDATE SET v = 900")
{
	my $answer = one($session, "$write;");
	push @lost, "$write: $answer" if $answer !~ /ERROR:  (40001|57P03)/;
}
is(join("\n", @lost), '', 'a tablet has moved: each write fails');
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
$primary->wait_for_catchup($standby, 'replay');
is(on_primary("SELECT (SELECT n FROM account WHERE id = $key), count(*), count(*) FILTER (WHERE v = 900) FROM entry WHERE account = $key"), "$n|5|0", 'and nothing was written');
$cluster->wait_for_lease($standby);
is(one($session, "UPDATE account SET n = n + 1 WHERE id = $key RETURNING n;"), $n + 1, 'then it is written on its new node');

# ---- without its slot
$standby->append_conf('postgresql.conf', "primary_slot_name = ''");
$standby->reload;
$standby->poll_query_until('postgres', q{SELECT slot_name IS NULL OR slot_name = '' FROM pg_stat_wal_receiver});
$cluster->wait_for_lease($standby);
like(one($session, "UPDATE account SET n = 0 WHERE id = $key;"), qr/57P03: .*\nDETAIL:  It has to use the replication slot with its name/, 'without its slot it does not write');
$standby->append_conf('postgresql.conf', "primary_slot_name = 'q2'");
$standby->reload;
$standby->poll_query_until('postgres', q{SELECT slot_name = 'q2' FROM pg_stat_wal_receiver});
$cluster->wait_for_lease($standby);

# ---- the standby is gone: a change waits for its lease
$standby->stop;
$started = time();
($out, $err) = $there->run('RESET lock_timeout; ALTER TABLE account ALTER d SET DEFAULT 50;');
like($err, qr/WARNING:  01000: query node "q2" is not connected/, 'a change warns of a query node that is gone');
cmp_ok(time() - $started, '>', 10.9, 'behind its lease');
$standby->start;
$cluster->wait_for_lease($standby);
$session = ShuttleSession->new($standby, 'postgres');
is(one($session, "INSERT INTO account (id, n) VALUES (150, 0) RETURNING d;"), 50, 'when it is back it knows the change');

# ---- forgotten
on_primary(q{SELECT shuttle.forget_query_node('q2')});
$primary->wait_for_catchup($standby, 'replay');
like(one($session, "UPDATE account SET n = 0 WHERE id = $key;"), qr/57P03: .*\nDETAIL:  It is not registered/, 'forgotten, it does not write');
on_primary(q{SELECT shuttle.register_query_node('q2')});
$primary->wait_for_catchup($standby, 'replay');

# ---- promoted inside a transaction
$session->run("BEGIN; UPDATE account SET n = 77 WHERE id = $key;");
$primary->stop('immediate');
$standby->promote;
is(one($session, "COMMIT; SELECT n FROM account WHERE id = $key;"), 77, 'a transaction goes on when the server is promoted');
is(one($session, "UPDATE account SET n = 78 WHERE id IN ($key, $other) RETURNING n; INSERT INTO here VALUES (1) RETURNING id;"), "78\n78\n1", 'and it writes as a primary server does');
$cluster->stop;
done_testing();
