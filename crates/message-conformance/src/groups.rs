use std::collections::BTreeMap;

use super::Subject;
use super::fixture::{fill, names, positions, read, write};
use message_store::{CategoryRead, ConsumerGroup, MessageStore, hash_64};

async fn member(store: &Subject<impl MessageStore>, member: i64, size: i64) -> Vec<String> {
    let group = ConsumerGroup::new(member, size).unwrap();
    let messages = read(
        &**store,
        "account",
        CategoryRead::new().consumer_group(group),
    )
    .await;
    names(&messages).into_iter().map(str::to_owned).collect()
}

pub(super) async fn each_stream_has_exactly_one_member(store: &Subject<impl MessageStore>) {
    for number in 0..60 {
        fill(&**store, &format!("account-{}", number % 30), 1).await;
    }
    for size in [1, 2, 3, 7] {
        let mut readers: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        for number in 0..size {
            for stream in member(store, number, size).await {
                readers.entry(stream).or_default().push(number);
            }
        }
        assert_eq!(
            readers.len(),
            30,
            "every stream is read in a group of {size}"
        );
        for (stream, readers) in readers {
            assert_eq!(readers.len(), 2, "{stream} has two messages");
            assert_eq!(readers[0], readers[1], "{stream} has one reader");
        }
    }
}

pub(super) async fn streams_with_same_cardinal_id_have_same_member(
    store: &Subject<impl MessageStore>,
) {
    let streams = ["account-7+1", "account-7", "account-7+2-x+y"];
    for stream in streams {
        fill(&**store, stream, 1).await;
    }
    let mut found = 0;
    for number in 0..5 {
        let seen = member(store, number, 5).await;
        assert!(seen.is_empty() || seen == streams, "{seen:?}");
        found += seen.len();
    }
    assert_eq!(found, 3);
}

pub(super) async fn member_hash_equals_message_db(store: &Subject<impl MessageStore>) {
    // The first eight bytes of each MD5, as PostgreSQL shows them.
    assert_eq!(hash_64(""), -3_162_216_497_309_240_828);
    assert_eq!(hash_64("a"), 919_145_239_626_757_800);
    for number in 0..10 {
        fill(&**store, &format!("account-{number}"), 1).await;
    }
    for stream in member(store, 1, 3).await {
        let id = stream.strip_prefix("account-").unwrap();
        assert_eq!(hash_64(id).unsigned_abs() % 3, 1);
    }
}

pub(super) async fn batch_size_counts_messages_of_member(store: &Subject<impl MessageStore>) {
    for number in 0..40 {
        fill(&**store, &format!("account-{number}"), 2).await;
    }
    let mine = member(store, 0, 4).await;
    let group = ConsumerGroup::new(0, 4).unwrap();
    let options = CategoryRead::new().consumer_group(group).batch_size(3);
    let page = read(&**store, "account", options.clone()).await;
    assert_eq!(names(&page), mine[..3]);
    let rest = options
        .position(page[2].global_position().next())
        .batch_size(None);
    let rest = read(&**store, "account", rest).await;
    assert_eq!(names(&rest), mine[3..]);
    assert!(positions(&rest).iter().all(|position| *position < 2));
    write(&**store, "other-1", super::fixture::message(0)).await;
    assert_eq!(member(store, 0, 4).await, mine);
}
