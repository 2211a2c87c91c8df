//! Guarantees that must hold under any number of concurrent callers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use conformance_suite::{assert_refused, at_once};
use dcb_core::{
    AppendCondition, Appended, Bookmark, DecisionModel, Error, Event, EventStore, Position,
    Projector, Query, ReadOptions, SequencedEvent,
};
use uuid::Uuid;

use super::CALLERS;
use super::checker::{self, Workload};
use super::fixture::{at, head, log, many, positions, read, tag, tagged};

/// Asserts that exactly one append succeeded and the others conflict with it.
fn assert_one_winner(answers: &[Result<Appended, Error>]) {
    let winners: Vec<_> = answers.iter().flatten().collect();
    assert_eq!(
        winners.len(),
        1,
        "of {} callers: {winners:?}",
        answers.len()
    );
    for answer in answers.iter().filter(|answer| answer.is_err()) {
        assert_refused!(
            answer,
            Error::Conflict { position, .. } if *position == winners[0].first()
        );
    }
}

/// The condition is the same for all callers, with `after` in every second round.
pub(super) async fn one_of_many_callers_wins_a_condition(store: &Arc<impl EventStore + 'static>) {
    for callers in CALLERS {
        for round in 0..6 {
            let name = format!("seat {round} of {callers}");
            let after = if round % 2 == 0 {
                None
            } else {
                store.head().await.unwrap()
            };
            let answers = at_once(store, callers, |store, _| {
                let condition = AppendCondition::fail_if(tag(&name)).after(after);
                let event = tagged(&[&name]);
                async move { store.append_if(event, condition).await }
            });
            assert_one_winner(&answers.await);
        }
    }
}

/// Every later condition and read sees an event that was committed while an old stream is open.
pub(super) async fn open_stream_hides_no_conflict(store: &Arc<impl EventStore + 'static>) {
    store.append(many(500, "old")).await.unwrap();
    for callers in CALLERS {
        let before = head(store).await;
        let mut reader = store
            .query_stream(&Query::all(), ReadOptions::new())
            .await
            .unwrap();
        reader.next().await.unwrap().unwrap();
        let name = format!("a {callers}");
        let conflict = store.append(tagged(&[&name])).await.unwrap().first();
        let answers = at_once(store, callers, |store, _| {
            let condition = AppendCondition::fail_if(tag(&name)).after(at(before));
            async move { store.append_if(tagged(&[]), condition).await }
        });
        for answer in answers.await {
            assert_refused!(answer, Error::Conflict { position, .. } if *position == conflict);
        }
        assert_eq!(positions(&read(store, &tag(&name)).await), [conflict.get()]);
        let mut seen = 1;
        while let Some(event) = reader.next().await {
            event.unwrap();
            seen += 1;
        }
        assert_eq!(seen, before, "the old reader stays on its snapshot");
    }
}

/// Callers that write different tags under a condition on both tags exclude each other.
pub(super) async fn condition_with_two_items_conflicts_on_either(
    store: &Arc<impl EventStore + 'static>,
) {
    for callers in CALLERS {
        for round in 0..6 {
            let names = ["left", "right"].map(|side| format!("{side} {round} of {callers}"));
            let after = store.head().await.unwrap();
            let answers = at_once(store, callers, |store, number| {
                let both = tag(&names[0]).or(tag(&names[1]));
                let event = tagged(&[&names[number % 2]]);
                let condition = AppendCondition::fail_if(both).after(after);
                async move { store.append_if(event, condition).await }
            });
            assert_one_winner(&answers.await);
        }
    }
}

/// Two rooms share a number of seats. The bookings of both together never exceed it.
pub(super) async fn decision_over_two_entities_is_protected(
    store: &Arc<impl EventStore + 'static>,
) {
    for callers in CALLERS {
        let seats = callers as u64 / 2;
        let rooms = ["left", "right"].map(|side| format!("{side} room of {callers}"));
        let booked = at_once(store, callers, |store, number| {
            let rooms = rooms.clone();
            async move { book(&store, &rooms, number % 2, seats).await }
        });
        let booked = booked.await.into_iter().filter(|booked| *booked).count() as u64;
        let taken = store
            .count(&tag(&rooms[0]).or(tag(&rooms[1])))
            .await
            .unwrap();
        assert_eq!((booked, taken), (seats, seats), "of {callers} callers");
    }
}

