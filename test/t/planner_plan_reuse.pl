# Routed statements that differ only in literals are planned once, and reach nodes as one
# text with parameters.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nmax_prepared_transactions = 5");
$node->start;
my $far = PostgreSQL::Test::Cluster->new('far');
$far->init;
$far->append_conf('postgresql.conf', "max_prepared_transactions = 5\nlog_statement = all");
$far->start;
my $user = $node->safe_psql('postgres', 'SELECT current_user');

$far->safe_psql('postgres', "CREATE DATABASE $_") for qw(n1 n2);
$node->safe_psql('postgres', 'CREATE EXTENSION pg_shuttle CASCADE');
for my $name (qw(n1 n2))
{
	$node->safe_psql('postgres', qq{
		CREATE SERVER $name FOREIGN DATA WRAPPER shuttle OPTIONS (host '@{[ $far->host ]}', port '@{[ $far->port ]}', dbname '$name');
		CREATE USER MAPPING FOR PUBLIC SERVER $name OPTIONS (user '$user');
		SELECT shuttle.use_node('$name');
	});
}
$node->safe_psql('postgres', q{
	CREATE TABLE item (id int PRIMARY KEY, n int);
	INSERT INTO item SELECT i, i FROM generate_series(1, 100) AS i;
	SELECT shuttle.distribute_table('item', 'id');
});

# How often each statement was planned, and the texts that nodes got for them, with N for the
# number of the tablet. Core logs planning where it plans a plan that is kept, too.
sub run
{
	my ($settings, @statements) = @_;
	my $from = -s $far->logfile;
	my $script = join "\n", $settings, 'SET client_min_messages = log;', 'SET log_planner_stats = on;',
		map { ("\\warn ---", $_) } @statements, 'SET log_planner_stats = off;';
	my ($code, undef, $error) = $node->psql('postgres', $script);
	my (undef, @parts) = split /^---$/m, $error;

	is($code, 0, "$settings $statements[0] runs");
	my @plannings = map { my $n = () = /PLANNER STATISTICS/g; $n } @parts;
	my @texts = slurp_file($far->logfile, $from) =~ /(?:SELECT n FROM|UPDATE|DELETE FROM) public\.item_t\d+.*/g;
	s/item_t\d+/item_tN/ for @texts;
	return ("@plannings[0 .. $#statements]", \@texts);
}

for my $statement ('SELECT n FROM item WHERE id = %d', 'UPDATE item SET n = n + %d WHERE id = 7 RETURNING n', 'DELETE FROM item WHERE id = %d RETURNING n')
{
	my @statements = map { sprintf("$statement;", $_) } 11 .. 16;
	my ($plannings, $texts) = run('SET shuttle.enable_plan_reuse = on;', @statements);

	is($plannings, '1 2 1 1 1 1', "$statement: the second one makes the plan");
	is(scalar @$texts, 6, 'nodes got each');
	my ($first, @others) = @$texts;
	my %texts = map { $_ => 1 } @others;
	is(scalar keys %texts, 1, 'the others are one text');
	like($others[0], qr/\$1/, 'with parameters');
	unlike($first, qr/\$1/, 'the first one has its literals');

	($plannings, $texts) = run('SET shuttle.enable_plan_reuse = off;', @statements);
	is($plannings, '1 1 1 1 1 1', "$statement: turned off");
	%texts = map { $_ => 1 } @$texts;
	is(scalar keys %texts, 6, 'each has a text of its own');
}

done_testing();
