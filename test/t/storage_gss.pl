# Nodes that want Kerberos: encrypted by GSSAPI, with the ticket of the server;
# who may use that. Needs a server built with GSSAPI (Debian's is) and the
# programs of Debian's packages krb5-kdc, krb5-admin-server and krb5-user.
use strict;
use warnings;

use Cwd qw(abs_path);

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my %program;
for my $name ('krb5kdc', 'kdb5_util', 'kadmin.local', 'kinit')
{
	($program{$name}) = grep { -x } map { "$_/$name" } split(/:/, $ENV{PATH}), '/usr/sbin', '/sbin';
}
plan skip_all => 'this server was built without GSSAPI'
	if qx(pg_config --configure) !~ /gssapi/;
plan skip_all => 'no KDC is installed (Debian: krb5-kdc krb5-admin-server krb5-user)'
	if grep { !defined } values %program;

# ---- a realm of its own

my $realm = 'EXAMPLE.COM';
my $host = 'node.shuttle.example.com';
my $dir = abs_path(PostgreSQL::Test::Utils::tempdir);	# the KDC changes its directory
my $kdc_port = PostgreSQL::Test::Cluster::get_free_port();
append_to_file("$dir/krb5.conf", qq{
[libdefaults]
 dns_lookup_realm = false
 dns_lookup_kdc = false
 rdns = false
 default_realm = $realm
[realms]
 $realm = {
  kdc = 127.0.0.1:$kdc_port
 }
[logging]
 default = FILE:$dir/krb5.log
 kdc = FILE:$dir/kdc.log
});
append_to_file("$dir/kdc.conf", qq{
[kdcdefaults]
 kdc_listen = 127.0.0.1:$kdc_port
 kdc_tcp_listen = 127.0.0.1:$kdc_port
[realms]
 $realm = {
  database_name = $dir/principal
  admin_keytab = FILE:$dir/kadm5.keytab
  acl_file = $dir/kadm5.acl
  key_stash_file = $dir/stash
 }
});
@ENV{ 'KRB5_CONFIG', 'KRB5_KDC_PROFILE', 'KRB5CCNAME' } = ("$dir/krb5.conf", "$dir/kdc.conf", "FILE:$dir/tickets");
system_or_bail $program{kdb5_util}, 'create', '-s', '-P', 'master';
system_or_bail $program{'kadmin.local'}, '-q', 'addprinc -pw secret1 reader';
system_or_bail $program{'kadmin.local'}, '-q', "addprinc -randkey postgres/$host";
system_or_bail $program{'kadmin.local'}, '-q', "ktadd -k $dir/node.keytab postgres/$host";
system_or_bail $program{krb5kdc}, '-P', "$dir/kdc.pid";
END
{
	my $status = $?;
	kill 'TERM', slurp_file("$dir/kdc.pid") if defined $dir && -s "$dir/kdc.pid";
	$? = $status;
}
run_log([ $program{kinit}, 'reader' ], \'secret1') or BAIL_OUT('no ticket');

# ---- a node that wants it, and a query node that has the ticket

my $node = PostgreSQL::Test::Cluster->new('node');
$node->init;
$node->append_conf('postgresql.conf', "listen_addresses = '127.0.0.1'\nkrb_server_keyfile = '$dir/node.keytab'\nautovacuum = off");
unlink $node->data_dir . '/pg_hba.conf', $node->data_dir . '/pg_ident.conf';
$node->append_conf('pg_hba.conf', "local all all trust\nhostgssenc all all 127.0.0.1/32 gss map=realm");
$node->append_conf('pg_ident.conf', "realm /^(.*)\@$realm\$ \\1");
$node->start;
$node->safe_psql('postgres', q{
	CREATE ROLE reader LOGIN;
	CREATE TABLE item AS SELECT i AS id, md5(i::text) || repeat('x', i % 300) AS name FROM generate_series(1, 20000) i;
	CREATE VIEW slow AS SELECT 1 AS id FROM pg_sleep(600);
	GRANT ALL ON item, slow TO reader;
});

