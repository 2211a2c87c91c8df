//! The blocking store, beside the async store and other stores on the same log.

use std::thread;

use conformance_suite::effort;
use dcb_conformance::CALLERS;
use dcb_core::sqlite::{BlockingSqliteStore, Config};
use dcb_core::{
    AppendCondition, Bookmark, Decided, DecisionModel, Error, Event, EventStore as _, Fault,
    Position, Problem, Projector, Query,
};

use crate::support::events::{positions, tag, tagged, unless, whole_log};
use crate::support::sqlite::{connect, fresh_log};

/// Runs `work` on `callers` threads. Returns the results in order.
fn on_threads<T: Send>(callers: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..callers)
            .map(|number| {
                scope.spawn({
                    let work = &work;
                    move || work(number)
                })
            })
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join().unwrap());
        joined.collect()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn one_thread_or_task_wins_a_condition() {
    for callers in CALLERS {
        let log = fresh_log().await;
        let store = connect(&log).await;
        for round in 0..effort(10) {
            let name = format!("round {round}");
            let tasks: Vec<_> = (0..callers)
                .map(|_| {
                    let (store, name) = (store.clone(), name.clone());
                    tokio::spawn(async move { store.append_if(tagged(&name), unless(&name)).await })
                })
                .collect();
            let blocking = store.blocking().clone();
            let threads = tokio::task::spawn_blocking(move || {
                on_threads(callers, |_| {
                    blocking.append_if(tagged(&name), unless(&name))
                })
            });
            let mut answers = threads.await.unwrap();
            for task in tasks {
                answers.push(task.await.unwrap());
            }
            let winners: Vec<Position> = answers
                .iter()
                .filter_map(|answer| answer.as_ref().ok())
                .map(|appended| appended.first())
                .collect();
            assert_eq!(winners.len(), 1, "{answers:?}");
            for answer in answers.iter().filter_map(|answer| answer.as_ref().err()) {
                assert!(
                    matches!(answer, Error::Conflict { position, .. } if *position == winners[0]),
                    "{answer:?}"
                );
            }
        }
        store.close().await;
    }
}

