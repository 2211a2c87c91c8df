//! Namespaces in a folder that can't be written.

use message_store::sqlite::{Config, SqliteNamespaces};
use message_store::{
    Error, ExpectedVersion, Fault, Message, MessageStore as _, NamespaceName, Namespaces as _,
    StreamName,
};

use crate::folder::ReadOnly;

fn is_read_only<T>(called: &Result<T, Error>) -> bool {
    matches!(called, Err(error @ Error::Fault(Fault::ReadOnlyFile { .. })) if !error.is_transient())
}

#[tokio::test]
async fn namespaces_in_read_only_folder_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let namespaces = SqliteNamespaces::new(Config::file(folder.path())).unwrap();
    let name = |name: &str| NamespaceName::new(name).unwrap();
    namespaces.create(&name("one"), None).await.unwrap();
    let store = namespaces.open(&name("one")).await.unwrap();
    let stream = StreamName::new("a-1").unwrap();
    let message = Message::builder("Happened").build().unwrap();
    let written = store.write_message(&stream, message, ExpectedVersion::Any);
    written.await.unwrap();
    namespaces.close().await;
    let Some(_guard) = ReadOnly::make(folder.path()) else {
        return;
    };
    let config = Config::file(folder.path()).read_only();
    let namespaces = SqliteNamespaces::new(config).unwrap();
    assert_eq!(namespaces.list().await.unwrap().len(), 1);
    assert_eq!(
        namespaces.get(&name("one")).await.unwrap().name,
        name("one")
    );
    let store = namespaces.open(&name("one")).await.unwrap();
    assert!(store.head().await.unwrap().is_some());
    let created = namespaces.create(&name("two"), None).await;
    assert!(is_read_only(&created), "{created:?}");
    let deleted = namespaces.delete(&name("one")).await;
    assert!(is_read_only(&deleted), "{deleted:?}");
    namespaces.close().await;
}
