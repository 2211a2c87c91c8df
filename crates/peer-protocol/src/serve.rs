//! The side of the peer: requests from stdin, replies to stdout.

use crate::event::with_causes;
use crate::{Answer, ContentSize, Failure, Hello, History, Race, Reply, Request, Run};
use std::error::Error;
use std::fmt::Display;
use std::future::Future;
use std::io::{self, BufRead, Write};

/// The work that a program does for the harness.
pub trait Peer: Send {
    /// Fills the empty store, and returns the last position of its log.
    fn prepare(
        &mut self,
        size: ContentSize,
    ) -> impl Future<Output = Result<Option<u64>, Failure>> + Send;

    /// Takes the store as an earlier process has filled it, and returns the last position of its log. Only
    /// stores of events do.
    fn resume(
        &mut self,
        size: ContentSize,
    ) -> impl Future<Output = Result<Option<u64>, Failure>> + Send {
        let _ = size;
        async { Err(Failure::Other("it takes no filled store".to_owned())) }
    }

    /// Makes the calls.
    fn run(&mut self, run: &Run) -> impl Future<Output = Answer> + Send;

    /// Runs a race. Only stores of events have one.
    fn race(&mut self, race: &Race) -> impl Future<Output = Result<History, Failure>> + Send {
        let _ = race;
        async { Err(Failure::Other("it has no races".to_owned())) }
    }
}

/// Opens the store, says hello, and serves requests until the end of stdin. If the store does not
/// open, the reply says why.
///
/// # Errors
/// Of stdin and stdout, and of the start of the runtime.
pub fn serve<P: Peer, E: Into<Box<dyn Error + Send + Sync>>>(
    hello: Hello,
    open: impl Future<Output = Result<P, E>>,
) -> io::Result<()> {
    // More than a crowd of 100 callers that block.
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().max_blocking_threads(1_024).build()?;
    let mut peer = match runtime.block_on(open) {
        Ok(peer) => peer,
        Err(error) => return send(&failed(with_causes(&*error.into()))),
    };
    send(&Reply::Hello(hello))?;
    for line in io::stdin().lock().lines() {
        let reply = match serde_json::from_str(&line?) {
            Ok(Request::Prepare(size)) => ready(runtime.block_on(peer.prepare(size))),
            Ok(Request::Resume(size)) => ready(runtime.block_on(peer.resume(size))),
            Ok(Request::Race(race)) => match runtime.block_on(peer.race(&race)) {
                Ok(history) => Reply::History(history),
                Err(failure) => failed(failure),
            },
            Ok(Request::Run(run)) => Reply::Answer(runtime.block_on(peer.run(&run))),
            Err(error) => failed(error),
        };
        send(&reply)?;
    }
    Ok(())
}

fn ready(head: Result<Option<u64>, Failure>) -> Reply {
    match head {
        Ok(head) => Reply::Ready { head },
        Err(failure) => failed(failure),
    }
}

fn failed(reason: impl Display) -> Reply {
    Reply::Failed {
        reason: reason.to_string(),
    }
}

fn send(reply: &Reply) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    serde_json::to_writer(&mut stdout, reply)?;
    stdout.write_all(b"\n")?;
    stdout.flush()
}
