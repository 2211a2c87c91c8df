//! Tests of namespaces that run against both backends.

use message_store::{MessageStore, NamespaceName, Namespaces};

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
