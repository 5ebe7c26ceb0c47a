# Servers that die: a backend of the storage node or its postmaster is killed,
# the node is restarted between two statements and in the middle of an answer,
# and the backend of the query node is killed.
# expected in server log: terminated by signal 9
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use ShuttleFaults;
use ShuttleSession;

my $faults = ShuttleFaults->new(far_conf => 'restart_after_crash = on', conf => 'restart_after_crash = on');
my ($far, $node) = @$faults{qw(far node)};
my $ours = $faults->ours;
my $session = $faults->session;

# Statements that wait until their node has crashed: then the gate is empty.
$far->safe_psql('postgres', q{
	CREATE UNLOGGED TABLE node.gate AS SELECT 1 AS closed;
	CREATE FUNCTION node.wait_here() RETURNS int LANGUAGE plpgsql AS $$
		BEGIN
			WHILE EXISTS (SELECT FROM node.gate) LOOP PERFORM pg_sleep(0.01); END LOOP;
			RETURN 1;
		END $$;
	CREATE VIEW node.gated AS SELECT id, node.wait_here() AS n FROM node.numbers WHERE id = 1;
	CREATE VIEW node.gated_later AS SELECT id, CASE WHEN id = 16 THEN node.wait_here() ELSE 0 END AS n FROM node.numbers;
	CREATE VIEW node.gated_half AS SELECT id, t, CASE WHEN id = 500 THEN node.wait_here() ELSE 0 END AS n FROM node.wide;
	CREATE TABLE node.gated_to_commit (id int);
	CREATE FUNCTION node.wait_in_commit() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN PERFORM node.wait_here(); RETURN NULL; END';
	CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON node.gated_to_commit DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION node.wait_in_commit();});
$session->run('IMPORT FOREIGN SCHEMA node LIMIT TO (gated, gated_later, gated_half, gated_to_commit) FROM SERVER far INTO f;');

# Each state: what was run before, and a statement that gets there; what it may
# say. A packet that was not answered is sent again, and then the node may not
# have noticed, or not be up again yet, or answer.
my $lost = qr/^ERROR:  08006: connection to storage node "far" was lost\n/;
my $in_doubt = qr/^ERROR:  08007: connection to storage node "far" was lost\n/;
my $away = '^ERROR:  08001: could not connect to server "far"\n';
my %states = (
	'sent' => [ '', 'SELECT count(n) FROM gated;', qr/$lost|$away|^1$/ ],
	'sent in a transaction' => [ 'BEGIN; INSERT INTO here VALUES (1);', 'SELECT count(n) FROM gated;', qr/$lost|$away|^1$/ ],
	'sent later' => [ 'BEGIN; INSERT INTO here VALUES (1); SELECT count(*) FROM numbers;', 'SELECT count(n) FROM gated;', $lost ],
	'sent behind a write' => [ "BEGIN; INSERT INTO here VALUES (1); INSERT INTO written VALUES (1, 'x');", 'SELECT count(n) FROM gated;', $lost ],
	'half answered' => [ 'SET shuttle.fetch_limit = 100000;', 'SELECT count(n) FROM gated_half WHERE length(t) > local(7);', $lost ],
	'page two' => [ 'SET shuttle.fetch_limit = 10; BEGIN; DECLARE c CURSOR FOR SELECT id, n FROM gated_later; FETCH 5 FROM c;',
		'FETCH 20 FROM c;', $lost ],
	'in COMMIT' => [ 'BEGIN; INSERT INTO here VALUES (1); INSERT INTO gated_to_commit VALUES (1);', 'COMMIT;', $in_doubt ],
	'idle in a transaction' => [ "BEGIN; INSERT INTO written VALUES (1, 'x'); INSERT INTO here VALUES (1);", undef, $lost ],
);

sub reach
{
	my ($state, $label) = @_;
	my ($before, $statement) = @{ $states{$state} };
	my ($out, $err) = $session->run($before);
	is($err, '', "$label: begins");
	return unless defined $statement;
	$faults->{proxy}->answered;
	$session->send($statement);
	ok($faults->waits('PgSleep'), "$label: is there");
	cmp_ok($faults->{proxy}->answered, '>', 100000, "$label: half of it") if $state =~ /half/;
	return;
}

