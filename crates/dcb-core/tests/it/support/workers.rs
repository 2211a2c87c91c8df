//! Worker processes that run tasks on the same log.
//!
//! A worker is this test executable, started with only the ignored test `worker`, which calls
//! [`serve`]. The test and the worker exchange lines. A prefix separates the worker's lines from the
//! output of the test harness.

use std::io::{BufRead as _, Write as _};
use std::process::Stdio;

use dcb_core::postgres::Config;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::backend::{Address, SharedStore};
use super::tasks::{Report, Task, perform};
use super::{postgres, sqlite};

/// The environment variable that holds the work of a worker.
const WORK_VARIABLE: &str = "REGISTRAR_TEST_WORK";
/// The prefix of a worker's lines.
const PREFIX: &str = "@worker ";

#[derive(Serialize, Deserialize)]
struct Work {
    log: Address,
    task: Task,
    callers: Vec<u64>,
}

/// A worker process. Dropping the value kills it.
pub(crate) struct Worker {
    process: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    /// Starts a process that connects to the log and waits for [`begin`](Self::begin).
    pub(crate) async fn start<S: SharedStore>(
        log: &S::Log,
        task: &Task,
        callers: Vec<u64>,
    ) -> Self {
        let work = Work {
            log: S::address(log),
            task: task.clone(),
            callers,
        };
        let work = serde_json::to_string(&work).expect("work is plain data");
        let mut process =
            Command::new(std::env::current_exe().expect("the path of this executable"))
                .args(["worker", "--exact", "--ignored", "--nocapture"])
                .env(WORK_VARIABLE, work)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .kill_on_drop(true)
                .spawn()
                .expect("this executable can run");
        let input = process.stdin.take().expect("stdin is piped");
        let output = process.stdout.take().expect("stdout is piped");
        let mut worker = Self {
            process,
            input,
            lines: BufReader::new(output).lines(),
        };
        let ready = worker.line().await;
        assert_eq!(ready.as_deref(), Some("ready"));
        worker
    }

    /// Starts the work.
    pub(crate) async fn begin(&mut self) {
        self.input
            .write_all(b"go\n")
            .await
            .expect("the worker reads its input");
    }

    /// The next line of the worker, `None` after it has ended.
    pub(crate) async fn line(&mut self) -> Option<String> {
        while let Some(line) = self.lines.next_line().await.expect("the pipe can be read") {
            if let Some(line) = line.strip_prefix(PREFIX) {
                return Some(line.to_owned());
            }
        }
        None
    }

    /// Kills the process with SIGKILL. Lines that it has printed can still be read.
    pub(crate) async fn kill(&mut self) {
        self.process
            .kill()
            .await
            .expect("the process can be killed");
    }

    async fn report(mut self) -> Report {
        let report = self.line().await.expect("the worker prints a report");
        serde_json::from_str(&report).expect("the report is valid JSON")
    }
}

/// The body of a worker process. Does nothing if no work is set.
pub(crate) fn serve() {
    let Ok(work) = std::env::var(WORK_VARIABLE) else {
        return;
    };
    let work: Work = serde_json::from_str(&work).expect("the work is valid JSON");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("the runtime starts");
    runtime.block_on(async {
        let Work { log, task, callers } = work;
        match log {
            Address::Postgres { url, schema } => {
                let log = Config::new(url).schema(schema);
                work_on(postgres::connect(&log).await, &task, &callers).await;
            }
            Address::Sqlite { path } => {
                let log = sqlite::log_at(path);
                work_on(sqlite::connect(&log).await, &task, &callers).await;
            }
        }
    });
}

async fn work_on(store: impl SharedStore, task: &Task, callers: &[u64]) {
    // The test harness may have left its line unfinished.
    println!();
    print_line("ready");
    let mut go = String::new();
    let _ = std::io::stdin().lock().read_line(&mut go);
    let report = perform(&store, task, callers).await;
    print_line(&serde_json::to_string(&report).expect("a report is plain data"));
}

/// Prints a line for the process that started this one.
pub(crate) fn print_line(line: &str) {
    let mut output = std::io::stdout().lock();
    // The process that started this one may have ended.
    let _ = writeln!(output, "{PREFIX}{line}").and_then(|()| output.flush());
}

/// Performs the task with `callers` callers, spread over two worker processes and this process.
/// Returns the report of each process.
pub(crate) async fn in_three_processes<S: SharedStore>(
    log: &S::Log,
    task: &Task,
    callers: usize,
) -> Vec<Report> {
    const PROCESSES: usize = 3;
    let callers_of = |process| {
        (process as u64..callers as u64)
            .step_by(PROCESSES)
            .collect()
    };
    let store = S::connect(log).await;
    let (mut one, mut other) = tokio::join!(
        Worker::start::<S>(log, task, callers_of(0)),
        Worker::start::<S>(log, task, callers_of(1)),
    );
    one.begin().await;
    other.begin().await;
    let here: Vec<u64> = callers_of(2);
    let (here, one, other) =
        tokio::join!(perform(&store, task, &here), one.report(), other.report());
    store.close().await;
    vec![one, other, here]
}
