# Commits are of one phase; ShuttleCommit.pm is for others.
# A query node and a storage node with a proxy between them, statements that can
# be met in any state, and what has to hold after each fault.
#
#   my $faults = ShuttleFaults->new;         # cable => a ShuttleCable in place of the proxy
#   my $session = $faults->session;          # on the query node
#   $faults->{far}, {node}                   # the two servers
#   $faults->{proxy}                         # between them (ShuttleProxy)
#   $faults->control                         # a session on the storage node
#   $faults->ours                            # FROM and WHERE: our sessions there
#   $faults->waits('PgSleep')                # until one of them waits for that
#   $faults->states                          # where a request can be, by name
#   $faults->reach($session, $state, $label) # runs what gets there
#   $faults->one($session, $sql)             # what it prints, errors included
#   $faults->is_clean($session, $label)      # nothing leaks, and the next query works
#   $faults->is_left($label)                 # the same for the storage node alone
#
# Foreign tables: numbers (1000 rows), written (none), wide (1000 rows of 1 kB);
# slow (takes its time at once), slow_later (with its row 16), slow_by_key (with
# each from 16 on that is asked for), half (with its row 500, of 1 kB each);
# slow_to_write, slow_to_commit; large (a row of 1.2 GB).
package ShuttleFaults;

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use Test::More;
use Time::HiRes qw(time usleep);

use ShuttleProxy;
use ShuttleSession;

