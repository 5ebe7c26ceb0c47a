# Tablets of a table with global unique indexes, and those of the indexes' entries, move and are split while
# clients write: entries stay those of the rows.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleCommit;
use ShuttleWriters;

my $cluster = ShuttleCommit->new(3, conf => "wal_level = logical\nmax_wal_senders = 10\nmax_replication_slots = 10\nmax_logical_replication_workers = 10\nmax_worker_processes = 20\nmax_sync_workers_per_subscription = 2\nwal_retrieve_retry_interval = 200ms\n");
my ($query, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });

$query->safe_psql('postgres', qq{DROP USER MAPPING FOR CURRENT_USER SERVER node$_; CREATE USER MAPPING FOR PUBLIC SERVER node$_; SELECT shuttle.use_node('node$_');}) for 1 .. 3;
$query->safe_psql('postgres', q{
	CREATE SEQUENCE numbers START 1000;
	CREATE TABLE person (id int PRIMARY KEY, customer int, email text UNIQUE, n int);
	INSERT INTO person SELECT i, i % 20, 'p' || i, 0 FROM generate_series(1, 100) AS i;
	SELECT shuttle.distribute_table('person', 'customer', 4, nodes => '{node1,node2}')});
my $entries = $query->safe_psql('postgres', q{SELECT entries FROM shuttle.global_indexes WHERE name = 'person_email_key'});
like($entries, qr/^shuttle_indexes\./, 'entries have a schema of their own');

# Clients write to rows of their own, so that none waits for another or fails.
my $writers = ShuttleWriters->new($query, q{\set i 4 * random(0, 24) + :client_id + 1
\set c random(1, 40)
BEGIN;
INSERT INTO person SELECT v, 100 + :client_id, 'new' || v, 0 FROM nextval('numbers') AS v;
UPDATE person SET email = 'p' || id || '-' || (n + 1), n = n + 1 WHERE id = :i;
COMMIT;
UPDATE person SET customer = :c WHERE id = :i;
DELETE FROM person WHERE id >= 1000 AND customer = 100 + :client_id;
});
$writers->start(15);

sub tablet
{
	my ($table, $number) = @_;
	return $query->safe_psql('postgres', qq{SELECT tablet FROM shuttle.tablets WHERE relation = '$table'::regclass AND tablet::text LIKE '%\\_t$number%' ORDER BY 1 LIMIT 1});
}

for my $call ([ 'move_tablet', 'person', 1, 'node3' ], [ 'move_tablet', $entries, 2, 'node3' ], [ 'split_tablet', 'person', 0, 'node3' ],
	[ 'split_tablet', $entries, 3, 'node3' ])
{
	my ($routine, $table, $number, $node) = @$call;
	my ($code, undef, $error) = $query->psql('postgres', sprintf q{CALL shuttle.%s('%s', '%s')}, $routine, tablet($table, $number), $node);

	is($error, '', "$routine of $table");
}
my ($done, $errors) = $writers->end;
cmp_ok($done, '>', 0, 'clients wrote');
is($errors, '', 'and met no error');
is($query->safe_psql('postgres', 'SELECT * FROM shuttle.check()'), '', 'entries are those of the rows');
is($query->safe_psql('postgres', 'SELECT count(*) - count(DISTINCT email) FROM person WHERE email IS NOT NULL'), '0', 'no value is there twice');

done_testing();
