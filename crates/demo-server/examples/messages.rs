//! A message store embedded in a small web service: accounts and their entries.
//!
//! ```console
//! cargo run -p demo-server --example messages
//! curl -X POST localhost:3000/accounts/ada/entries -H 'content-type: application/json' -d
//! '{"amount": 50}' curl -X POST localhost:3000/accounts/ada/entries -H 'content-type:
//! application/json' -d '{"amount": -70}' curl localhost:3000/accounts/ada
//! ```

use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use message_store::sqlite::{Config, SqliteStore};
use message_store::{
    Category, Error, ExpectedVersion, Fault, GlobalPosition, Message, MessageStore, StreamName,
    StreamRead, SubscribeOptions,
};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

#[derive(Deserialize, Serialize)]
struct Entry {
    amount: i64,
}

#[derive(Serialize)]
struct Account {
    balance: i64,
    entries: usize,
}

/// An error response.
struct Refused(StatusCode, String);

impl axum::response::IntoResponse for Refused {
    fn into_response(self) -> axum::response::Response {
        (self.0, self.1).into_response()
    }
}

impl From<Error> for Refused {
    fn from(failed: Error) -> Self {
        let status = match failed {
            Error::Invalid { .. } => StatusCode::BAD_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self(status, failed.to_string())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = SqliteStore::open(Config::memory()).await?;
    tokio::spawn(report(store.clone()));
    let service = Router::new()
        .route("/accounts/{id}", get(account))
        .route("/accounts/{id}/entries", post(enter))
        .with_state(store);
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, service).await?;
    Ok(())
}

async fn account(
    State(store): State<SqliteStore>,
    Path(id): Path<String>,
) -> Result<Json<Account>, Refused> {
    Ok(Json(read(&store, &stream(&id)?).await?.0))
}

/// Adds an entry. Under any concurrency, the balance never becomes negative: if the account has
/// changed since it was read, the loop reads and decides again.
async fn enter(
    State(store): State<SqliteStore>,
    Path(id): Path<String>,
    Json(entry): Json<Entry>,
) -> Result<Json<Account>, Refused> {
    let stream = stream(&id)?;
    loop {
        let (account, version) = read(&store, &stream).await?;
        if account.balance + entry.amount < 0 {
            let reason = format!("the balance is only {}", account.balance);
            return Err(Refused(StatusCode::CONFLICT, reason));
        }
        let entered = Message::builder("Entered").data(&entry).build()?;
        match store.write_message(&stream, entered, version).await {
            Err(Error::WrongExpectedVersion { .. }) => {}
            written => {
                written?;
                return Ok(Json(read(&store, &stream).await?.0));
            }
        }
    }
}

fn stream(id: &str) -> Result<StreamName, Error> {
    StreamName::new(format!("account-{id}"))
}

/// Reads an account and its version.
async fn read(
    store: &SqliteStore,
    stream: &StreamName,
) -> Result<(Account, ExpectedVersion), Error> {
    let all = StreamRead::new().batch_size(None);
    let messages = store.get_stream_messages(stream, all).await?;
    let mut balance = 0;
    for message in &messages {
        balance += message.data::<Entry>()?.amount;
    }
    let version = messages.last().map(|message| message.position());
    let account = Account {
        balance,
        entries: messages.len(),
    };
    Ok((account, ExpectedVersion::from_version(version)))
}

/// Prints the entries of all accounts as they are written.
async fn report(store: SqliteStore) {
    let accounts = Category::new("account").expect("the name is valid");
    let options = SubscribeOptions::new();
    let mut entries = store.subscribe_to_category(accounts, GlobalPosition::START, options);
    loop {
        match entries.next().await {
            Ok(message) => println!("{} {}", message.stream_name(), message.data_json()),
            Err(Error::Fault(Fault::Closed)) => return,
            Err(error) if error.is_transient() => {
                // The position stays, so the next call tries again and loses nothing.
                eprintln!("could not read the entries, trying again: {error}");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            // Such as a file put back from a backup.
            Err(error) => {
                eprintln!("could not go on with the entries: {error}");
                return;
            }
        }
    }
}
