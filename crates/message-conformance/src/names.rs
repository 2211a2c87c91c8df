use conformance_suite::assert_refused;
use message_store::{Category, CategoryRead, Error, Message, MessageStore, Problem, StreamName};

use super::Subject;
use super::fixture::{
    ANY, all, category, fill, message, name, names, positions, read, stream, write,
};

/// Names that careless code splits, quotes or matches as patterns.
const ODD: [&str; 19] = [
    "a-'; DROP TABLE messages; --",
    "a-\"quoted\"",
    "a-../../etc/passwd",
    "a-/",
    "a-\\",
    "a-%",
    "a-_",
    "a-*",
    "a-?1",
    "a-$1",
    "a--",
    "a-+",
    "a-1+2+3",
    "a:b-1",
    "ä-é😀",
    "ä-e\u{301}😀",
    "A-\u{1}\u{202e}",
    " a - 1 ",
    "NULL-0",
];

pub(super) async fn names_of_any_characters_stay_distinct(store: &Subject<impl MessageStore>) {
    for (count, odd) in (1..).zip(ODD) {
        fill(&**store, odd, count).await;
    }
    for (count, odd) in (1..).zip(ODD) {
        let stored = stream(&**store, odd).await;
        assert_eq!(positions(&stored), (0..count).collect::<Vec<_>>(), "{odd}");
        assert!(names(&stored).iter().all(|name| *name == odd));
        let own_category = Category::of(&name(odd));
        let members = read(&**store, own_category.as_str(), CategoryRead::new()).await;
        assert!(
            members
                .iter()
                .all(|member| member.category() == own_category.as_str())
        );
        assert!(names(&members).contains(&odd), "{odd} is in its category");
    }
    let total = ODD.len() * (ODD.len() + 1) / 2;
    assert_eq!(all(&**store).await.len(), total);
    assert_eq!(category("a:b").as_str(), "a:b");
}

pub(super) async fn types_of_any_characters_round_trip(store: &Subject<impl MessageStore>) {
    for odd in ODD {
        let typed = Message::builder(odd).build().unwrap();
        write(&**store, "account-1", typed).await;
    }
    for odd in ODD {
        let last = store
            .get_last_stream_message(&name("account-1"), Some(odd))
            .await;
        assert_eq!(last.unwrap().unwrap().message_type(), odd);
    }
}

pub(super) async fn longest_names_are_stored_and_longer_ones_refused(
    store: &Subject<impl MessageStore>,
) {
    // Digits that compress badly, so that an index stores them at full length.
    let mut noise = conformance_suite::Random::new(1);
    let digits: String = (0..600).map(|_| noise.number().to_string()).collect();
    let longest = format!(
        "account-{}",
        &digits[..StreamName::MAX_BYTES - "account-".len()]
    );
    let sibling = format!("{}x", &longest[..longest.len() - 1]);
    fill(&**store, &longest, 2).await;
    fill(&**store, &sibling, 1).await;
    assert_eq!(stream(&**store, &longest).await.len(), 2);
    let long_category = format!("{}-1", &digits[..StreamName::MAX_BYTES - 2]);
    write(&**store, &long_category, message(0)).await;
    assert_eq!(
        read(
            &**store,
            &digits[..StreamName::MAX_BYTES - 2],
            CategoryRead::new()
        )
        .await
        .len(),
        1
    );
    for refused in [&digits[..10_000], "account-\0", "\0-1", ""] {
        assert_refused!(StreamName::new(refused), Error::Invalid { field, .. } if field == "stream");
    }
    let long_type = Message::builder(&digits[..10_000]).build();
    assert_refused!(long_type, Error::Invalid { field, problem: Problem::TooLarge { .. } } if field == "type");
    let written = store
        .write_message(&name("account-1"), message(0), ANY)
        .await;
    assert_eq!(written.unwrap().position.get(), 0);
}
