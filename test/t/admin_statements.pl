# What statistics of statements and logs of statements show: on the query node
# what they show for local plans, on a node few texts, however many keys and rows
# a batch has and however many transactions there are.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my %cluster;
for my $name ('query', 'node')
{
	my $cluster = $cluster{$name} = PostgreSQL::Test::Cluster->new($name);
	$cluster->init;
	$cluster->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_stat_statements, pg_shuttle'
pg_stat_statements.track = top
log_min_duration_statement = 0
log_statement = 'none'
log_line_prefix = '%p <%a> '
autovacuum = off
fsync = off
});
	$cluster->start;
	$cluster->safe_psql('postgres', 'CREATE EXTENSION pg_stat_statements');
}
my ($query, $node) = @cluster{ 'query', 'node' };
$node->safe_psql('postgres', q{
	CREATE TABLE item AS SELECT i AS id, i % 10 AS ten, 'item ' || i AS name FROM generate_series(1, 5000) i;
	ALTER TABLE item ADD PRIMARY KEY (id);
	CREATE TABLE note (id int, name text);
	ANALYZE item;
});
my ($host, $port) = ($node->host, $node->port);
my $user = $node->safe_psql('postgres', 'SELECT current_user');
$query->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE SERVER far FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user '$user');
	IMPORT FOREIGN SCHEMA public LIMIT TO (item, note) FROM SERVER far INTO public;
	CREATE TABLE key AS SELECT i AS n, i * 7 % 5000 + 1 AS id FROM generate_series(1, 4000) i;
	ANALYZE key;
	SELECT * FROM shuttle.analyze();
});

# In one session, with fresh numbers on both sides.
sub run_counted
{
	my @sql = @_;
	$_->safe_psql('postgres', 'SELECT pg_stat_statements_reset()') for $query, $node;
	return $query->safe_psql('postgres', join(";\n", 'SET shuttle.debug_force_batched_join = on', @sql));
}

sub statements
{
	my ($cluster, $like) = @_;
	return $cluster->safe_psql('postgres',
		"SELECT count(*), sum(calls), sum(rows) FROM pg_stat_statements WHERE query LIKE '$like'");
}

# ---- the query node

my $join = 'SELECT i.name FROM (SELECT * FROM key WHERE n <= %d) k LEFT JOIN item i ON i.id = k.id';
my @ways = map { "SET $_" } 'shuttle.batch_size = 1', 'shuttle.batch_size = 7',
	'shuttle.batch_size = 1024', 'shuttle.enable_batched_join = off';
run_counted(map { ($_, sprintf($join, 10), sprintf($join, 30)) } @ways);
is(statements($query, 'SELECT i.name%'), '1|8|160', 'one entry, whether a join is batched or not');

my %identifier;
for my $setting (@ways)
{
	for my $session (1, 2)
	{
		my $plan = $query->safe_psql('postgres', "SET compute_query_id = on; $setting; EXPLAIN (VERBOSE) " . sprintf($join, 5));
		$identifier{ $plan =~ /Query Identifier: (-?\d+)/ ? $1 : $plan } = 1;
	}
}
is(scalar keys %identifier, 1, 'one query identifier');
is($query->safe_psql('postgres', q{SELECT queryid FROM pg_stat_statements WHERE query LIKE 'SELECT i.name%'}),
	join(',', keys %identifier), 'which is that of pg_stat_statements');

run_counted('INSERT INTO note SELECT id, name FROM item WHERE id <= 700', q{UPDATE note SET name = 'x' WHERE id <= 600},
	q{UPDATE note SET name = 'y ' || random() WHERE id <= 500}, 'DELETE FROM note USING key WHERE note.id = key.id AND random() >= 0');
is(statements($query, 'INSERT INTO note%'), '1|1|700', 'rows of INSERT');
is(statements($query, 'UPDATE note%'), '2|2|1100', 'rows of UPDATE');
is(statements($query, 'DELETE FROM note%') =~ s/\|\d+$//r, '1|1', 'DELETE');
is(statements($query, '%unnest%'), '0||', 'nothing that the query node sends');

# ---- the node

run_counted(map { sprintf($join, $_) } 1, 2, 3, 10, 100, 1025, 4000);
is(statements($node, '%shuttle_keys%') =~ s/\|.*//r, '2', 'one text for batches of all sizes, one for a single key');
run_counted(map { ("SET shuttle.request_limit = $_", sprintf($join, 4 * $_)) } 1, 2, 7, 100);
is(statements($node, '%shuttle_keys%') =~ s/\|.*//r, '2', 'and for requests of all sizes, and of one key');
run_counted(map { "UPDATE note SET name = id::text || random() WHERE id <= $_" } 2, 3, 5, 40, 700);
cmp_ok((split /\|/, statements($node, 'UPDATE%'))[0], '<=', 2, 'two for rows that are updated, one by one and together');

# Neither transactions nor timeouts have texts of their own.
sub entries_of_transactions
{
	my ($ntransactions) = @_;
	run_counted((q{SET statement_timeout = '10min'}, q{SET lock_timeout = '9min'}, 'SELECT name FROM item WHERE id = 3',
			q{INSERT INTO note VALUES (1, 'a')}) x $ntransactions);
	return $node->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_statements');
}
my $few = entries_of_transactions(3);
is(entries_of_transactions(30), $few, 'no more entries for more transactions');

# ---- logs

sub log_of
{
	my ($cluster, $offset) = @_;
	return slurp_file($cluster->logfile, $offset);
}

my %offset = map { $_ => -s $cluster{$_}->logfile } keys %cluster;
my ($pid) = split /\n/, $query->safe_psql('postgres',
	"SELECT pg_backend_pid(); SET shuttle.debug_force_batched_join = on; " . sprintf($join, 123));
my $log = log_of($query, $offset{query});
my @logged = $log =~ /^$pid <\S+> LOG:  duration: [\d.]+ ms  statement: .*SELECT i\.name FROM/mg;
is(scalar @logged, 1, 'the query node logs the statement once');
unlike($log, qr/shuttle_keys/, 'and not what it sends');
like(log_of($node, $offset{node}),
	qr/<pg_shuttle [0-9a-f]{16}:$pid \d+\/\d+> LOG:  duration: [\d.]+ ms  execute [^:]+: SELECT (?:(?!LOG:).)*shuttle_keys(?:(?!LOG:).)*parameters: \$1 = '\{/si,
	'the node logs what was sent, with the session behind it');
$query->safe_psql('postgres', q{SET log_min_duration_statement = '1h'; SELECT name FROM item WHERE id = 77});
unlike(log_of($query, $offset{query}), qr/WHERE id = 77/, 'a threshold of the query node');
like(log_of($node, $offset{node}), qr/LOG:  duration: [\d.]+ ms  execute [^:]+: (?:(?!LOG:).)*id = 77/s, 'is not the node\'s');

$_->stop for $query, $node;
done_testing();
