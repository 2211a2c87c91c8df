use uuid::Uuid;

use crate::text::{check_size, invalid};
use crate::{Error, Message, Problem, StreamWrite};

/// How large a write may be. What exceeds a limit is refused before anything else is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most messages of one write, all its streams together.
    pub max_messages_per_write: usize,
    /// The most bytes of one message: type, data and metadata together.
    pub max_message_bytes: usize,
    /// The most bytes of all messages of one write.
    pub max_write_bytes: usize,
}

impl Default for Limits {
    /// 10,000 messages, 4 MiB a message, 64 MiB a write.
    fn default() -> Self {
        Self {
            max_messages_per_write: 10_000,
            max_message_bytes: 4 << 20,
            max_write_bytes: 64 << 20,
        }
    }
}

impl Limits {
    /// Checks all that can be told of a write to several streams without looking at the store. For
    /// stores.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `streams` where there are none, or one is there twice; with
    /// the path of the field from there on, as in `streams[1].messages[3]`; with field `messages`
    /// where they are too many or too large together. Then [`Error::IdConflict`] with the first id
    /// that is in the write twice.
    pub fn check_streams(&self, writes: &[StreamWrite]) -> Result<(), Error> {
        if writes.is_empty() {
            return Err(invalid("streams")(Problem::Empty));
        }
        check_distinct(writes)?;
        let total = writes.iter().map(|write| write.messages.len()).sum();
        check_size(total, self.max_messages_per_write).map_err(invalid("messages"))?;
        let mut bytes = 0;
        for (index, write) in writes.iter().enumerate() {
            let path = format!("streams[{index}].messages");
            bytes += self.check_messages(&path, &write.messages)?;
        }
        check_size(bytes, self.max_write_bytes).map_err(invalid("messages"))?;
        let messages = || writes.iter().flat_map(|write| &write.messages);
        check_ids(messages)
    }

    /// As [`Limits::check_streams`], for the messages of one stream. For stores.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `messages` where there are none, too many or too large
    /// together, with field `messages[i]` of the first that is too large; [`Error::IdConflict`]
    /// with the first id that is in the write twice.
    pub fn check_batch(&self, messages: &[Message]) -> Result<(), Error> {
        check_size(messages.len(), self.max_messages_per_write).map_err(invalid("messages"))?;
        let bytes = self.check_messages("messages", messages)?;
        check_size(bytes, self.max_write_bytes).map_err(invalid("messages"))?;
        check_ids(|| messages.iter())
    }

    /// As [`Limits::check_batch`], for one message. For stores.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `message` where it is too large.
    pub fn check_message(&self, message: &Message) -> Result<(), Error> {
        let max = self.max_message_bytes.min(self.max_write_bytes);
        check_size(message.size_bytes(), max).map_err(invalid("message"))
    }

    /// Returns the size of all messages.
    fn check_messages(&self, path: &str, messages: &[Message]) -> Result<usize, Error> {
        if messages.is_empty() {
            return Err(invalid(path)(Problem::Empty));
        }
        for (index, message) in messages.iter().enumerate() {
            check_size(message.size_bytes(), self.max_message_bytes)
                .map_err(|problem| invalid(format!("{path}[{index}]"))(problem))?;
        }
        Ok(messages.iter().map(Message::size_bytes).sum())
    }
}

fn check_distinct(writes: &[StreamWrite]) -> Result<(), Error> {
    let mut names: Vec<&str> = writes.iter().map(|write| write.stream.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(invalid("streams")(Problem::Duplicate {
            key: pair[0].to_owned(),
        })),
        None => Ok(()),
    }
}

fn check_ids<'a, I>(messages: impl Fn() -> I) -> Result<(), Error>
where
    I: Iterator<Item = &'a Message>,
{
    let given = || messages().filter_map(Message::id);
    let mut sorted: Vec<Uuid> = given().collect();
    sorted.sort_unstable();
    let is_repeated = |id: &Uuid| {
        let first = sorted.partition_point(|other| other < id);
        sorted.get(first + 1) == Some(id)
    };
    match given().find(is_repeated) {
        Some(id) => Err(Error::IdConflict { id }),
        None => Ok(()),
    }
}
