//! A private database on a shared server.

use std::{
    process,
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use tokio::runtime::Builder;

use crate::{Error, LocalPostgres, connection, url};

/// PostgreSQL truncates longer names.
const LONGEST_NAME: usize = 63;
const OBJECT_IN_USE: &str = "55006";

/// A database on a server. Dropping the value drops the database: this closes all connections to it
/// and blocks the thread for about 20 ms.
///
/// If a process is killed, its databases stay on a server behind `DATABASE_URL`. Their names begin
/// with `local_postgres_`.
#[derive(Debug)]
pub struct Database {
    name: String,
    url: String,
    socket_url: Option<String>,
    maintenance_url: String,
}

impl Database {
    pub(crate) async fn create(
        server: &LocalPostgres,
        hint: &str,
        template: Option<&Self>,
    ) -> Result<Self, Error> {
        let name = unique_name(hint);
        let copied = template.map(|template| format!(" TEMPLATE {}", template.name));
        let sql = format!("CREATE DATABASE {name}{}", copied.unwrap_or_default());
        let made = connection::execute(server.url(), sql).await;
        match (made, template) {
            (Ok(()), _) => {}
            (Err(refusal), Some(template))
                if refusal.sqlstate.as_deref() == Some(OBJECT_IN_USE) =>
            {
                return Err(Error::TemplateInUse {
                    template: template.name.clone(),
                });
            }
            (Err(refusal), _) => {
                return Err(Error::CreateDatabase {
                    name,
                    reason: refusal.reason,
                });
            }
        }
        Ok(Self {
            url: url::with_database(server.url(), &name),
            socket_url: server
                .socket_url()
                .map(|url| url::with_database(url, &name)),
            maintenance_url: server.url().to_owned(),
            name,
        })
    }

    /// The database's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The database's URL over TCP.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The database's URL over a Unix socket, if the server has one on this machine.
    #[must_use]
    pub fn socket_url(&self) -> Option<&str> {
        self.socket_url.as_deref()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let sql = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        let url = self.maintenance_url.clone();
        // A runtime cannot block inside another runtime, so this one has its own thread.
        let dropping = thread::spawn(move || {
            if let Ok(runtime) = Builder::new_current_thread().enable_all().build() {
                // The server may be down, or may have been removed together with the database.
                let _ = runtime.block_on(connection::execute(&url, sql));
            }
        });
        let _ = dropping.join();
    }
}

/// A name of lower-case letters, digits and `_`, which needs no quotes. The process id, a counter
/// and the time in nanoseconds make it unique among the processes and hosts that share a server.
fn unique_name(hint: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let ending = format!("_{:x}_{count:x}_{:x}", process::id(), now.as_nanos());
    let hint = hint
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let mut name: String = "local_postgres_".chars().chain(hint).collect();
    // Only the hint may be cut, because the ending makes the name unique.
    name.truncate(LONGEST_NAME - ending.len());
    name.make_ascii_lowercase();
    name + &ending
}
