//! Followers against the log.

use crate::Finding;
use peer_protocol::{Entry, Place};

/// Followers that missed an event, or went back.
pub(crate) fn followers(followed: &[Vec<Place>], log: &[Entry]) -> Vec<Finding> {
    let numbered = followed.iter().enumerate();
    numbered
        .filter_map(|(follower, got)| follow(follower, got, log))
        .collect()
}

/// The first fault of one follower.
fn follow(follower: usize, got: &[Place], log: &[Entry]) -> Option<Finding> {
    let mut expected = log.iter().map(|entry| entry.place.position);
    let mut last = 0;
    for place in got {
        if place.position <= last {
            return Some(Finding::WentBack {
                follower,
                from: last,
                to: place.position,
            });
        }
        last = place.position;
        let next = expected.next()?;
        if next != place.position {
            return Some(Finding::Skipped {
                follower,
                position: next.min(place.position),
            });
        }
    }
    let position = expected.next()?;
    Some(Finding::Skipped { follower, position })
}
