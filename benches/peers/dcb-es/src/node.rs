//! The store's process, and the pipe to it.

use serde_json::Value;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};

const SCRIPT: &str = include_str!("store.mjs");

/// The answers that callers wait for.
type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<Value>>>>;

/// A process of Node. It ends with this value.
pub(crate) struct Node {
    calls: mpsc::UnboundedSender<String>,
    waiting: Waiting,
    last: AtomicU64,
    _process: Child,
}

impl Node {
    /// Starts the script beside the packages in the folder, and waits until the store is open.
    pub(crate) async fn start(folder: &Path, url: &str) -> io::Result<Self> {
        // Node looks for packages beside the script.
        let script = folder.join("store.mjs");
        std::fs::write(&script, SCRIPT)?;
        let mut process = Command::new("node")
            .arg(script)
            .arg(url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let closed = || io::Error::other("node has no pipe");
        let mut stdin = process.stdin.take().ok_or_else(closed)?;
        let mut answers = BufReader::new(process.stdout.take().ok_or_else(closed)?);
        let mut ready = String::new();
        if answers.read_line(&mut ready).await? == 0 {
            return Err(io::Error::other("the store did not open"));
        }
        let (calls, mut to_write) = mpsc::unbounded_channel::<String>();
        tokio::spawn(async move {
            while let Some(call) = to_write.recv().await {
                if stdin.write_all(call.as_bytes()).await.is_err() {
                    return;
                }
            }
        });
        let waiting = Waiting::default();
        tokio::spawn(hand_out(answers, Arc::clone(&waiting)));
        Ok(Self {
            calls,
            waiting,
            last: AtomicU64::new(0),
            _process: process,
        })
    }

    /// Makes a call, and waits for its answer.
    pub(crate) async fn call(&self, mut call: Value) -> io::Result<Value> {
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        call["number"] = number.into();
        let (sender, answer) = oneshot::channel();
        lock(&self.waiting).insert(number, sender);
        let closed = |_| io::Error::other("node has ended");
        self.calls
            .send(format!("{call}\n"))
            .map_err(|_| io::Error::other("node has ended"))?;
        answer.await.map_err(closed)
    }
}

/// Gives each answer to its caller, until the process ends.
async fn hand_out(answers: BufReader<ChildStdout>, waiting: Waiting) {
    let mut lines = answers.lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Ok(answer) = serde_json::from_str::<Value>(&line) else {
            break;
        };
        let caller = answer["number"].as_u64();
        let caller = caller.and_then(|number| lock(&waiting).remove(&number));
        if let Some(caller) = caller {
            // The caller may have given up.
            let _ = caller.send(answer);
        }
    }
    // Callers that wait get an error.
    lock(&waiting).clear();
}

fn lock(waiting: &Waiting) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Value>>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}
