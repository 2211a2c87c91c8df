//! A race: callers and followers on one store, and the history of all they saw.

mod history;
mod racer;

use crate::calls::start;
use crate::{EventPeer, Failure, QueryItem, Recorded};
pub use history::{Call, Draft, Entry, History, Outcome, Place, Race, Step};
use racer::Racer;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long a store that was killed may take until it can be read again.
const LONGEST_OUTAGE: Duration = Duration::from_secs(60);
const BETWEEN_READS: Duration = Duration::from_millis(20);

/// A clock whose ticks order the calls of all callers.
#[derive(Clone, Default)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    fn tick(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// Runs a race on a store, and reads the log once all callers have ended. Keeps the whole history in
/// memory, some 300 bytes a call.
///
/// # Errors
/// If the store can't be read for a minute, or a caller panics.
pub async fn race<P: EventPeer>(peer: &Arc<P>, race: &Race) -> Result<History, Failure> {
    let begin = last_position(&**peer).await?;
    let (clock, is_over) = (Clock::default(), Arc::new(AtomicBool::new(false)));
    let followers: Vec<_> = (0..race.followers)
        .map(|_| {
            start(
                P::BLOCKS,
                follow(Arc::clone(peer), begin, Arc::clone(&is_over)),
            )
        })
        .collect();
    let callers: Vec<_> = (0..race.callers)
        .map(|number| {
            let racer = Racer::new(Arc::clone(peer), clock.clone(), race, number, begin);
            start(P::BLOCKS, racer.run(race.calls))
        })
        .collect();
    let mut steps = Vec::new();
    for caller in callers {
        steps.extend(caller.await.map_err(Failure::other)?);
    }
    is_over.store(true, Ordering::SeqCst);
    let mut followed = Vec::new();
    for follower in followers {
        followed.push(follower.await.map_err(Failure::other)??);
    }
    let log = read_after(&**peer, begin).await?;
    Ok(History {
        start: begin,
        steps,
        followed,
        log: log.iter().map(Entry::from).collect(),
    })
}

/// The last position of the log. A store whose reads tell no head is read whole.
async fn last_position(peer: &impl EventPeer) -> Result<u64, Failure> {
    let nothing = [QueryItem::tag("course:none".to_owned())];
    if let Some(head) = peer.read(&nothing, None).await?.head {
        return Ok(head);
    }
    let all = peer.read(&[], None).await?.events;
    Ok(all.last().map_or(0, |event| event.position))
}

/// Reads the events after a position, again and again while the store fails.
async fn read_after(peer: &impl EventPeer, after: u64) -> Result<Vec<Recorded>, Failure> {
    let began = Instant::now();
    loop {
        match peer.read(&[], Some(after)).await {
            Ok(read) => return Ok(read.events),
            Err(failure) if began.elapsed() > LONGEST_OUTAGE => return Err(failure),
            Err(_) => sleep(BETWEEN_READS).await,
        }
    }
}

/// Reads page after page from the position of the last event that it got, as a projection does.
async fn follow<P: EventPeer>(
    peer: Arc<P>,
    begin: u64,
    is_over: Arc<AtomicBool>,
) -> Result<Vec<Place>, Failure> {
    let (mut got, mut last) = (Vec::new(), begin);
    loop {
        // Before the read, so that the last read begins after the last append.
        let is_last = is_over.load(Ordering::SeqCst);
        let events = read_after(&*peer, last).await?;
        got.extend(events.iter().map(Place::from));
        match events.last() {
            Some(event) => last = event.position,
            None if is_last => return Ok(got),
            None => tokio::task::yield_now().await,
        }
    }
}
