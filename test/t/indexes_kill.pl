# Clients write a table with global unique indexes and one with foreign keys to it, and a local twin in the same
# transactions, while servers and backends are killed at random: afterwards the rows are those of the twin, entries are
# those of the rows, no value is doubled, no row refers to nothing, and what a client was told to have succeeded is there.
# SHUTTLE_LONG=200 kills 200 times; else 6.
# expected in server log: terminated by signal 9
use strict;
use warnings;

use POSIX qw(_exit);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use ShuttleCommit;

my $faults = $ENV{SHUTTLE_LONG} // 6;
my $cluster = ShuttleCommit->new(3, conf => "wal_level = logical\n", query_conf => "shuttle.commit_wait = 2000\n");
my ($query, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });
my $directory = PostgreSQL::Test::Utils::tempdir();

$query->safe_psql('postgres', qq{DROP USER MAPPING FOR CURRENT_USER SERVER node$_; CREATE USER MAPPING FOR PUBLIC SERVER node$_; SELECT shuttle.use_node('node$_');}) for 1 .. 3;
$query->safe_psql('postgres', q{
	CREATE TABLE person (id int PRIMARY KEY, customer int, email text UNIQUE);
	CREATE TABLE item (id int PRIMARY KEY, person_id int REFERENCES person ON DELETE CASCADE,
		email text REFERENCES person (email) ON UPDATE CASCADE ON DELETE SET NULL);
	SELECT shuttle.distribute_table('person', 'customer', 6);
	SELECT shuttle.distribute_table('item', 'id', 6);
	CREATE TABLE twin (id int PRIMARY KEY, customer int, email text);
	CREATE TABLE made (id int PRIMARY KEY);
	CREATE FUNCTION put(n int, c int, mail text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO person VALUES (n, c, mail);
		INSERT INTO item VALUES (n, n, mail);
		INSERT INTO twin VALUES (n, c, mail);
		INSERT INTO made VALUES (n);
		RETURN n;
	END $$;
	CREATE FUNCTION change(n int, c int, mail text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		UPDATE person SET customer = c, email = mail WHERE id = n;
		IF FOUND THEN UPDATE twin SET customer = c, email = mail WHERE id = n; END IF;
	END $$;
	CREATE FUNCTION remove(n int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		DELETE FROM person WHERE id = n;
		IF FOUND THEN DELETE FROM twin WHERE id = n; END IF;
	END $$;
});

# One of the statements of client number $client, whose $nth one it is.
sub statement
{
	my ($client, $nth) = @_;
	my $id = $client * 1_000_000 + 1 + int rand $nth;
	my ($customer, $email) = (int rand 50, 'e' . int rand 400);

	return sprintf 'SELECT put(%d, %d, \'%s\');', $client * 1_000_000 + $nth, $customer, $email if rand() < 0.5;
	return "SELECT change($id, $customer, '$email');" if rand() < 0.6;
	return "SELECT remove($id);";
}

# Until there is a file "end". The rows that psql prints are what has succeeded.
sub run_client
{
	my $client = shift;
	my $pid = fork() // die "could not fork: $!";
	my $nth = 0;

	return $pid if $pid;
	srand($client);
	open(STDERR, '>>', "$directory/errors$client");
	while (!-e "$directory/end")
	{
		open(my $file, '>', "$directory/client$client.sql");
		print $file statement($client, ++$nth), "\n" for 1 .. 30;
		close($file);
		system("timeout 20 psql -XAtq -v VERBOSITY=verbose -f '$directory/client$client.sql' -d '@{[ $query->connstr('postgres') ]} connect_timeout=5' >> '$directory/done$client'");
		usleep(20_000);
	}
	_exit(0);
}
my @pids = map { run_client($_) } 1 .. 3;

# In turn: this server, a node, and a backend of either.
for my $nkills (0 .. $faults - 1)
{
	usleep(700_000 + rand 700_000);
	my $server = $nkills % 3 == 0 ? $query : $nodes[ rand @nodes ];
	if ($nkills % 3 < 2)
	{
		$cluster->kill_server($server);
	}
	else
	{
		my ($code, $pid) = ShuttleCommit::ask($server, q{SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()
			AND backend_type = 'client backend' ORDER BY state = 'active' DESC LIMIT 1});
		$cluster->kill_backend($pid) if $code == 0 && $pid =~ /^\d+$/;
	}
	$cluster->bring_up;
}
append_to_file("$directory/end", '');
waitpid($_, 0) for @pids;
$cluster->bring_up;
$cluster->is_settled('the end');

my @told = grep { /^\d+$/ } map { split /\n/, slurp_file("$directory/done$_") } 1 .. 3;
my %codes;
my $errors = join '', map { slurp_file("$directory/errors$_") } 1 .. 3;
$codes{$1}++ while $errors =~ /(?:ERROR|FATAL):  (\w{5}):/g;
note('errors that clients met: ' . join ', ', map { "$_ ($codes{$_})" } sort keys %codes);
cmp_ok(scalar @told, '>', 20, scalar(@told) . ' rows were made');
is(join(',', grep { /^(XX|42|0A|22)/ } sort keys %codes), '', 'no error but those of rows, and of servers that are gone');
is($query->safe_psql('postgres', "SELECT count(*) FROM unnest('{@{[ join ',', @told ]}}'::int[]) AS n WHERE n NOT IN (SELECT id FROM made)"), '0', 'what clients were told is there');
is($query->safe_psql('postgres', q{(TABLE person EXCEPT ALL TABLE twin) UNION ALL (TABLE twin EXCEPT ALL TABLE person)}), '', 'the rows are those of the twin');
is($query->safe_psql('postgres', q{SELECT count(*) - count(DISTINCT email), count(*) - count(DISTINCT id) FROM person}), '0|0', 'no value is doubled');
is($query->safe_psql('postgres', q{SELECT count(*) FROM item AS i FULL JOIN person AS p ON p.id = i.person_id WHERE p.id IS NULL OR i.id IS NULL OR i.email IS DISTINCT FROM p.email}), '0', 'no row refers to nothing, or to other values');
is($query->safe_psql('postgres', 'SELECT * FROM shuttle.check()'), '', 'entries are those of the rows');

# What would be wrong is found.
my $entries = $query->safe_psql('postgres', q{SELECT entries FROM shuttle.global_indexes WHERE name = 'person_email_key'});
$query->safe_psql('postgres', qq{DELETE FROM $entries WHERE k1 = (SELECT min(k1) FROM $entries)});
like($query->safe_psql('postgres', 'SELECT problem FROM shuttle.check(repair => true)'), qr/entr/, 'a lost entry is found');
$query->safe_psql('postgres', qq{INSERT INTO $entries VALUES ('nobody', 1)});
like($query->safe_psql('postgres', 'SELECT problem FROM shuttle.check(repair => true)'), qr/entr/, 'an entry of no row is found');
is($query->safe_psql('postgres', 'SELECT * FROM shuttle.check()'), '', 'both are mended');
$cluster->stop;
done_testing();
