# Faults at the steps of a statement that changes a query node and its storage
# nodes: afterwards all of the statement is done on every server, or nothing.
#
#   my $steps = ShuttleSteps->new($cluster, $points, 'schema');
#   $steps->learn('name', 'SELECT do()', 'SELECT undo()');  # undo takes it back
#   $steps->fault('name', 'prepared', 'cancel');
#
# A step is a point of ShuttlePoints, or "node" with an SQL command behind it: the
# second node runs it in a transaction, which the statement has to wait for.
package ShuttleSteps;

use strict;
use warnings;

use ShuttleSession;
use Test::More;
use Time::HiRes qw(time usleep);

our @quick = ('storage backend', 'cancel', 'terminate', 'query backend');
our @slow = ('storage server', 'query server');

# Behind these points of the query node the statement is committed.
my %decided = map { $_ => 1 } qw(committed commit-sent);

# Names and properties of all that a schema has, and a sum of the rows of its tables.
my $catalog_query = <<~'SQL';
	WITH relation AS (SELECT oid, relname, relkind, relispartition FROM pg_class WHERE relnamespace = to_regnamespace('%1$s'))
	SELECT string_agg(part, E'\n' ORDER BY part) FROM (
		SELECT concat_ws(' ', relname, relkind, relispartition) FROM relation WHERE relkind NOT IN ('i', 'I')
		UNION ALL SELECT concat_ws(' ', relname, attname, format_type(atttypid, atttypmod), attnotnull, atthasdef)
			FROM relation JOIN pg_attribute ON attrelid = oid WHERE attnum > 0 AND NOT attisdropped AND relkind NOT IN ('i', 'I')
		UNION ALL SELECT concat_ws(' ', indexrelid::regclass, indisvalid, indisunique) FROM relation JOIN pg_index ON indrelid = oid
		UNION ALL SELECT concat_ws(' ', conrelid::regclass, conname, convalidated) FROM relation JOIN pg_constraint ON conrelid = relation.oid
			WHERE contype <> 'n'
		UNION ALL SELECT concat_ws(' ', tgrelid::regclass, regexp_replace(tgname, '\d+', 'N')) FROM relation JOIN pg_trigger ON tgrelid = relation.oid
			WHERE NOT tgisinternal
		UNION ALL SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = to_regnamespace('%1$s')
		) AS parts (part);
	SELECT format('SELECT %%L, md5(string_agg(t::text, '','' ORDER BY t::text)) FROM %%1$s AS t', oid::regclass)
	FROM pg_class WHERE relnamespace = to_regnamespace('%1$s') AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY relname \gexec
	SQL
my $shuttle_query = <<~'SQL';
	SELECT string_agg(part, E'\n' ORDER BY part) FROM (
		SELECT relation || ' is ' || kind FROM shuttle.tables
		UNION ALL SELECT relname || ' is hidden' FROM pg_class WHERE relnamespace = to_regnamespace('pg_shuttle_copies')
		UNION ALL SELECT c::text FROM shuttle.check() AS c) AS parts (part)
	SQL

sub new
{
	my ($class, $cluster, $points, $schema) = @_;
	return bless { cluster => $cluster, points => $points, schema => $schema, statements => {} }, $class;
}

# All that there is, as one text. Tablets that were made again have a count in their names.
sub found
{
	my $self = shift;
	my ($query, @nodes) = ($self->{cluster}{query}, @{ $self->{cluster}{nodes} });
	my $sql = sprintf $catalog_query, $self->{schema};
	my $found = join "\n----\n", $query->safe_psql('postgres', "$shuttle_query;$sql"), map { $_->safe_psql('postgres', $sql) } @nodes;
	return $found =~ s/(_t\d+)_\d+\b/$1/gr;
}

sub learn
{
	my ($self, $name, $do, $undo) = @_;
	my $before = $self->found;
	$self->{cluster}{query}->safe_psql('postgres', $do);
	my $after = $self->found;
	$self->{cluster}{query}->safe_psql('postgres', $undo);
	isnt($after, $before, "$name changes something");
	is($self->found, $before, "$name is taken back");
	unlike("$before$after", qr/^\(/m, "$name: check() finds nothing");
	$self->{statements}{$name} = { sql => $do, undo => $undo, before => $before, after => $after };
	return;
}

# Stops the statement of the session at the step; the session of the node that makes it wait, if any.
sub stop_at
{
	my ($self, $step, $session, $sql) = @_;
	my $blocker;
	if (my ($command) = $step =~ /^node (.*)/)
	{
		$blocker = ShuttleSession->new($self->{cluster}{nodes}[1], 'postgres');
		$blocker->run("BEGIN; $command;");
		$session->send("$sql;");
		my $waits = q{SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)};
		return ($blocker->poll($waits), $blocker);
	}
	$self->{points}->arm($step);
	$session->send("$sql;");
	return ($self->{points}->reached($step, $session->pid), undef);
}

sub strike
{
	my ($self, $fault, $pid, $blocker) = @_;
	my ($cluster, $query, $node) = ($self->{cluster}, $self->{cluster}{query}, $self->{cluster}{nodes}[1]);
	my $other = defined $blocker ? $blocker->pid : 0;
	if ($fault eq 'storage backend')
	{
		$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid NOT IN (pg_backend_pid(), $other)");
	}
	elsif ($fault eq 'storage server') { $cluster->kill_server($node); }
	elsif ($fault eq 'cancel') { $query->safe_psql('postgres', "SELECT pg_cancel_backend($pid)"); }
	elsif ($fault eq 'terminate') { $query->safe_psql('postgres', "SELECT pg_terminate_backend($pid)"); }
	elsif ($fault eq 'query backend') { $cluster->kill_backend($pid); }
	else { $cluster->kill_server($query, $pid); }
	return;
}

sub fault
{
	my ($self, $name, $step, $fault) = @_;
	my $statement = $self->{statements}{$name};
	my $label = "$name, $fault at $step";
	my $session = ShuttleSession->new($self->{cluster}{query}, 'postgres');
	my ($stopped, $blocker) = $self->stop_at($step, $session, $statement->{sql});
	die "$label: it does not wait there" unless $stopped;
	$self->strike($fault, $session->pid, $blocker);
	$self->{points}->release($step) if !defined $blocker && $fault !~ /^query/;

	# who is killed leaves a statement on the node that waits for the lock
	$blocker->quit if defined $blocker;
	my ($out, $err) = $session->result;
	$session->quit;
	$self->{cluster}->bring_up;
	$self->{points}->forget;
	$self->{cluster}->is_settled($label, 30);
	$self->is_whole($statement, $label, $fault =~ /^query|terminate/ ? $decided{$step} : $err !~ /^(ERROR|FATAL)/m);
	return;
}

sub is_whole
{
	my ($self, $statement, $label, $done) = @_;
	my $wanted = $statement->{ $done ? 'after' : 'before' };
	my $found = $self->found;
	$label .= $done ? ': all' : ': nothing';
	return is($found, $wanted, $label) if $found ne $statement->{after} || !$done;
	pass($label);
	$self->{cluster}{query}->safe_psql('postgres', $statement->{undo});
	return;
}

1;
