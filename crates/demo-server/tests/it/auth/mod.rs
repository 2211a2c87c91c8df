//! Tokens: who reaches what.

mod namespaces;
mod sites;
mod test_mode;
mod tokens;

use std::path::Path;

use demo_server::Settings;
use serde_json::{Value, json};

use crate::support::rpc::rpc;
use crate::support::{Answer, Client};

const ADMIN: &str = "the administration's";
/// That of `default`.
const TOKEN: &str =
    "ns_ZGVmYXVsdA_0000000000000000000000000000000000000000000000000000000000000000";

fn settings(folder: &Path) -> Settings {
    Settings {
        data: Some(folder.to_owned()),
        test_mode: false,
        token: Some(TOKEN.to_owned()),
        admin_token: Some(ADMIN.to_owned()),
        ..Settings::in_memory()
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Makes a namespace; its token.
async fn create(client: &Client, name: &str) -> String {
    let made = rpc(client, ADMIN, json!(["ns.create", name])).await.ok();
    assert_eq!(made["namespace"], name);
    made["token"].as_str().expect("a token").to_owned()
}

async fn write(client: &Client, token: &str, data: Value) -> Answer {
    let message = json!({ "type": "T", "data": data });
    rpc(client, token, json!(["stream.write", "a-1", message])).await
}

/// The data of all messages.
async fn read(client: &Client, token: &str) -> Vec<Value> {
    let rows = rpc(client, token, json!(["stream.get", "a-1"])).await.ok();
    let rows = rows.as_array().expect("rows").iter();
    rows.map(|row| row[4].clone()).collect()
}

/// The token of this secret and namespace.
fn token_of(encoded: &str, digit: char) -> String {
    format!("ns_{encoded}_{}", digit.to_string().repeat(64))
}
