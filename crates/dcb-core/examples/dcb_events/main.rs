//! The examples of <https://dcb.events/examples>, one per file.
//!
//! ```text
//! cargo run -p dcb-core --example dcb_events
//! cargo test -p dcb-core --example dcb_events
//! ```

mod course_subscriptions;
mod invoice_number;
mod opt_in_token;
mod product_price;
mod record_duplication;
mod unique_username;

use dcb_core::{Error, EventStore, MemoryStore};

/// Why a command appended nothing.
#[derive(Debug, thiserror::Error)]
enum Refused {
    /// A rule of the domain forbids it.
    #[error("{0}")]
    Rule(&'static str),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] Error),
}

/// Plays all examples on an empty log.
async fn play(store: &(impl EventStore + Clone + 'static)) -> Result<(), Refused> {
    course_subscriptions::play(store).await?;
    unique_username::play(store).await?;
    invoice_number::play(store).await?;
    opt_in_token::play(store).await?;
    product_price::play(store).await?;
    record_duplication::play(store).await
}

#[tokio::main]
async fn main() -> Result<(), Refused> {
    let store = MemoryStore::new();
    play(&store).await?;
    println!("{} events", store.stats().events);
    Ok(())
}

#[cfg(test)]
mod tests {
    use dcb_core::AnyStore;
    use local_postgres::Durability;

    use super::invoice_number::tests::race;
    use super::{Refused, play};

    async fn play_at(url: &str) -> Result<(), Refused> {
        let store = AnyStore::open(url).await?;
        play(&store).await?;
        race(&store).await
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn examples_play_on_every_backend() -> Result<(), Box<dyn std::error::Error>> {
        let server = local_postgres::shared_with(Durability::Relaxed).await?;
        let database = server.create_database("dcb_events").await?;
        for url in ["memory:", "sqlite::memory:", database.url()] {
            play_at(url).await?;
        }
        Ok(())
    }
}