my $query = PostgreSQL::Test::Cluster->new('query');
$query->init;
$query->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nautovacuum = off");
$query->start;
my $port = $node->port;
$query->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE SERVER far FOREIGN DATA WRAPPER shuttle
		OPTIONS (host '$host', hostaddr '127.0.0.1', port '$port', dbname 'postgres', gssencmode 'require', krbsrvname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user 'reader');
	CREATE FOREIGN TABLE item (id int, name text) SERVER far;
	CREATE FOREIGN TABLE slow (id int) SERVER far;
	CREATE ROLE plain LOGIN;
	GRANT SELECT ON item TO plain;
	CREATE USER MAPPING FOR plain SERVER far OPTIONS (user 'reader');
});

# What a statement returns, or its SQLSTATE and message.
sub answer
{
	my ($sql, @options) = @_;
	my ($status, $out, $err) = $query->psql('postgres', "\\set VERBOSITY verbose\n$sql", @options);
	return $status == 0 ? $out : $err =~ /ERROR:\s+(.*)/ ? $1 : $err;
}

is(answer('SELECT count(*) FROM item'), '20000', 'a superuser reads with the server\'s ticket');
is(answer(q{SELECT count(*) FROM item; SELECT node_pid FROM shuttle.nodes WHERE server = 'far' AND node_pid IS NOT NULL}) =~ /^20000\n\d+$/, 1,
	'a connection');
my $session = $query->background_psql('postgres');
$session->query_safe('SELECT count(*) FROM item');
is($node->safe_psql('postgres', q{SELECT principal, gss_authenticated, encrypted
		FROM pg_stat_gssapi JOIN pg_stat_activity USING (pid) WHERE usename = 'reader'}),
	"reader\@$realm|t|t", 'is authenticated and encrypted');
$session->quit;

# Rows of more than one packet of GSSAPI's, in both directions.
my $sums = 'SELECT count(*), sum(length(name)), md5(string_agg(name, \'\' ORDER BY id))';
is(answer("$sums FROM (SELECT * FROM item OFFSET 0) i"), $node->safe_psql('postgres', "$sums FROM item"), 'rows that are read');
$query->safe_psql('postgres', 'INSERT INTO item SELECT id + 20000, name || name FROM item');
is(answer("$sums FROM (SELECT * FROM item WHERE id > 20000 OFFSET 0) i"),
	$node->safe_psql('postgres', "$sums FROM item WHERE id > 20000"), 'rows that are written');
like(answer(q{SET statement_timeout = '500ms'; SELECT * FROM slow}), qr/57014/, 'a cancel');
is(answer('SELECT status FROM shuttle.run_on_nodes(\'SELECT 1\')'), 'SELECT 1', 'connections of administrators');

# ---- who may

my $required = qr/2F003: password (?:is|or GSSAPI delegated credentials) required/;
my @plain = (extra_params => [ '-U', 'plain' ]);
like(answer('SELECT count(*) FROM item', @plain), $required, 'others may not use the server\'s ticket');
$query->safe_psql('postgres', q{ALTER USER MAPPING FOR plain SERVER far OPTIONS (ADD password 'guessed')});
like(answer('SELECT count(*) FROM item', @plain), $required, 'nor with a password that the node does not ask for');
$query->safe_psql('postgres', q{ALTER USER MAPPING FOR plain SERVER far OPTIONS (DROP password, ADD password_required 'false')});
is(answer('SELECT count(*) FROM item', @plain), '40000', 'unless a superuser lets them');
$query->safe_psql('postgres', q{ALTER SERVER far OPTIONS (SET gssencmode 'disable')});
like(answer('SELECT count(*) FROM item'), qr/^08001/, 'a node that wants it refuses others');

$_->stop for $query, $node;
done_testing();
