//! Random histories: a store and the [`Model`] get the same calls and must give the same answers.

use std::fmt::Debug;
use std::time::{Duration, SystemTime};

use conformance_suite::{Random, effort, runtime};
use message_store::{
    Bookmark, Category, CategoryRead, ConsumerGroup, Error, ExpectedVersion, GlobalPosition,
    ListStreams, Message, MessageStore, Position, RecordedMessage, StreamName, StreamRead,
    StreamWrite, same_json,
};
use uuid::Uuid;

use super::{Json, Model};

const STREAMS: [&str; 10] = [
    "a-1", "a-2", "a-1+2", "a:x-1", "b-1", "b-2", "ab-1", "a", "a-", "-1",
];
const CATEGORIES: [&str; 6] = ["", "a", "a:x", "b", "ab", "c"];
const TYPES: [&str; 3] = ["Opened", "Happened", "Closed"];
const CONSUMERS: [&str; 2] = ["mailer", "report"];
const DATA: [&str; 6] = [
    "1",
    "1.0",
    "9007199254740993",
    r#"{"b":2,"a":1}"#,
    r#"{ "a": 1, "b": 2 }"#,
    "[]",
];
const METADATA: [&str; 4] = [
    "null",
    r#"{"correlationStreamName":"b-1"}"#,
    r#"{"correlationStreamName":"a-9"}"#,
    "{}",
];
const STEPS: usize = 120;

/// Runs 12 histories, times [`effort`], each on a new store.
///
/// # Panics
/// If an answer differs. The panic message contains the seed and the call.
pub fn run_all<S: MessageStore>(json: Json, factory: impl AsyncFn() -> S) {
    runtime().block_on(async {
        for seed in 0..effort(12) as u64 {
            println!("seed {seed}");
            run(&factory().await, json, seed).await;
        }
    });
}

/// Runs the history that `seed` generates. The store must be empty.
///
/// # Panics
/// If an answer differs. The panic message contains the seed and the call.
pub async fn run<S: MessageStore>(store: &S, json: Json, seed: u64) {
    let pair = Pair {
        store,
        model: Model::new(),
        json,
        global: Vec::new(),
    };
    pair.play(Random::new(seed), seed).await;
}

struct Pair<'s, S> {
    store: &'s S,
    model: Model,
    json: Json,
    /// For each global position of the model, the global position of the same message in the store.
    /// The store's positions may have gaps.
    global: Vec<GlobalPosition>,
}

