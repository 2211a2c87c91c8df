//! Random histories: the same calls go to a store and to the [`Model`], and every answer agrees.

use std::fmt::Debug;
use std::time::{Duration, SystemTime};

use uuid::Uuid;

use super::random::Random;
use super::{Json, Model, effort, runtime};
use crate::{
    Category, CategoryRead, ConsumerGroup, Error, ExpectedVersion, GlobalPosition, ListStreams,
    Message, MessageStore, Position, RecordedMessage, StreamName, StreamRead, StreamWrite,
    same_json,
};

const STREAMS: [&str; 7] = ["a-1", "a-2", "a-1+2", "a:x-1", "b-1", "b-2", "ab-1"];
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

/// Runs as many histories as [`effort`] says, each on a store of its own.
///
/// # Panics
/// Where an answer differs; the message has the seed and the call.
pub fn run_all<S: MessageStore>(json: Json, factory: impl AsyncFn() -> S) {
    runtime().block_on(async {
        for seed in 0..effort(12) as u64 {
            println!("seed {seed}");
            run(&factory().await, json, seed).await;
        }
    });
}

/// Runs the history of this seed on an empty store.
///
/// # Panics
/// Where an answer differs; the message has the seed and the call.
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
    /// The store's global position of each of the model's: they need not be dense.
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
        let own = self
            .store
            .get_category_messages(&everything, read.clone())
            .await;
        let model = self.model.get_category_messages(&everything, read).await;
        self.same_messages(&must(own, &what), &must(model, &what), &what);
    }

    async fn write(&mut self, random: &mut Random, ids: &mut Vec<Uuid>, what: &str) {
        let mut streams: Vec<&str> = STREAMS.to_vec();
        let mut writes = Vec::new();
        for _ in 0..1 + random.below(2) {
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
                0 => ExpectedVersion::NoStream,
                1 => ExpectedVersion::Exact(Position::new(random.below(4))),
                2 => ExpectedVersion::from_version(version),
                _ => ExpectedVersion::Any,
            };
            writes.push(StreamWrite::new(stream, messages).expected_version(expected));
        }
        let own = self.store.write_streams(writes.clone()).await;
        let model = self.model.write_streams(writes.clone()).await;
        match (&own, &model) {
            (Ok(own), Ok(model)) => {
                for (own, model) in own.iter().flatten().zip(model.iter().flatten()) {
                    assert_eq!(own.position, model.position, "{what}: {writes:?}");
                    self.learn(model.global_position, own.global_position);
                    assert_eq!(
                        self.of_store(model.global_position),
                        own.global_position,
                        "{what}"
                    );
                }
            }
            (Err(own), Err(model)) => same_error(own, model, what),
            _ => panic!("{what}: {own:?} instead of {model:?} for {writes:?}"),
        }
    }

    /// Pairs a new global position of the model with the store's.
    fn learn(&mut self, model: GlobalPosition, own: GlobalPosition) {
        if model.get() as usize == self.global.len() + 1 {
            assert!(
                self.global.last().is_none_or(|last| *last < own),
                "{own} is not new"
            );
            self.global.push(own);
        }
    }

    /// The store's global position for one of the model's; past the head, the one after it.
    fn of_store(&self, model: GlobalPosition) -> GlobalPosition {
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
        let own = self.store.get_stream_messages(&stream, read).await;
        let model = self.model.get_stream_messages(&stream, read).await;
        let what = format!("{what}: {stream} {read:?}");
        self.same_messages(&must(own, &what), &must(model, &what), &what);
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
            read = read.consumer_group(ConsumerGroup::new(member, size).expect("it is a member"));
        }
        let what = format!("{what}: {category} from {from} {read:?}");
        let own = read.clone().position(self.of_store(from));
        let own = self.store.get_category_messages(&category, own).await;
        let model = self
            .model
            .get_category_messages(&category, read.position(from))
            .await;
        self.same_messages(&must(own, &what), &must(model, &what), &what);
    }

    async fn read_ends(&self, random: &mut Random, what: &str) {
        let stream = StreamName::new(random.pick(&STREAMS)).expect("the name is valid");
        let message_type = random.pick(&[None, Some(TYPES[0]), Some(TYPES[1]), Some(TYPES[2])]);
        let what = format!("{what}: last of {stream} {message_type:?}");
        let own = must(
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
        self.same_messages(own.as_slice(), model.as_slice(), &what);
        let own = must(self.store.stream_version(&stream).await, &what);
        assert_eq!(
            own,
            must(self.model.stream_version(&stream).await, &what),
            "{what}"
        );
        let own = must(self.store.head().await, &what);
        let model = must(self.model.head().await, &what);
        assert_eq!(own, model.map(|head| self.of_store(head)), "{what}");
    }

    async fn list(&self, random: &mut Random, what: &str) {
        let mut list = ListStreams::new()
            .prefix(random.pick(&["", "a", "a-", "b", "z"]))
            .limit(random.pick(&[0, 1, 3, 1000]));
        if random.once_in(2) {
            list = list.after(random.pick(&STREAMS));
        }
        let what = format!("{what}: {list:?}");
        let own = must(self.store.list_streams(list.clone()).await, &what);
        let model = must(self.model.list_streams(list).await, &what);
        let plain = |streams: Vec<crate::StreamInfo>| -> Vec<(String, Position)> {
            streams
                .into_iter()
                .map(|own| (own.stream_name, own.version))
                .collect()
        };
        assert_eq!(plain(own), plain(model), "{what}");
        let own = must(self.store.list_categories().await, &what);
        assert_eq!(
            own,
            must(self.model.list_categories().await, &what),
            "{what}"
        );
        let own = must(self.store.info().await, &what);
        let model = must(self.model.info().await, &what);
        assert_eq!(own.message_count, model.message_count, "{what}");
        assert_eq!(own.stream_count, model.stream_count, "{what}");
    }

    async fn checkpoint(&self, random: &mut Random, what: &str) {
        let consumer = random.pick(&CONSUMERS);
        if random.once_in(4) {
            let own = must(self.store.delete_checkpoint(consumer).await, what);
            assert_eq!(
                own,
                must(self.model.delete_checkpoint(consumer).await, what),
                "{what}"
            );
        } else {
            let position = GlobalPosition::new(random.below(50));
            let own = must(self.store.save_checkpoint(consumer, position).await, what);
            let model = must(self.model.save_checkpoint(consumer, position).await, what);
            assert_eq!(own, model, "{what}");
        }
        let own = must(self.store.checkpoint(consumer).await, what);
        assert_eq!(
            own,
            must(self.model.checkpoint(consumer).await, what),
            "{what}"
        );
    }

    async fn delete(&self, random: &mut Random, what: &str) {
        if random.once_in(6) {
            let category = Category::new(random.pick(&CATEGORIES)).expect("the category is valid");
            let later = SystemTime::now() + Duration::from_secs(3600);
            let own = must(self.store.expire_messages(&category, later).await, what);
            let model = must(self.model.expire_messages(&category, later).await, what);
            assert_eq!(own, model, "{what}: expire {category}");
        } else {
            let stream = StreamName::new(random.pick(&STREAMS)).expect("the name is valid");
            let before = Position::new(random.below(6));
            let own = must(self.store.truncate_stream(&stream, before).await, what);
            let model = must(self.model.truncate_stream(&stream, before).await, what);
            assert_eq!(own, model, "{what}: truncate {stream} before {before}");
        }
    }

    fn same_messages(&self, own: &[RecordedMessage], model: &[RecordedMessage], what: &str) {
        assert_eq!(
            own.len(),
            model.len(),
            "{what}: {own:?} instead of {model:?}"
        );
        for (own, model) in own.iter().zip(model) {
            let same = own.stream_name() == model.stream_name()
                && own.position() == model.position()
                && own.global_position() == self.of_store(model.global_position())
                && own.message_type() == model.message_type()
                && self.same_json(own.data_json(), model.data_json())
                && match (own.metadata_json(), model.metadata_json()) {
                    (Some(own), Some(model)) => self.same_json(own, model),
                    (own, model) => own == model,
                };
            assert!(same, "{what}: {own:?} instead of {model:?}");
        }
    }

    fn same_json(&self, own: &str, model: &str) -> bool {
        match self.json {
            Json::Bytes => own == model,
            Json::Values => same_json(own, model),
        }
    }
}

/// A message; one in four has an id that was given before.
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

fn same_error(own: &Error, model: &Error, what: &str) {
    match (own, model) {
        (Error::IdConflict { id: own }, Error::IdConflict { id: model }) => {
            assert_eq!(own, model, "{what}");
        }
        (Error::WrongExpectedVersion { .. }, Error::WrongExpectedVersion { .. }) => {
            assert_eq!(own.to_string(), model.to_string(), "{what}");
        }
        _ => panic!("{what}: {own:?} instead of {model:?}"),
    }
}

fn must<T: Debug>(answer: Result<T, Error>, what: &str) -> T {
    answer.unwrap_or_else(|error| panic!("{what}: {error:?}"))
}
