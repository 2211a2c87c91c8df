use dcb_core::{Bookmark, Problem};
use message_store::{
    Category, CategoryRead, ConsumerGroup, Error, ExpectedVersion, Message, MessageStore, Position,
    RecordedMessage, StreamName, StreamWrite,
};
use store_fault::shared;

use crate::commit::Commit;

/// The messages of a page.
const PAGE: u64 = 1_000;

/// How far a relay is: the last message of a stream that only relays of its name write.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    stream: StreamName,
    category: Category,
    /// A group of one member, because the primary answers the reads of a group. A replica may lack the last message.
    alone: ConsumerGroup,
    last: Option<Last>,
}

/// The last message that was read.
#[derive(Clone, Copy, Debug)]
struct Last {
    place: message_store::Bookmark,
    position: Position,
    through: Bookmark,
}

impl Checkpoint {
    pub(crate) fn new(name: &str) -> Result<Self, dcb_core::Error> {
        let invalid = |problem| dcb_core::Error::Invalid {
            field: "name".to_owned(),
            problem,
        };
        if name.is_empty() {
            return Err(invalid(Problem::Empty));
        }
        let parts = || -> Result<_, Error> {
            let category = Category::new(format!("relay:{name}"))?;
            let stream = StreamName::new(category.as_str())?;
            Ok((stream, category, ConsumerGroup::new(0, 1)?))
        };
        let (stream, category, alone) = parts().map_err(|failed| match failed {
            Error::Invalid { problem, .. } => invalid(problem),
            other => invalid(Problem::malformed(other.to_string())),
        })?;
        Ok(Self {
            stream,
            category,
            alone,
            last: None,
        })
    }

    /// The last event that was relayed.
    pub(crate) async fn read<M: MessageStore>(
        &mut self,
        messages: &M,
    ) -> Result<Option<Bookmark>, Error> {
        if self.last.is_none() {
            let last = messages.get_last_stream_message(&self.stream, None).await?;
            self.last = last.as_ref().map(Last::of).transpose()?;
        }
        match self.read_on(messages).await {
            // The store was restored or failed over, so the last message that was read may be lost.
            Err(Error::PastReplaced { .. } | Error::AfterBeyondHead { .. })
                if self.last.is_some() =>
            {
                self.last = None;
                self.read_on(messages).await?;
            }
            done => done?,
        }
        Ok(self.last.map(|last| last.through))
    }

    /// Reads what comes after the last message that was read.
    async fn read_on<M: MessageStore>(&mut self, messages: &M) -> Result<(), Error> {
        loop {
            let read = CategoryRead::new()
                .start(self.last.map(|last| last.place))
                .batch_size(PAGE)
                .consumer_group(self.alone);
            let page = messages.get_category_messages(&self.category, read).await?;
            let is_own = |message: &&RecordedMessage| message.stream_name() == self.stream.as_str();
            if let Some(last) = page.iter().rfind(is_own) {
                self.last = Some(Last::of(last)?);
            }
            if (page.len() as u64) < PAGE {
                return Ok(());
            }
        }
    }

    /// The writes of these commits, which follow each other: each moves the checkpoint.
    pub(crate) fn with(&self, commits: Vec<Commit>) -> Result<Vec<Vec<StreamWrite>>, Error> {
        let mut version = self.last.map(|last| last.position);
        let with_checkpoint = |commit: Commit| {
            let through = commit.through.to_string();
            let moved = Message::builder("Relayed").data(&through).build()?;
            let expected = ExpectedVersion::from_version(version);
            version = Some(version.map_or(Position::START, Position::next));
            let mut writes = commit.writes;
            writes.push(StreamWrite::new(self.stream.clone(), moved).expected_version(expected));
            Ok(writes)
        };
        commits.into_iter().map(with_checkpoint).collect()
    }
}

impl Last {
    fn of(message: &RecordedMessage) -> Result<Self, Error> {
        let through: String = message.data()?;
        let through = through.parse().map_err(|malformed| Error::Json {
            source: shared(malformed),
        })?;
        Ok(Self {
            place: message.bookmark(),
            position: message.position(),
            through,
        })
    }
}
