//! The reads in tables of several sizes, with 100 categories of 100 streams.

use super::backends::{Backend, Opened, Postgres, Sqlite};
use super::ops::{self, expect};
use bench::{BoxError, Goal, Op, Outcome, Row, Target};
use message_store::{
    CategoryRead, ExpectedVersion, GlobalPosition, MessageStore as _, StreamRead, StreamWrite,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;

const CATEGORIES: u64 = 100;
const STREAMS: u64 = 10;

pub(crate) fn declare(target: &mut Target, sqlite: &Sqlite, postgres: &Postgres) {
    let sizes: &[u64] = match target.profile().is_smoke() {
        true => &[2_000],
        false => &[10_000, 100_000, 1_000_000],
    };
    for &messages in sizes {
        rows(target, sqlite, messages, Duration::from_micros(60));
        rows(target, postgres, messages, Duration::from_micros(400));
    }
}

fn rows<B: Backend>(target: &mut Target, backend: &B, messages: u64, reach: Duration) {
    let table = Table::new(backend, messages);
    let variant = format!("{messages} messages");
    let row = Row::new("GetCategoryMessages", backend.label())
        .variant(&variant)
        .events(100)
        .fills("message_sizes")
        .one_op("1 read of 100 messages from the middle of one of 100 categories")
        .goal(Goal::mean(reach));
    // The read starts in the middle, so a small table has fewer messages left.
    let count = 100.min(messages / CATEGORIES / 2) as usize;
    let op = table.reading(move |table, _| async move {
        let read = CategoryRead::new()
            .position(GlobalPosition::new(messages / 2))
            .batch_size(100);
        let category = ops::category("c7");
        let page = table.store.get_category_messages(&category, read).await?;
        expect(&page, count)
    });
    target.row(row, &op);
    let row = Row::new("GetStreamMessages", backend.label())
        .variant(variant)
        .events(10)
        .fills("message_sizes")
        .one_op("1 read of 10 messages of one of 1,000 streams");
    let count = 10.min(messages / CATEGORIES / STREAMS) as usize;
    let op = table.reading(move |table, _| async move {
        let read = StreamRead::new().batch_size(10);
        let name = ops::stream("c7-3");
        let page = table.store.get_stream_messages(&name, read).await?;
        expect(&page, count)
    });
    target.row(row, &op);
}

/// A table. The first row that reads it fills it.
#[derive(Clone)]
struct Table<B: Backend> {
    backend: B,
    messages: u64,
    filled: Arc<OnceCell<Arc<Opened<B::Store>>>>,
}

impl<B: Backend> Table<B> {
    fn new(backend: &B, messages: u64) -> Self {
        Self {
            backend: backend.clone(),
            messages,
            filled: Arc::default(),
        }
    }

    fn reading<F, Fut>(&self, read: F) -> Op
    where
        F: Fn(Arc<Opened<B::Store>>, u64) -> Fut + Copy + Send + Sync + 'static,
        Fut: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        let op = Op::given(self, |table| async move {
            let fill = || fill(table.backend.clone(), table.messages);
            Ok(Arc::clone(table.filled.get_or_try_init(fill).await?))
        });
        op.call(move |table, call| async move {
            read(Arc::clone(&table), call.index()).await?;
            Ok(Outcome::Success)
        })
    }
}

/// Writes rounds of one message to each stream, so that categories and streams alternate.
async fn fill<B: Backend>(backend: B, messages: u64) -> Result<Arc<Opened<B::Store>>, BoxError> {
    let opened = backend.open().await?;
    for _ in 0..messages / (CATEGORIES * STREAMS) {
        let streams = (0..STREAMS).flat_map(|stream| {
            (0..CATEGORIES).map(move |category| ops::stream(&format!("c{category}-{stream}")))
        });
        let writes = streams.map(|stream| {
            StreamWrite::new(stream, ops::message()).expected_version(ExpectedVersion::Any)
        });
        opened.store.write_streams(writes.collect()).await?;
    }
    Ok(Arc::new(opened))
}
