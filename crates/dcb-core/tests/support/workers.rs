//! The same work in several processes at once.
//!
//! A test file with workers has an ignored test `worker` that calls [`serve`]; the other tests run
//! their own executable with that test alone, and talk to it by lines that begin with a mark.

use std::io::{BufRead as _, Write as _};
use std::process::Stdio;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::tasks::{Report, Task, perform};
use super::{Address, Log, address, connect, log_at};

/// What tells a worker its work.
const VARIABLE: &str = "REGISTRAR_TEST_WORK";
/// How the lines begin that are not the test harness's.
const MARK: &str = "@worker ";

#[derive(Serialize, Deserialize)]
struct Work {
    log: Address,
    task: Task,
    callers: Vec<u64>,
}

/// A worker process, ended with its value.
pub(crate) struct Worker {
    process: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    /// Starts a process that connects to the log and waits there.
    pub(crate) async fn start(log: &Log, task: &Task, callers: Vec<u64>) -> Self {
        let work = Work {
            log: address(log),
            task: task.clone(),
            callers,
        };
        let work = serde_json::to_string(&work).expect("work is plain data");
        let mut process = Command::new(std::env::current_exe().expect("the path of this test"))
            .args(["worker", "--exact", "--ignored", "--nocapture"])
            .env(VARIABLE, work)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("a test can run itself");
        let input = process.stdin.take().expect("a pipe");
        let output = process.stdout.take().expect("a pipe");
        let mut worker = Self {
            process,
            input,
            lines: BufReader::new(output).lines(),
        };
        let ready = worker.line().await;
        assert_eq!(ready.as_deref(), Some("ready"));
        worker
    }

    /// Lets it begin.
    pub(crate) async fn begin(&mut self) {
        self.input.write_all(b"go\n").await.expect("it listens");
    }

    /// What it said next, `None` when it has ended.
    pub(crate) async fn line(&mut self) -> Option<String> {
        while let Some(line) = self.lines.next_line().await.expect("a pipe can be read") {
            if let Some(said) = line.strip_prefix(MARK) {
                return Some(said.to_owned());
            }
        }
        None
    }

    /// Kills it with SIGKILL. What it said before can still be read.
    pub(crate) async fn kill(&mut self) {
        self.process.kill().await.expect("it can be killed");
    }

    async fn report(mut self) -> Report {
        let report = self.line().await.expect("a report");
        serde_json::from_str(&report).expect("a report")
    }
}

/// What the test `worker` does: the work that it was told, if it was told any.
pub(crate) fn serve() {
    let Ok(work) = std::env::var(VARIABLE) else {
        return;
    };
    let work: Work = serde_json::from_str(&work).expect("work as it was written");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a tokio runtime can be started");
    runtime.block_on(async {
        let store = connect(&log_at(work.log)).await;
        // The harness may have left its line unfinished.
        println!();
        say("ready");
        let mut go = String::new();
        let _ = std::io::stdin().lock().read_line(&mut go);
        let report = perform(&store, &work.task, &work.callers).await;
        say(&serde_json::to_string(&report).expect("a report is plain data"));
    });
}

/// Says a line to the process that started this one.
pub(crate) fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    // Whoever started it may be gone.
    let _ = writeln!(output, "{MARK}{line}").and_then(|()| output.flush());
}

/// Performs the task by so many callers, in two processes and here, and returns what each place was
/// told.
pub(crate) async fn everywhere(log: &Log, task: &Task, callers: usize) -> Vec<Report> {
    const PLACES: usize = 3;
    let of_place = |place| (place as u64..callers as u64).step_by(PLACES).collect();
    let store = connect(log).await;
    let (mut one, mut other) = tokio::join!(
        Worker::start(log, task, of_place(0)),
        Worker::start(log, task, of_place(1)),
    );
    one.begin().await;
    other.begin().await;
    let here: Vec<u64> = of_place(2);
    let (here, one, other) =
        tokio::join!(perform(&store, task, &here), one.report(), other.report());
    store.close().await;
    vec![one, other, here]
}
