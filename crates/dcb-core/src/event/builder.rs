use std::fmt::Display;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use uuid::Uuid;

use super::body::Body;
use super::{Event, whole_micros};
use crate::tag::write_text;
use crate::text::{check, check_content, invalid};
use crate::{Error, EventType, Problem, Tag};

/// Builds an [`Event`]. [`EventBuilder::build`] reports the first problem.
#[derive(Clone, Debug)]
#[must_use]
pub struct EventBuilder {
    id: Option<Uuid>,
    recorded_at: Option<SystemTime>,
    event_type: String,
    /// All tags in one buffer; `tag_ends` has the end of each. This avoids an allocation per tag.
    tags: String,
    tag_ends: Vec<usize>,
    metadata: Vec<(String, String)>,
    data: Vec<u8>,
    problem: Option<Error>,
}

impl EventBuilder {
    pub(super) fn new(event_type: String) -> Self {
        Self {
            id: None,
            recorded_at: None,
            event_type,
            tags: String::new(),
            tag_ends: Vec::new(),
            metadata: Vec::new(),
            data: Vec::new(),
            problem: None,
        }
    }

    /// Sets the id. Appending the same id with the same content again changes nothing.
    ///
    /// Ids in order of time, such as [`Uuid::now_v7`], are cheaper than random ones. In a SQLite file, 100 callers
    /// append more than twice as many events a second with them, because a random id goes to any page of the index. An
    /// event without an id gets one in order of time.
    pub fn id(mut self, id: Uuid) -> Self {
        self.id = Some(id);
        self
    }

    /// Sets the time at which another log recorded the event. The store keeps it in place of the time of
    /// the commit, rounded down to microseconds. From 1970 to 9999.
    pub fn recorded_at(mut self, recorded_at: SystemTime) -> Self {
        self.recorded_at = Some(recorded_at);
        self
    }

    /// Adds a tag. Duplicates are dropped.
    pub fn tag(mut self, tag: impl Display) -> Self {
        if let Err(problem) = write_text(&mut self.tags, tag) {
            self.problem.get_or_insert(problem);
        }
        self.tag_ends.push(self.tags.len());
        self
    }

    /// Adds the tag `key:value`.
    pub fn tag_pair(mut self, key: &str, value: impl Display) -> Self {
        self.tags.push_str(key);
        self.tags.push(':');
        self.tag(value)
    }

    /// Adds these tags.
    pub fn tags<T: Display>(self, tags: impl IntoIterator<Item = T>) -> Self {
        tags.into_iter().fold(self, |builder, tag| builder.tag(tag))
    }

    /// Adds a metadata entry.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.push((key.into(), value.into()));
        self
    }

    /// Sets the metadata entry [`Event::CORRELATION_ID`].
    pub fn correlation_id(self, id: impl Into<String>) -> Self {
        self.metadata(Event::CORRELATION_ID, id)
    }

    /// Sets the metadata entry [`Event::CAUSATION_ID`].
    pub fn causation_id(self, id: impl Into<String>) -> Self {
        self.metadata(Event::CAUSATION_ID, id)
    }

    /// Sets the metadata entry [`Event::VERSION`], the version of the data's shape. Versions start at
    /// 1; see [`upcast`](crate::upcast).
    pub fn version(self, version: u32) -> Self {
        self.metadata(Event::VERSION, version.to_string())
    }

    /// Sets the data to these bytes.
    pub fn data(mut self, data: impl Into<Vec<u8>>) -> Self {
        self.data = data.into();
        self
    }

    /// Sets the data to `value` as JSON.
    pub fn json<T: Serialize + ?Sized>(mut self, value: &T) -> Self {
        match serde_json::to_vec(value) {
            Ok(data) => self.data = data,
            Err(error) => {
                let problem = Problem::malformed(error.to_string());
                self.problem.get_or_insert(invalid("data")(problem));
            }
        }
        self
    }

    /// Checks the fields and returns the event.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the first invalid field: `type`, `tags`, `metadata`, `data` or
    /// `recorded_at`.
    pub fn build(mut self) -> Result<Event, Error> {
        if let Some(problem) = self.problem.take() {
            return Err(problem);
        }
        check(&self.event_type, EventType::MAX_CHARS).map_err(invalid("type"))?;
        let tags = self.sorted_tags()?;
        self.check_metadata()?;
        let body = self.pack(&tags)?;
        let recorded_at = self.recorded_at.map(storable).transpose()?;
        Ok(Event {
            id: self.id,
            is_id_new: false,
            recorded_at: recorded_at.map(Box::new),
            body,
        })
    }

    fn sorted_tags(&self) -> Result<Vec<&str>, Error> {
        let mut tags = Vec::with_capacity(self.tag_ends.len());
        let mut start = 0;
        for &end in &self.tag_ends {
            let tag = &self.tags[start..end];
            check(tag, Tag::MAX_CHARS).map_err(invalid("tags"))?;
            tags.push(tag);
            start = end;
        }
        tags.sort_unstable();
        tags.dedup();
        Ok(tags)
    }

    fn check_metadata(&self) -> Result<(), Error> {
        // The search for duplicate keys is quadratic, but events have few metadata entries.
        for (index, (key, value)) in self.metadata.iter().enumerate() {
            check(key, Tag::MAX_CHARS).map_err(invalid("metadata"))?;
            check_content(value, usize::MAX).map_err(invalid("metadata"))?;
            if self.metadata[..index]
                .iter()
                .any(|(earlier, _)| earlier == key)
            {
                return Err(invalid("metadata")(Problem::Duplicate { key: key.clone() }));
            }
        }
        Ok(())
    }

    fn pack(&self, tags: &[&str]) -> Result<Body, Error> {
        Body::pack(
            &self.event_type,
            tags.iter().copied(),
            self.metadata
                .iter()
                .map(|(key, value)| (key.as_str(), value.as_str())),
            &self.data,
        )
    }
}

/// A time that every backend can store, rounded down.
fn storable(time: SystemTime) -> Result<SystemTime, Error> {
    const END_OF_9999: Duration = Duration::from_secs(253_402_300_800);
    let since_epoch = time.duration_since(UNIX_EPOCH).ok();
    match since_epoch.filter(|since_epoch| *since_epoch < END_OF_9999) {
        Some(_) => Ok(whole_micros(time)),
        None => {
            let problem = Problem::malformed("expected a time from 1970 to 9999");
            Err(invalid("recorded_at")(problem))
        }
    }
}
