//! Tests of namespaces that run against both backends.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use message_store::{Error, MessageStore, NamespaceName, Namespaces};

use crate::support::{whole_category, write};

/// After a close, opening the namespace returns a working store with the earlier messages.
pub(crate) async fn closed_store_is_reopened(namespaces: &impl Namespaces) {
    let name = NamespaceName::new("one").expect("the name is valid");
    namespaces.create(&name, None).await.unwrap();
    for messages in 1..3 {
        let store = namespaces.open(&name).await.unwrap();
        write(&store, "a-1", 1).await;
        assert_eq!(whole_category(&store, "").await.len(), messages);
        store.close().await;
        let store = namespaces.open(&name).await.unwrap();
        let info = store.info().await.unwrap();
        assert_eq!(info.message_count, messages as u64);
        store.close().await;
    }
    assert_eq!(namespaces.get(&name).await.unwrap().name, name);
    assert_eq!(namespaces.delete(&name).await.unwrap(), 2);
}

type Call<'n> = Pin<Box<dyn Future<Output = Result<(), Error>> + 'n>>;

/// One call of each kind. The namespace `one` exists, and `two` does not.
fn calls<'n>(namespaces: &'n impl Namespaces, one: &'n NamespaceName) -> Vec<Call<'n>> {
    let two = NamespaceName::new("two").expect("the name is valid");
    vec![
        Box::pin(async { namespaces.open(one).await.map(drop) }),
        Box::pin(async { namespaces.get(one).await.map(drop) }),
        Box::pin(async { namespaces.list().await.map(drop) }),
        Box::pin(async move {
            namespaces.create(&two, None).await?;
            namespaces.open(&two).await?;
            namespaces.delete(&two).await.map(drop)
        }),
    ]
}

/// A call that is polled once and then held delays no other call.
pub(crate) async fn held_calls_delay_no_other(namespaces: &impl Namespaces) {
    let one = NamespaceName::new("one").expect("the name is valid");
    namespaces.create(&one, None).await.unwrap();
    for number in 0..calls(namespaces, &one).len() {
        let mut held = calls(namespaces, &one).swap_remove(number);
        let first = poll_fn(|cx| Poll::Ready(held.as_mut().poll(cx))).await;
        // The namespace of the held call may exist or not.
        let others = calls(namespaces, &one).into_iter().take(3);
        for other in others {
            other.await.unwrap();
        }
        let held = match first {
            Poll::Ready(done) => done,
            Poll::Pending => held.await,
        };
        held.unwrap();
    }
    let deleted = calls(namespaces, &one).pop();
    deleted.expect("the last call").await.unwrap();
    let mut closing = Box::pin(namespaces.close());
    let closed = poll_fn(|cx| Poll::Ready(closing.as_mut().poll(cx))).await;
    namespaces.close().await;
    if closed.is_pending() {
        closing.await;
    }
}