my $far_schema = q{
	CREATE SCHEMA node;
	SET search_path = node;
	CREATE TABLE numbers AS SELECT i AS id, i % 10 AS n FROM generate_series(1, 1000) i;
	ALTER TABLE numbers ADD PRIMARY KEY (id);
	CREATE TABLE wide AS SELECT i AS id, repeat(chr(97 + i % 26), 1000) AS t FROM generate_series(1, 1000) i;
	ALTER TABLE wide ADD PRIMARY KEY (id);
	CREATE TABLE written (id int PRIMARY KEY, v text);
	CREATE FUNCTION nap(seconds float8) RETURNS int LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_sleep(seconds); RETURN 1; END';
	CREATE VIEW slow AS SELECT id, node.nap(60) AS n FROM numbers;
	CREATE VIEW slow_later AS SELECT id, CASE WHEN id > 15 THEN node.nap(60) ELSE 0 END AS n FROM numbers;
	CREATE FUNCTION nap_at(id int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
		'BEGIN IF id > 15 THEN PERFORM pg_sleep(60); END IF; RETURN id; END';
	CREATE VIEW slow_by_key AS SELECT id, node.nap_at(id) AS n FROM numbers;
	CREATE VIEW half AS SELECT id, t, CASE WHEN id = 500 THEN node.nap(60) ELSE 0 END AS n FROM wide;
	CREATE VIEW large AS SELECT repeat('x', 600000000) AS a, repeat('y', 600000000) AS b;
	CREATE FUNCTION take_time() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_sleep(60); RETURN NEW; END';
	CREATE TABLE slow_to_write (id int);
	CREATE TRIGGER slow BEFORE INSERT OR UPDATE ON slow_to_write FOR EACH ROW EXECUTE FUNCTION take_time();
	CREATE TABLE slow_to_commit (id int);
	CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON slow_to_commit DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION take_time();
	ANALYZE;};

# Each state: what is run before, a statement that gets there, and whether it is
# 'first': the node has not answered anything then, and would be asked again.
my %states = (
	'sent' => [ '', 'SELECT count(n) FROM slow;', 'first' ],
	'sent later' => [ 'BEGIN; INSERT INTO here VALUES (1); SELECT count(*) FROM numbers;', 'SELECT count(n) FROM slow;' ],
	'sent behind a write' => [ "BEGIN; INSERT INTO here VALUES (1); INSERT INTO written VALUES (1, 'x');", 'SELECT count(n) FROM slow;' ],
	'sent in a savepoint' => [ "BEGIN; INSERT INTO written VALUES (1, 'x'); SAVEPOINT a;", 'SELECT count(n) FROM slow;' ],
	'half answered' => [ 'SET shuttle.fetch_limit = 100000;', 'SELECT sum(length(t)) FROM half WHERE n < local(7);' ],
	'half answered, later' => [ 'SET shuttle.fetch_limit = 100000; BEGIN; INSERT INTO here VALUES (1); SELECT count(*) FROM numbers;',
		'SELECT sum(length(t)) FROM half WHERE n < local(7);' ],
	'page two' => [ 'SET shuttle.fetch_limit = 10;', 'SELECT count(n) FROM slow_later WHERE n < local(7);', 'first' ],
	'page two of a cursor' => [
		'SET shuttle.fetch_limit = 10; BEGIN; INSERT INTO here VALUES (1); DECLARE c CURSOR FOR SELECT id, n FROM slow_later; FETCH 5 FROM c;',
		'FETCH 20 FROM c;' ],
	'a later batch' => [ 'SET shuttle.debug_force_batched_join = on; SET shuttle.batch_size = 4;',
		'SELECT count(b.n) FROM wanted a JOIN slow_by_key b ON b.id = a.id;' ],
	'writing' => [ 'BEGIN; INSERT INTO here VALUES (1);', 'INSERT INTO slow_to_write VALUES (1);', 'first' ],
	'in COMMIT' => [ 'BEGIN; INSERT INTO here VALUES (1); INSERT INTO slow_to_commit VALUES (1);', 'COMMIT;' ],
);

sub states { return %states; }

sub reach
{
	my ($self, $session, $state, $label) = @_;
	my ($before, $statement) = @{ $states{$state} };
	my ($out, $err) = $session->run($before);
	is($err, '', "$label: begins");
	$self->{proxy}->answered if $self->{proxy};
	$session->send($statement);
	ok($self->waits('PgSleep'), "$label: is there");

	# ... and has read what was answered before, without which it would ask anew
	my $pid = $session->pid;
	$self->{node}->poll_query_until('postgres',
		"SELECT coalesce(wait_event_type, '') = 'Extension' FROM pg_stat_activity WHERE pid = $pid")
	  or die "$label: does not wait";
	cmp_ok($self->{proxy}->answered, '>', 100000, "$label: half of it") if $state =~ /half/ && $self->{proxy};
	return;
}

sub new
{
	my ($class, %options) = @_;
	my $self = bless { options => $options{server} // '' }, $class;
	$self->{far} = PostgreSQL::Test::Cluster->new('far');
	$self->{far}->init;
	$self->{far}->append_conf('postgresql.conf', $options{far_conf} // '');
	if (my $cable = $options{cable})
	{
		$cable->attach($self->{far});
		$cable->start($self->{far});
		@$self{qw(address port)} = ($cable->address, $self->{far}->port);
	}
	else
	{
		$self->{far}->start;
		$self->{proxy} = ShuttleProxy->new($self->{far});
		@$self{qw(address port)} = ('127.0.0.1', $self->{proxy}->port);
	}
	$self->{node} = PostgreSQL::Test::Cluster->new('main');
	$self->{node}->init;
	# row counts have connections of their own, which would be taken for those of a statement
	$self->{node}->append_conf('postgresql.conf',
		"session_preload_libraries = 'pg_shuttle'\njit = off\nshuttle.enable_row_counts = off\n" . ($options{conf} // ''));
	$self->{node}->start;
	$self->make_tables;
	return $self;
}

sub make_tables
{
	my $self = shift;
	my ($address, $port) = @$self{qw(address port)};
	my $node = $self->{node};
	my $user = $node->safe_psql('postgres', 'SELECT current_user');
	$self->{far}->safe_psql('postgres', $far_schema);
	$node->safe_psql('postgres', qq{
		CREATE EXTENSION pg_shuttle CASCADE;
		CREATE SERVER far FOREIGN DATA WRAPPER shuttle
			OPTIONS (host '$address', port '$port', dbname 'postgres', shuttle_two_phase 'off' $self->{options});
		CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user '$user');
		CREATE SCHEMA f;
		IMPORT FOREIGN SCHEMA node FROM SERVER far INTO f;
		ALTER DATABASE postgres SET search_path = f, public;
		CREATE TABLE here (id int);
		CREATE TABLE wanted AS SELECT i AS id FROM generate_series(1, 100) i;
		ANALYZE wanted;
		CREATE FUNCTION local(i int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN i; END';
	});
	return;
}

sub session
{
	my ($self, @options) = @_;
	my $session = ShuttleSession->new($self->{node}, 'postgres', @options);

	# What a first use leaves behind for the session is no leak.
	$session->run('SELECT count(*) FROM numbers;') for 1 .. 3;
	$session->{files} = open_files($session);
	return $session;
}

# Memory of a session, in bytes by name of context.
sub memory
{
	my $session = shift;
	my ($out) = $session->run(q{SELECT translate(name, ';=', '  ') || '=' || sum(used_bytes)
		FROM pg_backend_memory_contexts GROUP BY name;});
	return map { split /=/ } split /\n/, $out;
}

# What may grow without being a leak: caches fill with what statements look up, a
# node comes to be used, and core keeps buffers of the size that it needed once.
sub slack
{
	my $name = shift;
	return 2**20 if $name eq 'CacheMemoryContext';
	return $name =~ /^Top/ ? 2**14 : $name =~ /^shuttle/ ? 2**16 : 2**19;
}

# Contexts that have grown since the first fault was over.
sub grown
{
	my $session = shift;
	my %now = memory($session);
	my $before = $session->{memory} //= {%now};
	return map { "$_: $now{$_} bytes, were " . ($before->{$_} // 0) }
	  grep { $now{$_} > ($before->{$_} // 0) + slack($_) } sort keys %now;
}

sub control
{
	my $self = shift;
	$self->{control} //= ShuttleSession->new($self->{far}, 'postgres');
	return $self->{control};
}

# The storage node is about to end, and its sessions with it.
sub forget_control
{
	my $self = shift;
	$self->{control}->quit if defined $self->{control};
	$self->{control} = undef;
	return;
}

sub ours { return q{FROM pg_stat_activity WHERE application_name LIKE 'pg_shuttle %'}; }

sub waits
{
	my ($self, $event) = @_;
	my $ours = ours();
	return $self->control->poll("SELECT count(*) > 0 $ours AND state = 'active' AND wait_event = '$event'");
}

sub one
{
	my ($self, $session, $sql) = @_;
	my ($out, $err) = $session->run($sql);
	return $err eq '' ? $out : $out eq '' ? $err : "$out\n$err";
}

# Sockets, pipes and temporary files; of tables, a server keeps some open.
sub open_files
{
	my $session = shift;
	return scalar grep { (readlink($_) // '') =~ /^(?:socket|pipe|anon_inode):|pgsql_tmp/ }
	  glob('/proc/' . $session->pid . '/fd/*');
}

# Memory that only this process has, in kB.
sub own_memory_kb
{
	my ($self, $session) = @_;
	open(my $file, '<', '/proc/' . $session->pid . '/status') or return 0;
	my ($size) = map { /^RssAnon:\s+(\d+)/ ? $1 : () } <$file>;
	return $size // 0;
}

# Polls until a condition on the storage node holds, and tells what does not.
sub holds_there
{
	my ($self, $label, $what, $condition) = @_;
	return 1 if $self->control->poll($condition, 10);
	fail("$label: $what");
	diag(($self->control->run("SELECT pid, state, wait_event, query, left(application_name, 30) @{[ ours() ]};"))[0]);
	return 0;
}

my $temporary_files = q{(SELECT count(*) FROM pg_ls_tmpdir())};

sub is_left
{
	my ($self, $label, $most) = @_;
	$most //= 0;
	my $ours = ours();
	return $self->holds_there($label, 'connections', "SELECT count(*) <= $most $ours")
	  && $self->holds_there($label, 'statements', "SELECT count(*) = 0 $ours AND state <> 'idle'")
	  && $self->holds_there($label, 'locks', "SELECT count(*) = 0 FROM pg_locks WHERE pid IN (SELECT pid $ours)")
	  && $self->holds_there($label, 'files there', "SELECT $temporary_files = 0");
}

# One line of the test: the session goes on, and nothing is left of the fault.
# A table that was written to may keep the answer about its types, unread.
sub is_clean
{
	my ($self, $session, $label) = @_;
	my ($out, $err) = $session->run(
		'SELECT count(*) FROM numbers; SELECT n FROM numbers WHERE id = 17; SELECT count(*) FROM written;');
	my @problems;

	push @problems, "next query: $out$err" if "$out$err" ne "1000\n7\n0";
	push @problems, 'on the storage node' unless $self->is_left($label, 1);
	my $left = $self->one($session, qq{
		SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype NOT IN ('virtualxid')
			AND relation IS DISTINCT FROM 'pg_locks'::regclass;
		SELECT greatest(0, count(*) FILTER (WHERE name <> 'shuttle remote table') - count(*) FILTER (WHERE name = 'shuttle remote table'))
			FROM pg_backend_memory_contexts WHERE name IN ('shuttle request', 'shuttle answer', 'shuttle row', 'shuttle remote table');
		SELECT $temporary_files;
		SELECT count(*) FROM here;});
	push @problems, "locks, contexts, files, rows: $left" if $left ne "0\n0\n0\n0";
	push @problems, "memory: $_" for grown($session);
	my $files = open_files($session);
	push @problems, "files open: $files, were $session->{files}" if $files > $session->{files};
	return is(join('; ', @problems), '', "$label: nothing is left, the next query works");
}

sub stop
{
	my $self = shift;
	$self->forget_control;
	$self->{node}->stop;
	$self->{far}->stop;
	return;
}

1;
