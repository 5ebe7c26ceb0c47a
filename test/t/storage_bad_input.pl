# Wrong options, passwords, tables, types and servers: each gives an error that
# says what is wrong and where, leaves nothing behind, and tells no password.
use strict;
use warnings;

use IO::Socket::INET;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleSession;

# ---- servers that are none

# Listens in a child, which hands each connection to the given function.
my @fakes;

sub fake_server
{
	my $serve = shift;
	my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 16)
	  or die "listen: $!";
	my $pid = fork() // die "fork: $!";
	if ($pid == 0)
	{
		$SIG{PIPE} = 'IGNORE';
		$SIG{TERM} = 'DEFAULT';
		while (my $client = $listener->accept())
		{
			$client->autoflush(1);
			$serve->($client);
			close $client;
		}
		require POSIX;
		POSIX::_exit(0);
	}
	push @fakes, $pid;
	return $listener->sockport;
}

sub end_fakes
{
	local $?;
	for my $pid (splice @fakes)
	{
		kill 'KILL', $pid;
		waitpid($pid, 0);
	}
	return;
}
END { end_fakes(); }

sub message { my ($type, $body) = @_; return $type . pack('N', 4 + length $body) . $body; }

# Reads a client's first message; a request for encryption is refused before.
sub read_startup
{
	my $client = shift;
	for (;;)
	{
		my $nread = read($client, my $head, 8);
		return unless $nread && $nread == 8;
		my ($size, $code) = unpack('NN', $head);
		read($client, my $rest, $size - 8) if $size > 8;
		return 1 if ($code >> 16) == 3;
		print $client 'N';
	}
	return;
}

sub welcome
{
	my $version = shift;
	return message('R', pack('N', 0)) . message('S', "server_version\0$version\0")
	  . message('S', "client_encoding\0UTF8\0") . message('K', pack('NN', 4711, 42)) . message('Z', 'I');
}

my %fakes = (
	http => fake_server(sub {
		my $client = shift;
		sysread($client, my $request, 4096);
		print $client "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
	}),
	garbage => fake_server(sub {
		my $client = shift;
		sysread($client, my $request, 4096);
		print $client join('', map { chr(($_ * 71 + 13) % 256) } 1 .. 20000);
	}),
	closes => fake_server(sub { }),
	old => fake_server(sub {
		my $client = shift;
		print $client welcome('9.6.24') if read_startup($client);
		sysread($client, my $rest, 4096);
	}),
	eleven => fake_server(sub {
		my $client = shift;
		print $client welcome('11.22 (Debian 11.22-0)') if read_startup($client);
		sysread($client, my $rest, 4096);
	}),
	crowded => fake_server(sub {
		my $client = shift;
		print $client message('E', "SFATAL\0VFATAL\0C53300\0Msorry, too many clients already\0\0") if read_startup($client);
	}),
	half => fake_server(sub {
		my $client = shift;
		print $client substr(welcome('18.0'), 0, 20) if read_startup($client);
	}),
	babbles => fake_server(sub {
		my $client = shift;
		return unless read_startup($client);
		print $client welcome('18.0');
		sysread($client, my $request, 4096);
		print $client message('Q', "what was the question?\0");
		sysread($client, $request, 4096);
	}),
	out_of_step => fake_server(sub {
		my $client = shift;
		return unless read_startup($client);
		print $client welcome('18.0');
		sysread($client, my $request, 65536);

		# more answers than questions
		print $client (message('1', '') . message('2', '') . message('n', '') . message('C', "BEGIN\0") . message('Z', 'T')) x 50;
		sysread($client, $request, 65536);
	}),
	asks_for_password => fake_server(sub {
		my $client = shift;
		return unless read_startup($client);
		print $client message('R', pack('N', 3));
		sysread($client, my $password, 4096);
		print $client message('E', "SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed\0\0");
	}),
	silent => fake_server(sub {
		my $client = shift;
		sysread($client, my $request, 4096) for 1 .. 3;
	}),
);

# ---- a real one, which asks some users for a password

