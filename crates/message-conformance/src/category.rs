use super::Subject;
use super::fixture::{all, fill, global, message, names, numbers, positions, read, write};
use message_store::{CategoryRead, GlobalPosition, MessageStore};

pub(super) async fn category_has_only_messages_of_its_streams(store: &Subject<impl MessageStore>) {
    for stream in [
        "account-1",
        "accounts-1",
        "account:command-1",
        "Account-1",
        "account-2-3",
        "acc-account",
    ] {
        write(&**store, stream, message(0)).await;
    }
    let account = read(&**store, "account", CategoryRead::new()).await;
    assert_eq!(names(&account), ["account-1", "account-2-3"]);
    let command = read(&**store, "account:command", CategoryRead::new()).await;
    assert_eq!(names(&command), ["account:command-1"]);
    assert!(
        read(&**store, "nothing", CategoryRead::new())
            .await
            .is_empty()
    );
}

pub(super) async fn category_is_ordered_by_global_position(store: &Subject<impl MessageStore>) {
    for number in 0..12 {
        write(
            &**store,
            &format!("account-{}", number % 5),
            message(number),
        )
        .await;
        write(&**store, "other-1", message(number)).await;
    }
    let messages = read(&**store, "account", CategoryRead::new()).await;
    assert_eq!(numbers(&messages), (0..12).collect::<Vec<_>>());
    assert!(messages.is_sorted_by(|a, b| a.global_position() < b.global_position()));
}

pub(super) async fn read_begins_at_global_position_inclusive(store: &Subject<impl MessageStore>) {
    let written = fill(&**store, "account-1", 5).await;
    let from = CategoryRead::new().position(written[2].global_position);
    assert_eq!(
        positions(&read(&**store, "account", from.clone()).await),
        [2, 3, 4]
    );
    let two = from.clone().batch_size(2);
    assert_eq!(positions(&read(&**store, "account", two).await), [2, 3]);
    let after = CategoryRead::new().position(written[4].global_position.next());
    assert!(read(&**store, "account", after).await.is_empty());
}

pub(super) async fn empty_category_is_all_messages(store: &Subject<impl MessageStore>) {
    write(&**store, "a-1", message(0)).await;
    write(&**store, "b-1", message(1)).await;
    let second = write(&**store, "a-2", message(2)).await;
    assert_eq!(numbers(&all(&**store).await), [0, 1, 2]);
    let one = CategoryRead::new().batch_size(1);
    assert_eq!(numbers(&read(&**store, "", one.clone()).await), [0]);
    let last = one.position(second.global_position);
    assert_eq!(numbers(&read(&**store, "", last).await), [2]);
}

pub(super) async fn head_is_last_global_position(store: &Subject<impl MessageStore>) {
    assert_eq!(store.head().await.unwrap(), None);
    let written = fill(&**store, "account-1", 3).await;
    assert_eq!(
        store.head().await.unwrap().map(|head| head.position),
        Some(written[2].global_position)
    );
}

pub(super) async fn pages_add_up_to_category(store: &Subject<impl MessageStore>) {
    for number in 0..50 {
        write(
            &**store,
            &format!("account-{}", number % 7),
            message(number),
        )
        .await;
        write(&**store, &format!("other-{number}"), message(number)).await;
    }
    let (mut paged, mut next) = (Vec::new(), GlobalPosition::START);
    loop {
        let page = CategoryRead::new().position(next).batch_size(7);
        let page = read(&**store, "account", page).await;
        let Some(last) = page.last() else { break };
        next = last.global_position().next();
        paged.extend(page);
    }
    assert_eq!(numbers(&paged), (0..50).collect::<Vec<_>>());
}

pub(super) async fn extreme_numbers_are_accepted(store: &Subject<impl MessageStore>) {
    fill(&**store, "account-1", 2).await;
    for category in ["account", ""] {
        for beyond in [i64::MAX as u64, u64::MAX] {
            let from = CategoryRead::new().position(global(beyond));
            assert!(read(&**store, category, from).await.is_empty());
            let many = CategoryRead::new().batch_size(beyond);
            assert_eq!(read(&**store, category, many).await.len(), 2);
        }
        let zero = CategoryRead::new().position(global(0));
        assert_eq!(read(&**store, category, zero).await.len(), 2);
        let none = CategoryRead::new().batch_size(0);
        assert!(read(&**store, category, none).await.is_empty());
    }
}
