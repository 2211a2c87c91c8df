use group_commit::{Limits, SubmitError};

use crate::queue::gate::{BOMB, FATAL, MISCOUNT, POISON, VAGUE, arrive_behind, closed_queue, job};

/// Commits one batch with `ids` and returns the outcomes. Checks that the batches before and after it
/// succeed.
async fn outcomes_of(ids: &[u32]) -> Vec<Result<usize, SubmitError<&'static str>>> {
    let queue = closed_queue(Limits::default());
    let (leader, waiting) = arrive_behind(&queue, ids).await;
    queue.committer().let_through(100);
    assert_eq!(leader.await.unwrap(), Ok(1), "the batch before it succeeds");
    let mut outcomes = Vec::new();
    for caller in waiting {
        outcomes.push(caller.await.unwrap());
    }
    assert!(
        queue.submit(job(9)).await.is_ok(),
        "the batch after it succeeds"
    );
    outcomes
}

#[tokio::test]
async fn invalid_request_fails_alone_and_its_neighbours_keep_their_order() {
    let poison = Err(SubmitError::Refused("poison"));
    assert_eq!(
        outcomes_of(&[1, 2, POISON, 3, 4]).await,
        [Ok(2), Ok(3), poison.clone(), Ok(4), Ok(5)]
    );
    assert_eq!(
        outcomes_of(&[POISON, 1, POISON]).await,
        [poison.clone(), Ok(2), poison.clone()]
    );
    assert_eq!(outcomes_of(&[POISON]).await, [poison]);
}

#[tokio::test]
async fn finding_one_invalid_request_costs_a_logarithm_of_commits() {
    let queue = closed_queue(Limits::default());
    let mut ids: Vec<_> = (1..64).collect();
    ids.push(POISON);
    let (_leader, _waiting) = arrive_behind(&queue, &ids).await;
    queue.committer().let_through(100);
    queue.close().await;
    // The leader's own commit is not part of the search, so the count below leaves it out.
    assert_eq!(queue.committer().written(), (0..64).collect::<Vec<_>>());
    let commits = queue.committer().started().len() - 1;
    assert_eq!(commits, 2 * 6 + 1, "2 * log2(64) + 1");
}

#[tokio::test]
async fn bisection_of_unequal_halves_rounds_the_logarithm_up() {
    let queue = closed_queue(Limits::default());
    let (_leader, _waiting) = arrive_behind(&queue, &[1, 2, POISON]).await;
    queue.committer().let_through(100);
    queue.close().await;
    let commits = queue.committer().started().len() - 1;
    assert_eq!(commits, 2 * 2 + 1, "2 * log2(3) + 1, log2(3) rounded up");
}

#[tokio::test]
async fn error_reaches_every_caller_of_the_batch() {
    let failed = Err(SubmitError::Failed("disk full"));
    assert_eq!(outcomes_of(&[1, FATAL]).await, [failed.clone(), failed]);
    let unknown = Err(SubmitError::Unknown("connection lost"));
    assert_eq!(outcomes_of(&[VAGUE, 1]).await, [unknown.clone(), unknown]);
}

#[tokio::test]
async fn panic_reaches_every_caller_of_the_batch() {
    let panicked = Err(SubmitError::Panicked);
    assert_eq!(
        outcomes_of(&[1, BOMB, 2]).await,
        [panicked.clone(), panicked.clone(), panicked]
    );
}

#[tokio::test]
async fn wrong_number_of_verdicts_counts_as_a_panic() {
    assert_eq!(outcomes_of(&[MISCOUNT]).await, [Err(SubmitError::Panicked)]);
}

#[test]
fn errors_say_whether_the_request_may_have_been_written() {
    for unwritten in [
        SubmitError::Full,
        SubmitError::Closed,
        SubmitError::TimedOut,
        SubmitError::Refused("data"),
        SubmitError::Failed("disk"),
    ] {
        assert!(!unwritten.may_have_been_written(), "{unwritten}");
    }
    for unclear in [
        SubmitError::OutcomeUnknown,
        SubmitError::Unknown("?"),
        SubmitError::Panicked,
    ] {
        assert!(unclear.may_have_been_written(), "{unclear}");
    }
}
