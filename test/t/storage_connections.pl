# Connections: one a node, refused ones, lost ones, idle ones.
use strict;
use warnings;

use IO::Socket::INET;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleProxy;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'shuttle.enable_row_counts = off');	# they have connections of their own
$node->start;
my $user = $node->safe_psql('postgres', 'SELECT current_user');
my $proxy = ShuttleProxy->new($node);
my $port = $proxy->port;

$node->safe_psql('postgres', 'CREATE DATABASE far');
$node->safe_psql('far', q{
	CREATE TABLE numbers AS SELECT i AS id, i % 10 AS n FROM generate_series(1, 3000) i;
	ALTER TABLE numbers ADD PRIMARY KEY (id);
	CREATE TABLE written (id int PRIMARY KEY);
	ANALYZE;
	CREATE ROLE secret LOGIN PASSWORD 'Geheim1';
	GRANT SELECT ON numbers TO secret;
});

# Only this role has to give a password.
my $hba = $node->data_dir . '/pg_hba.conf';
my $rules = slurp_file($hba);
open(my $file, '>', $hba) or die;
print $file "local all secret scram-sha-256\nhost all secret all scram-sha-256\n$rules";
close $file;
$node->reload;

$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	ALTER DATABASE postgres SET session_preload_libraries = 'pg_shuttle';
	CREATE SERVER far FOREIGN DATA WRAPPER shuttle OPTIONS (host '127.0.0.1', port '$port', dbname 'far');
	CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user '$user');
	CREATE FOREIGN TABLE numbers (id int, n int) SERVER far;
	CREATE FOREIGN TABLE written (id int) SERVER far;
	CREATE FUNCTION reads() RETURNS bigint LANGUAGE plpgsql AS
		'BEGIN RETURN (SELECT count(*) FROM numbers WHERE n = 3); END';
});

sub run
{
	my ($sql, @options) = @_;
	my ($out, $err) = ('', '');
	$node->psql('postgres', "\\set VERBOSITY verbose\n$sql", stdout => \$out,
		stderr => \$err, on_error_stop => 0, timeout => 60, @options);
	return ($out, $err);
}

# ---- one connection a node (trap 16)

$proxy->connections;
my ($out, $err) = run(q{
	BEGIN;
	SELECT a.id, reads() FROM numbers a JOIN numbers b ON a.id = b.id WHERE a.id < 4;
	INSERT INTO written SELECT id FROM numbers WHERE id < 10;
	UPDATE written SET id = id + 100 WHERE id < 3;
	SELECT w.id FROM written w JOIN numbers ON numbers.id = w.id FOR UPDATE OF w;
	SELECT id FROM written WHERE id > 100 FOR UPDATE;
	COMMIT;
	ANALYZE numbers;
	DELETE FROM written;
	EXPLAIN SELECT * FROM numbers WHERE id = 3;});
is($proxy->connections, 1, 'one connection for all that a session does');
unlike($err, qr/ERROR/, 'without an error') or diag($err);

# Waits until no connection is left, for a minute at most; returns how many are.
$node->safe_psql('postgres', q{CREATE FUNCTION await_end() RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE
		nleft bigint;
	BEGIN
		FOR i IN 1 .. 1200 LOOP
			PERFORM pg_stat_clear_snapshot();
			SELECT count(*) INTO nleft FROM pg_stat_activity WHERE datname = 'far';
			EXIT WHEN nleft = 0;
			PERFORM pg_sleep(0.05);
		END LOOP;
		RETURN nleft;
	END $$});

# ---- a connection that ends

