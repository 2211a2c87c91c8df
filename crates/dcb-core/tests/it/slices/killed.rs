//! Processes of members are killed with SIGKILL, and their server.

use std::collections::VecDeque;
use std::time::Duration;

use conformance_suite::{effort, effort_up_to};
use dcb_core::{Bookmark, EventStore as _};
use local_postgres::Durability;
use tokio::time::{Instant, sleep};

use super::ground::{Ground, on_each_database, options};
use super::postgres::Postgres;
use crate::support::postgres::{log_on, private_server};
use crate::support::wait::wait_until;

on_each_database! {
    members_that_are_added_and_killed_under_load_handle_each_event_once
    slices_of_a_killed_process_are_taken_over
    rebuild_across_kills_equals_one_without
}

/// The tables have the position of each event in order of arrival, so an event that is lost, handled twice,
/// or handled before an earlier one of its key shows.
async fn members_that_are_added_and_killed_under_load_handle_each_event_once<G: Ground>() {
    const MEMBERS: usize = 8;
    let keys = effort_up_to(1_000, 100_000) as u64;
    let ground = G::new().await;
    ground.append(keys, 50).await;
    let mut first = ground.runner(1).options(options().slices(32));
    first.catch_up().await.unwrap();
    let mut members = Vec::new();
    for round in 0..effort_up_to(16, 24) {
        let victim = (members.len() == MEMBERS).then(|| members.remove(round * 5 % MEMBERS));
        members.push(ground.member());
        ground.append(keys, keys).await;
        sleep(Duration::from_millis((round as u64 * 97) % 400)).await;
        if let Some(mut victim) = victim {
            victim.kill().await.expect("the process can be killed");
        }
    }
    for mut member in members {
        member.kill().await.expect("the process can be killed");
    }
    ground.assert_complete(1).await;
    ground.store().close().await;
}

/// The other member takes the slices of a killed one, without a restart.
async fn slices_of_a_killed_process_are_taken_over<G: Ground>() {
    const HELD: &str = "SELECT count(*) FROM @projection_slice WHERE member IS NOT NULL";
    let ground = G::new().await;
    ground.append(100, 100).await;
    let mut killed = ground.member();
    wait_until("the process has all slices", async || {
        ground.number(HELD).await == 8
    })
    .await;
    let mut left = ground.runner(1);
    let left = tokio::spawn(async move { left.run().await });
    ground.append(100, 300).await;
    let begun = Instant::now();
    killed.kill().await.expect("the process can be killed");
    ground.append(100, 300).await;
    wait_until("the other member has handled all events", async || {
        ground.of_table("seen_1").await == ground.expected().await
    })
    .await;
    println!("taken over and caught up after {:?}", begun.elapsed());
    left.abort();
    ground.store().close().await;
}

/// Two processes with two workers each. One after the other is killed, and another one is started.
async fn rebuild_across_kills_equals_one_without<G: Ground>() {
    let events = effort_up_to(40_000, 1_000_000) as u64;
    let pause = Duration::from_millis(effort_up_to(250, 5_000) as u64);
    let ground = G::new().await;
    ground.append(events / 10, events).await;
    let (undisturbed, _) = rebuilt(&ground, Duration::MAX).await;
    let (disturbed, kills) = rebuilt(&ground, pause).await;
    println!("{events} events: {undisturbed:?}, with {kills} kills: {disturbed:?}");
    assert!(kills > 0, "the rebuild ended before the first kill");
    ground.store().close().await;
}

/// The time of a rebuild in which a process is killed after each pause, and the number of kills. A kill waits
/// until the slices of the last victim have moved, so that it hits a process that works.
async fn rebuilt(ground: &impl Ground, pause: Duration) -> (Duration, u32) {
    const BATCH_SIZE: usize = 1_000;
    ground.discard(1).await;
    let head = Bookmark::position_of(ground.store().head().await.unwrap());
    let begun = Instant::now();
    let mut members = VecDeque::from([(); 2].map(|()| ground.member_with(BATCH_SIZE)));
    let (mut last_kill, mut kills) = (begun, 0);
    let mut position_then = None;
    loop {
        sleep(Duration::from_millis(20)).await;
        let list = ground.list().await;
        let position = list.first().and_then(|version| version.position);
        if position >= head {
            break;
        }
        if last_kill.elapsed() >= pause && position > position_then {
            let mut victim = members.pop_front().expect("there are two");
            victim.kill().await.expect("the process can be killed");
            members.push_back(ground.member_with(BATCH_SIZE));
            (last_kill, kills) = (Instant::now(), kills + 1);
            position_then = position;
        }
    }
    let time = begun.elapsed();
    for mut member in members {
        member.kill().await.expect("the process can be killed");
    }
    assert_eq!(ground.of_table("seen_1").await, ground.expected().await);
    (time, kills)
}

#[tokio::test(flavor = "multi_thread")]
async fn members_across_killed_servers_handle_each_event_once() {
    let server = private_server(Durability::Durable, &[]).await;
    let ground = Postgres::on(log_on(server.url())).await;
    let mut member = ground.runner(1);
    let running = tokio::spawn(async move { member.run().await });
    for _ in 0..effort(2) {
        ground.append(20, 200).await;
        server.kill_hard().unwrap();
        server.restart().await.unwrap();
    }
    assert!(!running.is_finished());
    running.abort();
    ground.assert_complete(1).await;
    ground.store().close().await;
}
