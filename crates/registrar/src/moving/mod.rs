mod events;
mod messages;
mod pipe;

use std::fmt;
use std::time::Duration;

use clap::Args;
use message_store::{NamespaceName, Namespaces as _};
use serde::Serialize;

use crate::failure::{Failure, Kind};
use crate::output::{Output, bold};
use crate::place::{Access, Place};
use crate::program::Stop;
use crate::schema::Store;
use events::EventsMove;
use messages::MessagesMove;

/// The pause between two looks at the source.
const PAUSE: Duration = Duration::from_millis(200);

/// Moves whole logs: events with ids, times, positions, commands and tracked sources; messages with ids,
/// times, all positions and the checkpoints of consumers. The source is only read. The target may have
/// a part of it already, so an interrupted move goes on where it ended. At the end both sides are
/// compared, event by event.
#[derive(Args)]
pub(crate) struct Move {
    /// The place to copy from.
    #[arg(long, value_name = "PLACE")]
    from: Place,
    /// The place to copy to; a missing file or schema is created.
    #[arg(long, value_name = "PLACE")]
    to: Place,
    /// Move only this [default: events, and the messages of all namespaces; a file or a schema has one
    /// store, so it must be named].
    #[arg(long)]
    store: Option<Store>,
    /// Move only the messages of this namespace.
    #[arg(long, value_name = "NAME")]
    namespace: Option<NamespaceName>,
    /// Go on with what is appended to the source until Ctrl-C or SIGTERM, then compare. To switch: stop
    /// the writers, stop this command, start the writers on the target.
    #[arg(long)]
    pub(crate) follow: bool,
}

/// A store that has been moved.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Moved {
    store: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    /// The number of events or messages that this run copied.
    copied: u64,
    /// The last position of the target.
    through: u64,
    /// The hash over all that both sides have through this position.
    sha256: String,
    /// How many events or messages the source has beyond.
    behind: u64,
}

impl fmt::Display for Moved {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", bold(self.store))?;
        if let Some(namespace) = &self.namespace {
            write!(formatter, " of {namespace}")?;
        }
        let (copied, through) = (self.copied, self.through);
        write!(
            formatter,
            ": {copied} copied, both sides are equal through {through}, "
        )?;
        write!(formatter, "sha256 {}", self.sha256)?;
        match self.behind {
            0 => Ok(()),
            behind => write!(formatter, ", the source has {behind} more"),
        }
    }
}

/// The result of a comparison.
struct Compared {
    through: u64,
    behind: u64,
    sha256: String,
}

/// A store to move.
enum Part {
    Events(EventsMove),
    Messages(Option<NamespaceName>, MessagesMove),
}

impl Part {
    /// Copies what the target lacks, and returns the number of events or messages.
    async fn copy(&self) -> Result<u64, Failure> {
        match self {
            Self::Events(events) => events.copy().await,
            Self::Messages(_, messages) => messages.copy().await,
        }
    }

    async fn compare(&self) -> Result<Compared, Failure> {
        match self {
            Self::Events(events) => events.compare().await,
            Self::Messages(_, messages) => messages.compare().await,
        }
    }
}

impl Move {
    pub(crate) async fn run(self, output: &mut Output, stop: Stop) -> Result<(), Failure> {
        let parts = self.parts().await?;
        let mut copied = vec![0; parts.len()];
        loop {
            let is_last = !self.follow || *stop.borrow();
            for (part, copied) in parts.iter().zip(&mut copied) {
                match part.copy().await {
                    Ok(new) => *copied += new,
                    // An outage of one side ends no move that follows.
                    Err(failed) if failed.kind == Kind::Unreachable && !is_last => {
                        eprintln!("registrar: {failed}; trying again");
                    }
                    Err(failed) => return Err(failed),
                }
            }
            if is_last {
                break;
            }
            let mut stopped = stop.clone();
            let told = tokio::time::timeout(PAUSE, stopped.wait_for(|stopped| *stopped));
            // Both a signal and the end of the pause lead to the next round.
            let _ = told.await;
        }
        for (part, copied) in parts.iter().zip(copied) {
            let compared = part.compare().await?;
            let (store, namespace) = match part {
                Part::Events(_) => ("events", None),
                Part::Messages(name, _) => ("messages", name.as_ref().map(ToString::to_string)),
            };
            output.print(&Moved {
                store,
                namespace,
                copied,
                through: compared.through,
                sha256: compared.sha256,
                behind: compared.behind,
            })?;
        }
        Ok(())
    }

    async fn parts(&self) -> Result<Vec<Part>, Failure> {
        let mut parts = Vec::new();
        let whole = self.store.is_none() && self.namespace.is_none();
        if whole && !(self.from.holds_all() && self.to.holds_all()) {
            let reason =
                "a file or a schema has one store: name it with --store events or --store messages";
            return Err(Failure::input(reason));
        }
        if whole || self.store == Some(Store::Events) {
            parts.push(Part::Events(EventsMove {
                from: self.from.events(Access::Look).await?,
                to: self.to.events(Access::Create).await?,
            }));
        }
        if whole {
            parts.extend(Box::pin(self.all_namespaces()).await?);
        } else if self.store != Some(Store::Events) {
            let name = self.namespace.clone();
            let messages = MessagesMove {
                from: self.from.messages(name.as_ref(), Access::Look).await?,
                to: self.to.messages(name.as_ref(), Access::Create).await?,
            };
            parts.push(Part::Messages(name, messages));
        }
        Ok(parts)
    }

    /// The messages of each namespace. A namespace keeps its attributes, among them the hash of its token.
    async fn all_namespaces(&self) -> Result<Vec<Part>, Failure> {
        let mut parts = Vec::new();
        let Some(from) = Box::pin(self.from.namespaces(Access::Look)).await? else {
            return Ok(parts);
        };
        let found = from.list().await?;
        if found.is_empty() {
            return Ok(parts);
        }
        let to = Box::pin(self.to.namespaces(Access::Create)).await?;
        let to = to.ok_or_else(|| Failure::input("the target has no namespaces"))?;
        for namespace in found {
            let created = to.create(&namespace.name, namespace.attributes.as_deref());
            match Box::pin(created).await {
                Ok(_) | Err(message_store::Error::NamespaceExists { .. }) => {}
                Err(failed) => return Err(failed.into()),
            }
            let messages = MessagesMove {
                from: Box::pin(from.open(&namespace.name)).await?,
                to: Box::pin(to.open(&namespace.name)).await?,
            };
            parts.push(Part::Messages(Some(namespace.name), messages));
        }
        Ok(parts)
    }
}
