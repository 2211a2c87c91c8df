use std::fmt;
use std::io::Read as _;

use dcb_core::{
    Append, AppendCondition, Bookmark, Event, EventStore as _, EventType, Query, QueryItem, Tag,
};
use serde::Serialize;
use uuid::Uuid;

use crate::failure::Failure;
use crate::output::Output;
use crate::place::{Access, Place};

/// Append one event, under a condition if one is given. Exit code 1 if the condition does not hold.
#[derive(clap::Args)]
pub(crate) struct AppendEvent {
    /// The log.
    place: Place,
    /// The type of the event.
    event_type: String,
    /// A tag of the event; may be repeated.
    #[arg(short, long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// The data; - reads it from the standard input.
    #[arg(short, long, default_value = "")]
    data: String,
    /// Metadata of the event; may be repeated.
    #[arg(short, long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    metadata: Vec<(String, String)>,
    /// The id of the event. Appending the same event with the same id again changes nothing.
    #[arg(long)]
    id: Option<Uuid>,
    /// Refuse if the log has an event of this type; may be repeated, and one of them is enough.
    #[arg(long, value_name = "TYPE")]
    fail_if_type: Vec<EventType>,
    /// Refuse if the log has an event with this tag; may be repeated, and the event needs all of them.
    #[arg(long, value_name = "TAG")]
    fail_if_tag: Vec<Tag>,
    /// Only events after this one can refuse: a position, or position@id.
    #[arg(long, value_name = "POSITION")]
    after: Option<Bookmark>,
}

fn key_and_value(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok((pair.0.to_owned(), pair.1.to_owned()))
}

#[derive(Serialize)]
struct Appended {
    position: u64,
}

impl fmt::Display for Appended {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.position.fmt(formatter)
    }
}

impl AppendEvent {
    pub(super) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        let item = QueryItem::new(self.fail_if_type, self.fail_if_tag);
        let condition = match item.types().is_empty() && item.tags().is_empty() {
            true if self.after.is_some() => {
                let reason = "--after needs --fail-if-type or --fail-if-tag";
                return Err(Failure::input(reason));
            }
            true => None,
            false => Some(AppendCondition::fail_if(Query::new([item])?).after(self.after)),
        };
        let mut data = self.data.into_bytes();
        if data == b"-" {
            data.clear();
            std::io::stdin().read_to_end(&mut data)?;
        }
        let event = Event::builder(self.event_type).tags(self.tags).data(data);
        let event = self
            .metadata
            .into_iter()
            .fold(event, |event, (key, value)| event.metadata(key, value));
        let event = self.id.into_iter().fold(event, |event, id| event.id(id));
        let append = Append::new(event.build()?).conditions(condition);
        let store = self.place.events(Access::Write).await?;
        let appended = store.submit(append).await?;
        store.close().await;
        let position = appended.first().get();
        Ok(output.print(&Appended { position })?)
    }
}
