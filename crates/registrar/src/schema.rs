use clap::{Subcommand, ValueEnum};
use dcb_core::postgres as events;
use message_store::postgres::{self as messages, PostgresNamespaces};
use serde::Serialize;
use std::io::Write as _;
use store_http::messages::default_name;

use crate::database::Database;
use crate::failure::Failure;
use crate::output::Output;

/// The schemas in PostgreSQL. An SQLite file has its own, installed when a store creates it.
#[derive(Subcommand)]
pub(crate) enum SchemaCommand {
    /// Print the SQL that installs a schema; needs no database.
    Print {
        /// The store.
        store: Store,
        /// The name of the schema [default: dcb or message_store].
        #[arg(long)]
        schema: Option<String>,
    },
    /// Install or upgrade the schemas of a database, and check them.
    Install {
        #[command(flatten)]
        target: Target,
        /// Take over Message DB's schema, with its messages and clients.
        #[arg(long)]
        adopt_message_db: bool,
    },
    /// Compare the schemas of a database with what this version installs, and change nothing.
    Check(Target),
}

/// The schemas that a command works on.
#[derive(clap::Args)]
pub(crate) struct Target {
    /// The database: postgres://user@host/database, with ?schema=NAME for the schema of one store.
    database: Database,
    /// Only the schema of this store [default: both, in the schemas dcb and message_store].
    #[arg(long)]
    store: Option<Store>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Store {
    /// The event log.
    Events,
    /// The message store.
    Messages,
}

#[derive(Serialize)]
struct Outcome {
    done: &'static str,
    schemas: Vec<String>,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.done, self.schemas.join(", "))
    }
}

impl SchemaCommand {
    pub(crate) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        match self {
            Self::Print { store, schema } => {
                let sql = match store {
                    Store::Events => events::schema_sql(schema.as_deref().unwrap_or("dcb"))?,
                    Store::Messages => {
                        messages::schema_sql(schema.as_deref().unwrap_or("message_store"))?
                    }
                };
                Ok(output.writer().write_all(sql.as_bytes())?)
            }
            Self::Install {
                target,
                adopt_message_db,
            } => {
                let (with_events, with_messages) = target.stores()?;
                let adopting = |config: messages::Config| match adopt_message_db {
                    true => config.adopt_message_db(),
                    false => config,
                };
                // The messages first: a Message DB is refused, and then nothing is installed.
                if with_messages {
                    match target.database.schema {
                        Some(_) => {
                            messages::install_schema(&adopting(target.database.messages())).await?;
                        }
                        None => {
                            let config = adopting(target.namespaces());
                            PostgresNamespaces::install_schemas(config).await?;
                        }
                    }
                }
                if with_events {
                    events::install_schema(&target.database.events()).await?;
                }
                target.report("installed", output)
            }
            Self::Check(target) => {
                let (with_events, with_messages) = target.stores()?;
                if with_events {
                    events::check_schema(&target.database.events()).await?;
                }
                if with_messages {
                    match target.database.schema {
                        Some(_) => messages::check_schema(&target.database.messages()).await?,
                        None => PostgresNamespaces::check_schemas(target.namespaces()).await?,
                    }
                }
                target.report("as installed", output)
            }
        }
    }
}

impl Target {
    /// Whether the events and the messages are meant.
    fn stores(&self) -> Result<(bool, bool), Failure> {
        if self.store.is_none() && self.database.schema.is_some() {
            return Err(Failure::input(
                "a schema has one store: name it with --store events or --store messages",
            ));
        }
        let is_meant = |store| self.store.is_none_or(|only| only == store);
        Ok((is_meant(Store::Events), is_meant(Store::Messages)))
    }

    fn namespaces(&self) -> messages::Config {
        self.database.messages().interface_namespace(default_name())
    }

    fn report(&self, done: &'static str, output: &mut Output) -> Result<(), Failure> {
        let (events, messages) = self.stores()?;
        let mut schemas = Vec::new();
        if events {
            schemas.push(self.database.events().schema.clone());
        }
        if messages {
            schemas.push(self.database.messages().schema.clone());
        }
        Ok(output.print(&Outcome { done, schemas })?)
    }
}
