//! The side of the harness: a conversation with one peer.

use crate::{Answer, ContentSize, Hello, History, Race, Reply, Request, Run};
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const HELLO: Duration = Duration::from_secs(60);
const PREPARE: Duration = Duration::from_secs(1_800);
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
        self.send(&Request::Prepare(content))?;
        match self.reply(PREPARE)? {
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
