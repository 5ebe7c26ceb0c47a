# The cable to a storage node is cut: nobody says so, and packets are lost. The
# session finds out in the time that is set, whatever it is doing; so does the
# node, which gives its locks back. A node that is only busy is not taken for
# dead. And what waits for a name or a connection can be cancelled.
use strict;
use warnings;

use ShuttleNamespaces 'network';
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use ShuttleCable;
use ShuttleFaults;

plan skip_all => $ShuttleNamespaces::why_not if defined $ShuttleNamespaces::why_not;

my $cable = ShuttleCable->new;
my $faults = ShuttleFaults->new(cable => $cable, server => q{, connect_timeout '2'});
my ($node, $far) = @$faults{qw(node far)};
my $ours = $faults->ours;
my %states = $faults->states;
my $lost = qr/^ERROR:  08006: connection to storage node "far" was lost\n/;
my $in_doubt = qr/^ERROR:  08007: connection to storage node "far" was lost\n(?:.*\n)*HINT:  It was lost during COMMIT/;
# connect_timeout, or tcp_user_timeout, which is as long
my $away = qr/^ERROR:  08001: could not connect to server "far"\nDETAIL:  (?:timeout expired|.*: Connection timed out)\n(?:\t.*\n)?HINT:/;
my $cancelled = qr/^ERROR:  57014: canceling statement due to user request/;
my $timed_out = qr/^ERROR:  57014: canceling statement due to statement timeout/;

# What a machine with other work to do may take longer.
my $patience_s = 15;

sub set_server
{
	my $options = shift;
	$node->safe_psql('postgres', "ALTER SERVER far OPTIONS ($options)");
	return;
}

# The node ends what it worked on, and gives the locks back, before the cable is
# mended: nobody can tell it.
sub node_is_free
{
	my $label = shift;
	$faults->holds_there($label, 'locks', "SELECT count(*) = 0 FROM pg_locks WHERE pid IN (SELECT pid $ours)")
	  and pass("$label: the node has ended all of them");
	return;
}

