# Functions in PL/Perl, PL/Python and PL/Tcl over tables of two nodes: row counts, what
# RETURNING gives, errors that they catch, cursors read in part and triggers are those of
# tables of here.  Each of their statements is a subtransaction.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "session_preload_libraries = 'pg_shuttle'\nmax_prepared_transactions = 10");
$node->start;
my @languages = grep {
	$node->safe_psql('postgres', "SELECT 1 FROM pg_available_extensions WHERE name = '$_'") eq '1'
} qw(plperl plpython3u pltcl);
plan skip_all => 'neither PL/Perl, PL/Python nor PL/Tcl is installed for this server' unless @languages;

my ($host, $port) = ($node->host, $node->port);
my $user = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE SCHEMA far;
	CREATE SCHEMA local;
	CREATE SCHEMA here;
	CREATE TABLE far.a1 (k int PRIMARY KEY, v text CONSTRAINT not_bad CHECK (v <> 'bad'));
	CREATE TABLE far.a2 (LIKE far.a1 INCLUDING ALL);
	CREATE TABLE far.log (e text, k text, n int);
	CREATE TABLE local.log (LIKE far.log);
	CREATE TABLE local.a (k int PRIMARY KEY, v text CONSTRAINT not_bad CHECK (v <> 'bad')) PARTITION BY RANGE (k);
	CREATE TABLE local.a1 PARTITION OF local.a FOR VALUES FROM (0) TO (100);
	CREATE TABLE local.a2 PARTITION OF local.a FOR VALUES FROM (100) TO (10000);
	CREATE TABLE here.a (k int, v text) PARTITION BY RANGE (k);
});
for my $i (1, 2)
{
	my $bounds = $i == 1 ? 'FROM (0) TO (100)' : 'FROM (100) TO (10000)';
	$node->safe_psql('postgres', qq{
		CREATE SERVER node$i FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres');
		CREATE USER MAPPING FOR CURRENT_USER SERVER node$i OPTIONS (user '$user');
		CREATE FOREIGN TABLE here.a$i PARTITION OF here.a FOR VALUES $bounds SERVER node$i OPTIONS (schema_name 'far');
	});
}
$node->safe_psql('postgres', q{CREATE FOREIGN TABLE here.log (e text, k text, n int) SERVER node1 OPTIONS (schema_name 'far')});

# What statements print over tables of here or of nodes, and what they leave there.
sub play
{
	my ($schema, $sql) = @_;
	my ($code, $out, $err) = $node->psql('postgres', qq{
		SET search_path = $schema, public;
		INSERT INTO a VALUES (2, 'two'), (200, 'two hundred');
		$sql;
		SELECT 'left', * FROM a ORDER BY k;
		SELECT 'logged', * FROM log ORDER BY e, k, n;
		DELETE FROM a;
		DELETE FROM log;
	}, on_error_stop => 0, extra_params => [ '-v', 'VERBOSITY=terse' ]);
	$err =~ s/^psql:<stdin>:\d+: //mg;
	return "$out\n$err";
}

# Both ways have the same, and what is given is in it.
sub same
{
	my ($name, $sql, @expected) = @_;
	my $local = play('local', $sql);
	is(play('here', $sql), $local, $name);
	like($local, $_, "$name: $_") for @expected;
	return;
}