sub is_over
{
	my ($state, $label, $error) = @_;
	$error //= $states{$state}[2];
	$session->send('SELECT count(*) FROM numbers;') unless defined $states{$state}[1];
	my ($out, $err) = $session->result;
	like($err eq '' ? $out : $err, $error, $label);
	if ($states{$state}[0] =~ /BEGIN/ && $state ne 'in COMMIT' && $err ne '')
	{
		like($faults->one($session, 'SELECT 1;'), qr/^ERROR:  25P02/, "$label: the transaction is aborted");
	}
	$session->run('ROLLBACK; RESET ALL;');
	return;
}

sub close_gate
{
	$faults->control->run('TRUNCATE node.gate; INSERT INTO node.gate VALUES (1);');
	return;
}

# A killed server is in the way until it is buried.
sub start_again
{
	my $postmaster = shift;
	for (1 .. 300)
	{
		last unless kill 0, $postmaster;
		usleep(100_000);
	}
	$far->start;
	return;
}

# ---- the storage node

for my $state (sort keys %states)
{
	# A backend: its server ends all others, and recovers.
	my $label = "backend killed, $state";
	close_gate();
	reach($state, $label);
	my ($pid) = $faults->control->run("SELECT pid $ours;");
	ShuttleSession::kill_backend($far, $pid, sub { $faults->forget_control; is_over($state, $label); });
	$faults->is_clean($session, $label);

	# The postmaster: backends end when they notice.
	next if $state =~ /transaction|page|behind/;
	$label = "postmaster killed, $state";
	close_gate();
	reach($state, $label);
	$faults->forget_control;
	my ($postmaster) = split /\n/, slurp_file($far->data_dir . '/postmaster.pid');
	$far->kill9;
	is_over($state, $label, $states{$state}[2] eq $lost || $state eq 'in COMMIT' ? undef : qr/$away/);
	like($faults->one($session, 'SELECT count(*) FROM numbers;'), qr/$away/, "$label: it is away");
	is($faults->one($session, 'SELECT count(*) FROM wanted;'), 100, "$label: local tables are not");
	start_again($postmaster);
	$faults->is_clean($session, $label);

	for my $mode ('fast', 'immediate')
	{
		$label = "restarted, $mode, $state";
		close_gate();
		reach($state, $label);
		$faults->forget_control;
		$far->stop($mode);
		$far->start;
		my $said = $mode eq 'fast';
		is_over($state, $label, $state eq 'in COMMIT' ? ($said ? $lost : $in_doubt) : $lost);
		$faults->is_clean($session, $label);
	}
}

# Between two statements.
for my $mode ('fast', 'immediate')
{
	for my $next ('SELECT count(*) FROM numbers;', "INSERT INTO written VALUES (1, 'x'); DELETE FROM written; SELECT 1000;",
		'BEGIN; SAVEPOINT a; SELECT count(*) FROM numbers; COMMIT;')
	{
		$session->run('SELECT count(*) FROM numbers;');
		$faults->forget_control;
		$far->stop($mode);
		$far->start;
		is($faults->one($session, $next), 1000, "restarted, $mode, between two statements, then $next");
		$faults->is_clean($session, "restarted, $mode, between two statements");
	}
}

# ---- the backend of the query node

$session->quit;
close_gate();
for my $state (sort keys %states)
{
	my $label = "backend here killed, $state";
	$session = $faults->session;
	reach($state, $label);
	ShuttleSession::kill_backend($node, $session->pid, sub {
		$session->result if defined $states{$state}[1];
		$session->quit;
	});
	ok($faults->is_left($label), "$label: nothing is left there");
	is($faults->control->poll('SELECT count(*) = 0 FROM node.written'), 1, "$label: nothing was written");
	$session = $faults->session;
	$faults->is_clean($session, $label);
	$session->quit;
}

# One that has spilled an answer leaves no file behind.
{
	my $label = 'backend here killed, an answer spilled';
	$session = $faults->session;
	$session->run(q{SET work_mem = '64kB'; SET shuttle.fetch_limit = 10;
		BEGIN; DECLARE c CURSOR FOR SELECT * FROM wide; FETCH 1 FROM c;
		SELECT count(*) FROM numbers; SAVEPOINT a; SELECT count(*) FROM numbers;});
	is($node->safe_psql('postgres', 'SELECT count(*) > 0 FROM pg_ls_tmpdir()'), 't', "$label: it has a file");
	ShuttleSession::kill_backend($node, $session->pid, sub { $session->quit; });
	is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_ls_tmpdir()'), 0, "$label: it is gone");
	$session = $faults->session;
	$faults->is_clean($session, $label);
	$session->quit;
}

ok($faults->is_left('the end'), 'no connection is left');
$faults->stop;
done_testing();