my $kill = q{SELECT count(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity WHERE datname = 'far'};
($out, $err) = run(qq{SELECT count(*) FROM numbers; $kill;
	SELECT 'after', count(*) FROM numbers;});
like($out, qr/^after\|3000$/m, 'one that was idle is replaced');
unlike($err, qr/ERROR/, 'without an error');

($out, $err) = run(qq{BEGIN; INSERT INTO written VALUES (7); $kill;
	SAVEPOINT a;
	SELECT count(*) FROM numbers;
	ROLLBACK TO a;
	SELECT count(*) FROM numbers;
	ROLLBACK;
	SELECT 'after', count(*) FROM numbers;});
my @lost = $err =~ /08006: connection to storage node "far" was lost/g;
is(scalar @lost, 2, 'one in a transaction is an error there, again and again');
like($err, qr/DETAIL:  terminating connection due to administrator command/, 'which says why');
like($out, qr/^after\|3000$/m, 'and the next transaction connects again');

($out, $err) = run(qq{BEGIN; INSERT INTO written VALUES (7); $kill; COMMIT;
	SELECT 'after', count(*) FROM written;});
like($err, qr/08006|57P01/, 'what was written and lost does not commit');
like($out, qr/^after\|0$/m, 'and is not there');

($out, $err) = run(qq{BEGIN; DECLARE c CURSOR FOR SELECT id FROM numbers; FETCH 1 FROM c; $kill;
	COMMIT; SELECT 'after', count(*) FROM numbers;});
unlike($err, qr/ERROR/, 'a reader that has its rows commits') or diag($err);
like($out, qr/^after\|3000$/m, 'and goes on');

# ---- options that change

($out, $err) = run(q{SELECT count(*) FROM numbers;
	ALTER SERVER far OPTIONS (ADD application_name 'shuttle %u %p%%');
	SELECT 'after', count(*) FROM numbers;
	SELECT 'name', application_name = 'shuttle ' || current_user || ' ' || pg_backend_pid() || '%'
	FROM pg_stat_activity WHERE datname = 'far';
	ALTER SERVER far OPTIONS (DROP application_name);});
like($out, qr/^after\|3000$/m, 'options changed');
like($out, qr/^name\|t$/m, 'the connection was made anew, with the name filled in');

($out, $err) = run(q{SELECT count(*) FROM numbers;
	ALTER SERVER far OPTIONS (ADD keep_connections 'off');
	SELECT count(*) FROM numbers;
	SELECT 'kept', await_end();
	ALTER SERVER far OPTIONS (DROP keep_connections);});
like($out, qr/^kept\|0$/m, 'keep_connections');

($out, $err) = run(q{SELECT count(*) FROM numbers;
	SELECT 'used', count(*) FROM pg_stat_activity WHERE datname = 'far';
	SET shuttle.idle_timeout = '1s';
	SELECT 'idle', await_end();
	SELECT 'after', count(*) FROM numbers;});
like($out, qr/^used\|1$/m, 'a connection is kept');
like($out, qr/^idle\|0$/m, 'not for ever');
like($out, qr/^after\|3000$/m, 'and made anew');

$node->safe_psql('postgres', qq{DO \$\$ BEGIN
	FOR i IN 1..70 LOOP
		EXECUTE format('CREATE SERVER far%s FOREIGN DATA WRAPPER shuttle OPTIONS (host ''127.0.0.1'', port ''$port'', dbname ''far'')', i);
		EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER far%s OPTIONS (user ''$user'')', i);
		EXECUTE format('CREATE FOREIGN TABLE numbers%s (id int) SERVER far%s OPTIONS (table_name ''numbers'')', i, i);
	END LOOP;
END \$\$});
my $read_all = join("\n", map { "SELECT count(*) FROM numbers$_;" } 1 .. 70);
($out, $err) = run(qq{$read_all
	SELECT 'many', count(*) FROM pg_stat_activity WHERE datname = 'far';
	SET shuttle.idle_timeout = '1s';
	SELECT 'left', await_end();});
like($out, qr/^left\|0$/m, 'however many there are');
like($out, qr/^many\|[3-7]\d$/m, 'of which there were many');

# ---- what cannot be connected to

my $closed_port = PostgreSQL::Test::Cluster::get_free_port();
my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 5) or die;
my $silly_port = $listener->sockport;
my $old_listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 5) or die;
my $old_port = $old_listener->sockport;