my $far = PostgreSQL::Test::Cluster->new('far');
$far->init;
$far->append_conf('postgresql.conf', "listen_addresses = '127.0.0.1'\npassword_encryption = 'scram-sha-256'\nlog_statement = none");
$far->append_conf('postgresql.conf', "unix_socket_directories = '" . $far->host . "'");
$far->start;
my $user = $far->safe_psql('postgres', 'SELECT current_user');
my $password = 'Sec-ret7Word';
my $wrong = 'Wrong-8Word';
$far->safe_psql('postgres', qq{
	CREATE ROLE guarded LOGIN PASSWORD '$password';
	CREATE ROLE trusted LOGIN;
	CREATE TABLE good AS SELECT i AS id, 'text ' || i AS t, 3000000000 + i AS large FROM generate_series(1, 10) i;
	CREATE TABLE small (id int PRIMARY KEY CHECK (id < 100), v varchar(5) NOT NULL);
	CREATE TABLE forbidden (id int);
	GRANT ALL ON good, small TO guarded, trusted;
});
unlink $far->data_dir . '/pg_hba.conf';
$far->append_conf('pg_hba.conf', "host all guarded 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\nlocal all all trust\n");
$far->reload;
my $far_port = $far->port;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "session_preload_libraries = 'pg_shuttle'\nlog_min_messages = debug1\nlog_statement = none");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_shuttle CASCADE; CREATE ROLE ordinary LOGIN;');

# A port where nobody listens.
my $closed = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 1);
my $closed_port = $closed->sockport;
close $closed;

my $host = "host '127.0.0.1', dbname 'postgres', port";

# Each server: its options, those of the mapping, and what follows "DETAIL:".
my %servers = (
	wrong_host => [ "host 'no-such-host.invalid', dbname 'postgres'", "user '$user'", 'could not translate host name|.*no-such-host' ],
	wrong_port => [ "$host '$closed_port'", "user '$user'", 'connection to server at "127.0.0.1", port \d+ failed: Connection refused' ],
	wrong_socket => [ "host '/no/such/directory', dbname 'postgres'", "user '$user'", '.*No such file or directory' ],
	wrong_database => [ "host '127.0.0.1', dbname 'nowhere', port '$far_port'", "user '$user'", '.*database "nowhere" does not exist' ],
	wrong_user => [ "$host '$far_port'", q{user 'nobody_there'}, '.*role "nobody_there" does not exist' ],
	wrong_password => [ "$host '$far_port'", "user 'guarded', password '$wrong'", '.*password authentication failed for user "guarded"' ],
	no_password => [ "$host '$far_port'", "user 'guarded'", '.*(?:no password supplied|password authentication failed)' ],
	http => [ "$host '$fakes{http}'", "user '$user', password '$password'", '.+' ],
	garbage => [ "$host '$fakes{garbage}'", "user '$user', password '$password'", '.+' ],
	closes => [ "$host '$fakes{closes}'", "user '$user', password '$password'", '.*(?:closed the connection|Connection reset)' ],
	crowded => [ "$host '$fakes{crowded}'", "user '$user', password '$password'", '.*sorry, too many clients already' ],
	half => [ "$host '$fakes{half}'", "user '$user', password '$password'", '.+' ],
	asks_for_password => [ "$host '$fakes{asks_for_password}'", "user '$user', password '$wrong'", '.*password authentication failed' ],
	silent => [ "$host '$fakes{silent}', connect_timeout '1'", "user '$user', password '$password'", 'timeout expired' ],
);