# The same statements for each language: its text of them, one behind the other.
my @steps = (
	q{INSERT INTO a SELECT i, 'x' FROM generate_series(10, 190) i},
	q{INSERT INTO a VALUES (201, 'y'), (7, 'z') RETURNING k, v},
	q{UPDATE a SET v = 'u' WHERE k % 10 = 0},
	q{UPDATE a SET v = v || k WHERE k BETWEEN 98 AND 101 RETURNING k, v},
	q{DELETE FROM a WHERE k IN (10, 150, 7777)},
	q{INSERT INTO a VALUES (300, 'ok'), (2, 'dup')},
	q{SELECT count(*) AS k, max(k) AS v FROM a},
	q{INSERT INTO a VALUES (301, 'bad')},
	q{INSERT INTO a VALUES (302, 'fine')},
	q{UPDATE a SET k = 11 WHERE k = 2},
	q{UPDATE a SET k = k + 300 WHERE k = 2},
	q{INSERT INTO a SELECT 303, 1 / 0 FROM a},
	q{SELECT 1 / (k - 11) AS k, v FROM a WHERE k = 11},
	q{INSERT INTO a VALUES (-1, 'x')},
	q{WITH d AS (DELETE FROM a WHERE k < 50 RETURNING k) SELECT count(*) AS k, (SELECT count(*) FROM a) AS v FROM d},
	q{SELECT count(*) AS k, sum(k) AS v FROM a});
my $steps = join ', ', map { "\$s\$$_\$s\$" } @steps;
my @facts = (qr/^\D*181$/m, qr/^2 201=y 7=z$/m, qr/^4 /m, qr/^failed 23505/m, qr/^failed 23514/m, qr/^failed 22012/m);

