//! The commands of the guide that back up and restore.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

use dcb_core::postgres::{Config, check_keys};
use dcb_core::{Error, EventStore as _};

use crate::support::events::{read, tag, tagged, unless};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, server};

/// Runs the lines of the guide that start with this program, with the URLs replaced. `false` if the
/// program is not installed beside the server.
async fn run_guide(program: &str, sql: &mut Sql, folder: &Path, urls: &[(&str, &str)]) -> bool {
    let binaries = "SELECT setting FROM pg_config() WHERE name = 'BINDIR'";
    let binaries = sql.row(binaries).await.remove(0);
    let installed = Path::new(&binaries).join(program).exists();
    if unmet::need(program, installed.then_some(())).is_none() {
        return false;
    }
    let lines = include_str!("../../../src/guide/operating.md").lines();
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

#[tokio::test(flavor = "multi_thread")]
async fn log_is_backed_up_and_restored_as_the_guide_says() {
    let server = server().await;
    let database = server.create_database("backup").await.expect("a database");
    let restored = server
        .create_database("restored")
        .await
        .expect("a database");
    let urls = [
        ("postgres://localhost/events", database.url()),
        ("postgres://localhost/restored", restored.url()),
    ];
    let store = connect(&Config::new(database.url())).await;
    for number in 0..10 {
        store
            .append(tagged(&format!("name:{number}")))
            .await
            .unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let mut sql = Sql::connect(database.url()).await;
    if !run_guide("pg_dump", &mut sql, folder.path(), &urls).await {
        return;
    }
    store.append(tagged("late")).await.unwrap();
    store.close().await;
    assert!(run_guide("pg_restore", &mut sql, folder.path(), &urls).await);
    sql.close().await;
    let config = Config::new(restored.url());
    let store = connect(&config).await;
    assert_eq!(read(&store, &tag("name:5")).await.len(), 1);
    let again = store.append_if(tagged("name:5"), unless("name:5")).await;
    assert!(matches!(again, Err(Error::Conflict { .. })), "{again:?}");
    assert_eq!(
        store.append(tagged("next")).await.unwrap().first().get(),
        11
    );
    store.close().await;
    let found = check_keys(&config, |_| ControlFlow::Continue(())).await;
    assert!(found.unwrap().is_clean());
}
