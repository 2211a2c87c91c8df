//! Reads against the log.

use crate::Finding;
use crate::appends::Appends;
use crate::index::Index;
use peer_protocol::{Call, Place, QueryItem, Step};

/// Reads that missed an event up to their head or found one that does not match, and, with appends,
/// reads that did not see an append acknowledged before they began.
pub(crate) fn reads(steps: &[Step], index: &Index, fresh: Option<&Appends<'_>>) -> Vec<Finding> {
    let acknowledged = fresh.map_or_else(Vec::new, Appends::acknowledged_by_tick);
    let mut findings = Vec::new();
    for step in steps {
        let Call::Read {
            items,
            after,
            head,
            found,
        } = &step.call
        else {
            continue;
        };
        if let Some(position) = misread(index, items, *after, *head, found) {
            findings.push(Finding::Misread {
                ended: step.ended,
                head: *head,
                position,
            });
        }
        let before = acknowledged.partition_point(|(tick, _)| *tick < step.begun);
        let last = acknowledged[..before]
            .last()
            .map_or(0, |(_, position)| *position);
        if *head < last {
            findings.push(Finding::Stale {
                begun: step.begun,
                head: *head,
                acknowledged: last,
            });
        }
    }
    findings
}

/// The first position about which the read is wrong.
fn misread(
    index: &Index,
    items: &[QueryItem],
    after: u64,
    head: u64,
    found: &[Place],
) -> Option<u64> {
    let expected = index.between(items, after, head);
    let mut pairs = expected.iter().zip(found);
    let different = pairs.find(|(expected, found)| {
        **expected != found.position
            || found
                .id
                .is_some_and(|id| index.place(id) != Some(found.position))
    });
    match different {
        Some((expected, found)) => Some((*expected).min(found.position)),
        None => {
            let missed = expected.get(found.len()).copied();
            missed.or_else(|| found.get(expected.len()).map(|found| found.position))
        }
    }
    .or_else(|| (head > index.last() && index.last() > 0).then_some(head))
}
