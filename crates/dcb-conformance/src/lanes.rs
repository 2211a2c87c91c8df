//! Decisions of a crowd: each one succeeds or is refused by its own closure, never because of the
//! crowd.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use conformance_suite::at_once;
use dcb_core::{
    Append, Command, CommandExecutor, DecisionModel, Error, Event, EventStore, Projector,
};
use futures_util::future::{join, join_all};
use futures_util::{FutureExt as _, poll};
use tokio::sync::oneshot;

use super::CALLERS;
use super::checker::{self, Workload};
use super::fixture::{Refusal, at, head, log, positions, read, tag, tagged};

/// A decision that depends on the number of seats taken.
fn seats_taken() -> DecisionModel<Projector<u64>> {
    DecisionModel::new(Projector::counter(tag("seat")))
}

/// Takes a seat, unless all are taken. The event stores how many were taken before.
fn take(capacity: u64) -> impl Fn(u64) -> Result<Event, Refusal> {
    move |taken| match taken < capacity {
        true => Ok(Event::builder("Taken").tag("seat").json(&taken).build()?),
        false => Err(Refusal::Full),
    }
}

/// Asserts that this many seats are taken and that each decision has counted those before it.
async fn assert_taken(store: &impl EventStore, seats: u64) {
    let counted = read(store, &tag("seat")).await;
    let counted: Vec<u64> = counted.iter().map(|event| event.json().unwrap()).collect();
    assert_eq!(counted, (0..seats).collect::<Vec<_>>());
}

pub(super) async fn crowd_on_one_boundary_is_served(store: &Arc<impl EventStore + 'static>) {
    let mut before = 0;
    for callers in CALLERS {
        let answers = at_once(store, callers, |store, _| async move {
            seats_taken().decide(&store, take(u64::MAX)).await
        });
        for answer in answers.await {
            answer.unwrap();
        }
        before += callers as u64;
        assert_taken(store, before).await;
    }
}

/// Each command is stored with its own events, although others decide in the same lane. A lone one reads
/// nothing after the first.
pub(super) async fn decisions_with_commands_share_a_lane(store: &Arc<impl EventStore + 'static>) {
    let seats = || DecisionModel::new(Projector::counter(tag("seat")));
    let seen = at_once(store, 40, move |store, number| async move {
        let name = format!("caller {number}");
        let mut model = seats();
        if number % 4 != 0 {
            model = model.command(Command::builder(&name).build().unwrap());
        }
        let mut seen = 0;
        let decide = |taken| {
            seen = taken;
            Ok::<_, Error>([tagged(&["seat", &name]), tagged(&[&name])])
        };
        model.decide(&store, decide).await.unwrap();
        seen
    });
    let mut seen = seen.await;
    seen.sort_unstable();
    assert_eq!(seen, (0..40).collect::<Vec<_>>());
    let log = log(store).await;
    let commands = store.commands(None, u64::MAX).await.unwrap();
    assert_eq!(commands.len(), 30);
    for kept in commands {
        let name = kept.command().command_type();
        let events: Vec<_> = kept.positions().collect();
        assert_eq!(events.len(), 2, "{name}");
        for position in events {
            assert!(log[position.get() as usize - 1].has_tag(name), "{name}");
        }
    }
    let before = store.stats().reads;
    for taken in 40..50 {
        let command = Command::builder("Alone").build().unwrap();
        let decide = |seen| {
            assert_eq!(seen, taken);
            Ok::<_, Error>(tagged(&["seat"]))
        };
        seats()
            .command(command)
            .decide(store, decide)
            .await
            .unwrap();
    }
    if store.lanes().is_some() {
        assert_eq!(store.stats().reads, before);
    }
}

pub(super) async fn crowd_of_commands_is_served(store: &Arc<impl EventStore + 'static>) {
    let answers = at_once(store, 30, |store, number| async move {
        let executor = CommandExecutor::new(Arc::clone(&store));
        let command = Command::builder("Take").json(&number).build()?;
        let take = |_| async {
            let seats = store.project(&Projector::counter(tag("seat"))).await?;
            let event = Event::builder("Taken")
                .tag("seat")
                .json(&seats.state)
                .build()?;
            Ok::<_, Error>(Append::new(event).condition(seats.condition))
        };
        executor.execute(command, take).await
    });
    for answer in answers.await {
        answer.unwrap();
    }
    assert_taken(store, 30).await;
}

