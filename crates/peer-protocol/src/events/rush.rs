//! A rush: all callers decide at the same moment on one new course.

use super::{EventPeer, SEATS, Shared, decide_on_course};
use crate::calls::{gather, start};
use crate::{Answer, Dataset, QueryItem, Run};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Barrier;

/// The state that the callers of a rush share.
struct Crowd {
    barrier: Barrier,
    /// Decisions that enrolled a student in the course.
    enrolled: AtomicU64,
    is_over: AtomicBool,
}

/// Opens one course after the other until the time or the limit is reached.
pub(super) async fn rush<P: EventPeer>(shared: &Arc<Shared<P>>, run: &Run, number: u64) -> Answer {
    let crowd = Arc::new(Crowd {
        barrier: Barrier::new(run.callers),
        enrolled: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
    });
    let began = Instant::now();
    let callers = (0..run.callers).map(|caller| {
        let (shared, crowd, run) = (Arc::clone(shared), Arc::clone(&crowd), run.clone());
        start(P::BLOCKS, async move {
            take_part(&shared, &crowd, &run, number, caller).await
        })
    });
    gather(callers.collect(), began).await
}

async fn take_part<P: EventPeer>(
    shared: &Shared<P>,
    crowd: &Crowd,
    run: &Run,
    number: u64,
    caller: usize,
) -> Answer {
    let (began, mut tally) = (Instant::now(), Answer::default());
    for opened in 0.. {
        let course = format!("course:rush-{number}-{opened}");
        crowd.barrier.wait().await;
        let begun = Instant::now();
        let decided = decide_on_course(shared, course.clone(), Dataset::student(caller)).await;
        if let Ok(enrolled) = decided {
            crowd.enrolled.fetch_add(enrolled, Ordering::Relaxed);
        }
        tally.count(decided, begun.elapsed());
        if crowd.barrier.wait().await.is_leader() {
            let enrolled = crowd.enrolled.swap(0, Ordering::Relaxed);
            tally.wrong += is_wrong(shared, course, enrolled, run.callers as u64).await;
            let calls = (opened + 1) * run.callers as u64;
            let is_out_of_time = began.elapsed() >= Duration::from_secs_f64(run.seconds);
            let is_over = is_out_of_time || run.limit.is_some_and(|limit| calls >= limit);
            crowd.is_over.store(is_over, Ordering::Relaxed);
        }
        crowd.barrier.wait().await;
        if crowd.is_over.load(Ordering::Relaxed) {
            break;
        }
    }
    tally
}

/// 1 if the course has another number of events than it has seats or callers, or if another number of
/// decisions said that they enrolled a student.
async fn is_wrong<P: EventPeer>(
    shared: &Shared<P>,
    course: String,
    enrolled: u64,
    callers: u64,
) -> u64 {
    let stored = shared.peer.read(&[QueryItem::tag(course)], None).await;
    let is_right = stored
        .is_ok_and(|read| read.events.len() as u64 == enrolled && enrolled == callers.min(SEATS));
    u64::from(!is_right)
}
