//! One server for all tests of a process.

use tokio::sync::OnceCell;

use crate::{Durability, Error, LocalPostgres, Options};

/// This process's durable server. The first call starts it, and it lives as long as the process.
///
/// # Errors
/// The errors of [`LocalPostgres::start`]: no source gives a server, or the options are wrong. The
/// next call tries again.
pub async fn shared() -> Result<&'static LocalPostgres, Error> {
    shared_with(Durability::Durable).await
}

/// This process's server with this durability. There is at most one for each durability.
///
/// # Errors
/// The errors of [`LocalPostgres::start`]: no source gives a server, or the options are wrong. The
/// next call tries again.
pub async fn shared_with(durability: Durability) -> Result<&'static LocalPostgres, Error> {
    static DURABLE: OnceCell<LocalPostgres> = OnceCell::const_new();
    static RELAXED: OnceCell<LocalPostgres> = OnceCell::const_new();
    let server = match durability {
        Durability::Durable => &DURABLE,
        Durability::Relaxed => &RELAXED,
    };
    let options = Options {
        durability,
        ..Options::default()
    };
    server
        .get_or_try_init(|| LocalPostgres::start(options))
        .await
}
