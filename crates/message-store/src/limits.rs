use uuid::Uuid;

use crate::text::{check, check_size, invalid};
use crate::{Error, Message, Problem, StreamName, StreamWrite};

/// Size limits for writes. Stores check them before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of messages in one write, over all its streams.
    pub max_messages_per_write: usize,
    /// Maximum size of one message in bytes: type, data and metadata together.
    pub max_message_bytes: usize,
    /// Maximum size of all messages of one write in bytes.
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
    /// Checks the name of a consumer, which may be as long as the name of a stream. For use by store
    /// implementations.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `consumer` if the name is empty, too long or has a character that no
    /// name may have.
    pub fn check_consumer(name: &str) -> Result<(), Error> {
        check(name, StreamName::MAX_BYTES).map_err(invalid("consumer"))
    }

    /// Runs every check on a write to several streams that does not need to read the store. For use
    /// by store implementations.
    ///
    /// # Errors
    /// - [`Error::Invalid`] with field `streams` if there is no stream or a stream is listed twice;
    ///   with a path such as `streams[1].messages` for a stream without messages, or
    ///   `streams[1].messages[3]` for a message that is too large; with field `messages` if there
    ///   are too many messages or their total size is too large.
    /// - [`Error::DuplicateId`] with the first id that occurs twice.
    pub fn check_streams(&self, writes: &[StreamWrite]) -> Result<(), Error> {
        if writes.is_empty() {
            return Err(invalid("streams")(Problem::Empty));
        }
        check_distinct(writes)?;
        let total = writes.iter().map(|write| write.messages.len()).sum();
        check_count(total, self.max_messages_per_write).map_err(invalid("messages"))?;
        let mut bytes = 0;
        for (index, write) in writes.iter().enumerate() {
            let path = format!("streams[{index}].messages");
            bytes += self.check_messages(&path, &write.messages)?;
        }
        check_size(bytes, self.max_write_bytes).map_err(invalid("messages"))?;
        let messages = || writes.iter().flat_map(|write| &write.messages);
        check_ids(messages)
    }

    /// Runs the same checks on a write to one stream. For use by store implementations.
    ///
    /// # Errors
    /// - [`Error::Invalid`] with field `messages` if there are no messages, too many messages, or
    ///   their total size is too large; with field `messages[i]` for the first message that is too
    ///   large.
    /// - [`Error::DuplicateId`] with the first id that occurs twice.
    pub fn check_batch(&self, messages: &[Message]) -> Result<(), Error> {
        check_count(messages.len(), self.max_messages_per_write).map_err(invalid("messages"))?;
        let bytes = self.check_messages("messages", messages)?;
        check_size(bytes, self.max_write_bytes).map_err(invalid("messages"))?;
        check_ids(|| messages.iter())
    }

    /// Checks the size of one message. For use by store implementations.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `message` if the message is too large.
    pub fn check_message(&self, message: &Message) -> Result<(), Error> {
        let max = self.max_message_bytes.min(self.max_write_bytes);
        check_size(message.size_bytes(), max).map_err(invalid("message"))
    }

    /// Returns the total size of the messages.
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

fn check_count(actual: usize, max: usize) -> Result<(), Problem> {
    match actual > max {
        true => Err(Problem::TooMany { max, actual }),
        false => Ok(()),
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
    // A sorted copy finds duplicates without quadratic cost; the search below runs over the
    // original order, because the error names the first duplicate of the write.
    let mut sorted: Vec<Uuid> = given().collect();
    sorted.sort_unstable();
    let is_repeated = |id: &Uuid| {
        let first = sorted.partition_point(|other| other < id);
        sorted.get(first + 1) == Some(id)
    };
    match given().find(is_repeated) {
        Some(id) => Err(Error::DuplicateId { id }),
        None => Ok(()),
    }
}
