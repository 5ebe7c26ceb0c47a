# Recovery lists what a node has prepared, and a session finishes its transaction before recovery looks whether it is
# still at work: recovery does not ask the node for what is no longer there.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttlePoints;
use ShuttleSession;

my $query = PostgreSQL::Test::Cluster->new('query');
$query->init;
$query->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nshuttle.recovery_interval = 3600");
$query->start;
my $far = PostgreSQL::Test::Cluster->new('far');
$far->init;
$far->append_conf('postgresql.conf', 'max_prepared_transactions = 5');
$far->start;
my $user = $query->safe_psql('postgres', 'SELECT current_user');
$query->safe_psql('postgres', 'CREATE EXTENSION pg_shuttle CASCADE; CREATE TABLE here (v int)');
for my $name (qw(one two))
{
	$far->safe_psql('postgres', "CREATE DATABASE $name");
	$far->safe_psql($name, 'CREATE TABLE t (v int)');
	$query->safe_psql('postgres', qq{
		CREATE SERVER $name FOREIGN DATA WRAPPER shuttle OPTIONS (host '@{[ $far->host ]}', port '@{[ $far->port ]}', dbname '$name');
		CREATE USER MAPPING FOR PUBLIC SERVER $name OPTIONS (user '$user');
		CREATE FOREIGN TABLE $name (v int) SERVER $name OPTIONS (table_name 't');
	});
}

my $points = ShuttlePoints->new($query);
plan skip_all => 'the server has no points to stop at' unless defined $points;
my $session = ShuttleSession->new($query, 'postgres');
my $recovery = ShuttleSession->new($query, 'postgres');
$session->run('BEGIN; INSERT INTO one VALUES (1); INSERT INTO two VALUES (1);');
$points->arm('prepared');
$session->send('COMMIT;');
ok($points->reached('prepared', $session->pid), 'a transaction is prepared');
$points->arm('prepared-listed');
$recovery->send('SELECT * FROM shuttle.recover();');
ok($points->reached('prepared-listed', $recovery->pid), 'recovery has listed it');
$points->release('prepared');
is(($session->result)[1], '', 'it is committed meanwhile');
$session->quit;
$points->release('prepared-listed');
my ($out, $err) = $recovery->result;
is($err, '', 'recovery ends');
is($far->safe_psql($_, 'SELECT count(*) FROM t'), 1, "the row is on $_") for qw(one two);
unlike(slurp_file($far->logfile), qr/prepared transaction .* does not exist/, 'no node was asked for what it no longer has');
$recovery->run('SELECT * FROM shuttle.recover();');
is($query->safe_psql('postgres', 'SELECT count(*) FROM shuttle.commit_records'), 0, 'the record is forgotten by the next one');
$recovery->quit;
done_testing();
