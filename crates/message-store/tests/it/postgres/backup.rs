//! The commands of the README that back up and restore.

use std::path::Path;
use std::process::Command;

use message_store::MessageStore as _;
use message_store::postgres::Config;

use crate::support::postgres::sql::Sql;
use crate::support::postgres::{
    connect, fresh_database, fresh_store, whole_category, whole_stream, write,
};

/// Runs the lines of the README that start with this program, with the URLs replaced. `false` if the
/// program is not installed beside the server.
async fn run_readme(program: &str, sql: &mut Sql, folder: &Path, urls: &[(&str, &str)]) -> bool {
    let binaries = "SELECT setting FROM pg_config() WHERE name = 'BINDIR'";
    let binaries = sql.value(binaries).await;
    let installed = Path::new(&binaries).join(program).exists();
    if unmet::need(program, installed.then_some(())).is_none() {
        return false;
    }
    let lines = include_str!("../../../README.md").lines();
    let lines: Vec<&str> = lines.filter(|line| line.starts_with(program)).collect();
    assert_eq!(lines.len(), 1, "{program}");
    let mut line = format!("'{binaries}'/{}", lines[0]);
    for (shown, url) in urls {
        line = line.replace(shown, url);
    }
    let mut shell = Command::new("sh");
    let ran = shell.args(["-c", &line]).current_dir(folder).output();
    let ran = ran.expect("the shell starts");
    assert!(ran.status.success(), "{line}: {ran:?}");
    true
}

#[tokio::test]
async fn store_is_backed_up_and_restored_as_the_readme_says() {
    let (database, store) = fresh_store().await;
    let restored = fresh_database().await;
    let urls = [
        ("postgres://localhost/messages", database.url()),
        ("postgres://localhost/restored", restored.url()),
    ];
    for number in 0..10 {
        write(&store, "a-1", number).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut sql = Sql::connect(database.url()).await;
    if !run_readme("pg_dump", &mut sql, folder.path(), &urls).await {
        return;
    }
    write(&store, "a-1", 10).await;
    store.close().await;
    assert!(run_readme("pg_restore", &mut sql, folder.path(), &urls).await);
    let store = connect(Config::new(restored.url())).await;
    assert_eq!(whole_stream(&store, "a-1").await.len(), 10);
    write(&store, "a-1", 10).await;
    assert_eq!(whole_category(&store, "a").await.len(), 11);
    store.close().await;
    // The rights that the dump left out are granted again.
    let mut client = Sql::as_message_store(restored.url()).await;
    assert_eq!(client.write("a-1").await, 11);
}