# A web server, and a PostgreSQL from long ago.
my $fake = fork() // die;
if ($fake == 0)
{
	my $select = IO::Select->new($listener, $old_listener);
	while (my @ready = $select->can_read(60))
	{
		for my $one (@ready)
		{
			my $client = $one->accept or next;
			sysread($client, my $startup, 1000);
			if ($one == $listener)
			{
				syswrite($client, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
			}
			else
			{
				my $message = sub { return $_[0] . pack('N', length($_[1]) + 4) . $_[1]; };
				if (unpack('N', substr($startup, 4, 4)) != 196608)
				{
					syswrite($client, 'N');
					sysread($client, $startup, 1000);
				}
				syswrite($client, $message->('R', pack('N', 0))
					. $message->('S', "server_version\0" . "9.6.24\0")
					. $message->('S', "client_encoding\0UTF8\0")
					. $message->('K', pack('NN', 1, 2)) . $message->('Z', 'I'));
				sysread($client, $startup, 1000);
			}
			close $client;
		}
	}
	require POSIX;
	POSIX::_exit(0);
}

sub refused
{
	my ($name, $options, $mapping, $pattern) = @_;
	my ($out, $err) = run(qq{
		CREATE SERVER bad FOREIGN DATA WRAPPER shuttle OPTIONS ($options);
		CREATE USER MAPPING FOR CURRENT_USER SERVER bad OPTIONS ($mapping);
		CREATE FOREIGN TABLE bad (id int) SERVER bad OPTIONS (table_name 'numbers');
		SELECT id FROM bad LIMIT 1;
		SELECT 'after', count(*) FROM numbers;
		BEGIN; SAVEPOINT a; SELECT id FROM bad; ROLLBACK TO a; SELECT 'inside', count(*) FROM numbers; COMMIT;
		DROP SERVER bad CASCADE;});
	like($err, $pattern, "$name: error");
	like($out, qr/^after\|3000$/m, "$name: session is usable");
	like($out, qr/^inside\|3000$/m, "$name: so is a transaction");
	unlike($err, qr/Geheim|falsch/, "$name: no secret is told");
	return;
}

my $failed = qr/ERROR:  08001: could not connect to server "bad"\nDETAIL:  .*HINT:  /s;
refused('port', "host '127.0.0.1', port '$closed_port', dbname 'far'", "user '$user'", qr/$failed/);
like((run('SELECT 1'))[0], qr/1/, 'alive');
refused('host', "host 'no.such.host.invalid', dbname 'far'", "user '$user'", $failed);
refused('database', "host '127.0.0.1', port '$port', dbname 'nowhere'", "user '$user'",
	qr/08001: could not connect.*database "nowhere" does not exist/s);
refused('password', "host '127.0.0.1', port '$port', dbname 'far'", "user 'secret', password 'falsch'",
	qr/08001: could not connect.*password authentication failed/s);
refused('another protocol', "host '127.0.0.1', port '$silly_port', dbname 'far'", "user '$user'", $failed);
refused('old version', "host '127.0.0.1', port '$old_port', dbname 'far', sslmode 'disable', gssencmode 'disable'", "user '$user'",
	qr/0A000: could not connect to server "bad"\nDETAIL:  The node runs PostgreSQL 9.6; 12 is the oldest/);
kill 'KILL', $fake;
waitpid($fake, 0);

# ---- names of hosts

($out, $err) = run(qq{
	CREATE SERVER named FOREIGN DATA WRAPPER shuttle OPTIONS (host 'localhost', port '$port', dbname 'far');
	CREATE USER MAPPING FOR CURRENT_USER SERVER named OPTIONS (user '$user');
	CREATE FOREIGN TABLE by_name (id int) SERVER named OPTIONS (table_name 'numbers');
	SELECT 'named', count(*) FROM by_name;
	ALTER SERVER named OPTIONS (SET host 'localhost,127.0.0.1', SET port '$closed_port,$port');
	SELECT 'listed', count(*) FROM by_name;
	DROP SERVER named CASCADE;});
like($out, qr/^named\|3000$/m, 'a name');
like($out, qr/^listed\|3000$/m, 'a list of them');

# ---- the rule about passwords

$node->safe_psql('postgres', qq{
	CREATE ROLE plain LOGIN;
	GRANT USAGE ON FOREIGN SERVER far TO plain;
	GRANT SELECT ON numbers TO plain;});

sub as_plain
{
	my ($mapping, $sql) = @_;
	$node->safe_psql('postgres', "DROP USER MAPPING IF EXISTS FOR plain SERVER far");
	$node->safe_psql('postgres', "CREATE USER MAPPING FOR plain SERVER far OPTIONS ($mapping)") if defined $mapping;
	return run($sql // q{SELECT 'rows', count(*) FROM numbers; SELECT 'alive';}, extra_params => [ '-U', 'plain' ]);
}

($out, $err) = as_plain(undef);
like($err, qr/42704: user mapping not found for user "/, 'no mapping');
like($out, qr/alive/, 'and the session is usable');
($out, $err) = as_plain("user '$user'");
like($err, qr/2F003: password (?:is|or GSSAPI delegated credentials) required\nDETAIL:  Non-superusers must/, 'no password in the mapping');
($out, $err) = as_plain("user '$user', password 'unasked'");
like($err, qr/2F003: password (?:is|or GSSAPI delegated credentials) required\nDETAIL:  Non-superuser cannot connect/, 'a password that the node does not ask for');
($out, $err) = as_plain("user 'secret', password 'Geheim1'");
like($out, qr/^rows\|3000$/m, 'a password that it asks for');
($out, $err) = as_plain("user '$user', password_required 'false'");
like($out, qr/^rows\|3000$/m, 'password_required is false');

# A public mapping shares its connection; the rule holds for each user.
$node->safe_psql('postgres', qq{
	DROP USER MAPPING FOR plain SERVER far;
	DROP USER MAPPING FOR CURRENT_USER SERVER far;
	CREATE USER MAPPING FOR public SERVER far OPTIONS (user '$user');});
($out, $err) = run(q{SELECT 'super', count(*) FROM numbers; SET ROLE plain; SELECT 'plain', count(*) FROM numbers;});
like($out, qr/^super\|3000$/m, 'a superuser uses the public mapping');
unlike($out, qr/^plain\|/m, 'but nobody else its connection');
like($err, qr/2F003/, 'by the rule');

$node->stop;
done_testing();
