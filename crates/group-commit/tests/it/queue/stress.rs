use std::sync::Arc;
use std::time::Duration;

use group_commit::{Limits, Outcome, Queue, SubmitError};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::queue::gate::{Gate, POISON, job};

const SEED: u64 = 20_261_121;
const CALLERS: u32 = 100;
const REQUESTS: u32 = 50;

/// Submits one request through a random method. Returns `None` if it drops the call before its end.
async fn submit(queue: &Queue<Gate>, id: u32, random: &mut StdRng) -> Option<Outcome<Gate>> {
    let patience = Duration::from_micros(random.random_range(1..2_000));
    match random.random_range(0..10) {
        0 => Some(
            queue
                .submit_until(job(id), tokio::time::sleep(patience))
                .await,
        ),
        1 => tokio::time::timeout(patience, queue.submit(job(id)))
            .await
            .ok(),
        2 => Some(queue.try_submit(job(id)).await),
        3 => {
            let poison = queue.submit(job(POISON)).await;
            assert_eq!(poison, Err(SubmitError::Refused("poison")));
            None
        }
        _ => Some(queue.submit(job(id)).await),
    }
}

/// Submits one caller's requests one after the other. Returns the ids that it got a verdict for.
async fn caller(queue: Arc<Queue<Gate>>, number: u32) -> Vec<u32> {
    let mut random = StdRng::seed_from_u64(SEED + u64::from(number));
    let mut acknowledged = Vec::new();
    for request in 0..REQUESTS {
        let id = 10_000 + number * REQUESTS + request;
        match submit(&queue, id, &mut random).await {
            Some(Ok(position)) => {
                assert_eq!(
                    queue.committer().written()[position - 1],
                    id,
                    "the verdict belongs to another request"
                );
                acknowledged.push(id);
            }
            Some(Err(error)) if !error.may_have_been_written() => {
                assert!(
                    !queue.committer().written().contains(&id),
                    "written despite the error: {error}"
                );
            }
            Some(Err(_)) | None => {}
        }
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_callers_of_all_kinds() {
    println!("seed {SEED}");
    let limits = Limits {
        max_batch_requests: 32,
        max_queued_requests: 60,
        ..Limits::default()
    };
    let queue = Arc::new(Queue::new(Gate::open(), limits));
    let callers: Vec<_> = (0..CALLERS)
        .map(|number| tokio::spawn(caller(Arc::clone(&queue), number)))
        .collect();
    let mut acknowledged = Vec::new();
    for caller in callers {
        acknowledged.extend(caller.await.unwrap());
    }
    queue.close().await;

    let mut written = queue.committer().written();
    written.sort_unstable();
    assert!(
        written.windows(2).all(|pair| pair[0] < pair[1]),
        "written twice"
    );
    assert!(
        acknowledged
            .iter()
            .all(|id| written.binary_search(id).is_ok()),
        "acknowledged, lost"
    );
}