pub(super) async fn every_seat_is_taken_and_none_twice(store: &Arc<impl EventStore + 'static>) {
    let mut capacity = 0;
    for callers in CALLERS {
        capacity += callers as u64 / 2;
        let answers = at_once(store, callers, |store, _| async move {
            seats_taken().decide(&store, take(capacity)).await
        });
        let answers = answers.await;
        let winners = answers.iter().filter(|answer| answer.is_ok()).count();
        assert_eq!(winners, callers / 2);
        for answer in answers {
            assert!(
                matches!(answer, Ok(_) | Err(Refusal::Full)),
                "answered {answer:?}"
            );
        }
        assert_taken(store, capacity).await;
    }
}

pub(super) async fn first_callers_get_the_seats(store: &Arc<impl EventStore + 'static>) {
    let model = seats_taken();
    let mut decisions: Vec<_> = (0..20)
        .map(|_| Box::pin(model.decide(store, take(10))))
        .collect();
    // A decision arrives when it is polled first.
    let mut answers = Vec::new();
    for decision in &mut decisions {
        answers.push(poll!(decision).map(|answer| answer.is_ok()));
    }
    for (answer, decision) in answers.iter_mut().zip(decisions) {
        if answer.is_pending() {
            *answer = std::task::Poll::Ready(decision.await.is_ok());
        }
    }
    let won = |answer: &std::task::Poll<bool>| *answer == std::task::Poll::Ready(true);
    let (first, last) = answers.split_at(10);
    assert!(
        first.iter().all(won) && !last.iter().any(won),
        "{answers:?}"
    );
}

pub(super) async fn decisions_on_different_boundaries_do_not_wait(
    store: &Arc<impl EventStore + 'static>,
) {
    let (go_on, waits) = oneshot::channel::<()>();
    let mut waits = Some(waits);
    let slow = {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            seats_taken()
                .decide(&store, |taken| {
                    if let Some(waits) = waits.take() {
                        // Until the other decision is made.
                        let _ = tokio::task::block_in_place(|| waits.blocking_recv());
                    }
                    take(u64::MAX)(taken)
                })
                .await
        })
    };
    let other = DecisionModel::new(Projector::counter(tag("other")));
    other
        .decide(store, |_| Ok::<_, Error>(tagged(&["other"])))
        .await
        .unwrap();
    drop(go_on);
    slow.await.unwrap().unwrap();
}

/// The closure of the first decision waits until the others on its boundary are made.
pub(super) async fn slow_decision_is_overtaken(store: &Arc<impl EventStore + 'static>) {
    let (go_on, waits) = oneshot::channel::<()>();
    let (entered, in_closure) = oneshot::channel::<()>();
    let mut first_time = Some((entered, waits));
    let slow = {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            seats_taken()
                .decide(&store, |taken| {
                    if let Some((entered, waits)) = first_time.take() {
                        let _ = entered.send(());
                        let _ = tokio::task::block_in_place(|| waits.blocking_recv());
                    }
                    take(u64::MAX)(taken)
                })
                .await
        })
    };
    in_closure.await.unwrap();
    let answers = at_once(store, 10, |store, _| async move {
        seats_taken().decide(&store, take(u64::MAX)).await
    });
    for answer in answers.await {
        answer.unwrap();
    }
    drop(go_on);
    assert_eq!(slow.await.unwrap().unwrap().attempts, 2);
    assert_taken(store, 11).await;
}

pub(super) async fn held_decision_delays_no_other(store: &Arc<impl EventStore + 'static>) {
    let model = seats_taken();
    let mut held: Vec<_> = (0..3)
        .map(|_| Box::pin(model.decide(store, take(u64::MAX))))
        .collect();
    for decision in &mut held {
        // A store in memory may answer at once.
        let _ = poll!(decision);
    }
    for _ in 0..3 {
        model.decide(store, take(u64::MAX)).await.unwrap();
    }
}

