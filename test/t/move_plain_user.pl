# A move by a remote user who is no superuser needs a password that the old node asks for: without one it is refused
# before anything is done. No text of a statement has the password: nodes show these to the remote user, and log them.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleCommit;

my $cluster = ShuttleCommit->new(2, conf => "wal_level = logical\nmax_wal_senders = 10\nmax_replication_slots = 10\nlog_statement = all\nlog_parameter_max_length = 0\nlog_parameter_max_length_on_error = 0\n");
my ($query, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });

plan skip_all => 'only superusers make subscriptions before 16' if $query->safe_psql('postgres', 'SHOW server_version_num') < 160000;
for my $i (1, 2)
{
	$nodes[ $i - 1 ]->safe_psql('postgres', q{CREATE ROLE keeper LOGIN REPLICATION PASSWORD 'secret'; GRANT pg_create_subscription TO keeper;
		GRANT CREATE ON DATABASE postgres TO keeper; GRANT ALL ON SCHEMA public TO keeper});
	$query->safe_psql('postgres', qq{DROP USER MAPPING FOR CURRENT_USER SERVER node$i; CREATE USER MAPPING FOR PUBLIC SERVER node$i OPTIONS (user 'keeper');
		SELECT shuttle.use_node('node$i')});
}
$query->safe_psql('postgres', q{CREATE TABLE item (id int PRIMARY KEY, n int); INSERT INTO item SELECT i, i FROM generate_series(1, 100) AS i;
	SELECT shuttle.distribute_table('item', 'id', 2)});
my $tablet = $query->safe_psql('postgres', q{SELECT tablet FROM shuttle.tablets WHERE node = 'node1' LIMIT 1});
my $other = $query->safe_psql('postgres', q{SELECT tablet FROM shuttle.tablets WHERE node = 'node2' LIMIT 1});

# code of roles that runs there may change what the remote user's sessions begin with
$_->safe_psql('postgres', q{SET ROLE keeper; CREATE SCHEMA evil; CREATE TABLE evil.seen (what text);
	CREATE FUNCTION evil.concat(a text, b text) RETURNS text LANGUAGE plpgsql AS $$BEGIN INSERT INTO evil.seen VALUES (a); RETURN pg_catalog.concat(a, b); END$$;
	CREATE OPERATOR evil.|| (FUNCTION = evil.concat, LEFTARG = text, RIGHTARG = text);
	CREATE FUNCTION evil.current_setting(a text) RETURNS text LANGUAGE plpgsql AS $$BEGIN INSERT INTO evil.seen VALUES (a); RETURN pg_catalog.current_setting(a); END$$;
	CREATE FUNCTION evil.same(a name, b name) RETURNS bool LANGUAGE plpgsql AS $$BEGIN INSERT INTO evil.seen VALUES (a); RETURN a OPERATOR(pg_catalog.=) b; END$$;
	CREATE OPERATOR evil.= (FUNCTION = evil.same, LEFTARG = name, RIGHTARG = name);
	ALTER ROLE keeper SET search_path = evil, pg_catalog, public}) for @nodes;

sub refuses
{
	my ($call, $why, $name) = @_;
	my ($code, undef, $error) = $query->psql('postgres', "CALL shuttle.$call");

	like($error, qr/tables of storage node "node2" cannot be moved\nDETAIL:  Its user cannot subscribe to storage node "node1": $why/, $name);
	like($error, qr/HINT:  Let the user mapping of "node1" have a password, for which its pg_hba.conf asks/, "$name: what to do");
	is($query->safe_psql('postgres', q{SELECT count(*) FROM shuttle.check()}), 0, "$name: nothing is left");
	is($nodes[1]->safe_psql('postgres', 'SELECT count(*) FROM pg_subscription'), 0, "$name: no subscription");
	is($nodes[0]->safe_psql('postgres', 'SELECT count(*) FROM pg_replication_slots'), 0, "$name: no slot");
	return;
}
refuses("move_tablet('$tablet', 'node2')", qr/password is required/, 'a mapping without password');
refuses("split_tablet('$tablet', 'node2')", qr/password is required/, 'a split');
$query->safe_psql('postgres', "ALTER USER MAPPING FOR PUBLIC SERVER node$_ OPTIONS (ADD password 'secret')") for 1, 2;
refuses("move_tablet('$tablet', 'node2')", qr/password is required/, 'a node that trusts');
unlike(slurp_file($query->logfile), qr/\[\d+\].*could not move rows/, 'no step was tried');

# ---- as the hint says
my $hba = $nodes[0]->data_dir . '/pg_hba.conf';
my $rules = slurp_file($hba);
append_to_file("$hba.new", "local all keeper scram-sha-256\nhost all keeper all scram-sha-256\nlocal replication keeper scram-sha-256\n$rules");
rename "$hba.new", $hba or die $!;
$nodes[0]->reload;
is(scalar $query->psql('postgres', "CALL shuttle.move_tablet('$tablet', 'node2')"), 0, 'with a password that is asked for it moves');
is($query->safe_psql('postgres', 'SELECT count(*), sum(n) FROM item'), '100|5050', 'with its rows');
my (undef, undef, $same) = $query->psql('postgres', sprintf(q{SELECT * FROM shuttle.add_node('again', '%s', %s, user_name => 'postgres')}, $nodes[0]->host, $nodes[0]->port));
like($same, qr{It leads to the same database as storage node "node1"}, 'nodes were asked which they are');
is($nodes[$_]->safe_psql('postgres', 'SELECT count(*) FROM evil.seen'), 0, "no statement ran what a role left on a node: $_") for 0, 1;
my $log = slurp_file($nodes[1]->logfile);
like($log, qr/statement: [^\n]*CREATE SUBSCRIPTION shuttle_(?!probe)/, 'the log has the statements');
unlike($log, qr/password=|(?<!PASSWORD ')secret/, 'and no password');
done_testing();
