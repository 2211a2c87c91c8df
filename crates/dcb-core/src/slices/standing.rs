//! Slices that stand still while versions or the number of slices change.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::text::invalid;
use crate::{Bookmark, Error, Fault, Problem};

/// A wait for slices that move to one position.
pub(crate) struct Wait {
    operation: &'static str,
    begun: Instant,
    limit: Duration,
}

impl Wait {
    pub(crate) fn new(operation: &'static str, limit: Duration) -> Self {
        Self {
            operation,
            begun: Instant::now(),
            limit,
        }
    }

    /// Pauses before the next look. [`Fault::TimedOut`] once the limit has passed.
    pub(crate) async fn pause(&self) -> Result<(), Error> {
        const LOOK: Duration = Duration::from_millis(50);
        let Self {
            operation, limit, ..
        } = *self;
        if self.begun.elapsed() >= limit {
            return Err(Fault::TimedOut { operation, limit }.into());
        }
        sleep(LOOK).await;
        Ok(())
    }
}

/// A slice of a version that stands still.
pub struct Standing {
    pub(crate) at: Option<Bookmark>,
    pub(crate) epoch: i64,
    pub(crate) failure: Option<String>,
}

/// The bookmark of the slice that is furthest.
pub(crate) fn furthest(slices: &[Standing]) -> Option<Bookmark> {
    let all = slices.iter().map(|slice| slice.at);
    all.max_by_key(|at| Bookmark::position_of(*at)).flatten()
}

/// Whether all slices of both versions are at one position. Then it does not matter how the versions
/// divide the events.
pub(crate) fn stand_together(old: &[Standing], new: &[Standing]) -> Result<bool, Error> {
    let place = furthest(old);
    Ok(old.iter().chain(new).all(|slice| slice.at == place))
}

/// Whether each slice of one version is where that of the other is. Then versions that divide the events
/// alike have handled the same ones.
pub(crate) fn stand_in_pairs(old: &[Standing], new: &[Standing]) -> Result<bool, Error> {
    if old.len() != new.len() {
        let (old, new) = (old.len(), new.len());
        let reason =
            format!("the current version has {old} and this one {new}: resize one of them");
        return Err(invalid("slices")(Problem::Malformed { reason }));
    }
    Ok(old.iter().zip(new).all(|(old, new)| old.at == new.at))
}

/// [`stand_together`] or [`stand_in_pairs`].
pub(crate) type Meet = fn(&[Standing], &[Standing]) -> Result<bool, Error>;

/// The places that the slices of a version may reach behind the current one: the events up to there were
/// handled by the slices of the current version that have the same keys, if both have the same key.
pub(crate) fn limits(current: &[Standing], slices: u32) -> Vec<Option<Bookmark>> {
    let divisor = greatest_common_divisor(current.len(), slices as usize).max(1);
    let limit = |slice: usize| {
        let alike = current.iter().skip(slice % divisor).step_by(divisor);
        let last = alike.map(|slice| slice.at);
        last.min_by_key(|at| Bookmark::position_of(*at)).flatten()
    };
    (0..slices as usize).map(limit).collect()
}

/// The place of each slice, by number.
type Places = Vec<Option<Bookmark>>;

/// The place of each slice of a version that gets another number of slices, and the epoch of all of them.
/// `None` if slices that are merged stand at different positions. An error if `title`, the version, has no
/// slice, or one that has stopped.
pub(crate) fn resized(
    title: &str,
    before: &[Standing],
    slices: u32,
) -> Result<Option<(Places, i64)>, Error> {
    let invalid = invalid("slices");
    let refused = |reason: &str| Problem::Malformed {
        reason: format!("{title} {reason}"),
    };
    if slices == 0 {
        return Err(invalid(Problem::TooSmall { min: 1, actual: 0 }));
    }
    let Some(epoch) = before.iter().map(|slice| slice.epoch).max() else {
        return Err(invalid(refused("does not exist")));
    };
    if before.iter().any(|slice| slice.failure.is_some()) {
        return Err(invalid(refused(
            "has a slice that has stopped: resume it first",
        )));
    }
    Ok(places(before, slices).map(|places| (places, epoch + 1)))
}

/// The place of each new slice, if the number of slices changes. `None` if old slices that are merged
/// stand at different positions.
///
/// The slice of a key is its hash modulo the number. With `g` the greatest common divisor of the old and
/// the new number, the keys of a new slice were in those old slices that are equal to it modulo `g`. If
/// these stand at one position, the new slice begins there.
fn places(before: &[Standing], slices: u32) -> Option<Places> {
    let divisor = greatest_common_divisor(before.len(), slices as usize);
    let place = |slice: usize| {
        let first = before[slice % divisor].at;
        let mut merged = before.iter().skip(slice % divisor).step_by(divisor);
        let is_one = merged.all(|old| old.at == first);
        is_one.then_some(first)
    };
    (0..slices as usize).map(place).collect()
}

fn greatest_common_divisor(one: usize, other: usize) -> usize {
    match other {
        0 => one,
        _ => greatest_common_divisor(other, one % other),
    }
}