pub(super) async fn dropped_decision_leaves_the_line(store: &Arc<impl EventStore + 'static>) {
    let model = seats_taken();
    for round in 0..5 {
        let mut dropped: Vec<_> = (0..10)
            .map(|_| Box::pin(model.decide(store, take(u64::MAX))))
            .collect();
        for decision in dropped.iter_mut().take(2 * round) {
            let _ = poll!(decision);
        }
        let last = pin!(model.decide(store, take(u64::MAX)));
        let (_, last) = join(async { drop(dropped) }, last).await;
        last.unwrap();
    }
    // Those that had decided before they were dropped may have a seat.
    assert_taken(store, head(store).await).await;
}

pub(super) async fn panicking_decision_harms_no_other(store: &Arc<impl EventStore + 'static>) {
    let answers = at_once(store, 10, |store, number| async move {
        let model = seats_taken();
        let decision = model.decide(&store, |taken| {
            if number % 3 == 0 {
                super::fixture::panic_silently();
            }
            take(u64::MAX)(taken)
        });
        std::panic::AssertUnwindSafe(decision).catch_unwind().await
    });
    let answers = answers.await;
    assert_eq!(answers.iter().filter(|answer| answer.is_err()).count(), 4);
    for answer in answers.into_iter().flatten() {
        answer.unwrap();
    }
    assert_taken(store, 6).await;
}

pub(super) async fn invalid_decision_harms_no_other(store: &Arc<impl EventStore + 'static>) {
    let answers = at_once(store, 30, |store, number| async move {
        seats_taken()
            .decide(&store, |taken| match number % 10 {
                0 => Ok(super::fixture::many(1001, "seat")),
                _ => take(u64::MAX)(taken).map(|event| vec![event]),
            })
            .await
    });
    for (number, answer) in answers.await.into_iter().enumerate() {
        match number % 10 {
            0 => assert!(
                matches!(answer, Err(Refusal::Store(Error::Invalid { .. }))),
                "answered {answer:?}"
            ),
            _ => drop(answer.unwrap()),
        }
    }
    assert_taken(store, 27).await;
}

/// Some decisions append two events, one of them outside their boundary.
pub(super) async fn positions_are_those_of_the_own_events(store: &Arc<impl EventStore + 'static>) {
    let answers = at_once(store, 20, |store, number| async move {
        let own = format!("own {number}");
        let model = seats_taken();
        let decided = model.decide(&store, |taken| {
            let mut events = vec![take(u64::MAX)(taken)?.to_builder().tag(&own).build()?];
            if number % 2 == 0 {
                events.insert(0, tagged(&[&own]));
            }
            Ok::<_, Refusal>(events)
        });
        (own.clone(), decided.await.unwrap().appended.unwrap())
    });
    for (own, appended) in answers.await {
        let told: Vec<u64> = appended
            .positions()
            .map(|position| position.get())
            .collect();
        assert_eq!(told, positions(&read(store, &tag(&own)).await));
    }
    assert_taken(store, 20).await;
}

pub(super) async fn another_writer_is_seen(store: &Arc<impl EventStore + 'static>) {
    let foreign = {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            for _ in 0..20 {
                store.append(tagged(&["seat"])).await.unwrap();
                tokio::task::yield_now().await;
            }
        })
    };
    let answers = at_once(store, 50, |store, _| async move {
        seats_taken().decide(&store, take(u64::MAX)).await
    });
    for answer in answers.await {
        answer.unwrap();
    }
    foreign.await.unwrap();
    for (event, before) in read(store, &tag("seat")).await.iter().zip(0..) {
        if event.event_type() == "Taken" {
            assert_eq!(
                event.json::<u64>().unwrap(),
                before,
                "at {}",
                event.position()
            );
        }
    }
}