# Sessions in many states, and one cut for all of them.
sub cut_all
{
	my ($label, $limit_s, @names) = @_;
	my %sessions = map { $_ => $faults->session } @names;
	my $nasleep = 0;
	for my $name (@names)
	{
		my ($before, $statement) = @{ $states{$name} // [ "BEGIN; INSERT INTO here VALUES (1); INSERT INTO written VALUES (2, 'x');", undef ] };
		is(($sessions{$name}->run($before))[1], '', "$label, $name: begins");
		next unless defined $statement;
		$sessions{$name}->send($statement);
		$nasleep++;
		ok($faults->control->poll("SELECT count(*) = $nasleep $ours AND state = 'active' AND wait_event = 'PgSleep'"),
			"$label, $name: is there");
	}
	usleep(300_000);		# until all that was said is acknowledged
	$cable->cut;
	my $began = time();
	for my $name (@names)
	{
		# Something is sent into the cut cable.
		$sessions{$name}->send('SELECT count(*) FROM numbers;') unless $states{$name};
	}
	for my $name (@names)
	{
		my ($out, $err) = $sessions{$name}->result;
		my $first = ($states{$name} // [])->[2];
		like($err, $name eq 'in COMMIT' ? $in_doubt : $first ? $away : $lost, "$label, $name");
		my $elapsed = $sessions{$name}->ended - $began;
		cmp_ok($elapsed, '>', 0.8, "$label, $name: not at once (s)");
		cmp_ok($elapsed, '<', 1.5 * $limit_s + 1 + ($first ? 2 : 0) + $patience_s, "$label, $name: in time (s)");
		$sessions{$name}->run('ROLLBACK; RESET ALL;');
	}
	my ($session) = @sessions{@names};
	like($faults->one($session, 'SELECT count(*) FROM numbers;'), $away, "$label: connecting");
	cmp_ok($session->seconds, '>', 1.5, "$label: connecting takes connect_timeout (s)");
	cmp_ok($session->seconds, '<', 2 + $patience_s, "$label: connecting takes no more (s)");
	like($faults->one($session, "SET statement_timeout = '300ms'; SELECT count(*) FROM numbers;"), $timed_out, "$label: connecting, statement_timeout");
	cmp_ok($session->seconds, '<', 1.9, "$label: connecting, statement_timeout, at once (s)");
	$session->run('RESET ALL;');
	node_is_free($label);
	$cable->mend;
	for my $name (@names)
	{
		$faults->is_clean($sessions{$name}, "$label, $name") if $name eq $names[0];
		$sessions{$name}->quit;
	}
	ok($faults->is_left($label), "$label: nothing is left");
	return;
}

# With 'first' it is sent again, once; nobody is there to be connected to.
my @waiting = ('sent', 'sent later', 'sent in a savepoint', 'half answered, later', 'page two of a cursor', 'writing', 'in COMMIT');

set_server(q{ADD tcp_user_timeout '2000'});
cut_all('tcp_user_timeout', 2, @waiting, 'something is sent');
set_server(q{DROP tcp_user_timeout, ADD keepalives_idle '1', ADD keepalives_interval '1', ADD keepalives_count '2'});
cut_all('keep-alives', 3, @waiting, 'something is sent');

# The same limit, and a node that does not read for longer than that: it is busy
# with a statement, and the next one is larger than its buffer. It is waited for.
{
	my $label = 'a busy node';
	$far->safe_psql('postgres', 'CREATE VIEW node.busy AS SELECT id, node.nap(6) AS n FROM node.numbers WHERE id = 1');
	$node->safe_psql('postgres', 'IMPORT FOREIGN SCHEMA node LIMIT TO (busy) FROM SERVER far INTO f');
	my $text = 'x' x 4_000_000;
	my $query = "SELECT count(n) FROM busy UNION ALL SELECT count(*) FROM wide WHERE t <> '$text';";
	my $session = $faults->session;
	is($faults->one($session, $query), "1\n1000", "$label: is waited for");
	cmp_ok($session->seconds, '>', 5.5, "$label: long enough (s)");

	# An option that the kernel takes otherwise is obeyed.
	set_server(q{ADD tcp_user_timeout '3000'});
	like($faults->one($session, "BEGIN; SELECT count(*) FROM numbers; $query"), qr/08006: connection to storage node "far" was lost/, "$label: tcp_user_timeout does not wait");
	cmp_ok($session->seconds, '<', 5.5, "$label: tcp_user_timeout ends it (s)");
	$session->run('ROLLBACK;');
	set_server('DROP tcp_user_timeout');
	$faults->is_clean($session, $label);
	$session->quit;
}

# A name that no name server knows anything of.
SKIP:
{
	skip 'no /etc/resolv.conf', 3 unless $cable->silence_names;
	my $label = 'looking up a name';
	set_server(q{SET host 'nobody.knows.this.example'});
	my $session = ShuttleSession->new($node, 'postgres');
	$session->send('SELECT count(*) FROM numbers;');
	my $event = $node->safe_psql('postgres', 'SHOW server_version_num') < 170000 ? 'Extension' : 'ShuttleHostName';
	ok($node->poll_query_until('postgres',
		"SELECT wait_event = '$event' FROM pg_stat_activity WHERE pid = @{[ $session->pid ]}"), "$label: is there");
	$node->safe_psql('postgres', "SELECT pg_cancel_backend(@{[ $session->pid ]})");
	my $began = time();
	like(($session->result)[1], $cancelled, "$label: cancelled");
	cmp_ok($session->ended - $began, '<', 2, "$label: at once (s)");
	like($faults->one($session, "SET statement_timeout = '300ms'; SELECT count(*) FROM numbers;"), $timed_out, "$label: statement_timeout");
	set_server(q{SET host '} . $cable->address . q{'});
	is($faults->one($session, 'RESET ALL; SELECT count(*) FROM numbers;'), 1000, "$label: another address");
	is(`pgrep -P @{[ $session->pid ]}`, '', "$label: no child is left");
	$session->quit;
}

ok($faults->is_left('the end'), 'no connection is left');
$faults->stop;
done_testing();