my %others = (
	old => [ "$host '$fakes{old}'", "user '$user'",
		qr/^ERROR:  0A000: could not connect to server "old"\nDETAIL:  The node runs PostgreSQL 9\.6; 12 is the oldest that is supported\.\nHINT:  Upgrade/ ],
	eleven => [ "$host '$fakes{eleven}'", "user '$user'",
		qr/^ERROR:  0A000: could not connect to server "eleven"\nDETAIL:  The node runs PostgreSQL 11\.22; 12 is/ ],
	babbles => [ "$host '$fakes{babbles}'", "user '$user'", qr/^ERROR:  08006: connection to storage node "babbles" was lost\n/ ],
	out_of_step => [ "$host '$fakes{out_of_step}'", "user '$user'", qr/^ERROR:  (?:08006: connection to storage node "out_of_step" was lost|[^\n]*storage node "out_of_step")/ ],
);
for my $name (keys %servers)
{
	my ($server, $mapping, $detail) = @{ $servers{$name} };
	my $pattern = sprintf('^ERROR:  08001: could not connect to server "%s"\nDETAIL:  (?:%s).*\nHINT:  Check ', $name, $detail);
	$others{$name} = [ $server, $mapping, qr/$pattern/s ];
}

my $session = ShuttleSession->new($node, 'postgres');
my $everything_said = '';

