//! Races of a peer, and the referee's words about them.

use super::form::Form;
use super::roster::Peer;
use super::running::start;
use local_postgres::LocalPostgres;
use peer_protocol::{Hello, Promise, Race, Session};
use referee::{Finding, check};
use serde::{Deserialize, Serialize};
use std::path::Path;

const CALLERS: usize = 16;
const FOLLOWERS: usize = 2;
const CALLS: usize = 100;

/// The races of a peer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raced {
    /// Whether the referee saw something that a right store can't do.
    pub is_accused: bool,
    /// The referee's words.
    pub text: String,
}

/// Races a peer until the referee finds a fault, on a small log that no row uses. Returns the findings.
/// On the log of the rows, the time of its reads would grow with the form.
pub(super) async fn races(
    peer: &Peer,
    program: &Path,
    form: Form,
    server: &Result<LocalPostgres, String>,
) -> Raced {
    match start(peer, program, Form::Smoke.content(), server).await {
        Ok((hello, mut running)) => race(&mut running.session, &hello, form),
        Err(reason) => Raced {
            is_accused: false,
            text: format!("no verdict: {reason}"),
        },
    }
}

fn race(session: &mut Session, hello: &Hello, form: Form) -> Raced {
    let raced = |is_accused, text| Raced { is_accused, text };
    let mut calls = 0;
    for seed in 1..=form.races() {
        let race = Race {
            seed,
            callers: CALLERS,
            followers: FOLLOWERS,
            calls: CALLS,
            repeats: hello.promises.contains(&Promise::Repeats),
            drops: true,
        };
        let history = match session.race(&race) {
            Ok(history) => history,
            Err(reason) => return raced(false, format!("seed {seed}: no verdict: {reason}")),
        };
        calls += history.steps.len();
        let findings = check(&history, &hello.promises);
        if let Some(first) = findings.first() {
            let kinds = kinds(&findings);
            let steps = history.steps.len();
            return raced(
                true,
                format!("seed {seed}, {steps} calls: {kinds}; the first: {first}"),
            );
        }
    }
    raced(
        false,
        format!("nothing in {calls} calls of {} races", form.races()),
    )
}

/// `Accepted 3, Misread 1`: how often each kind was found.
fn kinds(findings: &[Finding]) -> String {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for finding in findings {
        match kinds.iter_mut().find(|(kind, _)| *kind == finding.kind()) {
            Some((_, count)) => *count += 1,
            None => kinds.push((finding.kind(), 1)),
        }
    }
    let texts = kinds.iter().map(|(kind, count)| format!("{kind} {count}"));
    texts.collect::<Vec<_>>().join(", ")
}
