//! Authentication: which token may do what.

mod namespaces;
mod sites;
mod test_mode;
mod tokens;

use std::path::Path;

use demo_server::Settings;
use serde_json::{Value, json};

use crate::support::rpc::rpc;
use crate::support::{Answer, Client};

const ADMIN: &str = "the admin token";
/// The token of `default`.
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
    tempfile::tempdir().expect("the folder exists")
}

/// Creates a namespace and returns its token.
async fn create(client: &Client, name: &str) -> String {
    let made = rpc(client, ADMIN, json!(["ns.create", name])).await.ok();
    assert_eq!(made["namespace"], name);
    made["token"]
        .as_str()
        .expect("the token is a string")
        .to_owned()
}

async fn write(client: &Client, token: &str, data: Value) -> Answer {
    let message = json!({ "type": "T", "data": data });
    rpc(client, token, json!(["stream.write", "a-1", message])).await
}

/// The data of all messages.
async fn read(client: &Client, token: &str) -> Vec<Value> {
    let rows = rpc(client, token, json!(["stream.get", "a-1"])).await.ok();
    let rows = rows.as_array().expect("the rows are an array").iter();
    rows.map(|row| row[4].clone()).collect()
}

/// A token with this encoded namespace and a secret of one repeated digit.
fn token_of(encoded: &str, digit: char) -> String {
    format!("ns_{encoded}_{}", digit.to_string().repeat(64))
}
