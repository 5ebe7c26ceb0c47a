# trap 33: more nodes at work than are cancelled at once, inside a savepoint. What was
# done before it stays, also where telling them all takes longer than one of them may be silent.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleProxy;
use ShuttleSession;

my $nnodes = 140;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf',
	"session_preload_libraries = 'pg_shuttle'\nmax_connections = 170\nmax_prepared_transactions = 170\nshuttle.enable_row_counts = off");	# they have connections of their own
$node->start;
my $proxy = ShuttleProxy->new($node);
my $port = $proxy->port;
$node->safe_psql('postgres', 'CREATE DATABASE far');
$node->safe_psql('far', q{
	CREATE TABLE written (id int);
	CREATE FUNCTION nap() RETURNS int LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN 1; END';
	CREATE VIEW slow AS SELECT nap() AS id;
});
$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE TABLE written (id int) PARTITION BY LIST (id);
	CREATE TABLE slow (id int);
	DO \$\$ BEGIN FOR i IN 1 .. $nnodes LOOP
		EXECUTE format('CREATE SERVER s%s FOREIGN DATA WRAPPER shuttle OPTIONS (host %L, port %L, dbname %L)', i, '127.0.0.1', '$port', 'far');
		EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER s%s', i);
		EXECUTE format('CREATE FOREIGN TABLE written%1\$s PARTITION OF written FOR VALUES IN (%1\$s) SERVER s%1\$s OPTIONS (table_name %2\$L)', i, 'written');
		EXECUTE format('CREATE FOREIGN TABLE slow%1\$s () INHERITS (slow) SERVER s%1\$s OPTIONS (table_name %2\$L)', i, 'slow');
	END LOOP; END \$\$});

my $session = ShuttleSession->new($node, 'postgres');
$session->run("BEGIN; INSERT INTO written SELECT generate_series(1, $nnodes); SAVEPOINT s;");
$session->send('SELECT count(*) FROM slow;');
ok($node->poll_query_until('postgres', "SELECT count(*) = $nnodes FROM pg_stat_activity WHERE wait_event = 'PgSleep'"), 'all nodes are at work');
$proxy->delay_ms(500);
$node->safe_psql('postgres', "SELECT pg_cancel_backend(@{[ $session->pid ]})");
my ($out, $err) = $session->result;
$proxy->delay_ms(0);
like($err, qr/^ERROR:  57014/m, 'a read of all nodes is cancelled');
($out, $err) = $session->run('ROLLBACK TO s; SELECT count(DISTINCT id) FROM written;');
is("$out$err", $nnodes, 'what was written before the savepoint is there');
($out, $err) = $session->run("INSERT INTO written SELECT generate_series(1, $nnodes); COMMIT;");
is("$out$err", '', 'the transaction commits');
is($node->safe_psql('far', 'SELECT count(*) FROM written'), 2 * $nnodes, 'on all nodes');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'}), 0, 'no node works on');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'), 0, 'nothing is left prepared');
$session->quit;

done_testing();
