use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use local_postgres::{Database, Durability};
use serde_json::Value;
use tempfile::TempDir;

/// A place for the store of a test. It is removed with the value.
pub(crate) struct TestPlace {
    /// Its name on the command line.
    pub(crate) place: String,
    _folder: Option<TempDir>,
    _database: Option<Database>,
}

/// A file that does not exist yet.
pub(crate) fn file() -> TestPlace {
    let folder = tempfile::tempdir().expect("a folder");
    TestPlace {
        place: folder.path().join("store.sqlite").display().to_string(),
        _folder: Some(folder),
        _database: None,
    }
}

/// An empty folder.
pub(crate) fn folder() -> TestPlace {
    let folder = tempfile::tempdir().expect("a folder");
    TestPlace {
        place: folder.path().display().to_string(),
        _folder: Some(folder),
        _database: None,
    }
}

/// A database without schemas.
pub(crate) async fn database(hint: &str) -> TestPlace {
    let server = local_postgres::shared_with(Durability::Relaxed).await;
    let database = server.expect("PostgreSQL starts").create_database(hint);
    let database = database.await.expect("the database is created");
    TestPlace {
        place: database.url().to_owned(),
        _folder: None,
        _database: Some(database),
    }
}

/// A place of each backend that holds one store.
pub(crate) async fn each_backend(hint: &str) -> [TestPlace; 2] {
    [file(), database(hint).await]
}

pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_registrar"));
    command.env_remove("RUST_LOG").args(arguments);
    command
}

pub(crate) fn run(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the program runs")
}

/// Runs a command that must succeed, and returns what it printed.
pub(crate) fn printed(arguments: &[&str]) -> String {
    let ran = run(arguments);
    assert!(ran.status.success(), "{arguments:?}: {ran:?}");
    String::from_utf8(ran.stdout).expect("text")
}

/// Runs a command that must succeed with `--json`, and returns the values of its lines.
pub(crate) fn json(arguments: &[&str]) -> Vec<Value> {
    values(&printed(&[arguments, &["--json"]].concat()))
}

pub(crate) fn values(text: &str) -> Vec<Value> {
    let lines = text.lines().map(serde_json::from_str);
    lines
        .collect::<Result<_, _>>()
        .expect("a JSON value a line")
}

/// Runs a command that must fail with this exit code, and returns its error.
pub(crate) fn refused(code: i32, arguments: &[&str]) -> String {
    let ran = run(arguments);
    assert_eq!(ran.status.code(), Some(code), "{arguments:?}: {ran:?}");
    String::from_utf8(ran.stderr).expect("text")
}

/// Runs a command with this standard input.
pub(crate) fn fed(arguments: &[&str], input: &str) -> Output {
    let mut command = command(arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    let mut stdin = child.stdin.take().expect("an input");
    stdin
        .write_all(input.as_bytes())
        .expect("the input is read");
    drop(stdin);
    child.wait_with_output().expect("the program ends")
}