my %functions = (
	plperl => q{
		CREATE FUNCTION plperl_steps(steps text[]) RETURNS SETOF text LANGUAGE plperl AS $$
			my @out;
			for my $sql (@{ $_[0] }) {
				my $r = eval { spi_exec_query($sql) };
				if (!defined $r) {
					push @out, 'failed ' . ($@ =~ /duplicate key/ ? 23505 : $@ =~ /not_bad/ ? 23514 : $@ =~ /division by zero/ ? 22012 : $@);
					next;
				}
				push @out, join ' ', $r->{processed}, $r->{rows} ? map { "$_->{k}=$_->{v}" } @{ $r->{rows} } : ();
			}
			return \@out;
		$$;
		CREATE FUNCTION plperl_cursors() RETURNS SETOF text LANGUAGE plperl AS $$
			my @out;
			my $plan = spi_prepare('INSERT INTO a VALUES ($1, $2)', 'int', 'text');
			for my $i (85 .. 120, 90, 300) {
				my $r = eval { spi_exec_prepared($plan, $i, "p$i") };
				push @out, $r ? "wrote $r->{processed}" : 'failed';
			}
			spi_freeplan($plan);
			my $cursor = spi_query('SELECT k, v FROM a WHERE k > 85 ORDER BY k');
			for my $i (1 .. 5) {
				my $row = spi_fetchrow($cursor);
				push @out, "row $row->{k} $row->{v}";
				spi_exec_query("UPDATE a SET v = 'seen' WHERE k = $row->{k}");
			}
			spi_cursor_close($cursor);
			$plan = spi_prepare('SELECT k FROM a WHERE k >= $1 ORDER BY k', 'int');
			$cursor = spi_query_prepared($plan, 110);
			while (defined(my $row = spi_fetchrow($cursor))) {
				push @out, "loop $row->{k}";
				eval { spi_exec_query("INSERT INTO a VALUES ($row->{k}, 'again')") };
				eval { spi_exec_query("INSERT INTO a VALUES (1000 + $row->{k}, 'new')") };
			}
			push @out, 'limited ' . spi_exec_query('SELECT k FROM a ORDER BY k', 3)->{processed};
			return \@out;
		$$;
		CREATE FUNCTION plperl_limits(statement text, most int) RETURNS text LANGUAGE plperl AS $$
			my $r = spi_exec_query($_[0], $_[1]);
			return join ' ', $r->{processed}, scalar @{ $r->{rows} // [] };
		$$;
		CREATE FUNCTION plperl_catches(statement text) RETURNS text LANGUAGE plperl AS $$
			my $n = eval { spi_exec_query($_[0])->{processed} };
			return defined $n ? "did $n" : 'caught ' . ($@ =~ /duplicate key/ ? 'duplicate key' : $@);
		$$;
		CREATE PROCEDURE plperl_commits() LANGUAGE plperl AS $$
			for my $i (0 .. 9) {
				spi_exec_query("INSERT INTO a VALUES (95 + $i, 'tx')");
				if ($i % 3 == 0) { spi_commit() } elsif ($i % 3 == 1) { spi_rollback() }
			}
			eval { spi_exec_query("INSERT INTO a VALUES (95, 'tx')"); spi_commit(); };
			elog(NOTICE, $@ =~ /duplicate key/ ? 'caught' : 'not caught');
			spi_exec_query("INSERT INTO a VALUES (500, 'tx')");
		$$;
		CREATE FUNCTION plperl_before() RETURNS trigger LANGUAGE plperl AS $$
			if ($_TD->{event} eq 'INSERT') {
				return 'SKIP' if $_TD->{new}{k} % 7 == 0;
				$_TD->{new}{v} .= '!';
				return 'MODIFY';
			}
			if ($_TD->{event} eq 'UPDATE') {
				$_TD->{new}{v} = "$_TD->{old}{v}>$_TD->{new}{v}";
				return 'MODIFY';
			}
			return $_TD->{old}{k} % 5 == 0 ? 'SKIP' : undef;
		$$;
		CREATE FUNCTION plperl_after() RETURNS trigger LANGUAGE plperl AS $$
			my $k = $_TD->{new}{k} // $_TD->{old}{k};
			my $n = spi_exec_query('SELECT count(*) AS n FROM a')->{rows}[0]{n};
			eval { spi_exec_query("INSERT INTO a VALUES (2, 'again')") };
			spi_exec_query("INSERT INTO log VALUES ('$_TD->{event} " . ($@ ? 'caught' : '') . "', '$k', $n)");
			return;
		$$;},
	plpython3u => q{
		CREATE FUNCTION plpython3u_steps(steps text[]) RETURNS SETOF text LANGUAGE plpython3u AS $$
out = []
for sql in steps:
	try:
		r = plpy.execute(sql)
	except plpy.SPIError as e:
		out.append(f'failed {e.sqlstate}')
		continue
	out.append(' '.join([str(r.nrows()), *(f"{row['k']}={row['v']}" for row in r)]))
return out
		$$;
		CREATE FUNCTION plpython3u_cursors() RETURNS SETOF text LANGUAGE plpython3u AS $$
out = []
plan = plpy.prepare('INSERT INTO a VALUES ($1, $2)', ['int', 'text'])
for i in [*range(85, 121), 90, 300]:
	try:
		out.append(f"wrote {plan.execute([i, f'p{i}']).nrows()}")
	except plpy.spiexceptions.UniqueViolation:
		out.append('failed')
n = 0
for row in plpy.cursor('SELECT k, v FROM a ORDER BY k'):
	n += 1
	if n > 20:
		break
	plpy.execute(f"UPDATE a SET v = 'seen' WHERE k = {row['k']}")
cursor = plpy.cursor('SELECT k FROM a WHERE k > 90 ORDER BY k')
out.append(str([row['k'] for row in cursor.fetch(7)]))
plpy.execute('DELETE FROM a WHERE k BETWEEN 95 AND 110')
try:
	with plpy.subtransaction():
		out.append(str([row['k'] for row in cursor.fetch(4)]))
		plpy.execute("INSERT INTO a VALUES (2, 'again')")
except plpy.SPIError as e:
	out.append(e.sqlstate)
out.append(str([row['k'] for row in cursor.fetch(1000)]))
with plpy.subtransaction():
	other = plpy.cursor('SELECT k FROM a ORDER BY k')
	other.fetch(1)
out.append(str([row['k'] for row in other.fetch(3)]))
return out
		$$;
		CREATE FUNCTION plpython3u_catches(statement text) RETURNS text LANGUAGE plpython3u AS $$
try:
	with plpy.subtransaction():
		n = plpy.execute(statement).nrows()
except plpy.spiexceptions.UniqueViolation:
	return 'caught duplicate key'
return f'did {n}'
		$$;
		CREATE FUNCTION plpython3u_limits(statement text, most int) RETURNS text LANGUAGE plpython3u AS $$
r = plpy.execute(statement, most)
return f'{r.nrows()} {len(r)}'
		$$;
		CREATE FUNCTION plpython3u_nests() RETURNS SETOF text LANGUAGE plpython3u AS $$
out = []
def add(k):
	plpy.execute(f"INSERT INTO a VALUES ({k}, 'in')")
def fails(*keys, error=None):
	try:
		with plpy.subtransaction():
			for k in keys:
				add(k)
			if error:
				raise ValueError(error)
	except (plpy.SPIError, ValueError) as e:
		out.append(getattr(e, 'sqlstate', None) or str(e))
fails(50, 150, error='mine')
fails(51, 151, 2, 52)
with plpy.subtransaction():
	add(53)
	fails(54, 154, 53)
	add(55)
	fails(155, 55)
out.append(str([row['k'] for row in plpy.execute('SELECT k FROM a ORDER BY k')]))
return out
		$$;
		CREATE PROCEDURE plpython3u_commits() LANGUAGE plpython3u AS $$
for i in range(10):
	plpy.execute(f"INSERT INTO a VALUES ({95 + i}, 'tx')")
	if i % 3 == 0:
		plpy.commit()
	elif i % 3 == 1:
		plpy.rollback()
try:
	plpy.execute("INSERT INTO a VALUES (95, 'tx')")
	plpy.commit()
except plpy.SPIError as e:
	plpy.notice(e.sqlstate)
plpy.execute("INSERT INTO a VALUES (500, 'tx')")
		$$;
		CREATE FUNCTION plpython3u_before() RETURNS trigger LANGUAGE plpython3u AS $$
if TD['event'] == 'DELETE':
	return 'SKIP' if TD['old']['k'] % 5 == 0 else None
if TD['event'] == 'INSERT' and TD['new']['k'] % 7 == 0:
	return 'SKIP'
TD['new']['v'] = TD['new']['v'] + '!' if TD['event'] == 'INSERT' else f"{TD['old']['v']}>{TD['new']['v']}"
return 'MODIFY'
		$$;
		CREATE FUNCTION plpython3u_after() RETURNS trigger LANGUAGE plpython3u AS $$
n = plpy.execute('SELECT count(*) AS n FROM a')[0]['n']
caught = ''
try:
	plpy.execute("INSERT INTO a VALUES (2, 'again')")
except plpy.SPIError:
	caught = 'caught'
plpy.execute(f"INSERT INTO log VALUES ('{TD['event']} {caught}', '{(TD['new'] or TD['old'])['k']}', {n})")
		$$;},
	pltcl => q{
		CREATE FUNCTION pltcl_steps(steps text[]) RETURNS SETOF text LANGUAGE pltcl AS $$
			spi_exec "SELECT unnest([quote $1]::text\[\]) AS sql" { lappend sqls $sql }
			foreach sql $sqls {
				unset -nocomplain k v
				if {[catch {set rows {}; set n [spi_exec $sql {lappend rows "$k=$v"}]} message]} {
					return_next "failed [expr {[llength $::errorCode] > 2 ? [dict get [lrange $::errorCode 2 end] SQLSTATE] : $message}]"
				} else {
					return_next [string trimright "$n [join $rows]"]
				}
			}
		$$;
		CREATE FUNCTION pltcl_catches(statement text) RETURNS text LANGUAGE pltcl AS $$
			if {[catch {subtransaction {spi_exec $1}} n]} {
				return "caught [join [regexp -inline {duplicate key} $n]]"
			}
			return "did $n"
		$$;},);
$functions{pltcl} =~ s/\[quote \$1\]/'[quote \$1]'/;

# A statement of PL/pgSQL that is not waited for, and another language behind it.
$node->safe_psql('postgres', q{
	CREATE FUNCTION adds(k int, behind text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		said text;
	BEGIN
		INSERT INTO a VALUES (k, 'not waited for');
		EXECUTE behind INTO said;
		RETURN said;
	END $$;
	CREATE FUNCTION adds_in_block(k int, behind text) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO a VALUES (k + 1, 'in the block');
		RETURN adds(k, behind);
	EXCEPTION WHEN unique_violation THEN
		RETURN 'the block caught it';
	END $$;
});

for my $language (@languages)
{
	$node->safe_psql('postgres', "CREATE EXTENSION $language; $functions{$language}");
	my $has = sub { return $functions{$language} =~ /\b${language}_$_[0]\(/; };

	same("$language: statements", "SELECT ${language}_steps(ARRAY[$steps])", @facts);
	same("$language: at one snapshot", "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT ${language}_steps(ARRAY[$steps]); COMMIT");
	same("$language: cursors", "SELECT ${language}_cursors()", qr/^wrote 1$/m, qr/^failed$/m) if $has->('cursors');
	same("$language: subtransactions", "SELECT ${language}_nests()", qr/^\[2, 53, 55, 200\]$/m) if $has->('nests');
	same("$language: a procedure that commits", "CALL ${language}_commits()", qr/NOTICE/) if $has->('commits');

	# The error of what was not waited for is nobody else's to catch.
	for my $behind ('SELECT count(*) FROM a', q{INSERT INTO a VALUES (60, 'x')}, q{UPDATE a SET v = 'u' WHERE k = 3})
	{
		my $catches = "SELECT ${language}_catches(\$s\$$behind\$s\$)";
		for my $k (2, 3, 200)
		{
			my @caught = $k == 3 ? qr/^did 1$/m : qr/ERROR:  duplicate key/;
			same("$language: $behind behind $k", "SELECT adds($k, \$b\$$catches\$b\$)", @caught);
			same("$language: $behind behind $k in a block", "SELECT adds_in_block($k, \$b\$$catches\$b\$)",
				$k == 3 ? @caught : qr/^the block caught it$/m);
			same("$language: $behind behind $k, all caught",
				"SELECT ${language}_catches(\$c\$SELECT adds($k, \$b\$$catches\$b\$)\$c\$)", $k == 3 ? qr/^did 1$/m : qr/^caught duplicate key$/m);
		}
	}
	# Whoever wants a few rows of RETURNING has no more written.
	for my $most ($has->('limits') ? (1, 3, 100) : ())
	{
		for my $statement (
			q{INSERT INTO a SELECT i, 'x' FROM generate_series(95, 104) i RETURNING k},
			q{INSERT INTO a SELECT i, 'x' FROM generate_series(1, 9) i ON CONFLICT DO NOTHING RETURNING k},
			q{INSERT INTO a SELECT i, 'x' FROM generate_series(95, 104) i})
		{
			same("$language: at most $most of $statement", "SELECT ${language}_limits(\$s\$$statement\$s\$, $most)");
		}
	}
	next unless $has->('before');

	my $triggers = join ' ', map {
		"CREATE TRIGGER before BEFORE INSERT OR UPDATE OR DELETE ON a$_ FOR EACH ROW EXECUTE FUNCTION ${language}_before();
		CREATE TRIGGER after AFTER INSERT OR UPDATE OR DELETE ON a$_ FOR EACH ROW EXECUTE FUNCTION ${language}_after();"
	} 1, 2;
	same("$language: triggers", "$triggers
		WITH new AS (INSERT INTO a SELECT i, 't' FROM generate_series(90, 110) i RETURNING *) SELECT * FROM new ORDER BY k;
		UPDATE a SET v = 'U' WHERE k BETWEEN 95 AND 104;
		DELETE FROM a WHERE k > 93;
		DROP TRIGGER before ON a1; DROP TRIGGER before ON a2; DROP TRIGGER after ON a1; DROP TRIGGER after ON a2",
		qr/^logged\|DELETE caught\|99\|/m, qr/^left\|100\|t!>U$/m, qr/^logged\|UPDATE caught\|96/m);
}

done_testing();
