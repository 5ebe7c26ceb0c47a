# A transaction has ended here, and the new entry that it made is still prepared on its node: whoever changes
# the row again waits for it, so no entry of a value that no row has is left behind.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleCommit;

my $cluster = ShuttleCommit->new(2, conf => "wal_level = logical\n");
my ($query, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });

$query->safe_psql('postgres', qq{DROP USER MAPPING FOR CURRENT_USER SERVER node$_; CREATE USER MAPPING FOR PUBLIC SERVER node$_; SELECT shuttle.use_node('node$_');}) for 1 .. 2;
$query->safe_psql('postgres', q{
	CREATE TABLE person (id int PRIMARY KEY, customer int, email text UNIQUE);
	INSERT INTO person SELECT i, i, 'p' || i FROM generate_series(1, 4) AS i;
	SELECT shuttle.distribute_table('person', 'customer', 4)});
my $entries = $query->safe_psql('postgres', q{SELECT entries FROM shuttle.global_indexes WHERE name = 'person_email_key'});

my $number = 0;
for my $change (q{UPDATE person SET email = 'c' || id WHERE id = %d}, q{DELETE FROM person WHERE id = %d})
{
	my $id = ++$number;
	my $tablet = $query->safe_psql('postgres', qq{SELECT 'shuttle_indexes.' || relname FROM $entries AS e JOIN pg_class AS c ON c.oid = e.tableoid WHERE k1 = 'p$id'});
	my $node = $nodes[ substr($query->safe_psql('postgres', qq{SELECT srvname FROM pg_foreign_table JOIN pg_foreign_server AS s ON s.oid = ftserver WHERE 'shuttle_indexes.' || (SELECT relname FROM pg_class WHERE oid = ftrelid) = '$tablet'}), -1) - 1 ];

	$node->safe_psql('postgres', qq{DELETE FROM $tablet WHERE k1 = 'p$id'});
	$node->safe_psql('postgres', qq{BEGIN; INSERT INTO $tablet VALUES ('p$id', $id); PREPARE TRANSACTION 'other$id'});
	my $session = $query->background_psql('postgres');
	$session->query_until(qr/sent/, "\\echo sent\n" . sprintf("$change;\n", $id));
	ok($node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'}), 'the entry is waited for');
	$node->safe_psql('postgres', qq{COMMIT PREPARED 'other$id'});
	$session->quit;
	is($query->safe_psql('postgres', q{SELECT count(*) FROM shuttle.check()}), '0', 'entries are those of the rows');
	is($query->safe_psql('postgres', qq{INSERT INTO person VALUES (100 + $id, 1, 'p$id') RETURNING id}), 100 + $id, 'the value is free');
}

# one that is lost is in nobody's way
$query->safe_psql('postgres', qq{DELETE FROM $entries WHERE k1 = 'p4'});
$query->safe_psql('postgres', q{DELETE FROM person WHERE id = 4});
is($query->safe_psql('postgres', q{SELECT count(*) FROM shuttle.check()}), '0', 'a row without an entry can be deleted');

done_testing();
