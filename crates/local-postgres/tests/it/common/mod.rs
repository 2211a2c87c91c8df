//! Shared by the test files: the `serve` example as a process, and a query.

use std::{
    env,
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use sqlx::{Connection as _, PgConnection, Row as _};

/// The time limit of a clean-up. Only a test that fails waits this long.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The example `serve`, which cargo builds together with the tests.
pub(crate) fn serve() -> Command {
    let tests = env::current_exe().expect("the path of this test");
    let folder = tests
        .parent()
        .and_then(Path::parent)
        .expect("the target folder");
    let mut serve = Command::new(folder.join("examples/serve"));
    for variable in [
        "DATABASE_URL",
        "POSTGRES_SOURCE",
        "POSTGRES_VERSION",
        "PG_BIN_DIR",
    ] {
        serve.env_remove(variable);
    }
    serve
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    serve
}

/// A running example, and the URL that it printed.
pub(crate) struct Served {
    pub(crate) process: Child,
    pub(crate) url: String,
}

impl Served {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut process = command.spawn().expect("the example runs");
        let mut url = String::new();
        let stdout = process.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut url).expect("a line");
        if url.is_empty() {
            let mut errors = String::new();
            let _ = process
                .stderr
                .take()
                .map(|mut pipe| pipe.read_to_string(&mut errors));
            panic!("the example ended: {errors}");
        }
        Self {
            process,
            url: url.trim().to_owned(),
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill")
            .args([name, &pid])
            .status()
            .expect("kill runs");
        assert!(sent.success(), "kill {name} {pid}");
    }
}

/// The first column of the first row. The simple protocol returns every type as text.
pub(crate) async fn ask(url: &str, sql: &'static str) -> String {
    let mut connection = PgConnection::connect(url)
        .await
        .expect("the server answers");
    let row = sqlx::raw_sql(sql)
        .fetch_one(&mut connection)
        .await
        .expect(sql);
    row.get_unchecked(0)
}

pub(crate) async fn execute(url: &str, sql: &'static str) {
    let mut connection = PgConnection::connect(url)
        .await
        .expect("the server answers");
    sqlx::raw_sql(sql)
        .execute(&mut connection)
        .await
        .expect(sql);
}

/// The folder that holds the server's data, log and lock.
pub(crate) async fn folder_of(url: &str) -> PathBuf {
    let data = PathBuf::from(ask(url, "SHOW data_directory").await);
    data.parent().expect("a folder of the server").to_owned()
}

pub(crate) async fn pid_of(url: &str) -> u32 {
    let sql = "SELECT (string_to_array(pg_read_file('postmaster.pid'), E'\\n'))[1]";
    ask(url, sql).await.parse().expect("a process id")
}

pub(crate) fn is_running(pid: u32) -> bool {
    let sent = Command::new("kill")
        .args(["-0", &pid.to_string()])
        .stderr(Stdio::null())
        .status();
    sent.expect("kill runs").success()
}

pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(
            started.elapsed() < TIME_LIMIT,
            "timed out waiting until {what}"
        );
        thread::sleep(Duration::from_millis(20));
    }
}
