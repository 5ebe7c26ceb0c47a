# Storage nodes follow CREATE, RENAME and DROP DATABASE, and roles; what they did not
# get from this server is left alone, and a failure leaves nothing behind.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleSession;

sub start
{
	my ($name, $settings) = @_;
	my $server = PostgreSQL::Test::Cluster->new($name);

	$server->init;
	$server->append_conf('postgresql.conf', "max_prepared_transactions = 5\n$settings");
	$server->start;
	return $server;
}

my $here = start('main', "shared_preload_libraries = 'pg_shuttle'\nshuttle.follow_databases = on\nshuttle.follow_roles = on");
my @nodes = map { start("n$_", 'log_statement = ddl') } 1 .. 2;
my $user = $here->safe_psql('postgres', 'SELECT current_user');

# Both databases of this server: where statements are run, and the one that is copied.
sub add_nodes
{
	my ($database) = @_;

	$here->safe_psql($database, 'CREATE EXTENSION pg_shuttle CASCADE');
	for my $node (@nodes)
	{
		my $name = $node->name;

		$here->safe_psql($database, qq{
			CREATE SERVER $name FOREIGN DATA WRAPPER shuttle OPTIONS (host '@{[ $node->host ]}', port '@{[ $node->port ]}', shuttle_same_database 'true');
			CREATE USER MAPPING FOR PUBLIC SERVER $name OPTIONS (user '$user', password_required 'false');
			SELECT shuttle.use_node('$name');
		});
	}
	return;
}
add_nodes($_) for ('postgres', 'template1');

