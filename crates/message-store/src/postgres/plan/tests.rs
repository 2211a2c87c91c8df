//! Plans and verdicts for hand-written batches and answers.

use tokio::time::Instant;
use uuid::Uuid;

use super::*;
use crate::{Message, StreamName};

fn message() -> Message {
    let message = Message::builder("Happened").build();
    message.expect("the message is valid")
}

fn write(stream: &str, count: usize, expected: Option<i64>) -> StreamWrite {
    let stream = StreamName::new(stream).expect("the name is valid");
    let expected = ExpectedVersion::from_number(expected).expect("the version is valid");
    StreamWrite::new(stream, vec![message(); count]).expected_version(expected)
}

fn batch(requests: impl IntoIterator<Item = Vec<StreamWrite>>) -> Vec<Request> {
    let requests = requests.into_iter();
    let request = |writes| Request::new(writes, |_| 0, Instant::now(), Instant::now());
    requests.map(request).collect()
}

/// An answer with these versions before the batch (-1 for no stream) and global positions from 1.
fn answer(versions: &[i64], refusals: &[(usize, Refusal)]) -> Answer {
    let version = |number: &i64| u64::try_from(*number).ok().map(Position::new);
    Answer {
        versions: versions.iter().map(version).collect(),
        global_positions: (1..=20).map(GlobalPosition::new).collect(),
        refusals: refusals.iter().copied().collect(),
    }
}

/// The verdict for each request as text: `position@global_position` for each message, or the
/// reason.
fn verdicts(batch: &mut [Request], answer: Answer) -> Vec<String> {
    let verdicts = Plan::new(batch).verdicts(batch, answer);
    let texts = verdicts.into_iter().map(|verdict| match verdict {
        Verdict::Done(Ok(written)) => {
            let position =
                |written: &Written| format!("{}@{}", written.position, written.global_position);
            let positions: Vec<String> = written.iter().map(position).collect();
            positions.join(" ")
        }
        Verdict::Done(Err(error)) => error.to_string(),
        Verdict::Stored(_) => "stored".to_owned(),
        Verdict::Locked(_) => "locked".to_owned(),
        Verdict::Again(_) => "again".to_owned(),
    });
    texts.collect()
}

#[test]
fn requests_for_one_stream_get_consecutive_positions() {
    let mut batch = batch([
        vec![write("a-1", 2, None)],
        vec![write("a-2", 1, Some(-1)), write("a-1", 1, None)],
        vec![write("a-1", 1, None)],
    ]);
    assert_eq!(
        verdicts(&mut batch, answer(&[4, -1, 4, 4], &[])),
        ["5@1 6@2", "0@3 7@4", "8@5"]
    );
}

#[test]
fn refused_request_takes_no_positions_and_reports_reason() {
    let mut batch = batch([
        vec![write("a-1", 1, Some(7)), write("a-2", 1, None)],
        vec![write("b-1", 1, None)],
        vec![write("c-1", 1, None)],
        vec![write("a-2", 1, None)],
    ]);
    let refusals = [
        (0, Refusal::Conflict),
        (1, Refusal::Locked),
        (2, Refusal::Stored),
    ];
    assert_eq!(
        verdicts(&mut batch, answer(&[3, -1, 0, 0, -1], &refusals)),
        [
            "wrong expected version: 7 (stream a-1, at 3)",
            "locked",
            "stored",
            "0@1"
        ]
    );
}

#[test]
fn expected_version_is_checked_after_earlier_write_to_stream() {
    let mut batch = batch([
        vec![write("a-1", 1, Some(3))],
        vec![write("a-1", 1, Some(3))],
        vec![write("a-1", 1, Some(4))],
        vec![write("a-2", 1, None), write("a-1", 1, Some(9))],
    ]);
    let plan = Plan::new(&batch);
    let sent: Vec<bool> = (0..4).map(|index| plan.is_sent(index)).collect();
    assert_eq!(sent, [true, false, false, false]);
    assert_eq!(
        verdicts(&mut batch, answer(&[3], &[])),
        [
            "4@1",
            "wrong expected version: 3 (stream a-1, at 4)",
            "again",
            "wrong expected version: 9 (stream a-1, at 4)",
        ]
    );
}

/// While another transaction holds the lock, the version may be changing.
#[test]
fn expected_version_in_locked_category_is_submitted_again() {
    let mut batch = batch([
        vec![write("a-1", 1, Some(3))],
        vec![write("a-1", 1, Some(4))],
    ]);
    assert_eq!(
        verdicts(&mut batch, answer(&[-1], &[(0, Refusal::Locked)])),
        ["locked", "again"]
    );
}

/// The error must name the first stream with a conflict. The version of `a-1` is not known, so the
/// conflict of `a-2` may not be the first.
#[test]
fn conflict_after_stream_of_unknown_version_is_submitted_again() {
    let mut batch = batch([
        vec![write("a-2", 1, None)],
        vec![write("a-1", 1, Some(3)), write("a-2", 1, Some(9))],
    ]);
    assert_eq!(verdicts(&mut batch, answer(&[3], &[])), ["4@1", "again"]);
}

#[test]
fn repeated_id_is_submitted_in_next_batch() {
    let id = Uuid::from_u128(1);
    let twin = |stream: &str| {
        let mut write = write(stream, 1, None);
        write.messages = vec![message().with_id(id)];
        vec![write]
    };
    let mut batch = batch([twin("a-1"), twin("a-1"), vec![write("a-1", 1, None)]]);
    assert_eq!(
        verdicts(&mut batch, answer(&[-1, -1], &[])),
        ["0@1", "again", "1@2"]
    );
}

#[test]
fn stored_id_takes_precedence_over_wrong_version() {
    let mut deferred = write("a-1", 1, Some(0));
    deferred.messages = vec![message().with_id(Uuid::from_u128(1))];
    let mut batch = batch([vec![write("a-1", 1, None)], vec![deferred]]);
    assert_eq!(
        verdicts(&mut batch, answer(&[5], &[(1, Refusal::Stored)])),
        ["6@1", "stored"]
    );
}
