//! Starts a peer with an empty database or folder, and fills its store.

use super::memory_group::MemoryGroup;
use super::roster::{Peer, Place};
use local_postgres::{Database, LocalPostgres};
use peer_protocol::{ContentSize, Hello, Session};
use sqlx::{Connection as _, PgConnection};
use std::ffi::OsString;
use std::path::Path;
use tempfile::TempDir;

/// A peer that runs.
pub(super) struct Running {
    pub(super) key: String,
    pub(super) session: Session,
    /// Removed after the session, which is dropped first.
    _place: Kept,
}

/// Keeps the place of a peer.
enum Kept {
    Nothing,
    Folder { _folder: TempDir },
    Database { database: Database },
}

pub(super) async fn start(
    peer: &Peer,
    program: &Path,
    content: ContentSize,
    server: &Result<LocalPostgres, String>,
) -> Result<(Hello, Running), String> {
    let mut arguments: Vec<OsString> = peer.arguments.iter().map(OsString::from).collect();
    let kept = match peer.place {
        Place::Memory => Kept::Nothing,
        Place::Folder => {
            let folder = TempDir::new().map_err(|error| error.to_string())?;
            arguments.push(folder.path().into());
            Kept::Folder { _folder: folder }
        }
        Place::Database | Place::DatabaseWith(_) => {
            if let Place::DatabaseWith(packages) = peer.place {
                arguments.push(packages.folder()?.into());
            }
            let server = server.as_ref().map_err(Clone::clone)?;
            let database = server.create_database("peer").await;
            let database = database.map_err(|error| error.to_string())?;
            arguments.push(database.url().into());
            Kept::Database { database }
        }
    };
    let (mut session, hello) = Session::start(program, &arguments)?;
    session.prepare(content)?;
    if let Kept::Database { database } = &kept {
        update_statistics(database)
            .await
            .map_err(|error| error.to_string())?;
    }
    let running = Running {
        key: peer.key.to_owned(),
        session,
        _place: kept,
    };
    Ok((hello, running))
}

/// Fills a peer's store in a new folder, limits the group's memory to `bytes`, and restarts the peer in the group.
/// The peer filled the store inside the group too, so the limit counts the pages of its files.
pub(super) fn start_with_memory(
    peer: &Peer,
    program: &Path,
    content: ContentSize,
    group: &MemoryGroup,
    bytes: u64,
) -> Result<Running, String> {
    let folder = TempDir::new().map_err(|error| error.to_string())?;
    let mut arguments: Vec<OsString> = peer.arguments.iter().map(OsString::from).collect();
    arguments.push(folder.path().into());
    let (program, arguments) = group.inside(program, &arguments);
    let (mut session, _) = Session::start(&program, &arguments)?;
    session.prepare(content)?;
    drop(session);
    group.limit(bytes)?;
    let (mut session, _) = Session::start(&program, &arguments)?;
    session.resume(content)?;
    Ok(Running {
        key: peer.key.to_owned(),
        session,
        _place: Kept::Folder { _folder: folder },
    })
}

/// Does at once for every store what autovacuum would do a minute after the load.
async fn update_statistics(database: &Database) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect(database.url()).await?;
    sqlx::raw_sql("VACUUM ANALYZE")
        .execute(&mut connection)
        .await?;
    connection.close().await
}
