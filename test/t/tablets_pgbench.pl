# pgbench makes and loads its tables on nodes, by shuttle.auto_distribute alone, and its
# TPC-B runs with each protocol.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nmax_prepared_transactions = 50\nwal_level = replica");
$node->start;
my ($host, $port) = ($node->host, $node->port);
my $user = $node->safe_psql('postgres', 'SELECT current_user');

$node->safe_psql('postgres', "CREATE DATABASE $_") for qw(bank n1 n2);
$node->safe_psql('bank', 'CREATE EXTENSION pg_shuttle CASCADE');
$node->safe_psql('bank', qq{
	CREATE SERVER $_ FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname '$_');
	CREATE USER MAPPING FOR PUBLIC SERVER $_ OPTIONS (user '$user');
	SELECT shuttle.use_node('$_');
}) for qw(n1 n2);
$node->safe_psql('postgres', q{
	ALTER DATABASE bank SET shuttle.auto_distribute = 'aid, tid, bid';
	ALTER DATABASE bank SET shuttle.tablets = 4;
});

sub pgbench
{
	my ($label, @options) = @_;
	my ($out, $error) = run_command([ 'pgbench', '-h', $host, '-p', $port, @options, 'bank' ]);
	is($? >> 8, 0, "$label: exit code") or diag($error);
	unlike($error, qr/error|abort/i, "$label: no failure") or diag($error);
	return $out;
}

my $scale;
my $kinds = q{SELECT string_agg(relation::text, ' ' ORDER BY relation::text) FROM shuttle.tables WHERE kind = 'distributed'};
my $counts = q{SELECT (SELECT count(*) FROM pgbench_accounts), (SELECT count(*) FROM pgbench_tellers), (SELECT count(*) FROM pgbench_branches)};
for my $way ('server', 'client')
{
	$scale = $way eq 'client' ? 10 : 1;
	pgbench("-i, rows of the $way", '-i', '-q', '-s', $scale, $way eq 'server' ? ('-I', 'dtGvp') : ());
	is($node->safe_psql('bank', $kinds), 'pgbench_accounts pgbench_branches pgbench_history pgbench_tellers', "$way: tables are distributed");
	is($node->safe_psql('bank', $counts), join('|', map { $_ * $scale } 100_000, 10, 1), "$way: rows");
}
is($node->safe_psql('bank', q{SELECT count(*) FROM pg_constraint WHERE contype = 'p' AND conrelid::regclass::text LIKE 'pgbench%'}),
	'3', 'primary keys');

# history is emptied by each run unless it is told not to
my $sums = q{SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history)
	AND (SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT sum(delta) FROM pgbench_history)
	AND (SELECT sum(bbalance) FROM pgbench_branches) = (SELECT sum(delta) FROM pgbench_history),
	(SELECT count(*) FROM pgbench_history)};
my $ntransactions = 0;
for my $protocol (qw(simple extended prepared))
{
	my $out = pgbench($protocol, '-M', $protocol, '-c', 8, '-t', 25, $ntransactions == 0 ? () : '-n');
	like($out, qr/number of failed transactions: 0 /, "$protocol: no failed transaction");
	$ntransactions += 200;
	is($node->safe_psql('bank', $sums), "t|$ntransactions", "$protocol: sums are equal");
}
is($node->safe_psql('bank', 'SELECT * FROM shuttle.check()'), '', 'check');

# foreign keys relate rows of different nodes
my (undef, $error) = run_command([ 'pgbench', '-h', $host, '-p', $port, '-i', '-q', '--foreign-keys', 'bank' ]);
like($error, qr/creating foreign keys/, '--foreign-keys');
like(pgbench('with foreign keys', '-c', 4, '-t', 25), qr/number of failed transactions: 0 /, 'with foreign keys: no failed transaction');
is($node->safe_psql('bank', 'SELECT count(*) FROM pgbench_history'), '100', 'with foreign keys: all is there');
is($node->safe_psql('bank', 'SELECT * FROM shuttle.check()'), '', 'with foreign keys: check');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'), '0', 'no prepared transaction is left');
done_testing();