impl<S: MessageStore> Pair<'_, S> {
    async fn play(mut self, mut random: Random, seed: u64) {
        let mut ids: Vec<Uuid> = Vec::new();
        for step in 0..STEPS {
            let what = format!("seed {seed}, step {step}");
            match random.below(12) {
                0..=4 => self.write(&mut random, &mut ids, &what).await,
                5 => self.read_stream(&mut random, &what).await,
                6 | 7 => self.read_category(&mut random, &what).await,
                8 => self.read_ends(&mut random, &what).await,
                9 => self.list(&mut random, &what).await,
                10 => self.checkpoint(&mut random, &what).await,
                _ => self.delete(&mut random, &what).await,
            }
        }
        let (everything, read) = (Category::all(), CategoryRead::new().batch_size(None));
        let what = format!("seed {seed}, the whole store");
        let found = self
            .store
            .get_category_messages(&everything, read.clone())
            .await;
        let model = self.model.get_category_messages(&everything, read).await;
        self.same_messages(&must(found, &what), &must(model, &what), &what);
    }

    async fn write(&mut self, random: &mut Random, ids: &mut Vec<Uuid>, what: &str) {
        let mut streams: Vec<&str> = STREAMS.to_vec();
        let mut writes = Vec::new();
        for _ in 0..1 + random.below(2) {
            // Remove the stream, because a write may name it only once.
            let stream = streams.swap_remove(random.below(streams.len() as u64) as usize);
            let stream = StreamName::new(stream).expect("the name is valid");
            let messages: Vec<_> = (0..1 + random.below(3))
                .map(|_| message(random, ids))
                .collect();
            let version = self
                .model
                .stream_version(&stream)
                .await
                .expect("a model answers");
            let expected = match random.below(4) {
                // Half of the expected versions are guesses, and most guesses are wrong.
                0 => ExpectedVersion::NoStream,
                1 => ExpectedVersion::Exact(Position::new(random.below(4))),
                2 => ExpectedVersion::from_version(version),
                _ => ExpectedVersion::Any,
            };
            writes.push(StreamWrite::new(stream, messages).expected_version(expected));
        }
        let found = self.store.write_streams(writes.clone()).await;
        let model = self.model.write_streams(writes.clone()).await;
        match (&found, &model) {
            (Ok(found), Ok(model)) => {
                for (found, model) in found.iter().flatten().zip(model.iter().flatten()) {
                    assert_eq!(found.position, model.position, "{what}: {writes:?}");
                    self.record_position(model.global_position, found.global_position);
                    assert_eq!(
                        self.to_store(model.global_position),
                        found.global_position,
                        "{what}"
                    );
                }
            }
            (Err(found), Err(model)) => same_error(found, model, what),
            _ => panic!("{what}: {found:?} instead of {model:?} for {writes:?}"),
        }
    }

    /// Records the store's global position for a new global position of the model.
    fn record_position(&mut self, model: GlobalPosition, found: GlobalPosition) {
        if model.get() as usize == self.global.len() + 1 {
            assert!(
                self.global.last().is_none_or(|last| *last < found),
                "{found} is not new"
            );
            self.global.push(found);
        }
    }

    /// Translates a global position of the model into the store's. A position past the head becomes
    /// the position after the store's head.
    fn to_store(&self, model: GlobalPosition) -> GlobalPosition {
        let known = self
            .global
            .get(model.get().saturating_sub(1) as usize)
            .copied();
        known.unwrap_or_else(|| {
            let last = self.global.last();
            last.map_or(GlobalPosition::START, |last| last.next())
        })
    }

    async fn read_stream(&self, random: &mut Random, what: &str) {
        let stream = StreamName::new(random.pick(&STREAMS)).expect("the name is valid");
        let read = StreamRead::new()
            .position(Position::new(random.below(5)))
            .batch_size(random.pick(&[Some(0), Some(1), Some(3), None]));
        let found = self.store.get_stream_messages(&stream, read).await;
        let model = self.model.get_stream_messages(&stream, read).await;
        let what = format!("{what}: {stream} {read:?}");
        self.same_messages(&must(found, &what), &must(model, &what), &what);
    }

    async fn read_category(&self, random: &mut Random, what: &str) {
        let category = Category::new(random.pick(&CATEGORIES)).expect("the category is valid");
        let from = GlobalPosition::new(1 + random.below(self.global.len() as u64 + 2));
        let mut read = CategoryRead::new().batch_size(random.pick(&[Some(1), Some(4), None]));
        if random.once_in(3) {
            let correlation = random.pick(&["a", "b", "c"]);
            read = read.correlation(Category::new(correlation).expect("the category is valid"));
        }
        if random.once_in(3) {
            let size = 1 + random.below(3) as i64;
            let member = random.below(size as u64) as i64;
            read =
                read.consumer_group(ConsumerGroup::new(member, size).expect("the member is valid"));
        }
        let what = format!("{what}: {category} from {from} {read:?}");
        let store_read = read.clone().position(self.to_store(from));
        let found = self
            .store
            .get_category_messages(&category, store_read)
            .await;
        let model = self
            .model
            .get_category_messages(&category, read.position(from))
            .await;
        self.same_messages(&must(found, &what), &must(model, &what), &what);
    }

    async fn read_ends(&self, random: &mut Random, what: &str) {
        let stream = StreamName::new(random.pick(&STREAMS)).expect("the name is valid");
        let message_type = random.pick(&[None, Some(TYPES[0]), Some(TYPES[1]), Some(TYPES[2])]);
        let what = format!("{what}: last of {stream} {message_type:?}");
        let found = must(
            self.store
                .get_last_stream_message(&stream, message_type)
                .await,
            &what,
        );
        let model = must(
            self.model
                .get_last_stream_message(&stream, message_type)
                .await,
            &what,
        );
        self.same_messages(found.as_slice(), model.as_slice(), &what);
        let found = must(self.store.stream_version(&stream).await, &what);
        assert_eq!(
            found,
            must(self.model.stream_version(&stream).await, &what),
            "{what}"
        );
        let found = must(self.store.head().await, &what);
        let model = must(self.model.head().await, &what);
        assert_eq!(
            found.map(|head| head.position),
            model.map(|head| self.to_store(head.position)),
            "{what}"
        );
    }

    async fn list(&self, random: &mut Random, what: &str) {
        let mut list = ListStreams::new()
            .prefix(random.pick(&["", "a", "a-", "b", "z"]))
            .limit(random.pick(&[0, 1, 3, 1000]));
        if random.once_in(2) {
            list = list.after(random.pick(&STREAMS));
        }
        let what = format!("{what}: {list:?}");
        let found = must(self.store.list_streams(list.clone()).await, &what);
        let model = must(self.model.list_streams(list).await, &what);
        let plain = |streams: Vec<message_store::StreamInfo>| -> Vec<(String, Position)> {
            streams
                .into_iter()
                .map(|found| (found.stream_name, found.version))
                .collect()
        };
        assert_eq!(plain(found), plain(model), "{what}");
        let found = must(self.store.list_categories().await, &what);
        assert_eq!(
            found,
            must(self.model.list_categories().await, &what),
            "{what}"
        );
        let found = must(self.store.info().await, &what);
        let model = must(self.model.info().await, &what);
        assert_eq!(found.message_count, model.message_count, "{what}");
        assert_eq!(found.stream_count, model.stream_count, "{what}");
    }

    async fn checkpoint(&self, random: &mut Random, what: &str) {
        let consumer = random.pick(&CONSUMERS);
        if random.once_in(4) {
            let found = must(self.store.delete_checkpoint(consumer).await, what);
            assert_eq!(
                found,
                must(self.model.delete_checkpoint(consumer).await, what),
                "{what}"
            );
        } else {
            let handled = Bookmark {
                position: GlobalPosition::new(random.below(50)),
                message_id: random.once_in(2).then(Uuid::now_v7),
            };
            let found = must(self.store.save_checkpoint(consumer, handled).await, what);
            let model = must(self.model.save_checkpoint(consumer, handled).await, what);
            assert_eq!(found, model, "{what}");
        }
        let found = must(self.store.checkpoint(consumer).await, what);
        assert_eq!(
            found,
            must(self.model.checkpoint(consumer).await, what),
            "{what}"
        );
    }

    async fn delete(&self, random: &mut Random, what: &str) {
        // Rarely, because it deletes nearly everything.
        if random.once_in(6) {
            let category = Category::new(random.pick(&CATEGORIES)).expect("the category is valid");
            let later = SystemTime::now() + Duration::from_secs(3600);
            let found = must(self.store.expire_messages(&category, later).await, what);
            let model = must(self.model.expire_messages(&category, later).await, what);
            assert_eq!(found, model, "{what}: expire {category}");
        } else {
            let stream = StreamName::new(random.pick(&STREAMS)).expect("the name is valid");
            let before = Position::new(random.below(6));
            let found = must(self.store.truncate_stream(&stream, before).await, what);
            let model = must(self.model.truncate_stream(&stream, before).await, what);
            assert_eq!(found, model, "{what}: truncate {stream} before {before}");
        }
    }

    fn same_messages(&self, found: &[RecordedMessage], model: &[RecordedMessage], what: &str) {
        assert_eq!(
            found.len(),
            model.len(),
            "{what}: {found:?} instead of {model:?}"
        );
        for (found, model) in found.iter().zip(model) {
            let same = found.stream_name() == model.stream_name()
                && found.position() == model.position()
                && found.global_position() == self.to_store(model.global_position())
                && found.message_type() == model.message_type()
                && self.same_json(found.data_json(), model.data_json())
                && match (found.metadata_json(), model.metadata_json()) {
                    (Some(found), Some(model)) => self.same_json(found, model),
                    (found, model) => found == model,
                };
            assert!(same, "{what}: {found:?} instead of {model:?}");
        }
    }

    fn same_json(&self, found: &str, model: &str) -> bool {
        match self.json {
            Json::Bytes => found == model,
            Json::Values => same_json(found, model),
        }
    }
}

/// A message. One in four repeats an id.
fn message(random: &mut Random, ids: &mut Vec<Uuid>) -> Message {
    let mut builder = Message::builder(random.pick(&TYPES)).data_json(random.pick(&DATA));
    if random.once_in(2) {
        builder = builder.metadata_json(random.pick(&METADATA));
    }
    if random.once_in(2) {
        let id = match ids.len() {
            0 => random.id(),
            _ if random.once_in(2) => random.id(),
            _ => random.pick(ids),
        };
        ids.push(id);
        builder = builder.id(id);
    }
    builder.build().expect("the message is valid")
}

fn same_error(found: &Error, model: &Error, what: &str) {
    match (found, model) {
        (Error::DuplicateId { id: found }, Error::DuplicateId { id: model }) => {
            assert_eq!(found, model, "{what}");
        }
        (Error::WrongExpectedVersion { .. }, Error::WrongExpectedVersion { .. }) => {
            assert_eq!(found.to_string(), model.to_string(), "{what}");
        }
        _ => panic!("{what}: {found:?} instead of {model:?}"),
    }
}

fn must<T: Debug>(answer: Result<T, Error>, what: &str) -> T {
    answer.unwrap_or_else(|error| panic!("{what}: {error:?}"))
}
