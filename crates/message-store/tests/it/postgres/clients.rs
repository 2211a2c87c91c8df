//! Clients of Message DB as they are published: `clients/run` installs them and runs this.

use std::process::Command;

use message_store::MessageStore as _;

use crate::support::postgres::{fresh_store, whole_category};

#[tokio::test]
#[ignore = "clients/run installs the clients first"]
async fn published_clients_work_unchanged() {
    let (database, store) = fresh_store().await;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/clients");
    let (scheme, rest) = database.url().split_once("://").expect("a URL");
    let (_, place) = rest.split_once('@').expect("a user");
    let url = format!("{scheme}://message_store@{place}");
    let python = std::env::var("CLIENTS_PYTHON").expect("clients/run sets it");
    let modules = std::env::var("CLIENTS_NODE_PATH").expect("clients/run sets it");
    let mut of_python = Command::new(python);
    of_python.arg(format!("{folder}/message_db_py.py"));
    let mut of_node = Command::new("node");
    of_node.arg(format!("{folder}/message_store_connector.cjs"));
    of_node.env("NODE_PATH", modules);
    for mut client in [of_python, of_node] {
        let status = client.arg(&url).status().expect("the client runs");
        assert!(status.success(), "{client:?}");
    }
    // What they wrote, read by the crate.
    assert_eq!(whole_category(&store, "account").await.len(), 5);
    assert_eq!(whole_category(&store, "cart").await.len(), 5);
    store.close().await;
}
