//! The side of the harness: a conversation with one peer.

use crate::{Answer, ContentSize, Hello, History, Race, Reply, Request, Run};
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const HELLO: Duration = Duration::from_secs(60);
/// For a small log.
const PREPARE: Duration = Duration::from_secs(1_800);
/// A larger log has a second for this many events.
const LOADED_PER_SECOND: usize = 5_000;
/// Beside the time of a run: calls that have begun are waited for.
const RUN: Duration = Duration::from_secs(120);
const RACE: Duration = Duration::from_secs(600);
/// How long a peer may take to end.
const END: Duration = Duration::from_secs(10);

/// A running peer. It ends with the session.
#[derive(Debug)]
pub struct Session {
    child: Child,
    /// `None` once the peer was asked to end.
    requests: Option<ChildStdin>,
    replies: Receiver<String>,
}

impl Session {
    /// Starts the program, and waits for its hello.
    ///
    /// # Errors
    /// Why it does not run.
    pub fn start(program: &Path, arguments: &[OsString]) -> Result<(Self, Hello), String> {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("it did not start: {error}"))?;
        let (lines, replies) = channel();
        let stdout = child.stdout.take().ok_or("it has no stdout")?;
        // A thread, so that a reply can be waited for with a limit.
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if lines.send(line).is_err() {
                    return;
                }
            }
        });
        let mut session = Self {
            requests: child.stdin.take(),
            child,
            replies,
        };
        match session.reply(HELLO)? {
            Reply::Hello(hello) => Ok((session, hello)),
            other => Err(unexpected(&other)),
        }
    }

    /// Fills the peer's store, and returns the last position of its log.
    ///
    /// # Errors
    /// Why the store has not been filled.
    pub fn prepare(&mut self, content: ContentSize) -> Result<Option<u64>, String> {
        self.fill(&Request::Prepare(content), content)
    }

    /// Tells the peer that an earlier process has filled its store, and returns the last position of its log.
    ///
    /// # Errors
    /// Why the peer does not take the store.
    pub fn resume(&mut self, content: ContentSize) -> Result<Option<u64>, String> {
        self.fill(&Request::Resume(content), content)
    }

    fn fill(&mut self, request: &Request, content: ContentSize) -> Result<Option<u64>, String> {
        self.send(request)?;
        let loading = Duration::from_secs((content.events / LOADED_PER_SECOND) as u64);
        match self.reply(PREPARE + loading)? {
            Reply::Ready { head } => Ok(head),
            other => Err(unexpected(&other)),
        }
    }

    /// Lets the peer make calls.
    ///
    /// # Errors
    /// Why there is no answer.
    pub fn run(&mut self, run: &Run) -> Result<Answer, String> {
        self.send(&Request::Run(run.clone()))?;
        match self.reply(RUN + Duration::from_secs_f64(run.seconds))? {
            Reply::Answer(answer) => Ok(answer),
            other => Err(unexpected(&other)),
        }
    }

    /// Lets the peer run a race.
    ///
    /// # Errors
    /// Why there is no history.
    pub fn race(&mut self, race: &Race) -> Result<History, String> {
        self.send(&Request::Race(*race))?;
        match self.reply(RACE)? {
            Reply::History(history) => Ok(history),
            other => Err(unexpected(&other)),
        }
    }

    /// The most memory that the peer's process had, in bytes; `None` on systems other than Linux. Memory of
    /// a server that the peer calls is not in it.
    pub fn peak_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
        Some(kilobytes * 1_024)
    }

    /// Lets [`peak_bytes`](Self::peak_bytes) begin again at the memory in use.
    pub fn forget_peak(&self) {
        // Without Linux there is no peak either.
        let _ = std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5");
    }

    fn send(&mut self, request: &Request) -> Result<(), String> {
        let line = serde_json::to_string(request).map_err(|error| error.to_string())?;
        let requests = self.requests.as_mut().ok_or("it was asked to end")?;
        writeln!(requests, "{line}").map_err(|error| format!("it takes no request: {error}"))
    }

    fn reply(&mut self, limit: Duration) -> Result<Reply, String> {
        let line = self
            .replies
            .recv_timeout(limit)
            .map_err(|error| match error {
                RecvTimeoutError::Timeout => {
                    // A late reply would be taken for that of the next request.
                    self.requests = None;
                    format!("it did not reply within {} s", limit.as_secs())
                }
                RecvTimeoutError::Disconnected => match self.child.wait() {
                    Ok(status) => format!("it ended before its reply: {status}"),
                    Err(error) => format!("it ended before its reply: {error}"),
                },
            })?;
        serde_json::from_str(&line).map_err(|error| format!("it replied {line:?}: {error}"))
    }
}

fn unexpected(reply: &Reply) -> String {
    match reply {
        Reply::Failed { reason } => reason.clone(),
        other => format!("it replied out of turn: {other:?}"),
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.requests = None;
        let asked = Instant::now();
        while let Ok(None) = self.child.try_wait() {
            if asked.elapsed() > END {
                // The process may have ended by now, which is as good.
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
