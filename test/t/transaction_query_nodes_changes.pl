# A standby that is a query node never writes by old definitions: each kind of change, while statements of each kind of
# plan have been planned and not begun to write; and the same while the standby does not replay.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use ShuttlePoints;
use ShuttleQueryNodes;
use ShuttleSession;

# What a definition does is in the row: d is the default, v is changed by a trigger. The role w obeys policies.
my $cluster = ShuttleQueryNodes->new(conf => 'max_locks_per_transaction = 500', mapping => "password_required 'false'", sql => q{
	CREATE TABLE entry (k int, id int, v int, d int DEFAULT 0, gone int, PRIMARY KEY (k, id));
	SELECT shuttle.distribute_table('entry', 'k', 4);
	CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.v := NEW.v + 1000; RETURN NEW; END';
	CREATE FUNCTION add(a int, b int) RETURNS void LANGUAGE plpgsql AS 'BEGIN INSERT INTO entry (k, id, v) VALUES (a, b, 1); END';
	CREATE ROLE w; GRANT ALL ON entry TO w; ALTER TABLE entry ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON entry TO w USING (true);
	SELECT shuttle.register_query_node('q2')});
my $primary = $cluster->{primary};
my $standby = $cluster->add_standby('standby', "shuttle.query_node_name = 'q2'");
$cluster->wait_for_lease($standby);
sub on_primary { return $primary->safe_psql('postgres', $_[0]); }

