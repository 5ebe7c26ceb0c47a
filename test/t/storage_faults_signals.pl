# pg_cancel_backend() and pg_terminate_backend() on the storage node and on the
# query node, in every state that a request can be in.
use strict;
use warnings;

use List::Util qw(min);
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleFaults;

my $faults = ShuttleFaults->new;
my $proxy = $faults->{proxy};
my $ours = $faults->ours;

my %states = $faults->states;
my $session = $faults->session;

# The right error, and the right state of the transaction.
sub is_over
{
	my ($state, $label, $error) = @_;
	my $begun = $states{$state}[0] =~ /BEGIN/ && $state ne 'in COMMIT';
	my ($out, $err) = $session->result;
	like($err, $error, $label);
	is($faults->one($session, '\echo :SQLSTATE'), $err =~ /^ERROR:  (\w+)/ ? $1 : '', "$label: its code");
	if ($begun)
	{
		like($faults->one($session, 'SELECT 1;'), qr/^ERROR:  25P02/, "$label: the transaction is aborted");
		if ($state =~ /savepoint/)
		{
			my $goes_on = $faults->one($session, 'ROLLBACK TO a; SELECT v FROM written; COMMIT;');
			if ($error =~ /57014/)
			{
				is($goes_on, 'x', "$label: the savepoint is not");
				is($faults->one($session, 'SELECT v FROM written; DELETE FROM written;'), 'x', "$label: committed");
			}
			else { like($goes_on, qr/^ERROR:  08006/, "$label: the savepoint is lost as well"); }
		}
	}
	$session->run($begun ? 'ROLLBACK; RESET ALL;' : 'RESET ALL;');
	return;
}

my $cancelled_there = qr/^ERROR:  57014: canceling statement due to user request\n(?:.*\n)*CONTEXT:  .*storage node "far"/s;
my $cancelled_here = qr/^ERROR:  57014: canceling statement due to user request/;
my $terminated = qr/^ERROR:  08006: connection to storage node "far" was lost\nDETAIL:  terminating connection due to administrator command\n/;

for my $state (sort keys %states)
{
	my $label = "cancelled there, $state";
	$faults->reach($session, $state, $label);
	$faults->control->run("SELECT pg_cancel_backend(pid) $ours;");
	is_over($state, $label, $cancelled_there);
	$faults->is_clean($session, $label);

	$label = "terminated there, $state";
	$faults->reach($session, $state, $label);
	$faults->control->run("SELECT pg_terminate_backend(pid) $ours;");
	is_over($state, $label, $terminated);
	$faults->is_clean($session, $label);

	$label = "cancelled here, $state";
	$faults->reach($session, $state, $label);
	$faults->{node}->safe_psql('postgres', "SELECT pg_cancel_backend(@{[ $session->pid ]})");
	is_over($state, $label, $cancelled_here);
	$faults->is_clean($session, $label);

	$label = "terminated here, $state";
	$faults->reach($session, $state, $label);
	$faults->{node}->safe_psql('postgres', "SELECT pg_terminate_backend(@{[ $session->pid ]})");
	my ($out, $err) = $session->result;
	like($err, qr/^FATAL:  57P01: terminating connection due to administrator command/, $label);
	ok($faults->is_left($label), "$label: nothing is left there");
	$session->quit;
	$session = $faults->session;
	$faults->is_clean($session, "$label: another session");
}

# ---- in ROLLBACK: it is on its way, and nobody has answered it

sub hold_rollback
{
	my ($label, $isolation) = @_;
	$session->run("BEGIN ISOLATION LEVEL $isolation; INSERT INTO here VALUES (1); INSERT INTO written VALUES (1, 'x');");
	$proxy->hold('^ROLLBACK');
	$session->run('ROLLBACK;');
	ok($proxy->is_held, "$label: is there");
	return;
}

for my $isolation ('READ COMMITTED', 'REPEATABLE READ')
{
	for my $how ('pg_cancel_backend(pid)', 'pg_terminate_backend(pid, 10000)')
	{
		my $label = "$how there, in ROLLBACK, $isolation";
		hold_rollback($label, $isolation);
		$faults->control->run("SELECT $how $ours;");
		$proxy->thaw;
		$faults->is_clean($session, $label);
	}

	# Here the session is idle again, or waits with its next statement.
	my $label = "cancelled here, in ROLLBACK, $isolation";
	hold_rollback($label, $isolation);
	$session->send('SELECT count(*) FROM numbers;');
	my $pid = $session->pid;
	ok($faults->{node}->poll_query_until('postgres',
		"SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $pid"), "$label: waits behind it");
	$faults->{node}->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	my ($out, $err) = $session->result;
	like($err, $cancelled_here, $label);
	$proxy->thaw;
	$faults->is_clean($session, $label);

	$label = "terminated here, in ROLLBACK, $isolation";
	hold_rollback($label, $isolation);
	$faults->{node}->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
	$proxy->thaw;
	ok($faults->is_left($label), "$label: nothing is left there");
	$session->quit;
	$session = $faults->session;
	$faults->is_clean($session, "$label: another session");
}

# ---- in COMMIT, which the node has done, but its answer does not come

for my $first ('', 'SAVEPOINT a; ')
{
	my $label = "the answer of COMMIT is lost, ${first}INSERT";
	$session->run("BEGIN; INSERT INTO here VALUES (1); ${first}INSERT INTO written VALUES (1, 'x');");
	$proxy->mute(1);
	$session->send('COMMIT;');
	ok($faults->control->poll('SELECT count(*) = 1 FROM node.written'), "$label: is there");
	$proxy->drop;
	$proxy->mute(0);
	my ($out, $err) = $session->result;
	like($err, qr/^ERROR:  08007: connection to storage node "far" was lost\n(?:.*\n)*HINT:  It was lost during COMMIT/, $label);
	is($faults->one($session, 'DELETE FROM written RETURNING id;'), 1, "$label: the node has it");
	$faults->is_clean($session, $label);
}

# ---- a row of more than 1 GB, which no server can send

{
	my $label = '1 GB in one row';
	$session->run("BEGIN; INSERT INTO here VALUES (1); INSERT INTO written VALUES (1, 'x');");
	like($faults->one($session, 'SELECT length(a), length(b) FROM large;'), qr/^ERROR:  54000: .*\n(?:.*\n)*CONTEXT:  .*storage node "far"/, $label);
	like($faults->one($session, 'SELECT 1;'), qr/^ERROR:  25P02/, "$label: the transaction is aborted");
	$session->run('ROLLBACK;');
	$faults->is_clean($session, $label);
}

# ---- again and again: nothing grows

{
	my $once = sub {
		$faults->reach($session, $_, "again, $_") for @_;
		$faults->control->run("SELECT pg_cancel_backend(pid) $ours;");
		$session->result;
		$session->run('ROLLBACK;') if $states{ $_[0] }[0] =~ /BEGIN/;
	};
	my @kinds = ('half answered', 'page two', 'sent in a savepoint');
	$once->($_) for (@kinds) x 3;

	# What libpq keeps for the longest piece it had to hold comes once; a leak, each time.
	my @grown;
	for (1 .. 3)
	{
		my $before = $faults->own_memory_kb($session);
		$once->($_) for (@kinds) x 5;
		push @grown, $faults->own_memory_kb($session) - $before;
	}
	cmp_ok(min(@grown), '<', 340, "memory does not grow with faults (kB: @grown)");
	$faults->is_clean($session, 'again and again');
}

$session->quit;
ok($faults->is_left('the end'), 'no connection is left');
$faults->stop;
done_testing();
