# Several hosts in one server, with target_session_attrs: the session follows the
# primary of a cluster when its standby is promoted, without a proxy.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleSession;

my $first = PostgreSQL::Test::Cluster->new('first');
$first->init(allows_streaming => 1);
$first->append_conf('postgresql.conf', "cluster_name = 'first'");
$first->start;
$first->safe_psql('postgres', 'CREATE TABLE numbers AS SELECT i AS id FROM generate_series(1, 1000) i; CREATE TABLE written (id int PRIMARY KEY);
	CREATE VIEW which AS SELECT current_setting($$cluster_name$$) AS name');
$first->backup('copy');
my $second = PostgreSQL::Test::Cluster->new('second');
$second->init_from_backup($first, 'copy', has_streaming => 1);
$second->append_conf('postgresql.conf', "cluster_name = 'second'");
$second->start;
$first->wait_for_catchup($second, 'replay');

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "session_preload_libraries = 'pg_shuttle'\nshuttle.failover_wait = '500ms'");
$node->start;
my $user = $node->safe_psql('postgres', 'SELECT current_user');
my $hosts = join ',', $second->host, $first->host;
my $ports = join ',', $second->port, $first->port;
for my $kind ('read-write', 'standby', 'any')
{
	my $name = 'far_' . ($kind =~ tr/-/_/r);
	$node->safe_psql('postgres', qq{
		CREATE EXTENSION IF NOT EXISTS pg_shuttle CASCADE;
		CREATE SERVER $name FOREIGN DATA WRAPPER shuttle
			OPTIONS (host '$hosts', port '$ports', dbname 'postgres', target_session_attrs '$kind', connect_timeout '5');
		CREATE USER MAPPING FOR CURRENT_USER SERVER $name OPTIONS (user '$user');
		CREATE FOREIGN TABLE which_$name (name text) SERVER $name OPTIONS (table_name 'which');
	});
}
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE numbers (id int) SERVER far_read_write;
	CREATE FOREIGN TABLE written (id int) SERVER far_read_write;});

my $session = ShuttleSession->new($node, 'postgres');

sub one
{
	my $sql = shift;
	my ($out, $err) = $session->run($sql);
	return $err eq '' ? $out : "$out$err";
}

is(one('SELECT name FROM which_far_read_write;'), 'first', 'read-write: the primary, which is named last');
is(one('SELECT name FROM which_far_standby;'), 'second', 'standby: the other one');
is(one('SELECT name FROM which_far_any;'), 'second', 'any: the one that is named first');
is(one('INSERT INTO written VALUES (1) RETURNING id;'), 1, 'written');
$first->wait_for_catchup($second, 'replay');

# The primary goes, in the middle of a transaction, and the standby takes over.
one('BEGIN; INSERT INTO written VALUES (2);');
$first->stop('immediate');
$second->promote;
like(one('SELECT count(*) FROM numbers;'), qr/^ERROR:  08006: connection to storage node "far_read_write" was lost/, 'the transaction is lost');
is(one('ROLLBACK; SELECT count(*) FROM numbers;'), 1000, 'the next one goes on');
is(one('SELECT name FROM which_far_read_write;'), 'second', 'on the new primary');
is(one('INSERT INTO written VALUES (2) RETURNING id;'), 2, 'and writes there');
is($second->safe_psql('postgres', 'SELECT array_agg(id ORDER BY id) FROM written'), '{1,2}', 'each row once');

# Both are gone: an error that names the server, and no hanging.
$second->stop('immediate');
like(one('SELECT count(*) FROM numbers;'), qr/^ERROR:  08\d\d\d: /, 'nobody is there');
$second->start;
is(one('SELECT count(*) FROM numbers;'), 1000, 'and there again');

$session->quit;
$_->stop for $node, $second;
done_testing();