# The change, what undoes it, and what the next INSERT gives; the role that writes; whether nobody is told.
my @changes = (
	[ 'ALTER TABLE entry ALTER d SET DEFAULT 7', 'ALTER TABLE entry ALTER d SET DEFAULT 0', '1|7' ],
	[ 'CREATE TRIGGER t BEFORE INSERT OR UPDATE ON entry FOR EACH ROW EXECUTE FUNCTION note()', 'DROP TRIGGER t ON entry', '1001|0' ],
	[ 'CREATE POLICY r ON entry AS RESTRICTIVE TO w USING (v > 5)', 'DROP POLICY r ON entry', qr/42501/, 'w' ],
	[ 'REVOKE INSERT, UPDATE ON entry FROM w', 'GRANT INSERT, UPDATE ON entry TO w', qr/42501/, 'w' ],
	[ 'ALTER TABLE entry ADD CONSTRAINT c CHECK (id <= MOST)', 'ALTER TABLE entry DROP CONSTRAINT c', qr/23514/ ],
	[ 'ALTER TABLE entry ADD COLUMN e int DEFAULT 9', 'ALTER TABLE entry DROP COLUMN e', '1|0' ],
	[ 'ALTER TABLE entry DROP COLUMN gone', 'ALTER TABLE entry ADD COLUMN gone int', '1|0' ],
	[ 'CREATE INDEX i ON entry (v)', 'DROP INDEX i', '1|0', undef, 1 ],
	[ 'ALTER TABLE entry RENAME TO entry2', 'ALTER TABLE entry2 RENAME TO entry', qr/42P01/ ],
	[ q{CREATE OR REPLACE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.v := NEW.v + 2000; RETURN NEW; END'},
		q{CREATE OR REPLACE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.v := NEW.v + 1000; RETURN NEW; END'}, '1|0' ],
);
my $insert = 'INSERT INTO entry (k, id, v) VALUES (%s, %s, 1)';
my @shapes = (
	[ 'plain', undef, sub { sprintf $insert, @_ } ],
	[ 'prepared', sprintf("SET plan_cache_mode = auto; PREPARE p AS $insert", '$1', '$2'), sub { "EXECUTE p ($_[0], $_[1])" } ],
	[ 'generic', sprintf("SET plan_cache_mode = force_generic_plan; PREPARE g AS $insert", '$1', '$2'), sub { "EXECUTE g ($_[0], $_[1])" } ],
	[ 'function', undef, sub { "SELECT add($_[0], $_[1])" } ],
	[ 'block', undef, sub { sprintf "DO \$\$BEGIN $insert; END\$\$", @_ } ],
	[ 'with', undef, sub { sprintf "WITH n AS ($insert RETURNING k) SELECT FROM n", @_ } ],
	[ 'in a transaction', undef, sub { sprintf "BEGIN; SELECT count(*) FROM entry WHERE k = $_[0]; $insert; COMMIT", @_ } ],
);

my $points = ShuttlePoints->new($primary, $standby);
my $there = ShuttleSession->new($primary, 'postgres');
my $id = 0;

# The row that a statement has written, or nothing.
sub row { return on_primary("SELECT v || '|' || d FROM entry WHERE k = 1 AND id = $_[0]"); }

# What is wrong with the outcome of a statement; it may always be one to repeat, if it has written nothing.
sub judge
{
	my ($err, $row, $wanted) = @_;
	return '' if $err =~ /ERROR:  40001: tables (are being|have been) changed on the primary server/ && $row eq '';
	return '' if ref $wanted ? $err =~ $wanted && $row eq '' : $err eq '' && $row eq $wanted;
	return "row '$row' $err";
}

sub session_of
{
	my ($shape, $role) = @_;
	my $session = ShuttleSession->new($standby, 'postgres');
	$session->run("$shape->[1];") if defined $shape->[1];
	$session->run("SET ROLE $role;") if defined $role;

	# kept plans are made
	for (1 .. 6) { $id++; $session->run($shape->[2]->(1, $id) . ';'); }
	return $session;
}

# Sends a statement of each shape, and returns the first one's id.
sub send_all
{
	my @sessions = @_;
	my $first = $id + 1;
	for my $n (0 .. $#shapes) { $id++; $sessions[$n]->send($shapes[$n][2]->(1, $id) . ';'); }
	return $first;
}

sub errors_of { my @sessions = @_; my @errors = map { ($_->result)[1] } @sessions; $_->run('ROLLBACK;') for @sessions; return @errors; }

# The standby has replayed all, or would have but for a lock.
sub wait_for_replay
{
	my $lsn = on_primary('SELECT pg_current_wal_flush_lsn()');
	$standby->poll_query_until('postgres', qq{SELECT pg_last_wal_replay_lsn() >= '$lsn' OR EXISTS (SELECT FROM pg_stat_activity
		WHERE backend_type = 'startup' AND wait_event_type = 'Lock')});
	return;
}

for my $change (@changes)
{
	my ($do, $undo, $wanted, $role, $is_free) = @$change;
	my @sessions = map { session_of($_, $role) } @shapes;
	my (@wrong, $stopped, @errors);

	# planned by the old definitions, and stopped
	if ($points)
	{
		$points->arm('standby-planned');
		$stopped = send_all(@sessions);
		for my $n (0 .. $#shapes) { push @wrong, "$shapes[$n][0] does not stop" if !$points->reached('standby-planned', $sessions[$n]->pid); }
	}
	my $most = $id;
	my $statement = ($do =~ s/MOST/$most/r) . ';';
	$there->send($statement);
	if ($points)
	{
		# a transaction that has read on a node may hold the change up there
		$primary->poll_query_until('postgres', "SELECT query = \$x\$$statement\$x\$ AND (state = 'idle' OR state_change < clock_timestamp() - interval '300 ms') FROM pg_stat_activity WHERE pid = @{[ $there->pid ]}");
		wait_for_replay();
		$points->release('standby-planned', scalar @shapes);
		@errors = errors_of(@sessions);
	}
	push @wrong, $_ for grep { $_ ne '' } ($there->result)[1];
	$primary->wait_for_catchup($standby, 'replay');

	# then by the new ones
	my $next = send_all(@sessions);
	my @next_errors = errors_of(@sessions);
	on_primary($undo);
	for my $n (0 .. $#shapes)
	{
		my $problem = $points ? judge($errors[$n], row($stopped + $n), $is_free ? '1|0' : qr/(?!)/) : '';
		push @wrong, "$shapes[$n][0], planned before: $problem" if $problem ne '';
		$problem = judge($next_errors[$n], row($next + $n), $wanted);
		push @wrong, "$shapes[$n][0], next: $problem" if $problem ne '' || $points && $next_errors[$n] =~ /40001/;
	}
	is(join("\n", @wrong), '', $do);
	$primary->wait_for_catchup($standby, 'replay');
}

# ---- replay is paused: nothing changes, and writes go on by what holds
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
$standby->poll_query_until('postgres', q{SELECT pg_get_wal_replay_pause_state() = 'paused'});
my @wrong;
for my $change (@changes)
{
	my $err = ($there->run("SET lock_timeout = '100ms'; @{[ $change->[0] =~ s/MOST/0/r ]};"))[1];
	push @wrong, "$change->[0]: $err" if $change->[0] !~ /INDEX/ && $err !~ /55P03: query node "q2" holds up a change of definitions/;
}
is(join("\n", @wrong), '', 'no change while a query node does not replay');
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
$primary->wait_for_catchup($standby, 'replay');
$cluster->stop;
done_testing();
