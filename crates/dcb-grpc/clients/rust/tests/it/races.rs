use std::sync::Arc;

use futures::future::join_all;
use umadb_client::AsyncUmaDbClient;
use umadb_dcb::{DcbError, DcbEventStoreAsync as _, DcbSequencedEvent};

use crate::events::{holds, known, made, none, tagged};
use crate::server::{Backend, Server};

const WRITERS: usize = 32;
const CONNECTIONS: usize = 4;

/// A client for each writer; several writers share a connection.
async fn clients(server: &Server) -> Vec<Arc<AsyncUmaDbClient>> {
    let connections = join_all((0..CONNECTIONS).map(|_| server.client())).await;
    let connections: Vec<_> = connections.into_iter().map(Arc::new).collect();
    let writers = connections.iter().cycle().take(WRITERS);
    writers.cloned().collect()
}

/// Some clients send many appends before the first answer comes.
pub(crate) async fn a_crowd_of_appends_is_stored(backend: Backend) {
    const APPENDS: u64 = 1_500;
    let server = Server::start(backend);
    let clients = clients(&server).await;
    let appends = (0..APPENDS).zip(clients.iter().cycle());
    let appends = appends.map(|(number, client)| async move {
        let tag = format!("order:{number}");
        let ordered = vec![known(&[&tag])];
        loop {
            let answer = client.append(ordered.clone(), none(&tag, None), None).await;
            // On a slow machine the store gives up. The same ids find what it has stored.
            if !matches!(answer, Err(DcbError::Io(_))) {
                return answer;
            }
        }
    });
    let mut answers = Vec::new();
    for answer in join_all(appends).await {
        answers.push(answer.unwrap());
    }
    answers.sort_unstable();
    assert_eq!(answers, (1..=APPENDS).collect::<Vec<_>>());
}

async fn log(server: &Server) -> Vec<DcbSequencedEvent> {
    let client = server.client().await;
    let read = client.read_with_head(None, None, false, None).await;
    read.unwrap().0
}

pub(crate) async fn each_seat_has_one_winner(backend: Backend) {
    const SEATS: usize = 20;
    let server = Server::start(backend);
    let writers = clients(&server).await.into_iter().enumerate();
    let writers = writers.map(|(writer, client)| {
        tokio::spawn(async move {
            let (name, mut won) = (format!("writer:{writer}"), Vec::new());
            for seat in 0..SEATS {
                let tag = format!("seat:{seat}");
                let taken = vec![made(&[&tag, &name])];
                let answer = client.append(taken, none(&tag, None), None).await;
                if holds(&answer) {
                    won.push((answer.unwrap(), vec![tag, name.clone()]));
                }
            }
            won
        })
    });
    let mut won = Vec::new();
    for writer in join_all(writers).await {
        won.extend(writer.unwrap());
    }
    won.sort();
    let log = log(&server).await.into_iter();
    let log: Vec<_> = log
        .map(|event| (event.position, event.event.tags))
        .collect();
    assert_eq!(won, log);
    let mut seats: Vec<_> = won.iter().map(|(_, tags)| &tags[0]).collect();
    seats.sort();
    seats.dedup();
    assert_eq!((won.len(), seats.len()), (SEATS, SEATS));
}

/// Takes one of the `places` after another while the log has fewer. Each event tells how many its writer saw.
async fn take_places(client: &AsyncUmaDbClient, places: usize) {
    // A conflict needs an event that was not there before, so each turn finds more places taken.
    for _ in 0..=places {
        let read = client.read_with_head(Some(tagged("course")), None, false, None);
        let (taken, head) = read.await.unwrap();
        if taken.len() >= places {
            return;
        }
        let enrolled = made(&["course"]).data(taken.len().to_string());
        holds(
            &client
                .append(vec![enrolled], none("course", head), None)
                .await,
        );
    }
    panic!("more conflicts than events");
}

pub(crate) async fn each_decision_saw_the_events_before_it(backend: Backend) {
    const PLACES: usize = 60;
    let server = Server::start(backend);
    let writers = clients(&server).await.into_iter();
    let writers =
        writers.map(|client| tokio::spawn(async move { take_places(&client, PLACES).await }));
    for writer in join_all(writers).await {
        writer.unwrap();
    }
    let log = log(&server).await.into_iter();
    let saw: Vec<_> = log
        .map(|event| String::from_utf8(event.event.data).unwrap())
        .collect();
    let before: Vec<_> = (0..PLACES).map(|count| count.to_string()).collect();
    assert_eq!(saw, before);
}
