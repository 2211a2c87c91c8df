//! The rows. Those that are compared take turns.

use super::work::{Backend, PER_COURSE, Way, Work};
use bench::{Goal, Profile, Row};
use std::time::Duration;

const CALLERS: [usize; 4] = [1, 10, 100, 1_000];

/// The rows and their work, in groups that take turns.
pub(super) fn taking_turns(backend: Backend, profile: &Profile) -> Vec<Vec<(Row, Work)>> {
    let mut rows = one_boundary(backend);
    rows.extend(many_boundaries(backend));
    rows.extend(large_boundary(backend, profile));
    rows
}

fn one_boundary(backend: Backend) -> Vec<Vec<(Row, Work)>> {
    let row = |variant, work: Work| row(backend, "One boundary", variant, work);
    let [one, ten, hundred, thousand] = CALLERS.map(Work::new);
    let by_hand = one.with(Way::ByHand);
    let append_if = one.with(Way::AppendIf);
    let look = one.with(Way::Look);
    let (by_hand_row, append_if_row, look_row) = (
        row("by hand", by_hand),
        row("append_if alone", append_if),
        row("look alone", look),
    );
    let cold = Work {
        is_cold: true,
        ..one
    };
    let refused = Work { capacity: 1, ..one };
    let capacity = PER_COURSE / 2;
    let capacity_reached = Work {
        capacity,
        ..hundred
    };
    let two_stores = Work {
        stores: 2,
        ..hundred
    };
    let alone = |variant, work| vec![(row(variant, work), work)];
    vec![
        vec![
            (
                row("", one)
                    .goal(Goal::at_most_times_row(&append_if_row, 1.25))
                    .goal(Goal::reads_per_call(0.01)),
                one,
            ),
            (append_if_row, append_if),
        ],
        alone("", ten),
        vec![(
            row("", hundred)
                .goal(Goal::calls_per_second(backend.reach()))
                .goal(Goal::p99(Duration::from_millis(20))),
            hundred,
        )],
        alone("", thousand),
        vec![
            (
                row("cold", cold).goal(Goal::at_most_times_row(&by_hand_row, 1.02)),
                cold,
            ),
            (by_hand_row, by_hand),
        ],
        vec![
            (
                row("refused", refused).goal(Goal::at_most_times_row(&look_row, 1.3)),
                refused,
            ),
            (look_row, look),
        ],
        alone("capacity reached", capacity_reached),
        alone("two stores", two_stores),
    ]
}

fn many_boundaries(backend: Backend) -> Vec<Vec<(Row, Work)>> {
    let row = |variant, work: Work| row(backend, "1,000 boundaries", variant, work);
    let decide = Work {
        alternates: true,
        ..Work::new(100)
    };
    let append_if = decide.with(Way::AppendIf);
    let append_if_row = row("append_if alone", append_if);
    let two_stores = Work {
        stores: 2,
        ..decide
    };
    let by_hand = decide.with(Way::ByHand);
    let mut rows = vec![
        vec![
            (
                row("", decide).goal(Goal::share_of_row(&append_if_row, 0.8)),
                decide,
            ),
            (append_if_row, append_if),
        ],
        vec![(
            row("two stores", two_stores)
                .goal(Goal::calls_per_second(backend.reach_with_two_stores())),
            two_stores,
        )],
        vec![(row("by hand", by_hand), by_hand)],
    ];
    if let Backend::Postgres = backend {
        for (servers, variant) in [(1, "two logs"), (2, "two logs, two servers")] {
            let work = Work {
                logs: 2,
                servers,
                ..two_stores
            };
            rows.push(vec![(row(variant, work), work)]);
        }
    }
    rows
}

fn large_boundary(backend: Backend, profile: &Profile) -> Vec<Vec<(Row, Work)>> {
    let row = |variant, work: Work| row(backend, "A boundary of 100,000 events", variant, work);
    let filled = match profile.is_smoke() {
        true => 12_000,
        false => 100_000,
    };
    let full_read = Work {
        filled,
        ..Work::new(1)
    };
    let append_if = full_read.with(Way::AppendIf);
    let append_if_row = row("append_if alone", append_if);
    let state_kept = Work {
        keeps_state: true,
        ..full_read
    };
    let restarted = Work {
        is_cold: true,
        stores_state: true,
        ..full_read
    };
    vec![
        vec![(row("restarted, state stored", restarted), restarted)],
        vec![
            (
                row("state kept", state_kept).goal(Goal::at_most_times_row(&append_if_row, 1.3)),
                state_kept,
            ),
            (append_if_row, append_if),
        ],
        vec![(row("full read", full_read), full_read)],
    ]
}

fn row(backend: Backend, boundaries: &str, variant: &str, work: Work) -> Row {
    let row = Row::new("Decide", &format!("{boundaries}, {}", backend.name()))
        .concurrency(work.callers)
        .one_op("1 decision over a course: an enrollment of 1 event, unless the course is full");
    match variant {
        "" => row,
        variant => row.variant(variant),
    }
}