/// Books a seat in one of the rooms if the two rooms together have a free seat.
async fn book(store: &impl EventStore, rooms: &[String; 2], room: usize, seats: u64) -> bool {
    let counters = Vec::from(rooms.each_ref().map(|room| Projector::counter(tag(room))));
    // Each conflict is with a booking of another caller, and there are at most `seats` bookings.
    for _ in 0..=seats {
        let projected = store.project(&counters).await.unwrap();
        if projected.state.iter().sum::<u64>() >= seats {
            return false;
        }
        // Give other callers a chance to append between projection and append, even on a fast
        // store.
        tokio::task::yield_now().await;
        match store
            .append_if(tagged(&[&rooms[room]]), projected.condition)
            .await
        {
            Ok(_) => return true,
            Err(Error::Conflict { .. }) => {}
            Err(error) => panic!("answered {error:?}"),
        }
    }
    panic!("more conflicts than there are seats");
}

/// Pages by position until `done` is set and no events are left. Returns all events read.
async fn follow(store: &impl EventStore, query: &Query, done: &AtomicBool) -> Vec<SequencedEvent> {
    let mut seen = Vec::new();
    let mut after: Option<Bookmark> = None;
    loop {
        // Read before the page: if the writers are done now, this page contains all their events.
        let last = done.load(Ordering::SeqCst);
        let page = store
            .query(query, ReadOptions::new().after(after))
            .await
            .unwrap();
        assert!(
            Bookmark::position_of(page.head) >= Bookmark::position_of(after),
            "the head moved back from {after:?} to {:?}",
            page.head
        );
        after = page.head;
        seen.extend(page.events);
        if last {
            return seen;
        }
        tokio::task::yield_now().await;
    }
}

/// No event appears at or below a head that a reader has already seen.
pub(super) async fn paging_reader_misses_no_event(store: &Arc<impl EventStore + 'static>) {
    for callers in CALLERS {
        let name = format!("a {callers}");
        let done = Arc::new(AtomicBool::new(false));
        let readers = [Query::all(), tag(&name)].map(|query| {
            let (store, done) = (Arc::clone(store), Arc::clone(&done));
            tokio::spawn(async move { (follow(&store, &query, &done).await, query) })
        });
        at_once(store, callers, |store, number| {
            let names = [name.clone(), "other".to_owned()];
            async move {
                for round in 0..10 {
                    let events = many(1 + (number + round) % 3, &names[round % 2]);
                    store.append(events).await.unwrap();
                }
            }
        })
        .await;
        done.store(true, Ordering::SeqCst);
        for reader in readers {
            let (seen, query) = reader.await.unwrap();
            assert_eq!(
                positions(&seen),
                positions(&read(store, &query).await),
                "{query:?}"
            );
        }
    }
    assert_eq!(
        positions(&log(store).await),
        (1..=head(store).await).collect::<Vec<_>>()
    );
}

/// Each decision stores the number of matches it saw, and the replayed log must agree. The test
/// finds a fault that simpler races miss: a decision over `a OR b` that reads a `b` while an `a`
/// with a lower position is not yet visible.
pub(super) async fn decisions_agree_with_replayed_log(store: &Arc<impl EventStore + 'static>) {
    for callers in CALLERS {
        let workload = Workload {
            seed: callers as u64,
            decisions: 400_usize.div_ceil(callers),
        };
        let ledgers = at_once(store, callers, |store, number| async move {
            checker::work(&store, workload, number as u64).await
        })
        .await;
        let summary = checker::check(&log(store).await, &ledgers).unwrap();
        assert!(summary.acknowledged > 0, "{summary:?}");
        assert_eq!((summary.failed, summary.unknown), (0, 0), "{ledgers:?}");
    }
}

