# TLS with verify-full, SCRAM and client certificates, with a CA of the test's
# own; and who may use which of them.
use strict;
use warnings;

use File::Spec;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $far = PostgreSQL::Test::Cluster->new('far');
$far->init;
my $dir = File::Spec->rel2abs(PostgreSQL::Test::Utils::tempdir);
$ENV{HOME} = $dir;		# libpq looks for certificates there

sub certify
{
	my ($name, $common_name, @extra) = @_;
	my $out = "$dir/openssl.log";
	for my $command (
		"openssl req -new -newkey rsa:2048 -nodes -subj '/CN=$common_name' -keyout $dir/$name.key -out $dir/$name.csr",
		"openssl x509 -req -in $dir/$name.csr -days 2 -CA $dir/ca.crt -CAkey $dir/ca.key -CAcreateserial -out $dir/$name.crt @extra")
	{
		system("$command >>$out 2>&1") == 0 or die "openssl: $command";
	}
	chmod 0600, "$dir/$name.key";
	return;
}
plan skip_all => 'openssl is not installed' if system('openssl version >/dev/null 2>&1') != 0;
for my $ca ('ca', 'stranger')
{
	system("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj '/CN=$ca of this test' -keyout $dir/$ca.key -out $dir/$ca.crt >>$dir/openssl.log 2>&1") == 0
	  or die 'openssl';
}
certify('server', 'localhost');
certify('client', 'certified');

$far->append_conf('postgresql.conf', qq{
listen_addresses = '127.0.0.1'
ssl = on
ssl_ca_file = '$dir/ca.crt'
ssl_cert_file = '$dir/server.crt'
ssl_key_file = '$dir/server.key'
});
my $own = slurp_file($far->data_dir . '/pg_hba.conf');
open(my $hba, '>', $far->data_dir . '/pg_hba.conf') or die;
print $hba "hostssl all secret all scram-sha-256\nhostssl all certified all cert\nhostnossl all all all reject\n$own";
close $hba;
$far->start;
$far->safe_psql('postgres', q{
	CREATE ROLE secret LOGIN PASSWORD 'Geheim1';
	CREATE ROLE certified LOGIN;
	CREATE VIEW safe AS SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid();
	GRANT SELECT ON safe TO secret, certified;
});

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "session_preload_libraries = 'pg_shuttle'");
$node->start;
my $port = $far->port;
$node->safe_psql('postgres', q{CREATE EXTENSION pg_shuttle CASCADE; CREATE ROLE plain; GRANT USAGE ON FOREIGN DATA WRAPPER shuttle TO plain; GRANT CREATE ON SCHEMA public TO plain;});

# What a query over such a server says.
sub told
{
	my ($server, $mapping, $role) = @_;
	my ($out, $err) = ('', '');
	my $user = defined $role ? "SET ROLE $role;" : '';
	$node->psql('postgres', "\\set VERBOSITY verbose
		CREATE SERVER s FOREIGN DATA WRAPPER shuttle OPTIONS (host 'localhost', port '$port', dbname 'postgres', $server);
		GRANT USAGE ON FOREIGN SERVER s TO plain;
		CREATE USER MAPPING FOR PUBLIC SERVER s OPTIONS ($mapping);
		CREATE FOREIGN TABLE safe (ssl bool) SERVER s;
		GRANT SELECT ON safe TO plain;
		$user SELECT ssl FROM safe; RESET ROLE;
		DROP SERVER s CASCADE;", stdout => \$out, stderr => \$err, on_error_stop => 0, timeout => 60);
	unlike($err, qr/Geheim|falsch/, 'no secret is told');
	return $err =~ /ERROR/ ? $err : $out;
}

my $full = "sslmode 'verify-full', sslrootcert '$dir/ca.crt'";
my $password = q{user 'secret', password 'Geheim1'};
my $certificate = "user 'certified', sslcert '$dir/client.crt', sslkey '$dir/client.key'";
my $failed = qr/^psql.*ERROR:  08001: could not connect to server "s"/m;

is(told($full, $password), 't', 'verify-full and SCRAM');
like(told($full, q{user 'secret', password 'falsch'}), qr/password authentication failed/, 'a wrong password');
like(told("sslmode 'verify-full', sslrootcert '$dir/stranger.crt'", $password), $failed, 'a CA that has not signed it');
like(told("sslmode 'disable'", $password), $failed, 'no TLS where the node wants it');
is(told($full, $certificate), 't', 'a client certificate');
like(told($full, q{user 'certified'}), $failed, 'none');
is(told($full, $password, 'plain'), 't', 'a password, for somebody who is no superuser');
like(told($full, $certificate, 'plain'), qr/ERROR:  2F003: password/, 'a certificate, for somebody who is no superuser');
is(told($full, "$certificate, password_required 'false'", 'plain'), 't', 'where a superuser allows it');

# Only a superuser may allow it, or name files of the server.
for my $option (q{password_required 'false'}, "sslcert '$dir/client.crt'", "sslkey '$dir/client.key'")
{
	my ($out, $err) = ('', '');
	$node->psql('postgres', "SET ROLE plain; CREATE SERVER p FOREIGN DATA WRAPPER shuttle; CREATE USER MAPPING FOR plain SERVER p OPTIONS ($option);
		RESET ROLE; DROP SERVER IF EXISTS p CASCADE;", stdout => \$out, stderr => \$err, on_error_stop => 0);
	like($err, qr/ERROR:  (password_required=false is superuser-only|sslcert and sslkey are superuser-only)/, "$option: superusers only");
}

$_->stop for $node, $far;
done_testing();
