//! Batches planned and settled by hand.

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
    requests.map(|writes| Request::new(writes, |_| 0)).collect()
}

/// An answer with these versions before the batch, -1 for no stream, and global positions from 1.
fn answer(versions: &[i64], refusals: &[(usize, Refusal)]) -> Answer {
    let version = |number: &i64| u64::try_from(*number).ok().map(Position::new);
    Answer {
        versions: versions.iter().map(version).collect(),
        global_positions: (1..=20).map(GlobalPosition::new).collect(),
        refusals: refusals.iter().copied().collect(),
    }
}

/// What became of each request, in words.
fn settled(batch: &mut [Request], answer: Answer) -> Vec<String> {
    let verdicts = Plan::of(batch).settle(batch, answer);
    let words = verdicts.into_iter().map(|verdict| match verdict {
        Verdict::Settled(Ok(written)) => {
            let place =
                |written: &Written| format!("{}@{}", written.position, written.global_position);
            let places: Vec<String> = written.iter().map(place).collect();
            places.join(" ")
        }
        Verdict::Settled(Err(error)) => error.to_string(),
        Verdict::Stored(_) => "stored".to_owned(),
        Verdict::Locked(_) => "locked".to_owned(),
        Verdict::Again(_) => "again".to_owned(),
    });
    words.collect()
}

#[test]
fn requests_follow_each_other_in_their_streams() {
    let mut batch = batch([
        vec![write("a-1", 2, None)],
        vec![write("a-2", 1, Some(-1)), write("a-1", 1, None)],
        vec![write("a-1", 1, None)],
    ]);
    assert_eq!(
        settled(&mut batch, answer(&[4, -1, 4, 4], &[])),
        ["5@1 6@2", "0@3 7@4", "8@5"]
    );
}

#[test]
fn a_refused_request_takes_no_positions_and_says_why() {
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
        settled(&mut batch, answer(&[3, -1, 0, 0, -1], &refusals)),
        [
            "wrong expected version: 7 (stream a-1, at 3)",
            "locked",
            "stored",
            "0@1"
        ]
    );
}

#[test]
fn who_expects_a_version_behind_another_write_meets_that_write() {
    let mut batch = batch([
        vec![write("a-1", 1, Some(3))],
        vec![write("a-1", 1, Some(3))],
        vec![write("a-1", 1, Some(4))],
        vec![write("a-2", 1, None), write("a-1", 1, Some(9))],
    ]);
    let plan = Plan::of(&batch);
    let sent: Vec<bool> = (0..4).map(|index| plan.is_sent(index)).collect();
    assert_eq!(sent, [true, false, false, false]);
    assert_eq!(
        settled(&mut batch, answer(&[3], &[])),
        [
            "4@1",
            "wrong expected version: 3 (stream a-1, at 4)",
            "again",
            "wrong expected version: 9 (stream a-1, at 4)",
        ]
    );
}

/// What another transaction is writing to may have any version by now.
#[test]
fn who_stands_behind_a_locked_category_is_not_judged() {
    let mut batch = batch([
        vec![write("a-1", 1, Some(3))],
        vec![write("a-1", 1, Some(4))],
    ]);
    assert_eq!(
        settled(&mut batch, answer(&[-1], &[(0, Refusal::Locked)])),
        ["locked", "again"]
    );
}

/// The first stream that is elsewhere is the one to tell, and where `a-1` is nobody has asked.
#[test]
fn who_expects_a_version_that_is_not_known_is_not_judged_by_a_later_one() {
    let mut batch = batch([
        vec![write("a-2", 1, None)],
        vec![write("a-1", 1, Some(3)), write("a-2", 1, Some(9))],
    ]);
    assert_eq!(settled(&mut batch, answer(&[3], &[])), ["4@1", "again"]);
}

#[test]
fn one_id_in_two_requests_takes_two_batches() {
    let id = Uuid::from_u128(1);
    let twin = |stream: &str| {
        let mut write = write(stream, 1, None);
        write.messages = vec![message().with_id(id)];
        vec![write]
    };
    let mut batch = batch([twin("a-1"), twin("a-1"), vec![write("a-1", 1, None)]]);
    assert_eq!(
        settled(&mut batch, answer(&[-1, -1], &[])),
        ["0@1", "again", "1@2"]
    );
}

#[test]
fn an_id_is_looked_at_before_the_version() {
    let mut held = write("a-1", 1, Some(0));
    held.messages = vec![message().with_id(Uuid::from_u128(1))];
    let mut batch = batch([vec![write("a-1", 1, None)], vec![held]]);
    assert_eq!(
        settled(&mut batch, answer(&[5], &[(1, Refusal::Stored)])),
        ["6@1", "stored"]
    );
}
