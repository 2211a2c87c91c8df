//! The commands `schema install`, `schema check`, `schema rebuild` and `schema print`.

mod contents;

use std::error::Error;

use dcb_core::postgres as events;
use message_store::postgres as messages;
use message_store::postgres::PostgresNamespaces;

use crate::settings::Settings;
use crate::stores::{advice, events_config, messages_config};

/// Commands for the schemas in PostgreSQL, and for the data that stores derive from events and messages.
#[derive(Clone, Copy, Debug, clap::Subcommand)]
pub enum SchemaCommand {
    /// Install or upgrade the schemas in the database, and check them.
    Install {
        /// Take over Message DB's schema `message_store`, with its messages and clients.
        #[arg(long)]
        adopt_message_db: bool,
    },
    /// Compare the schemas with what this version installs, and change nothing.
    Check {
        /// Also compare all events with the keys that find them, and all messages with their categories;
        /// without --database-url in the files of --data.
        #[arg(long)]
        contents: bool,
    },
    /// Give all events the keys that find them, and all messages their categories; without --database-url
    /// in the files of --data. Writers wait meanwhile.
    Rebuild,
    /// Print the SQL that installs the schemas; needs no database.
    Print,
}

/// The end of the printed SQL.
const RIGHTS: &str = "
-- A login that runs the server needs these rights on the objects of another owner. Create further
-- namespaces with the owner's login, or GRANT CREATE ON DATABASE too.
-- GRANT message_store TO app;
-- GRANT SELECT ON message_store.migration TO app;
-- GRANT SELECT, INSERT, UPDATE, DELETE ON message_store.checkpoint TO app;
-- GRANT DELETE ON message_store.messages TO app;
-- GRANT UPDATE ON SEQUENCE message_store.messages_global_position_seq TO app;
-- GRANT USAGE ON SCHEMA dcb, message_store_namespaces TO app;
-- GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA dcb, message_store_namespaces TO app;
";

impl SchemaCommand {
    /// Runs the command, and returns the text to print.
    pub(crate) async fn run(self, settings: &Settings) -> Result<String, Box<dyn Error>> {
        if let Self::Print = self {
            return print();
        }
        let url = settings.database_url.as_deref();
        let named = url.ok_or("name the database with --database-url");
        match self {
            Self::Install { adopt_message_db } => install(named?, adopt_message_db).await,
            Self::Check { contents: false } => check(named?).await,
            Self::Check { contents: true } => contents::check(settings).await,
            _ => contents::rebuild(settings).await,
        }
    }
}

async fn install(url: &str, adopt_message_db: bool) -> Result<String, Box<dyn Error>> {
    let mut config = messages_config(url);
    config.adopt_message_db = adopt_message_db;
    // The messages first: a Message DB may be refused, and then nothing is installed.
    let installed = PostgresNamespaces::install_schemas(config).await;
    installed.map_err(|failed| format!("{failed}{}", advice(&failed)))?;
    events::install_schema(&events_config(url)).await?;
    Ok("the schemas of events and messages are installed\n".to_owned())
}

pub(super) async fn check(url: &str) -> Result<String, Box<dyn Error>> {
    let events = events::check_schema(&events_config(url)).await;
    let messages = PostgresNamespaces::check_schemas(messages_config(url)).await;
    // Print both reports, so that one run shows all that has to be repaired.
    match (events, messages) {
        (Ok(()), Ok(())) => Ok("the schemas of events and messages are as installed\n".to_owned()),
        (events, messages) => {
            let failed = [
                events.err().map(|failed| format!("events: {failed}")),
                messages
                    .err()
                    .map(|failed| format!("messages: {failed}{}", advice(&failed))),
            ];
            Err(failed
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join("\n")
                .into())
        }
    }
}

fn print() -> Result<String, Box<dyn Error>> {
    let parts = [
        "BEGIN;\n\n".to_owned(),
        events::schema_sql("dcb")?,
        "\n".to_owned(),
        messages::schema_sql("message_store")?,
        "\n".to_owned(),
        PostgresNamespaces::table_sql(),
        "\nCOMMIT;\n".to_owned(),
        RIGHTS.to_owned(),
    ];
    Ok(parts.concat())
}
