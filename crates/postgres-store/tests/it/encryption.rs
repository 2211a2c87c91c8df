//! Every `sslmode` against a server that encrypts, one that does not, and rules that demand either.

use local_postgres::{Certificates, Durability, HaProxy, LocalPostgres, Options};
use postgres_store::{Failure, Server, connect, failure};
use sqlx::Row as _;
use tokio::sync::OnceCell;

struct Encrypted {
    server: LocalPostgres,
    certificates: Certificates,
}

async fn plain_server() -> LocalPostgres {
    let options = Options {
        durability: Durability::Relaxed,
        ..Options::default()
    };
    LocalPostgres::start(options).await.expect("a PostgreSQL")
}

/// The server that the tests of this file share.
async fn encrypted_server() -> &'static Encrypted {
    static SERVER: OnceCell<Encrypted> = OnceCell::const_new();
    let start = async || {
        let server = plain_server().await;
        let certificates = Certificates::make();
        certificates.install(server.url()).await;
        Encrypted {
            server,
            certificates,
        }
    };
    SERVER.get_or_init(start).await
}

impl Encrypted {
    fn url(&self, user: &str, mode: &str) -> String {
        self.certificates.url(self.server.url(), user, mode)
    }

    fn url_without_root(&self, user: &str, mode: &str) -> String {
        Certificates::url_without_root(self.server.url(), user, mode)
    }
}

/// Whether the session of a new connection is encrypted.
async fn connected(url: &str) -> Result<bool, sqlx::Error> {
    let server = Server::new(url, "test", false).expect("a URL");
    let mut connection = connect(server.hosts()).await?;
    let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let row = sqlx::query(sql).fetch_one(&mut connection).await?;
    row.try_get(0)
}

/// The error of a connection that is refused and will be refused again.
async fn refused(url: &str) -> String {
    let failed = connected(url).await.expect_err(url);
    assert_eq!(failure(&failed), Failure::Refused, "{url}: {failed:?}");
    failed.to_string()
}

#[tokio::test]
async fn each_mode_encrypts_as_libpq_does() {
    let encrypted = encrypted_server().await;
    for (user, mode, expected) in [
        ("postgres", "disable", false),
        ("postgres", "allow", false),
        ("postgres", "prefer", true),
        ("postgres", "require", true),
        ("postgres", "verify-ca", true),
        ("postgres", "verify-full", true),
        ("encrypted", "allow", true),
        ("encrypted", "verify-full", true),
        ("plain", "prefer", false),
        ("plain", "allow", false),
    ] {
        let is_encrypted = connected(&encrypted.url(user, mode)).await;
        let is_encrypted = is_encrypted.unwrap_or_else(|failed| panic!("{user} {mode}: {failed}"));
        assert_eq!(is_encrypted, expected, "{user} {mode}");
    }
    for (user, mode) in [("encrypted", "disable"), ("plain", "require")] {
        let message = refused(&encrypted.url(user, mode)).await;
        assert!(message.contains("pg_hba.conf"), "{message}");
    }
}

#[tokio::test]
async fn server_without_encryption_is_refused_for_good() {
    let server = plain_server().await;
    for mode in ["disable", "allow", "prefer"] {
        let url = Certificates::url_without_root(server.url(), "postgres", mode);
        assert!(!connected(&url).await.expect("a connection"), "{mode}");
    }
    for mode in ["require", "verify-ca", "verify-full"] {
        let url = Certificates::url_without_root(server.url(), "postgres", mode);
        let message = refused(&url).await;
        assert!(
            message.contains("does not support TLS"),
            "{mode}: {message}"
        );
    }
}

#[tokio::test]
async fn wrong_certificate_is_refused_for_good() {
    let encrypted = encrypted_server().await;
    let other = Certificates::make();
    // A root makes `require` check the certificate, as in libpq.
    for mode in ["require", "verify-ca", "verify-full"] {
        let message = refused(&other.url(encrypted.server.url(), "postgres", mode)).await;
        assert!(message.contains("certificate"), "{mode}: {message}");
    }
    for mode in ["verify-ca", "verify-full"] {
        let message = refused(&encrypted.url_without_root("postgres", mode)).await;
        assert!(message.contains("certificate"), "{mode}: {message}");
    }
    let without = encrypted.url_without_root("postgres", "require");
    assert!(connected(&without).await.expect("a connection"));
}

#[tokio::test]
async fn host_name_is_checked_by_verify_full_alone() {
    let encrypted = encrypted_server().await;
    let by_address = |mode| {
        encrypted
            .url("postgres", mode)
            .replace("localhost", "127.0.0.1")
    };
    assert!(
        connected(&by_address("verify-ca"))
            .await
            .expect("a connection")
    );
    let message = refused(&by_address("verify-full")).await;
    assert!(message.contains("certificate"), "{message}");
}

#[tokio::test]
async fn client_certificate_opens_the_session() {
    let encrypted = encrypted_server().await;
    let url = encrypted.url("certified", "verify-full");
    let message = refused(&url).await;
    assert!(message.contains("client certificate"), "{message}");
    let url_with_client = url + &encrypted.certificates.client_parameters();
    assert!(connected(&url_with_client).await.expect("a connection"));
    let other = Certificates::make();
    let with_other = encrypted.url("certified", "verify-full") + &other.client_parameters();
    connected(&with_other)
        .await
        .expect_err("a client that the server does not know");
}

/// A proxy that passes the bytes on keeps the encryption from end to end.
#[tokio::test]
async fn session_through_a_proxy_is_encrypted() {
    let encrypted = encrypted_server().await;
    let proxy = HaProxy::start(&[encrypted.server.url()]).await;
    let Some(proxy) = unmet::need("haproxy", proxy) else {
        return;
    };
    let url = proxy.url(&encrypted.url("postgres", "verify-full"));
    assert!(connected(&url).await.expect("a connection"));
    let other = Certificates::make();
    refused(&proxy.url(&other.url(encrypted.server.url(), "postgres", "verify-full"))).await;
}

#[tokio::test]
async fn missing_file_is_named() {
    for parameter in ["sslrootcert", "sslcert", "sslkey"] {
        let url = format!("postgres://a@localhost/b?sslmode=require&{parameter}=/no/file.pem");
        let refused = Server::new(&url, "test", false).err().expect("an error");
        assert!(refused.contains(parameter), "{refused}");
        assert!(refused.contains("/no/file.pem"), "{refused}");
    }
}

/// As in libpq, because nothing leaves the machine.
#[tokio::test]
async fn unix_socket_is_not_encrypted() {
    let encrypted = encrypted_server().await;
    let Some(url) = encrypted.server.socket_url() else {
        return;
    };
    let is_encrypted = connected(&format!("{url}&sslmode=require")).await;
    assert!(!is_encrypted.expect("a connection"));
}
