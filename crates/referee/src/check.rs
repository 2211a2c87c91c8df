//! The check of a whole history.

use crate::Finding;
use crate::appends::Appends;
use crate::followers::followers;
use crate::index::Index;
use crate::reads::reads;
use peer_protocol::{Entry, History, Promise};
use std::collections::HashMap;

/// Compares the history with the log. `promises` are those that the store makes beyond the promises of
/// every store. Without findings, nothing was seen that a right store can't do.
pub fn check(history: &History, promises: &[Promise]) -> Vec<Finding> {
    let mut findings = log(
        &history.log,
        history.start,
        promises.contains(&Promise::Dense),
    );
    if findings
        .iter()
        .any(|finding| matches!(finding, Finding::WentBack { .. }))
    {
        // Nothing can be looked up in a log without an order.
        return findings;
    }
    let index = Index::new(&history.log);
    let appends = Appends::new(&history.steps, &index);
    findings.extend(appends.unasked(&history.log));
    findings.extend(appends.acknowledged());
    findings.extend(appends.torn(promises.contains(&Promise::Dense)));
    findings.extend(appends.accepted(&index));
    findings.extend(appends.out_of_order());
    if promises.contains(&Promise::Exact) {
        findings.extend(appends.refused(&history.steps, &index));
    }
    let is_fresh = promises.contains(&Promise::Fresh);
    findings.extend(reads(&history.steps, &index, is_fresh.then_some(&appends)));
    findings.extend(followers(&history.followed, &history.log));
    findings
}

/// The order of the log, its gaps, and events that it has twice. A log that goes back is like a follower
/// that does.
fn log(log: &[Entry], start: u64, is_dense: bool) -> Vec<Finding> {
    let (mut findings, mut last, mut seen) = (Vec::new(), start, HashMap::new());
    for entry in log {
        let position = entry.place.position;
        if position <= last {
            findings.push(Finding::WentBack {
                follower: 0,
                from: last,
                to: position,
            });
        } else if is_dense && position != last + 1 {
            findings.push(Finding::Gap {
                after: last,
                next: position,
            });
        }
        last = position;
        if let Some(id) = entry.place.id
            && let Some(first) = seen.insert(id, position)
        {
            findings.push(Finding::Twice {
                id,
                first,
                second: position,
            });
        }
    }
    findings
}