/// Callers with unrelated conditions never conflict.
pub(super) async fn disjoint_boundaries_never_conflict(store: &Arc<impl EventStore + 'static>) {
    for callers in CALLERS {
        at_once(store, callers, |store, number| async move {
            let name = format!("{number} of {callers}");
            let mut after = None;
            for _ in 0..10 {
                let condition = AppendCondition::fail_if(tag(&name)).after(after);
                let appended = store.append_if(tagged(&[&name, "shared"]), condition).await;
                after = Some(appended.unwrap().last().into());
            }
        })
        .await;
    }
}

/// Both tags are always written together, so every projection must count the same number of each.
/// The count must match the log up to the `after` of the projection's condition.
pub(super) async fn concurrent_projection_reads_one_snapshot(
    store: &Arc<impl EventStore + 'static>,
) {
    for callers in CALLERS {
        let names = [format!("a {callers}"), format!("b {callers}")];
        let answers = at_once(store, callers, |store, number| {
            let names = names.clone();
            async move {
                let mut seen = Vec::new();
                for _ in 0..10 {
                    if number % 2 == 0 {
                        let pair = names.each_ref().map(|name| tagged(&[name]));
                        store.append(pair).await.unwrap();
                    } else {
                        let counters = names.each_ref().map(|name| Projector::counter(tag(name)));
                        let projected = store.project(&Vec::from(counters)).await.unwrap();
                        let after = Bookmark::position_of(projected.condition.after);
                        seen.push((projected.state, after));
                    }
                }
                seen
            }
        });
        let answers = answers.await;
        let written = read(store, &tag(&names[0])).await;
        for (state, after) in answers.into_iter().flatten() {
            let counted = written
                .iter()
                .filter(|event| Some(event.position()) <= after)
                .count();
            assert_eq!(state, [counted as u64; 2], "after {after:?}");
        }
    }
}

/// Each caller takes the number after the last one, which it reads from the last event only.
pub(super) async fn numbers_from_the_last_event_have_no_gaps(
    store: &Arc<impl EventStore + 'static>,
) {
    for callers in CALLERS {
        let name = format!("invoice of {callers}");
        let next = |name: &str| {
            let next = Projector::builder(1).on_json("Numbered", |next, number: u64| {
                *next = number + 1;
            });
            DecisionModel::new(next.tag(name).last_only().build().unwrap())
        };
        at_once(store, callers, |store, _| {
            let (name, model) = (name.clone(), next(&name).max_attempts(10_000));
            async move {
                let decide =
                    |number: u64| Event::builder("Numbered").tag(&name).json(&number).build();
                model.decide(&store, decide).await.unwrap();
            }
        })
        .await;
        let events = read(store, &tag(&name)).await;
        let numbers = events.iter().map(|event| event.json::<u64>().unwrap());
        assert!(numbers.eq(1..=callers as u64), "{callers} callers");
    }
}

/// Callers that retry the same append with the same ids get the same positions.
pub(super) async fn concurrent_retries_of_one_append_store_it_once(
    store: &Arc<impl EventStore + 'static>,
) {
    for callers in CALLERS {
        for round in 0..4_u128 {
            let before = head(store).await;
            let id = |number| Uuid::from_u128(callers as u128 * 1000 + round * 10 + number);
            let events: Vec<Event> = (0..3)
                .map(|number| tagged(&["a"]).with_id(id(number)))
                .collect();
            let condition =
                AppendCondition::fail_if(tag("a")).after(Position::new(before).map(Bookmark::from));
            let answers = at_once(store, callers, |store, _| {
                let (events, condition) = (events.clone(), condition.clone());
                async move { store.append_if(events, condition).await }
            });
            for answer in answers.await {
                assert_eq!(answer.unwrap(), Appended::contiguous(at(before + 1), 3));
            }
            assert_eq!(head(store).await, before + 3);
        }
    }
}
