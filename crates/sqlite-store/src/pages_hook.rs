//! Asks SQLite for the length of the write-ahead log after each commit.

use std::cell::Cell;
use std::ffi::c_int;

use rusqlite::hooks::Wal;
use rusqlite::{Connection, Result};

thread_local! {
    /// The pages of the log after the last commit on this thread. In older versions of rusqlite, a hook
    /// can't capture anything.
    static PAGES: Cell<u32> = const { Cell::new(0) };
}

/// Sets the hook. It replaces SQLite's own, which makes the checkpoints of a connection.
pub(crate) fn set(connection: &mut Connection) -> Result<()> {
    Connection::wal_hook.set(connection)
}

/// The pages of the log after the last commit on this thread, 0 if it changed nothing. A second call
/// returns 0.
pub(crate) fn take() -> u32 {
    PAGES.take()
}

fn note(pages: c_int) -> Result<()> {
    PAGES.set(u32::try_from(pages).unwrap_or_default());
    Ok(())
}

/// `Connection::wal_hook` of one version of rusqlite. The mark keeps the implementations apart.
trait SetHook<Mark> {
    fn set(self, connection: &mut Connection) -> Result<()>;
}

/// Before 0.41.
type Shared = fn(&Wal, c_int) -> Result<()>;
/// From 0.41 on.
type Exclusive = fn(&mut Wal, c_int) -> Result<()>;

impl<F: FnOnce(&Connection, Option<Shared>)> SetHook<Shared> for F {
    fn set(self, connection: &mut Connection) -> Result<()> {
        self(connection, Some(|_, pages| note(pages)));
        Ok(())
    }
}

impl<F: FnOnce(&mut Connection, Option<Exclusive>) -> Result<()>> SetHook<Exclusive> for F {
    fn set(self, connection: &mut Connection) -> Result<()> {
        self(connection, Some(|_, pages| note(pages)))
    }
}
