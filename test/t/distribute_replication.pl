# Logical replication: a subscription writes into reference tables and their copies, and a publication
# has the changes of these. Distributed tables can do neither, and it is said.
use strict;
use warnings;

use Test::More;

use ShuttleCommit;

my $conf = "wal_level = logical\nmax_wal_senders = 10\nmax_replication_slots = 10\nmax_logical_replication_workers = 10\nmax_worker_processes = 20\nwal_retrieve_retry_interval = 200ms\n";
my $cluster = ShuttleCommit->new(2, conf => $conf);
my ($query, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });
my $far = ShuttleCommit::start_node('far', $conf);
my $tables = 'CREATE TABLE kept (id int PRIMARY KEY, v int); CREATE TABLE spread (id int PRIMARY KEY, v int); CREATE TABLE copied (id int PRIMARY KEY, v int); CREATE TABLE back (id int PRIMARY KEY, v int)';

$query->safe_psql('postgres', "DROP USER MAPPING FOR CURRENT_USER SERVER $_; CREATE USER MAPPING FOR PUBLIC SERVER $_; SELECT shuttle.use_node('$_')") for qw(node1 node2);
$_->safe_psql('postgres', $tables) for $query, $far;
$far->safe_psql('postgres', 'INSERT INTO copied SELECT i, i FROM generate_series(1, 10) AS i; INSERT INTO kept SELECT * FROM copied; CREATE PUBLICATION p FOR TABLE kept, spread, copied');
$query->safe_psql('postgres', q{SELECT shuttle.distribute_table('spread', 'id', 2); SELECT shuttle.reference_table('copied'); SELECT shuttle.reference_table('back'); CREATE PUBLICATION q FOR TABLE back});

# ---- a publication of all tables says which ones it does not carry

my (undef, undef, $said) = $query->psql('postgres', 'CREATE PUBLICATION everything FOR ALL TABLES');
like($said, qr/WARNING:  publication everything has no changes of distributed tables\nDETAIL:  Their rows are written on storage nodes: public\.spread\.\nHINT/, 'all tables');
(undef, undef, $said) = $query->psql('postgres', 'DROP PUBLICATION everything');
is($said, '', 'nothing to say');

# ---- a subscription of all three

my $far_conninfo = $far->connstr . ' dbname=postgres';
my ($rc, undef, $err) = $query->psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '$far_conninfo' PUBLICATION p");
is($rc, 0, 'the subscription is made');
like($err, qr/WARNING:  subscription s cannot write into distributed tables\nDETAIL:  Their rows are on storage nodes: public\.spread\.\nHINT/, 'and names the distributed table');

(undef, undef, $err) = $query->psql('postgres', q{SELECT shuttle.distribute_table('kept', 'id', 2)});
like($err, qr/ERROR:  cannot distribute table "kept" that subscription "s" writes\nHINT/, 'a table that it writes stays here');

sub becomes
{
	my ($server, $sql, $label) = @_;
	ok($server->poll_query_until('postgres', $sql), $label);
	return;
}

becomes($query, 'SELECT count(*) = 10 FROM kept', 'rows of the table here');
becomes($query, 'SELECT count(*) = 10 FROM copied', 'rows of the reference table');
becomes($query, q{SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel}, 'all is synchronized');
$far->safe_psql('postgres', 'UPDATE copied SET v = v + 100 WHERE id < 4; DELETE FROM copied WHERE id = 9; INSERT INTO copied VALUES (20, 20); UPDATE copied SET id = 30 WHERE id = 5');
$far->safe_psql('postgres', 'TRUNCATE kept; INSERT INTO kept VALUES (1, 1)');
becomes($query, 'SELECT count(*) = 1 FROM kept', 'changes');
my $sum = $far->safe_psql('postgres', 'SELECT sum(id * 1000 + v) FROM copied');
is($_->safe_psql('postgres', 'SELECT sum(id * 1000 + v) FROM copied'), $sum, $_->name . ' has the rows of the reference table') for $query, @nodes;
is($query->safe_psql('postgres', 'SELECT count(*) FROM shuttle.check()'), '0', 'shuttle.check() finds nothing');

# ---- a publication of a reference table

my $query_conninfo = $query->connstr . ' dbname=postgres';
$far->safe_psql('postgres', "CREATE SUBSCRIPTION back CONNECTION '$query_conninfo' PUBLICATION q");
$query->safe_psql('postgres', 'INSERT INTO back SELECT i, i FROM generate_series(1, 5) AS i');
becomes($far, 'SELECT count(*) = 5 FROM back', 'changes of a reference table are published');

# ---- a change of the distributed table: the worker raises an error, nothing is half done

$far->safe_psql('postgres', 'INSERT INTO spread VALUES (1, 1)');
ok(eval { $query->wait_for_log(qr/logical replication cannot write into foreign table "spread_t\d"/, 0) }, 'the log says why');
is($query->safe_psql('postgres', 'SELECT count(*) FROM spread'), '0', 'no row');

# without it the subscription goes on
$far->safe_psql('postgres', 'ALTER PUBLICATION p DROP TABLE spread');
$query->safe_psql('postgres', q{SELECT shuttle.local_table('spread')});
becomes($query, 'SELECT count(*) = 1 FROM spread', 'a table that was brought back gets its changes');
$query->safe_psql('postgres', 'ALTER SUBSCRIPTION s REFRESH PUBLICATION');
$query->safe_psql('postgres', q{SELECT shuttle.distribute_table('spread', 'id', 2)});
is($query->safe_psql('postgres', 'SELECT count(*) FROM spread'), '1', 'a table that is not written any more is distributed');

$query->safe_psql('postgres', 'DROP SUBSCRIPTION s');
$far->safe_psql('postgres', 'DROP SUBSCRIPTION back');
$far->stop;
$cluster->stop;
done_testing();
