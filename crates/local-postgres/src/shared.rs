//! One server for all tests of a process.

use tokio::sync::OnceCell;

use crate::{Durability, Error, LocalPostgres, Options};

/// This process's durable server, started by the first call. It lives as long as the process.
///
/// # Errors
/// As [`LocalPostgres::start`]; the next call tries again.
pub async fn shared() -> Result<&'static LocalPostgres, Error> {
    shared_with(Durability::Durable).await
}

/// This process's server of that durability: there is one of each at most.
///
/// # Errors
/// As [`LocalPostgres::start`]; the next call tries again.
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
