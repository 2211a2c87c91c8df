//! Published clients of Message DB. `clients/run` installs them and runs this test.

use std::process::Command;

use message_store::MessageStore as _;

use crate::support::postgres::{fresh_store, whole_category};

#[tokio::test]
#[ignore = "clients/run installs the clients first"]
async fn published_clients_work_unchanged() {
    let (database, store) = fresh_store().await;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/clients");
    let (scheme, rest) = database.url().split_once("://").expect("a URL");
    let (_, host) = rest.split_once('@').expect("a user");
    let url = format!("{scheme}://message_store@{host}");
    let python = std::env::var("CLIENTS_PYTHON").expect("clients/run sets it");
    let modules = std::env::var("CLIENTS_NODE_PATH").expect("clients/run sets it");
    let mut python_client = Command::new(python);
    python_client.arg(format!("{folder}/message_db_py.py"));
    let mut node_client = Command::new("node");
    node_client.arg(format!("{folder}/message_store_connector.cjs"));
    node_client.env("NODE_PATH", modules);
    for mut client in [python_client, node_client] {
        let status = client.arg(&url).status().expect("the client runs");
        assert!(status.success(), "{client:?}");
    }
    // The crate reads the messages that the clients wrote.
    assert_eq!(whole_category(&store, "account").await.len(), 5);
    assert_eq!(whole_category(&store, "cart").await.len(), 5);
    store.close().await;
}