# What each node returns.
sub on_nodes
{
	my ($sql, $database) = @_;

	return join ' ', map { $_->safe_psql($database // 'postgres', $sql) } @nodes;
}

sub has_database
{
	my ($name) = @_;

	return on_nodes("SELECT count(*) FROM pg_database WHERE datname = '$name'");
}

# Fails, with that text; returns all of it.
sub fails
{
	my ($sql, $like, $name) = @_;
	my ($code, undef, $error) = $here->psql('postgres', $sql, on_error_stop => 1);

	isnt($code, 0, "$name fails");
	like($error, $like, "$name: the message");
	return $error;
}

# ---- databases

$here->safe_psql('postgres', q{CREATE ROLE "tpcc owner" LOGIN; CREATE DATABASE shop OWNER "tpcc owner" ENCODING 'UTF8' TEMPLATE template0});
is(has_database('shop'), '1 1', 'CREATE DATABASE with a locale of its own');
$here->safe_psql('postgres', 'DROP DATABASE shop');
is(has_database('shop'), '0 0', 'DROP DATABASE');

$here->safe_psql('postgres', 'CREATE DATABASE "Shop 1" OWNER "tpcc owner"');
is($here->safe_psql('Shop 1', q{
	GRANT USAGE ON FOREIGN SERVER n1, n2 TO "tpcc owner";
	SET SESSION AUTHORIZATION "tpcc owner";
	CREATE SCHEMA s;
	CREATE TABLE s.t (id int PRIMARY KEY, n int);
	SELECT shuttle.distribute_table('s.t', 'id');
	INSERT INTO s.t SELECT i, i FROM generate_series(1, 100) AS i;
	SELECT count(*), sum(n) FROM s.t;
}) =~ s/.*\n//sr, '100|5050', 'a copy of template1 has nodes, each with a database of its name');
is(on_nodes('SELECT count(*) > 10 FROM s.t', 'Shop 1'), 't t', 'the rows are there');
is($here->safe_psql('Shop 1', 'SELECT * FROM shuttle.check()'), '', 'check()');

$here->safe_psql('postgres', 'BEGIN; ALTER DATABASE "Shop 1" RENAME TO gone; ROLLBACK');
is(has_database('Shop 1'), '1 1', 'RENAME that is rolled back');
$here->safe_psql('postgres', 'ALTER DATABASE "Shop 1" RENAME TO shop2');
is(has_database('shop2'), '1 1', 'RENAME');
is($here->safe_psql('shop2', 'SELECT count(*) FROM s.t'), '100', 'the renamed database has its rows');

# a failure here, on a node, and of a node that has the name
fails('CREATE DATABASE shop3 TABLESPACE nowhere', qr/tablespace "nowhere" does not exist/, 'a failure here');
is(has_database('shop3'), '0 0', 'nothing is left of it');
$nodes[1]->safe_psql('postgres', 'CREATE DATABASE shop3; CREATE ROLE stranger; CREATE DATABASE shop4');
fails('CREATE DATABASE shop3', qr/database "shop3" already exists on storage node "n2"/, 'a name that a node has');
is(has_database('shop3'), '0 1', 'it is created nowhere');
is($here->safe_psql('postgres', "SELECT count(*) FROM pg_database WHERE datname = 'shop3'"), '0', 'nor here');
$nodes[1]->safe_psql('postgres', 'ALTER DATABASE template0 ALLOW_CONNECTIONS true');
my $open = ShuttleSession->new($nodes[1], 'template0');
fails('CREATE DATABASE shop5', qr/storage node "n2".*source database "template0" is being accessed/, 'a failure of a node');
is(has_database('shop5'), '0 0', 'the other node has dropped it again');
$open->quit;
fails('BEGIN; CREATE DATABASE shop5', qr/cannot run inside a transaction block/, 'in a block');
fails('CREATE ROLE maker; SET SESSION AUTHORIZATION maker; CREATE DATABASE shop5',
	qr/permission denied to create database/, 'without the right');
is(has_database('shop5'), '0 0', 'nodes were not asked');

# what a node did not get from here
$here->safe_psql('postgres', 'SET shuttle.follow_databases = off; CREATE DATABASE shop4');
my ($code, undef, $error) = $here->psql('postgres', 'DROP DATABASE shop4');
is($code, 0, 'DROP of a database that is not followed');
like($error, qr/storage node "n2" keeps its database "shop4"/, 'a notice says so');
is(has_database('shop4'), '0 1', 'the node keeps it');

# a node that is away
$nodes[1]->stop;
fails('CREATE DATABASE shop5', qr/CREATE DATABASE on storage node "n2" failed/, 'CREATE with a node away');
fails('DROP DATABASE shop2', qr/DROP DATABASE on storage node "n2" failed/, 'DROP with a node away');
fails('CREATE ROLE nobody', qr/n2/, 'CREATE ROLE with a node away');
$nodes[1]->start;
is(has_database('shop5'), '0 0', 'nothing was created');
is($here->safe_psql('shop2', 'SELECT count(*) FROM s.t'), '100', 'nothing was dropped');

# somebody uses it on a node only
$open = ShuttleSession->new($nodes[1], 'shop2');
($code, undef, $error) = $here->psql('postgres', 'DROP DATABASE shop2');
like($error, qr/database "shop2" is left on storage node "n2"/, 'what is left is named');
is(has_database('shop2'), '0 1', 'and the other node has dropped it');
$open->quit;
$here->safe_psql('postgres', q{SELECT * FROM shuttle.run_on_nodes('DROP DATABASE shop2', '{n2}')});
$here->safe_psql('postgres', 'CREATE DATABASE shop2; DROP DATABASE shop2 WITH (FORCE)');
is(has_database('shop2'), '0 0', 'the name can be used again');

# ---- roles

my $attributes = q{SELECT rolcanlogin, rolcreatedb, rolsuper, rolconnlimit, rolvaliduntil = '2030-01-02 03:04:05+00' FROM pg_roles WHERE rolname = 'app'};
my $verifier = q{SELECT rolpassword FROM pg_authid WHERE rolname = 'app'};

$here->safe_psql('postgres', q{CREATE ROLE app LOGIN CREATEDB SUPERUSER CONNECTION LIMIT 7 PASSWORD 'secret one' VALID UNTIL '2030-01-02 03:04:05+00'});
is(on_nodes($attributes), 't|t|t|7|t t|t|t|7|t', 'CREATE ROLE');
my $stored = $here->safe_psql('postgres', $verifier);
like($stored, qr/^SCRAM-SHA-256/, 'the password is stored as a verifier');
is(on_nodes($verifier), "$stored $stored", 'nodes have the same one');
$here->safe_psql('postgres', q{DO $$ BEGIN ALTER ROLE app NOCREATEDB NOSUPERUSER PASSWORD 'secret two'; END $$});
is(on_nodes($attributes), 't|f|f|7|t t|f|f|7|t', 'ALTER ROLE in a DO block');
$stored = $here->safe_psql('postgres', $verifier);
is(on_nodes($verifier), "$stored $stored", 'with the new password');
$here->safe_psql('postgres', q{SET SESSION AUTHORIZATION app; ALTER ROLE CURRENT_USER PASSWORD NULL});
is(on_nodes("SELECT rolpassword IS NULL FROM pg_authid WHERE rolname = 'app'"), 't t', 'a role takes its own password away');

# transactions
$here->safe_psql('postgres', q{BEGIN; CREATE ROLE lost; SAVEPOINT s; ALTER ROLE app CREATEDB; ROLLBACK TO s; CREATE ROLE lost2; ROLLBACK});
is(on_nodes("SELECT count(*) FROM pg_roles WHERE rolname LIKE 'lost%' OR rolname = 'app' AND rolcreatedb"), '0 0', 'rolled back');
$here->safe_psql('postgres', q{BEGIN; CREATE ROLE kept; SAVEPOINT s; CREATE ROLE lost; ROLLBACK TO s; ALTER ROLE kept LOGIN; COMMIT});
is(on_nodes("SELECT string_agg(rolname || rolcanlogin, ',') FROM pg_roles WHERE rolname IN ('kept', 'lost')"), 'kepttrue kepttrue', 'a savepoint');

# memberships
my $members = q{SELECT string_agg(format('%s>%s%s', roleid::regrole, member::regrole, CASE WHEN admin_option THEN '*' END), ',' ORDER BY roleid::regrole::text, member::regrole::text)
	FROM pg_auth_members WHERE member IN ('app'::regrole, 'kept'::regrole)};
$here->safe_psql('postgres', q{CREATE ROLE team ROLE kept; GRANT team, pg_monitor TO app WITH ADMIN OPTION; CREATE ROLE boss IN ROLE team ADMIN app});
is(on_nodes($members), join(' ', ('boss>app*,pg_monitor>app*,team>app*,team>kept') x 2), 'GRANT of roles');
$here->safe_psql('postgres', q{REVOKE ADMIN OPTION FOR team FROM app; REVOKE pg_monitor FROM app; ALTER GROUP team DROP USER kept});
is(on_nodes($members), 'boss>app*,team>app boss>app*,team>app', 'REVOKE of roles');

# a role that only has the name
$here->safe_psql('postgres', q{SET shuttle.follow_roles = off; CREATE ROLE stranger});
$here->safe_psql('postgres', q{ALTER ROLE stranger SUPERUSER PASSWORD 'secret three'; GRANT stranger TO app});
is($nodes[1]->safe_psql('postgres', "SELECT rolsuper, rolpassword IS NULL FROM pg_authid WHERE rolname = 'stranger'"), 'f|t', 'it is left alone');
$here->safe_psql('postgres', 'DROP ROLE stranger');
is(on_nodes("SELECT count(*) FROM pg_roles WHERE rolname = 'stranger'"), '0 1', 'and not dropped');
$error = fails(q{CREATE ROLE stranger PASSWORD 'secret four'}, qr/role "stranger" already exists \(on storage node "n2"\)/, 'CREATE ROLE of a name that a node has');
is($here->safe_psql('postgres', "SELECT count(*) FROM pg_roles WHERE rolname = 'stranger'"), '0', 'nobody has created it');
unlike($error, qr/SCRAM|secret/, 'no password in the message');

# a role that has something on a node
$nodes[1]->safe_psql('postgres', 'SET ROLE kept; CREATE TEMP TABLE x (); RESET ROLE; CREATE TABLE theirs (); ALTER TABLE theirs OWNER TO kept');
fails('DROP ROLE kept', qr/cannot be dropped.*\(on storage node "n2"\)/, 'DROP ROLE of an owner');
$nodes[1]->safe_psql('postgres', 'DROP TABLE theirs');
$here->safe_psql('postgres', 'ALTER ROLE kept RENAME TO kept2');
$here->safe_psql('postgres', 'DROP ROLE IF EXISTS kept2, nobody');
is(on_nodes("SELECT count(*) FROM pg_roles WHERE rolname LIKE 'kept%'"), '0 0', 'RENAME and DROP ROLE');

# the remote user lacks the right
$_->safe_psql('postgres', 'CREATE ROLE weak LOGIN') for @nodes;
$here->safe_psql('postgres', "ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (SET user 'weak')");
$error = fails(q{CREATE ROLE late PASSWORD 'secret five'}, qr/permission denied to create role.*storage node "n1"/, 'a remote user without CREATEROLE');
like($error, qr/HINT:.*remote user of storage node "n1"/, 'the hint');
is(on_nodes("SELECT count(*) FROM pg_roles WHERE rolname = 'late'"), '0 0', 'nobody has created it');
$_->safe_psql('postgres', 'ALTER ROLE weak CREATEROLE') for @nodes;
$here->safe_psql('postgres', q{CREATE ROLE late LOGIN PASSWORD 'secret five'; ALTER ROLE late CONNECTION LIMIT 3; CREATE ROLE late2 IN ROLE late});
is(on_nodes("SELECT rolcanlogin, rolconnlimit FROM pg_roles WHERE rolname = 'late'"), 't|3 t|3', 'with CREATEROLE it can');
$here->safe_psql('postgres', 'DROP ROLE late, late2');

for my $server (@nodes)
{
	my $log = slurp_file($server->logfile);

	unlike($log, qr/secret (one|two|three|four|five)/, 'no password in the log of ' . $server->name);
	unlike($log, qr/SCRAM-SHA-256\$/, 'nor a verifier');
}

# ---- databases without nodes
$here->safe_psql('postgres', 'SET shuttle.follow_databases = off; CREATE DATABASE plain TEMPLATE template0');
($code, undef, $error) = $here->psql('plain', 'CREATE ROLE alone; DROP ROLE alone');
like($error, qr/CREATE ROLE was run on this server only/, 'a notice without nodes');

done_testing();