/// The third decision is called after another writer has appended, while the lane is busy and keeps
/// what it has read before.
pub(super) async fn refusal_sees_what_was_appended_before_its_call(
    store: &Arc<impl EventStore + 'static>,
) {
    let Some(lanes) = store.lanes() else {
        return;
    };
    // The first decision of a lane would not keep what it reads.
    let turn = lanes.turn(&tag("seat")).await;
    let (waiting, arrived) = oneshot::channel();
    let mut waiting = Some(waiting);
    let first = {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            let mut third = None;
            let decide = |_| {
                third.get_or_insert_with(|| {
                    let runtime = tokio::runtime::Handle::current();
                    let _ = waiting.take().map(|waiting| waiting.send(()));
                    let append = store.append(tagged(&["seat"]));
                    tokio::task::block_in_place(|| runtime.block_on(append)).unwrap();
                    let mut third = Box::pin(count_and_refuse(Arc::clone(&store)));
                    assert!(third.as_mut().now_or_never().is_none());
                    third
                });
                Ok::<_, Error>(Vec::new())
            };
            seats_taken().decide(&store, decide).await.unwrap();
            third.unwrap().await
        })
    };
    drop(turn);
    arrived.await.unwrap();
    let second = count_and_refuse(Arc::clone(store)).await;
    assert!(second <= 1);
    assert_eq!(first.await.unwrap(), 1);
}

/// Makes a decision that is refused. Returns the number of seats that it saw.
async fn count_and_refuse(store: Arc<impl EventStore + 'static>) -> u64 {
    let refuse = |taken| Err::<Event, _>(Counted(Ok(taken)));
    let refused = seats_taken().decide(&store, refuse).await;
    refused.unwrap_err().0.unwrap()
}

/// The count that a refused decision saw.
#[derive(Debug)]
struct Counted(Result<u64, Error>);

impl From<Error> for Counted {
    fn from(error: Error) -> Self {
        Self(Err(error))
    }
}

/// A boundary with more events than a lane keeps.
pub(super) async fn large_boundary_is_decided_on(store: &Arc<impl EventStore + 'static>) {
    for _ in 0..11 {
        store
            .append(super::fixture::many(1000, "seat"))
            .await
            .unwrap();
    }
    let answers = at_once(store, 5, |store, _| async move {
        let model = seats_taken().time_limit(Duration::from_secs(60));
        model.decide(&store, take(u64::MAX)).await
    });
    let mut counted: Vec<u64> = Vec::new();
    for answer in answers.await {
        counted.push(answer.unwrap().appended.unwrap().first().get());
    }
    counted.sort_unstable();
    assert_eq!(counted, (11_001..=11_005).collect::<Vec<_>>());
    for event in &log(store).await[11_000..] {
        assert_eq!(event.json::<u64>().unwrap(), event.position().get() - 1);
    }
}

pub(super) async fn turns_exclude_each_other(store: &Arc<impl EventStore + 'static>) {
    let Some(lanes) = store.lanes() else {
        return;
    };
    let turn = lanes.turn(&tag("seat")).await;
    let seat = tag("seat");
    let mut second = pin!(lanes.turn(&seat));
    assert!(poll!(&mut second).is_pending());
    let _other = lanes.turn(&tag("other")).await;
    drop(turn);
    drop(second.await);
    let decisions = (0..4).map(|_| async {
        let turn = lanes.turn(&tag("seat")).await;
        let before = head(store).await;
        let appended = store.append(tagged(&["seat"])).await.unwrap();
        assert_eq!(appended.first(), at(before + 1));
        drop(turn);
    });
    join_all(decisions).await;
}

pub(super) async fn idle_store_has_no_lanes(store: &Arc<impl EventStore + 'static>) {
    let answers = at_once(store, 10, |store, number| async move {
        let model = DecisionModel::new(Projector::counter(tag(&format!("{}", number % 3))));
        model.decide(&store, |_| Ok::<_, Error>(tagged(&[]))).await
    });
    for answer in answers.await {
        answer.unwrap();
    }
    if let Some(lanes) = store.lanes() {
        assert!(lanes.is_empty(), "{lanes:?}");
    }
}

/// Refusals, panics and dropped decisions on a few overlapping boundaries.
pub(super) async fn random_decisions_agree_with_replayed_log(
    store: &Arc<impl EventStore + 'static>,
) {
    for callers in CALLERS {
        let workload = Workload {
            seed: callers as u64,
            decisions: 600 / callers,
        };
        let ledgers = at_once(store, callers, |store, number| async move {
            checker::decide(&store, workload, number as u64).await
        });
        let ledgers = ledgers.await;
        let summary = checker::check(&log(store).await, &ledgers).unwrap();
        assert_eq!(summary.failed, 0, "{summary:?}");
        assert!(summary.acknowledged > 100, "{summary:?}");
    }
}
