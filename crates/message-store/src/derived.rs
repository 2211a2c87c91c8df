//! The methods of [`MessageStore`] that follow from others: right for every store, and slower than what
//! a database can do.

use std::collections::BTreeMap;
use std::time::SystemTime;

use crate::time::to_us;
use crate::{
    Category, CategoryInfo, CategoryRead, Error, ExpectedVersion, ListStreams, Message,
    MessageStore, Position, RecordedMessage, StoreInfo, StreamInfo, StreamName, StreamRead,
    StreamWrite, Written,
};

pub(crate) async fn write_batch<S: MessageStore + ?Sized>(
    store: &S,
    stream: &StreamName,
    messages: Vec<Message>,
    expected_version: ExpectedVersion,
) -> Result<Vec<Written>, Error> {
    let write = StreamWrite::new(stream.clone(), messages).expected_version(expected_version);
    let written = store.write_streams(vec![write]).await;
    // The caller knows of no list of streams.
    let written = written.map_err(|error| {
        with_field(error, |field| {
            let of_stream = field.strip_prefix("streams[0].").map(str::to_owned);
            of_stream.unwrap_or(field)
        })
    });
    Ok(written?.concat())
}

pub(crate) async fn write_message<S: MessageStore + ?Sized>(
    store: &S,
    stream: &StreamName,
    message: Message,
    expected_version: ExpectedVersion,
) -> Result<Written, Error> {
    let write = StreamWrite::new(stream.clone(), message).expected_version(expected_version);
    let written = store.write_streams(vec![write]).await;
    // Only the message itself can be at fault.
    let written = written.map_err(|error| with_field(error, |_| "message".to_owned()))?;
    let first = written.concat().first().copied();
    Ok(first.expect("a write of one message has one position"))
}

fn with_field(error: Error, change: impl FnOnce(String) -> String) -> Error {
    match error {
        Error::Invalid { field, problem } => Error::Invalid {
            field: change(field),
            problem,
        },
        other => other,
    }
}

pub(crate) async fn last_message<S: MessageStore + ?Sized>(
    store: &S,
    stream: &StreamName,
    message_type: Option<&str>,
) -> Result<Option<RecordedMessage>, Error> {
    let is_wanted = |message: &RecordedMessage| {
        message_type.is_none_or(|wanted| message.message_type() == wanted)
    };
    let (mut found, mut read) = (None, StreamRead::new());
    loop {
        let page = store.get_stream_messages(stream, read).await?;
        let Some(last) = page.last() else {
            return Ok(found);
        };
        read = StreamRead::new().after(last);
        found = page.into_iter().rfind(is_wanted).or(found);
    }
}

/// Facts about a stream that its messages tell.
struct Summary {
    stream: StreamName,
    category: String,
    version: Position,
    last_activity: SystemTime,
    message_count: u64,
    /// The first message that is not old, for [`expire_messages`].
    first_young: Option<Position>,
}

/// Reads all messages of a category. A message is old if it was written before this time.
async fn summaries<S: MessageStore + ?Sized>(
    store: &S,
    category: &Category,
    old_before_us: i64,
) -> Result<BTreeMap<String, Summary>, Error> {
    let (mut summaries, mut read) = (BTreeMap::new(), CategoryRead::new());
    loop {
        let page = store.get_category_messages(category, read).await?;
        let Some(last) = page.last() else {
            return Ok(summaries);
        };
        read = CategoryRead::new().start(last.bookmark());
        for message in &page {
            add(&mut summaries, message, old_before_us);
        }
    }
}

fn add(summaries: &mut BTreeMap<String, Summary>, message: &RecordedMessage, old_before_us: i64) {
    let name = message.stream_name().to_owned();
    let summary = summaries.entry(name).or_insert_with(|| Summary {
        stream: message.stream(),
        category: message.category().to_owned(),
        version: message.position(),
        last_activity: message.time(),
        message_count: 0,
        first_young: None,
    });
    summary.version = message.position();
    summary.last_activity = message.time();
    summary.message_count += 1;
    if message.time_us() >= old_before_us {
        summary.first_young.get_or_insert(message.position());
    }
}

pub(crate) async fn list_streams<S: MessageStore + ?Sized>(
    store: &S,
    list: ListStreams,
) -> Result<Vec<StreamInfo>, Error> {
    let streams = summaries(store, &Category::all(), i64::MIN).await?;
    let wanted = streams.into_iter().filter(|(name, _)| {
        name.starts_with(&list.prefix) && list.after.as_ref().is_none_or(|after| name > after)
    });
    let infos = wanted.map(|(stream_name, summary)| StreamInfo {
        stream_name,
        version: summary.version,
        last_activity: summary.last_activity,
    });
    let limit = usize::try_from(list.limit).unwrap_or(usize::MAX);
    Ok(infos.take(limit).collect())
}

pub(crate) async fn list_categories<S: MessageStore + ?Sized>(
    store: &S,
) -> Result<Vec<CategoryInfo>, Error> {
    let mut categories: BTreeMap<String, CategoryInfo> = BTreeMap::new();
    for summary in summaries(store, &Category::all(), i64::MIN)
        .await?
        .into_values()
    {
        let category = summary.category;
        let info = categories
            .entry(category.clone())
            .or_insert_with(|| CategoryInfo {
                category,
                stream_count: 0,
                message_count: 0,
            });
        info.stream_count += 1;
        info.message_count += summary.message_count;
    }
    Ok(categories.into_values().collect())
}

pub(crate) async fn info<S: MessageStore + ?Sized>(store: &S) -> Result<StoreInfo, Error> {
    let (mut info, mut read) = (StoreInfo::default(), CategoryRead::new());
    let mut streams = std::collections::BTreeSet::new();
    loop {
        let page = store.get_category_messages(&Category::all(), read).await?;
        let Some(last) = page.last() else {
            info.stream_count = streams.len() as u64;
            return Ok(info);
        };
        read = CategoryRead::new().start(last.bookmark());
        info.last_activity = Some(last.time());
        info.message_count += page.len() as u64;
        streams.extend(page.iter().map(|message| message.stream_name().to_owned()));
    }
}

pub(crate) async fn expire_messages<S: MessageStore + ?Sized>(
    store: &S,
    category: &Category,
    before: SystemTime,
) -> Result<u64, Error> {
    let mut deleted = 0;
    for summary in summaries(store, category, to_us(before))
        .await?
        .into_values()
    {
        // A message that was written since stays: it follows those that were read.
        let young = summary.first_young.unwrap_or(summary.version);
        deleted += store.truncate_stream(&summary.stream, young).await?;
    }
    Ok(deleted)
}