/// Takes seats until none is left. Each event stores the count that its decision saw.
fn count_and_append(store: &BlockingSqliteStore, seats: u64) -> u64 {
    let model = DecisionModel::new(Projector::counter(tag("seat"))).max_attempts(u32::MAX);
    loop {
        let mut seen = 0;
        let decided = store.decide(&model, |taken| {
            seen = taken;
            let event = Event::builder("Taken").tag("seat").json(&taken);
            let decision = (taken < seats).then(|| event.build()).transpose();
            decision.map(|event| event.into_iter().collect::<Vec<_>>())
        });
        if decided.unwrap().appended.is_none() {
            return seen;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn decision_stops_after_max_attempts() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let blocking = store.blocking().clone();
    let made = tokio::task::spawn_blocking(move || {
        let model = DecisionModel::new(Projector::counter(tag("a"))).max_attempts(3);
        let mut seen = vec![];
        let decided: Result<Decided, Error> = blocking.decide(&model, |count| {
            seen.push(count);
            blocking.append(tagged("a"))?;
            Ok(tagged("a"))
        });
        (seen, decided)
    });
    let (seen, decided) = made.await.unwrap();
    assert_eq!(seen, [0, 1, 2]);
    assert!(
        matches!(
            decided,
            Err(Error::RetriesExhausted { attempts: 3, position }) if position.get() == 3
        ),
        "{decided:?}"
    );
    assert_eq!(whole_log(&store).await.len(), 3);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_of_threads_agree_with_the_log() {
    for callers in CALLERS {
        let log = fresh_log().await;
        let (one, other) = (connect(&log).await, connect(&log).await);
        let stores = [one.blocking().clone(), other.blocking().clone()];
        let seats = effort(100) as u64;
        let counting = tokio::task::spawn_blocking(move || {
            on_threads(callers, |number| {
                count_and_append(&stores[number % 2], seats)
            })
        });
        assert_eq!(counting.await.unwrap(), vec![seats; callers]);
        for (event, expected) in whole_log(&one).await.iter().zip(0_u64..) {
            assert_eq!(event.json::<u64>().unwrap(), expected);
        }
        one.close().await;
        other.close().await;
    }
}

#[test]
fn warm_decision_of_a_thread_reads_nothing() {
    let store = BlockingSqliteStore::open(Config::memory()).unwrap();
    let kept = DecisionModel::new(Projector::counter(tag("a")).keep("count", 1));
    let events = DecisionModel::new(Projector::counter(tag("a"))).max_attempts(1);
    for model in [events, kept] {
        store.clear().unwrap();
        let decide = |event: Option<Event>| {
            let mut seen = 0;
            let decided = store.decide(&model, |count| {
                seen = count;
                Ok::<_, Error>(event.iter().cloned().collect::<Vec<_>>())
            });
            assert_eq!(decided.unwrap().attempts, 1);
            seen
        };
        assert_eq!(decide(Some(tagged("a"))), 0);
        let cold = store.stats().reads;
        for count in 1..100 {
            assert_eq!(decide(Some(tagged("a"))), count);
        }
        assert_eq!(store.stats().reads, cold);
        store.append([tagged("a"), tagged("b")]).unwrap();
        assert_eq!(decide(None), 101);
        assert_eq!(decide(Some(tagged("a"))), 101);
        assert_eq!(decide(None), 102);
    }
}

/// A decision that is refused is as true as one that appends.
#[test]
fn refusal_of_a_thread_sees_what_was_appended_before_its_call() {
    let store = BlockingSqliteStore::open(Config::memory()).unwrap();
    let model = DecisionModel::new(Projector::counter(tag("a")));
    for count in 0..5 {
        let mut seen = 0;
        let refused: Result<Decided, Error> = store.decide(&model, |count| {
            seen = count;
            Err::<Vec<Event>, _>(Fault::Closed.into())
        });
        assert!(matches!(refused, Err(Error::Fault(Fault::Closed))));
        assert_eq!(seen, count);
        store.append(tagged("a")).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn threads_and_tasks_decide_in_the_same_lane() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let blocking = store.blocking().clone();
    let threads = tokio::task::spawn_blocking(move || {
        on_threads(8, |_| {
            let model = DecisionModel::new(Projector::counter(tag("seat")));
            for _ in 0..effort(20) {
                let take = |taken: u64| Event::builder("Taken").tag("seat").json(&taken).build();
                blocking.decide(&model, take).unwrap();
            }
        })
    });
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let store = store.clone();
        tasks.spawn(async move {
            let model = DecisionModel::new(Projector::counter(tag("seat")));
            for _ in 0..effort(20) {
                let take = |taken: u64| Event::builder("Taken").tag("seat").json(&taken).build();
                model.decide(&store, take).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    threads.await.unwrap();
    let log = whole_log(&store).await;
    assert_eq!(log.len(), 16 * effort(20));
    for (event, expected) in log.iter().zip(0_u64..) {
        assert_eq!(event.json::<u64>().unwrap(), expected);
    }
    store.close().await;
}

#[test]
fn empty_list_of_projections_is_refused() {
    let store = BlockingSqliteStore::open(Config::memory()).unwrap();
    let none = || Vec::<Projector<u64>>::new();
    let is_refused =
        |field: &str, problem: &Problem| (field, problem) == ("projections", &Problem::Empty);
    let projected = store.project(&none());
    assert!(
        matches!(&projected, Err(Error::Invalid { field, problem }) if is_refused(field, problem)),
        "{projected:?}"
    );
    let decided = store.decide(&DecisionModel::new(none()), |_| Ok::<_, Error>(tagged("a")));
    assert!(
        matches!(&decided, Err(Error::Invalid { field, problem }) if is_refused(field, problem)),
        "{decided:?}"
    );
    assert_eq!(store.head().unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn blocking_and_async_stores_share_one_log() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    store.append(vec![tagged("a"); 600]).await.unwrap();
    let blocking = store.blocking().clone();
    let seen = tokio::task::spawn_blocking(move || {
        blocking.append(tagged("b")).unwrap();
        let stream = blocking
            .query_stream(&tag("a"), Default::default())
            .unwrap();
        let head = stream.head();
        let streamed: Result<Vec<_>, Error> = stream.collect();
        let counter = Projector::counter(Query::all());
        let after = Position::new(590).map(Bookmark::from);
        let last = blocking.project_after(&counter, after).unwrap();
        assert_eq!(
            last.condition,
            AppendCondition::fail_if(Query::all()).after(head)
        );
        assert!(blocking.exists(&tag("b")).unwrap());
        (
            streamed.unwrap(),
            last.state,
            blocking.count(&tag("a")).unwrap(),
        )
    });
    let (streamed, last, count) = seen.await.unwrap();
    assert_eq!(positions(&streamed), (1..=600).collect::<Vec<_>>());
    assert_eq!((last, count), (11, 600));
    assert_eq!(whole_log(&store).await.len(), 601);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn blocking_and_async_projections_agree() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let blocking = store.blocking();
    let positions = |name: &str| {
        Projector::new(tag(name), Vec::new(), |seen: &mut Vec<u64>, event| {
            seen.push(event.position().get());
        })
    };
    let last = |name| positions(name).last_only();
    let single = || last("b");
    let several = || (last("a"), positions("b"), last("c"), last("absent"));
    for names in [
        &[][..],
        &["a", "c", "b", "a", "b", "c", "d"],
        &["b", "b", "a"],
    ] {
        for name in names {
            store.append(tagged(name)).await.unwrap();
        }
        let head = Bookmark::position_of(store.head().await.unwrap());
        let alone = store.project(&single()).await.unwrap();
        assert_eq!(blocking.project(&single()).unwrap(), alone);
        for after in (0..=Position::number_or_zero(head)).map(Position::new) {
            let several = several();
            let after = after.map(Bookmark::from);
            let stream = store.project_stream(&several, after).await.unwrap();
            let expected = stream.finish().await.unwrap();
            assert_eq!(blocking.project_after(&several, after).unwrap(), expected);
            assert_eq!(Bookmark::position_of(expected.condition.after), head);
        }
        let beyond = Position::new(Position::number_or_zero(head) + 1);
        let refused = blocking.project_after(&single(), beyond.map(Bookmark::from));
        assert!(
            matches!(refused, Err(Error::AfterBeyondHead { .. })),
            "{refused:?}"
        );
    }
    let none = Vec::<Projector<u64>>::new();
    assert!(matches!(
        blocking.project(&none),
        Err(Error::Invalid { .. })
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn crowd_of_threads_and_tasks_is_served() {
    const SIDE: usize = 50;
    let log = fresh_log().await;
    let store = connect(&log).await;
    let take = |taken: u64| Event::builder("Taken").tag("seat").json(&taken).build();
    let model = || DecisionModel::new(Projector::counter(tag("seat")));
    let tasks: Vec<_> = (0..SIDE)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { model().decide(&store, take).await.map(drop) })
        })
        .collect();
    let blocking = store.blocking().clone();
    let threads = tokio::task::spawn_blocking(move || {
        on_threads(SIDE, |_| blocking.decide(&model(), take).map(drop))
    });
    for answer in threads.await.unwrap() {
        answer.unwrap();
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let taken: Vec<u64> = whole_log(&store)
        .await
        .iter()
        .map(|event| event.json().unwrap())
        .collect();
    assert_eq!(taken, (0..2 * SIDE as u64).collect::<Vec<_>>());
    store.close().await;
}

/// A thread and a task count a turn when it begins, also if the decision then fails.
#[tokio::test(flavor = "multi_thread")]
async fn failed_decision_counts_in_its_lane() {
    for is_blocking in [false, true] {
        let log = fresh_log().await;
        let store = connect(&log).await;
        store.append(tagged("seat")).await.unwrap();
        let seats = Projector::builder(0_u64)
            .on_json("Happened", |sum, number: u64| *sum += number)
            .tag("seat");
        let model = DecisionModel::new(seats.build().unwrap());
        let decide = |_| Ok::<_, Error>(tagged("seat"));
        let failed = match is_blocking {
            true => store.blocking().decide(&model, decide),
            false => model.decide(&store, decide).await,
        };
        assert!(
            matches!(failed, Err(Error::Unreadable { .. })),
            "{failed:?}"
        );
        let stats = store.stats();
        assert_eq!((stats.lane_hits, stats.lane_misses), (0, 1));
        store.close().await;
    }
}

/// tokio gives each task a budget of polls, which a call that blocks never refreshes. Once it was spent,
/// decisions inside a task waited for ever for answers that were there.
#[tokio::test]
async fn decisions_inside_a_task_need_none_of_its_budget() {
    let store = BlockingSqliteStore::open(Config::memory()).unwrap();
    let model = DecisionModel::new(Projector::counter(Query::all()));
    for decided in 0..300 {
        let decision = store.decide(&model, |count| {
            assert_eq!(count, decided);
            Ok::<_, Error>(vec![Event::builder("Counted").build()?])
        });
        assert!(decision.unwrap().appended.is_some());
    }
}
