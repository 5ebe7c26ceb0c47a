# The disk is full when an answer that stands in the way has to be kept: the
# statement has an error that says so, the answer is as complete as before or an
# error, nothing is left of the file, and the next statement works.
use strict;
use warnings;

use ShuttleNamespaces 'disk', '512k';
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleFaults;

plan skip_all => $ShuttleNamespaces::why_not if defined $ShuttleNamespaces::why_not;

my $faults = ShuttleFaults->new;
my $node = $faults->{node};
symlink($ENV{SHUTTLE_SMALL_DISK}, $node->data_dir . '/base/pgsql_tmp') or die "symlink: $!";
$faults->{far}->safe_psql('postgres', q{
	CREATE TABLE node.fat AS SELECT 1 AS k, t FROM node.wide;
	CREATE INDEX ON node.fat (k);
	ANALYZE node.fat;});
$node->safe_psql('postgres', 'IMPORT FOREIGN SCHEMA node LIMIT TO (fat) FROM SERVER far INTO f');
my $session = $faults->session;
my $full = qr/^ERROR:  53100: could not write to (?:temporary )?file.*: No space left on device/;
my $settings = q{SET work_mem = '64kB'; SET shuttle.fetch_limit = 50; SET shuttle.debug_force_batched_join = on;};
my $all = join "\n", 6 .. 1000;

sub small_disk_is_empty
{
	my $label = shift;
	is(scalar(() = glob("$ENV{SHUTTLE_SMALL_DISK}/*")), 0, "$label: the disk is empty");
	return;
}

# Each: what comes before, the statement for which there is no room.
my %cases = (
	'another statement' => [ q{DECLARE c CURSOR FOR SELECT id, t FROM wide; FETCH 5 FROM c;}, 'SELECT count(*) FROM numbers;' ],
	'a savepoint' => [ q{DECLARE c CURSOR FOR SELECT id, t FROM wide; FETCH 5 FROM c; SAVEPOINT b;}, 'SELECT count(*) FROM numbers;' ],
	'a write' => [ q{DECLARE c CURSOR FOR SELECT id, t FROM wide; FETCH 5 FROM c; SAVEPOINT b;}, "INSERT INTO written VALUES (3, 'z');" ],
	'rows of one key' => [ '', 'SELECT count(b.t) FROM wanted a JOIN fat b ON b.k = a.id WHERE a.id < 2;' ],
);
for my $name (sort keys %cases)
{
	my ($before, $statement) = @{ $cases{$name} };
	for my $begin ('BEGIN;', 'BEGIN ISOLATION LEVEL REPEATABLE READ;', "BEGIN; INSERT INTO written VALUES (1, 'x');")
	{
		my $label = "$name, $begin";
		my ($out, $err) = $session->run("$settings $begin INSERT INTO here VALUES (1); $before");
		is($err, '', "$label: begins");
		$out = $faults->one($session, $statement);

		# In a transaction that wrote, or has one snapshot, nothing stands in
		# the way of a reader.
		next_case($label), next if $out =~ /^\d+$/ && $begin =~ /REPEATABLE|INSERT/ && $name eq 'another statement';
		like($out, $full, $label);
		like($faults->one($session, 'SELECT 1;'), qr/^ERROR:  25P02/, "$label: the transaction is aborted");
		next_case($label);
	}
}

sub next_case
{
	my $label = shift;
	$session->run('ROLLBACK; RESET ALL;');
	small_disk_is_empty($label);
	$faults->is_clean($session, $label);
	return;
}

# A cursor of the outer level goes on behind ROLLBACK TO: no row is missing, and
# none comes twice. (FETCH ALL of core keeps them, too, and needs its memory.)
for my $begin ('BEGIN;', 'BEGIN ISOLATION LEVEL REPEATABLE READ;', "BEGIN; INSERT INTO written VALUES (1, 'x');")
{
	my $label = "a cursor goes on, $begin";
	$session->run("$settings $begin DECLARE c CURSOR FOR SELECT id, t FROM wide; FETCH 5 FROM c; SAVEPOINT b;");
	like($faults->one($session, 'SELECT count(*) FROM numbers;'), $full, $label);
	like($faults->one($session, 'ROLLBACK TO b; SELECT count(*) FROM numbers;'), $full, "$label: again");
	my ($out, $err) = $session->run("ROLLBACK TO b; SET LOCAL work_mem = '64MB'; FETCH ALL FROM c;");
	$out =~ s/\|.*$//mg;
	is("$out$err", $all, "$label: all rows");
	next_case($label);
}

$session->quit;
ok($faults->is_left('the end'), 'no connection is left');
$faults->stop;
done_testing();
