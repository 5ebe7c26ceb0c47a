# Partitions with a rule for each region: rebalance, drains and moves keep rows on the nodes of their
# region, and no file of another node has a byte of them.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleCommit;

my $cluster = ShuttleCommit->new(4, conf => "wal_level = logical\nmax_wal_senders = 10\nmax_replication_slots = 10\nmax_logical_replication_workers = 10\nmax_worker_processes = 20\nmax_sync_workers_per_subscription = 2\nwal_retrieve_retry_interval = 200ms\nlog_statement = all\n");
my ($query, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });
my @regions = qw(eu eu us us);

$query->safe_psql('postgres', qq{DROP USER MAPPING FOR CURRENT_USER SERVER node$_; CREATE USER MAPPING FOR PUBLIC SERVER node$_; DROP FOREIGN TABLE account$_;
	SELECT shuttle.use_node('node$_'); SELECT shuttle.set_labels('node$_', '{"region": "$regions[$_ - 1]", "node": "$_"}');}) for 1 .. 4;
$query->safe_psql('postgres', q{CREATE TABLE orders (id int, region text, note text, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
	CREATE TABLE orders_eu PARTITION OF orders FOR VALUES IN ('eu');
	CREATE TABLE orders_us PARTITION OF orders FOR VALUES IN ('us');
	SELECT shuttle.distribute_table('orders', 'id', 2);
	SELECT shuttle.place('orders_eu', 'region = eu'), shuttle.place('orders_us', 'region = us');
	CREATE TABLE member (id int PRIMARY KEY, mail text UNIQUE);
	SELECT shuttle.place('member', 'region = us'), shuttle.distribute_table('member', 'id', 2);
	INSERT INTO orders SELECT i, CASE i % 2 WHEN 0 THEN 'eu' ELSE 'us' END, 'secret_' || CASE i % 2 WHEN 0 THEN 'eu' ELSE 'us' END || i FROM generate_series(1, 400) AS i;
	INSERT INTO member SELECT i, 'secret_us' || i FROM generate_series(1, 40) AS i;});

sub spread { return $query->safe_psql('postgres', q{SELECT string_agg(DISTINCT format('%s %s', relation, node), ', ') FROM shuttle.tablets}); }

# Tables, indexes, WAL and logs of nodes that hold the word.
sub holders
{
	my ($word) = @_;
	$_->safe_psql('postgres', 'CHECKPOINT') for @nodes;
	my @holders = grep { my $node = $nodes[$_ - 1]; !system('grep', '-qra', $word, $node->data_dir, $node->logfile) } 1 .. 4;
	return "@holders";
}

sub refused
{
	my ($sql, $expected) = @_;
	my (undef, undef, $error) = $query->psql('postgres', $sql);
	like($error, $expected, "refused: $sql");
	return;
}

is(spread(), 'member node3, member node4, orders_eu node1, orders_eu node2, orders_us node3, orders_us node4, shuttle_indexes.member_mail_key_entries node3, shuttle_indexes.member_mail_key_entries node4', 'each region has its own');

# one node of a region takes all of it; the last one is not drained
is($query->safe_psql('postgres', q{CALL shuttle.drain_node('node2')}), '', 'a node is drained');
is($query->safe_psql('postgres', q{SELECT DISTINCT node FROM shuttle.tablets WHERE relation = 'orders_eu'::regclass}), 'node1', 'to the other one of its region');
refused(q{CALL shuttle.move_tablet('orders_eu_t0', 'node3')}, qr/may not lie on storage node "node3" by rule "region = eu" of table "orders_eu"/);
refused(q{CALL shuttle.split_tablet('orders_eu_t0', 'node4')}, qr/may not lie on storage node "node4" by rule "region = eu"/);
refused(q{SELECT shuttle.rebalance_plan('tablets', '{"node1": 0, "node2": 0}')}, qr/cannot leave storage node "node1" because of rule "region = eu" of table "orders_eu"\n.*node3 .*node4/);
is($query->safe_psql('postgres', q{CALL shuttle.rebalance('tablets'); SELECT count(DISTINCT node) FROM shuttle.tablets WHERE relation = 'orders_eu'::regclass}), '2', 'rebalance spreads over the nodes of the region');
is($query->safe_psql('postgres', q{SELECT node, problem FROM shuttle.check()}), '', 'check finds nothing');
is(holders('secret_eu'), '1 2', 'files of nodes in eu have its rows, no others');
is(holders('secret_us'), '3 4', 'and so with us');

# rows that are elsewhere when a rule comes are moved, and found until then
$query->safe_psql('postgres', q{SELECT shuttle.place('orders_us', 'node = 4')});
like($query->safe_psql('postgres', q{SELECT node, problem FROM shuttle.check()}), qr/^node3\|has tablets that may not lie there by rule "node = 4" of table "orders_us"$/, 'check finds what breaks a rule');
$query->safe_psql('postgres', 'CALL shuttle.tend()');
is($query->safe_psql('postgres', q{SELECT string_agg(DISTINCT node::text, ' ') FROM shuttle.tablets WHERE relation = 'orders_us'::regclass}), 'node4', 'tend moves it');
is($query->safe_psql('postgres', q{SELECT count(*), sum(id) FROM orders}), '400|80200', 'all rows are there');
is($query->safe_psql('postgres', q{SELECT node, problem FROM shuttle.check()}), '', 'nothing is found any more');
done_testing();