sub run
{
	my ($sql, $by) = @_;
	my ($out, $err) = ($by // $session)->run($sql);
	$everything_said .= $err;
	return $err eq '' ? $out : $out eq '' ? $err : "$out\n$err";
}

is( run(qq{
	SET client_min_messages = warning;
	CREATE SERVER good FOREIGN DATA WRAPPER shuttle OPTIONS ($host '$far_port');
	CREATE USER MAPPING FOR CURRENT_USER SERVER good OPTIONS (user '$user');
	CREATE FOREIGN TABLE good (id int, t text) SERVER good;}), '', 'a good server');

sub make_server
{
	my ($name, $wrapper, $server, $mapping) = @_;
	return run(qq{
		CREATE SERVER $name FOREIGN DATA WRAPPER $wrapper OPTIONS ($server);
		CREATE USER MAPPING FOR CURRENT_USER SERVER $name OPTIONS ($mapping);
		CREATE FOREIGN TABLE t_$name (id int, t text) SERVER $name OPTIONS (table_name 'good');});
}

sub open_sockets
{
	return scalar grep { (readlink($_) // '') =~ /^socket:/ } glob('/proc/' . $session->pid . '/fd/*');
}

# What is left of a connection would show on the node, or as an open socket.
sub nothing_left
{
	my ($label, $sockets) = @_;
	is(run('SELECT count(*) FROM good;'), 10, "$label: session is usable");
	cmp_ok(open_sockets(), '<=', $sockets, "$label: no socket is left open") if -d '/proc/self/fd';
	return;
}

# Statements of all kinds, to each server; and to the same one adopted.
is(run('SELECT count(*) FROM good; SELECT count(*) FROM good a JOIN good b ON a.id = b.id;'), "10\n10", 'good');
my $sockets = open_sockets();
for my $name (sort keys %others)
{
	my ($server, $mapping, $error) = @{ $others{$name} };
	for my $wrapper ('shuttle', 'postgres_fdw')
	{
		my $label = $wrapper eq 'shuttle' ? $name : "$name, adopted";
		is(make_server($name, $wrapper, $server, $mapping), '', "$label: made");
		if ($wrapper eq 'postgres_fdw')
		{
			like(run("SELECT * FROM shuttle.adopt_server('$name');"), qr/\|wrapper\|postgres_fdw\|shuttle$/, "$label: adopted");
		}
		my @statements = ("SELECT count(*) FROM t_$name;");
		push @statements, "INSERT INTO t_$name VALUES (1, 'x');", "ANALYZE t_$name;", "TRUNCATE t_$name;",
		  "IMPORT FOREIGN SCHEMA public FROM SERVER $name INTO public;",
		  "SELECT count(*) FROM good g JOIN t_$name f ON f.id = g.id;"
		  if $wrapper eq 'shuttle' && $name ne 'silent';
		for my $statement (@statements)
		{
			like(run($statement), $error, "$label: $statement");
		}

		# in a transaction that used a good one, and in a savepoint
		if ($wrapper eq 'shuttle' && $name ne 'silent')
		{
			is(run('BEGIN; SELECT count(*) FROM good; SAVEPOINT s;'), 10, "$label: transaction");
			like(run("SELECT count(*) FROM t_$name;"), $error, "$label: in a savepoint");
			is(run('ROLLBACK TO s; SELECT count(*) FROM good; COMMIT;'), 10, "$label: transaction goes on");
		}
		nothing_left($label, $sockets);
		is(run("DROP SERVER $name CASCADE;"), '', "$label: dropped");
	}
}

# The right password, given late, is taken at once.
is(make_server('late', 'shuttle', "$host '$far_port'", "user 'guarded', password '$wrong'"), '', 'a wrong password');
like(run('SELECT count(*) FROM t_late;'), qr/^ERROR:  08001/, 'is wrong');
is(run("ALTER USER MAPPING FOR CURRENT_USER SERVER late OPTIONS (SET password '$password'); SELECT count(*) FROM t_late;"), 10, 'the right one');
is(run('DROP SERVER late CASCADE;'), '', 'dropped');

# ---- tables, columns and types that are not there

is( run(q{
	CREATE FOREIGN TABLE no_table (id int) SERVER good;
	CREATE FOREIGN TABLE no_schema (id int) SERVER good OPTIONS (schema_name 'nowhere', table_name 'good');
	CREATE FOREIGN TABLE no_column (id int, other text) SERVER good OPTIONS (table_name 'good');
	CREATE FOREIGN TABLE no_number (t int) SERVER good OPTIONS (table_name 'good');
	CREATE FOREIGN TABLE too_small (large int) SERVER good OPTIONS (table_name 'good');
	CREATE FOREIGN TABLE no_date (id date) SERVER good OPTIONS (table_name 'good');
	CREATE FOREIGN TABLE small (id int, v text) SERVER good;}), '', 'wrong tables');
my %wrong_tables = (
	'SELECT * FROM no_table;' => qr/^ERROR:  42P01: relation "public.no_table" does not exist\n(?:.*\n)*HINT:  .*"pgshuttle doctor".*\nCONTEXT:  storage node "good", request: SELECT/,
	'INSERT INTO no_table VALUES (1);' => qr/^ERROR:  42P01: .*\n(?:.*\n)*CONTEXT:  storage node "good", request: INSERT/,
	'UPDATE no_table SET id = 1;' => qr/^ERROR:  42P01: .*\n(?:.*\n)*CONTEXT:  storage node "good", request: UPDATE/,
	'TRUNCATE no_table;' => qr/^ERROR:  42P01: .*\n(?:.*\n)*CONTEXT:  storage node "good"/,
	'ANALYZE no_table;' => qr/^ERROR:  42P01: .*\n(?:.*\n)*CONTEXT:  storage node "good"/,
	'SELECT * FROM no_schema;' => qr/^ERROR:  (?:42P01|3F000): .*nowhere/,
	'SELECT * FROM no_column;' => qr/^ERROR:  42703: column "other" does not exist\n(?:.*\n)*HINT:  .*"pgshuttle doctor".*\nCONTEXT:  storage node "good"/,
	'SELECT * FROM no_number;' => qr/^ERROR:  22P02: invalid input syntax for type integer: "text 1"\nCONTEXT:  .*column "t" of foreign table "no_number"/,
	'SELECT * FROM too_small;' => qr/^ERROR:  22003: value "3000000001" is out of range for type integer\nCONTEXT:  .*column "large" of foreign table "too_small"/,
	'SELECT * FROM no_date;' => qr/^ERROR:  22007: invalid input syntax for type date: "1"\nCONTEXT:  .*column "id" of foreign table "no_date"/,
	q{SELECT * FROM no_date WHERE id = '2020-01-01';} => qr/^ERROR:  22P02: invalid input syntax for type integer: "2020-01-01"\n(?:.*\n)*CONTEXT:  storage node "good"/,
	'SELECT * FROM good g JOIN no_number n ON n.t = g.id;' => qr/^ERROR:  (?:22P02|42883): /,
	q{INSERT INTO small VALUES (1, 'much too long');} => qr/^ERROR:  22001: value too long for type character varying\(5\)\n(?:.*\n)*CONTEXT:  storage node "good"/,
	q{INSERT INTO small VALUES (1, NULL);} => qr/^ERROR:  23502: null value in column "v".*\n(?:.*\n)*SCHEMA NAME:  public\nTABLE NAME:  small\nCOLUMN NAME:  v/,
	q{INSERT INTO small VALUES (200, 'x');} => qr/^ERROR:  23514: .*\n(?:.*\n)*CONSTRAINT NAME:  small_id_check/,
	q{INSERT INTO small VALUES (1, 'a'), (1, 'b');} => qr/^ERROR:  23505: duplicate key value .*\n(?:.*\n)*CONSTRAINT NAME:  small_pkey/,
	'SELECT 1 / (id - 5) FROM good;' => qr/^ERROR:  22012: division by zero/,
	'IMPORT FOREIGN SCHEMA nowhere FROM SERVER good INTO public;' => qr/^ERROR:  HV00Q: schema "nowhere" is not present on foreign server "good"/,
	"COPY small FROM stdin;\n1\tx\nnot a number\ty\n\\.\n" => qr/^ERROR:  22P02: .*\nCONTEXT:  COPY small, line 2/,
);
for my $statement (sort keys %wrong_tables)
{
	like(run($statement), $wrong_tables{$statement}, $statement =~ s/\n.*//sr);
	is(run('BEGIN; SELECT count(*) FROM good; SAVEPOINT s;'), 10, '... in a transaction');
	like(run($statement), $wrong_tables{$statement}, '... and a savepoint');
	is(run('ROLLBACK TO s; SELECT count(*) FROM good; COMMIT;'), 10, '... which goes on');
}
is(run('SELECT count(*) FROM small;'), 0, 'nothing was written');
nothing_left('wrong tables', $sockets);

# ---- users and their passwords

my $ordinary = ShuttleSession->new($node, 'postgres', '-U', 'ordinary');
is( run(qq{
	GRANT SELECT, INSERT ON good TO ordinary;
	CREATE SERVER asks FOREIGN DATA WRAPPER shuttle OPTIONS ($host '$far_port');
	CREATE FOREIGN TABLE asks (id int, t text) SERVER asks OPTIONS (table_name 'good');
	GRANT SELECT ON asks TO ordinary;}), '', 'an ordinary user');
like(run('SELECT count(*) FROM good;', $ordinary), qr/^ERROR:  42704: user mapping not found for user "ordinary", server "good"/, 'no user mapping');
like(run("INSERT INTO good VALUES (1, 'x');", $ordinary), qr/^ERROR:  42704/, 'no user mapping: insert');

my $required = qr/^ERROR:  2F003: password (?:is|or GSSAPI delegated credentials) required\nDETAIL:  /;
is(run("CREATE USER MAPPING FOR ordinary SERVER asks OPTIONS (user 'trusted');"), '', 'a mapping without a password');
like(run('SELECT count(*) FROM asks;', $ordinary), $required, 'no password');
is(run("ALTER USER MAPPING FOR ordinary SERVER asks OPTIONS (ADD password '$password');"), '', 'a password that nobody asks for');
like(run('SELECT count(*) FROM asks;', $ordinary), $required, 'a password that nobody asks for is none');
like(run('BEGIN; SELECT count(*) FROM asks;', $ordinary), $required, 'in a transaction');
like(run('SELECT count(*) FROM asks;', $ordinary), qr/25P02/, 'which is aborted');
like(run('ROLLBACK; SELECT count(*) FROM asks;', $ordinary), $required, 'again');
is(run("ALTER USER MAPPING FOR ordinary SERVER asks OPTIONS (SET user 'guarded');"), '', 'one that is asked for');
is(run('SELECT count(*) FROM asks;', $ordinary), 10, 'is enough');
is(run("ALTER USER MAPPING FOR ordinary SERVER asks OPTIONS (SET password '$wrong');"), '', 'a wrong one');
like(run('SELECT count(*) FROM asks;', $ordinary), qr/^ERROR:  08001: could not connect to server "asks"/, 'is wrong');
is(run("ALTER USER MAPPING FOR ordinary SERVER asks OPTIONS (SET user 'trusted', DROP password, ADD password_required 'false');"), '', 'what a superuser may allow');
is(run('SELECT count(*) FROM asks;', $ordinary), 10, 'is allowed');
like(run("ALTER USER MAPPING FOR ordinary SERVER asks OPTIONS (SET password_required 'false');", $ordinary),
	qr/^ERROR:  42501/, 'only a superuser may');

# A superuser's open connection is not for others.
is(run("CREATE USER MAPPING FOR PUBLIC SERVER good OPTIONS (user '$user'); DROP USER MAPPING FOR CURRENT_USER SERVER good;"), '', 'a mapping for all');
is(run('SELECT count(*) FROM good;'), 10, 'superuser');
like(run('SET ROLE ordinary; SELECT count(*) FROM good;'), $required, 'the same session as an ordinary user');
like(run('BEGIN; SELECT count(*) FROM good;'), $required, 'the same in a transaction');
is(run("ROLLBACK; RESET ROLE; SELECT count(*) FROM good;"), 10, 'superuser again');

# ---- settings and options

for my $setting ('batch_size', 'request_limit', 'fetch_limit', 'fetch_size_limit', 'fetch_ahead', 'batches_in_flight')
{
	for my $value ('0', '-1', '99999999999', "'many'")
	{
		like(run("SET shuttle.$setting = $value;"), qr/^ERROR:  22023: .*"?shuttle\.$setting"?/, "shuttle.$setting = $value");
	}
}
like(run('SET shuttle.no_such_setting = 1;'), qr/^ERROR:  42602: invalid configuration parameter name "shuttle.no_such_setting"/, 'unknown setting');
my %wrong_options = (
	"ALTER SERVER good OPTIONS (ADD shuttle_nosuch '1');" => qr/^ERROR:  HV00D: invalid option "shuttle_nosuch"\n(?:.*\n)*HINT:  .*shuttle_batch_size/,
	"ALTER SERVER good OPTIONS (ADD shuttle_volatile 'on');" => qr/^ERROR:  HV00D: /,
	"ALTER SERVER good OPTIONS (ADD password 'x');" => qr/^ERROR:  HV00D: /,
	"ALTER SERVER good OPTIONS (ADD shuttle_batch_size '0');" => qr/^ERROR:  22023: /,
	"ALTER SERVER good OPTIONS (ADD shuttle_fetch_limit 'x');" => qr/^ERROR:  22023: /,
	"ALTER SERVER good OPTIONS (ADD use_remote_estimate 'true');" => qr/^ERROR:  HV00D: (?:.*\n)*HINT:  .*shuttle_remote_estimate/,
	"ALTER FOREIGN TABLE good OPTIONS (ADD host 'x');" => qr/^ERROR:  HV00D: /,
	"ALTER FOREIGN TABLE good OPTIONS (ADD shuttle_batch_size '10');" => qr/^ERROR:  HV00D: /,
	"ALTER USER MAPPING FOR PUBLIC SERVER good OPTIONS (ADD host 'x');" => qr/^ERROR:  HV00D: /,
	"ALTER USER MAPPING FOR PUBLIC SERVER good OPTIONS (ADD shuttle_batch_size '10');" => qr/^ERROR:  HV00D: /,
	"ALTER FOREIGN TABLE good ALTER COLUMN id OPTIONS (ADD table_name 'x');" => qr/^ERROR:  HV00D: /,
);
for my $statement (sort keys %wrong_options)
{
	like(run($statement), $wrong_options{$statement}, $statement);
}
is(run('SELECT count(*) FROM good;'), 10, 'the server is as it was');

# ---- nothing is left, and nothing was told

nothing_left('at the end', $sockets);
$ordinary->quit;
$session->quit;
ok( $far->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name LIKE 'pg_shuttle %'"),
	'no connection is left');
for my $secret ($password, $wrong)
{
	unlike($everything_said, qr/$secret/, 'no message tells a password');
	for my $log ($node->logfile, $far->logfile)
	{
		my @lines = grep { /$secret/ } split /\n/, slurp_file($log);
		is("@lines", '', 'no log tells a password');
	}
}

$node->stop;
$far->stop;
done_testing();
