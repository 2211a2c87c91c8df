//! Certificates for tests, and a server that encrypts with them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use sqlx::{Connection as _, PgConnection, Row as _};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::connection::execute;

/// The rules for clients, of which the first that fits decides. See [`Certificates::install`].
const RULES: &str = "\
hostssl all encrypted all trust
hostnossl all plain all trust
hostssl all certified all trust clientcert=verify-ca
host all encrypted,plain,certified all reject
local all all trust
host all all all trust";

/// A certificate authority, a server's certificate for `localhost`, and a client's. In a temporary
/// folder, made by the command `openssl`.
#[derive(Debug)]
pub struct Certificates {
    folder: TempDir,
}

impl Certificates {
    /// Makes the certificates. Two values trust only their own.
    ///
    /// # Panics
    /// If the command `openssl` is missing or fails.
    pub fn make() -> Self {
        let made = Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
        };
        fs::write(made.file("server.ext"), "subjectAltName=DNS:localhost\n")
            .expect("the file can be written");
        fs::write(made.file("client.ext"), "extendedKeyUsage=clientAuth\n")
            .expect("the file can be written");
        let authority =
            "req -x509 -nodes -days 2 -subj /CN=authority -keyout root.key -out root.pem";
        made.openssl(&format!("{authority} {KEY}"));
        for name in ["server", "client"] {
            made.openssl(&format!(
                "req -nodes -subj /CN={name} -keyout {name}.key -out {name}.csr {KEY}"
            ));
            made.openssl(&format!(
                "x509 -req -days 2 -in {name}.csr -out {name}.pem -extfile {name}.ext \
                 -CA root.pem -CAkey root.key -CAcreateserial"
            ));
        }
        made
    }

    fn openssl(&self, arguments: &str) {
        let done = Command::new("openssl")
            .args(arguments.split_whitespace())
            .current_dir(self.folder.path())
            .output()
            .expect("openssl is installed");
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "openssl {arguments}: {errors}");
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The certificate of the authority, for `sslrootcert`.
    pub fn root(&self) -> PathBuf {
        self.file("root.pem")
    }

    /// The server's certificate and its key, for a pooler.
    pub fn server(&self) -> [PathBuf; 2] {
        [self.file("server.pem"), self.file("server.key")]
    }

    /// The URL of a server for this user, over `localhost`, with `sslmode` and the authority's
    /// certificate.
    ///
    /// # Panics
    /// If the URL has no user, port or database.
    pub fn url(&self, url: &str, user: &str, mode: &str) -> String {
        let root = self.root();
        format!(
            "{}&sslrootcert={}",
            Self::url_without_root(url, user, mode),
            root.display()
        )
    }

    /// As [`url`](Self::url), without a certificate.
    ///
    /// # Panics
    /// As [`url`](Self::url).
    pub fn url_without_root(url: &str, user: &str, mode: &str) -> String {
        let (_, rest) = url.rsplit_once('@').expect("the URL has a user");
        let (address, database) = rest.split_once('/').expect("the URL has a database");
        let (_, port) = address.rsplit_once(':').expect("the URL has a port");
        let database = database.split('?').next().unwrap_or_default();
        format!("postgres://{user}@localhost:{port}/{database}?sslmode={mode}")
    }

    /// The parameters of a URL that name the client's certificate and its key.
    pub fn client_parameters(&self) -> String {
        format!(
            "&sslcert={}&sslkey={}",
            self.file("client.pem").display(),
            self.file("client.key").display()
        )
    }

    /// Makes the server at `url` encrypt with these certificates, and creates three superusers:
    /// `encrypted` may only connect encrypted, `plain` only unencrypted, and `certified` only with
    /// the client's certificate. Other users may connect in any way.
    ///
    /// # Panics
    /// If the user of the URL is no superuser, or the server's program is older than version 12.
    pub async fn install(&self, url: &str) {
        let read = |name: &str| fs::read_to_string(self.file(name)).expect("the file exists");
        write(url, "server.crt", &read("server.pem")).await;
        write(url, "server.key", &read("server.key")).await;
        write(url, "root.crt", &read("root.pem")).await;
        write(url, "pg_hba.conf", RULES).await;
        for sql in [
            "CREATE ROLE encrypted SUPERUSER LOGIN; CREATE ROLE plain SUPERUSER LOGIN; \
             CREATE ROLE certified SUPERUSER LOGIN",
            "ALTER SYSTEM SET ssl = on",
            "ALTER SYSTEM SET ssl_ca_file = 'root.crt'",
            "SELECT pg_reload_conf()",
        ] {
            run(url, sql.to_owned()).await;
        }
        while !is_encrypting(url).await {
            sleep(Duration::from_millis(10)).await;
        }
    }
}

/// How `openssl` makes a key.
const KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1";

/// Writes a file in the server's data folder, as the server's user.
async fn write(url: &str, file: &str, text: &str) {
    run(
        url,
        format!(
            "COPY (SELECT unnest(string_to_array($text${text}$text$, E'\\n'))) \
             TO PROGRAM 'umask 077; cat > {file}'"
        ),
    )
    .await;
}

async fn run(url: &str, sql: String) {
    let done = execute(url, sql).await;
    assert!(
        done.is_ok(),
        "{:?}",
        done.err().map(|refused| refused.reason)
    );
}

/// Whether a new session is one of a server that has read its new settings.
async fn is_encrypting(url: &str) -> bool {
    let mut session = PgConnection::connect(url)
        .await
        .expect("the server answers");
    let row = sqlx::raw_sql("SHOW ssl").fetch_one(&mut session).await;
    let shown: String = row.and_then(|row| row.try_get(0)).expect("a setting");
    shown == "on"
}
