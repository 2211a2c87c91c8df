//! A program that is written once and runs on any backend, which a URL chooses.
//!
//! ```text
//! cargo run -p message-store --example any_backend
//! cargo run -p message-store --example any_backend -- messages.db
//! cargo run -p message-store --example any_backend -- \
//!     postgres://postgres@localhost/postgres
//! ```

use message_store::{
    AnyStore, Error, ExpectedVersion, Message, MessageStore, StreamName, StreamRead,
};

/// Deposits an amount, unless another deposit was written in the meantime. Returns the balance.
async fn deposit(
    store: &impl MessageStore,
    account: &StreamName,
    amount: u64,
) -> Result<u64, Error> {
    let messages = store
        .get_stream_messages(account, StreamRead::new().batch_size(None))
        .await?;
    let version = messages.last().map(|message| message.position());
    let mut balance = amount;
    for message in &messages {
        balance += message.data::<u64>()?;
    }
    let deposited = Message::builder("Deposited").data(&amount).build()?;
    let expected = ExpectedVersion::from_version(version);
    store.write_message(account, deposited, expected).await?;
    Ok(balance)
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    // Without a URL, the messages are in memory.
    let url = std::env::args().nth(1).unwrap_or("memory:".to_owned());
    let store = AnyStore::open(&url).await?;
    let account = StreamName::new("account-1")?;
    println!("balance {}", deposit(&store, &account, 5).await?);
    let health = store.health().await?;
    println!("{}, durable: {}", health.backend, health.is_durable);
    store.close().await;
    Ok(())
}

#[cfg(test)]
#[tokio::test]
async fn deposits_add_up() {
    let store = AnyStore::open("memory:").await.unwrap();
    let account = StreamName::new("account-1").unwrap();
    assert_eq!(deposit(&store, &account, 5).await.unwrap(), 5);
    assert_eq!(deposit(&store, &account, 6).await.unwrap(), 11);
}
