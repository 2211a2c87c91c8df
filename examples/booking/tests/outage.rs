//! Clients book rooms while the database is away for five seconds. Then every answered booking is there
//! once, no room is booked twice, invoice numbers have no gaps, and each booking is paid once.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use booking::booking::{BOOKED, Booking, RoomBooked};
use booking::payment::{COMMANDS, PAID};
use booking::{Service, router};
use dcb_core::{EventStore as _, Query, ReadOptions, SequencedEvent};
use local_postgres::{LocalPostgres, Options, Source};
use message_store::{Category, CategoryRead, MessageStore as _};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower::ServiceExt as _;
use uuid::Uuid;

const CLIENTS: u64 = 8;
const OUTAGE: Duration = Duration::from_secs(5);
/// The guest that the process manager refuses.
const NO_GUEST: &str = "";

#[tokio::test(flavor = "multi_thread")]
async fn bookings_survive_an_outage_of_postgres() {
    let server = postgres().await;
    survive(server.url(), async || {
        server.kill_hard().unwrap();
        sleep(OUTAGE).await;
        server.restart().await.unwrap();
    })
    .await;
}

/// Another program holds the locks of both files.
#[tokio::test(flavor = "multi_thread")]
async fn bookings_survive_a_locked_sqlite_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    survive(folder, async || {
        let lock = |name: &str| {
            let file = rusqlite::Connection::open(format!("{folder}/{name}.db")).unwrap();
            file.busy_timeout(OUTAGE).unwrap();
            file.execute_batch("BEGIN IMMEDIATE").unwrap();
            file
        };
        let locks = [lock("events"), lock("messages")];
        sleep(OUTAGE).await;
        drop(locks);
    })
    .await;
}

/// Everything in memory, without an outage.
#[tokio::test(flavor = "multi_thread")]
async fn bookings_in_memory() {
    survive("memory:", async || {}).await;
}

/// A server that the test may kill.
async fn postgres() -> LocalPostgres {
    let start = |source| {
        LocalPostgres::start(Options {
            source: Some(source),
            ..Options::default()
        })
    };
    match start(Source::Installed).await {
        Ok(server) => server,
        Err(_) => start(Source::Download).await.expect("a PostgreSQL"),
    }
}

/// Books around the outage, then checks the stores.
async fn survive(place: &str, outage: impl AsyncFnOnce()) {
    let service = Service::open(place).await.unwrap();
    let (stop, stopped) = watch::channel(false);
    // Twice, as while a new process of the service replaces an old one.
    let working = [(); 2].map(|()| tokio::spawn(service.clone().work(stopped.clone())));
    let enough = Arc::new(AtomicBool::new(false));
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        clients.spawn(book_rooms(
            router(service.clone()),
            client,
            Arc::clone(&enough),
        ));
    }
    sleep(Duration::from_secs(1)).await;
    let before = events(&service, BOOKED).await.len();
    assert!(before > 0, "the clients book before the outage");
    outage().await;
    sleep(Duration::from_secs(1)).await;
    enough.store(true, Ordering::SeqCst);
    let answered: HashMap<Uuid, Option<u64>> =
        clients.join_all().await.into_iter().flatten().collect();

    let booked: Vec<RoomBooked> = all(&service, BOOKED).await;
    assert!(booked.len() > before, "the clients book after the outage");
    check_bookings(&booked, &answered);
    check_payments(&service, &booked).await;
    stop.send(true).unwrap();
    for ended in working {
        let ended = timeout(Duration::from_secs(30), ended).await;
        ended.expect("it stops").unwrap().unwrap();
    }
    check_rooms(&service, &booked).await;
    service.close().await;
}

/// Books room after room, each with a rival, and repeats each request with its id until it is
/// answered. Returns the invoice of each id, `None` if the room was taken.
async fn book_rooms(
    service: Router,
    client: u64,
    enough: Arc<AtomicBool>,
) -> Vec<(Uuid, Option<u64>)> {
    let mut answered = Vec::new();
    for number in 0.. {
        if enough.load(Ordering::SeqCst) {
            break;
        }
        let booking = Booking {
            id: Uuid::now_v7(),
            room: (number % 20) as u32,
            night: format!("{} of pair {}", number / 20, client / 2),
            guest: if number == 3 {
                NO_GUEST.to_owned()
            } else {
                format!("guest {client}")
            },
        };
        let begun = Instant::now();
        let invoice = loop {
            match book(&service, &booking).await {
                (StatusCode::CREATED, body) => break Some(body["invoice"].as_u64().unwrap()),
                (StatusCode::CONFLICT, _) => break None,
                (status, body) => {
                    assert!(status.is_server_error(), "{status} {body}");
                    assert!(begun.elapsed() < Duration::from_secs(60), "{status} {body}");
                    sleep(Duration::from_millis(100)).await;
                }
            }
        };
        answered.push((booking.id, invoice));
        sleep(Duration::from_millis(10)).await;
    }
    answered
}

async fn book(service: &Router, booking: &Booking) -> (StatusCode, Value) {
    let request = Request::post("/bookings").header("content-type", "application/json");
    let body = serde_json::to_vec(booking).unwrap();
    let response = service
        .clone()
        .oneshot(request.body(Body::from(body)).unwrap())
        .await
        .unwrap();
    let status = response.status();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

fn check_bookings(booked: &[RoomBooked], answered: &HashMap<Uuid, Option<u64>>) {
    let mut nights = HashMap::new();
    for (index, RoomBooked { booking, invoice }) in booked.iter().enumerate() {
        assert_eq!(*invoice, index as u64 + 1, "invoices have no gaps");
        let earlier = nights.insert((booking.room, &booking.night), booking.id);
        assert_eq!(
            earlier, None,
            "{booking:?} is the second of its room and night"
        );
        assert_eq!(
            answered.get(&booking.id),
            Some(&Some(*invoice)),
            "{booking:?}"
        );
    }
    let made = answered.values().flatten().count();
    assert_eq!(made, booked.len(), "each answered booking is there once");
    assert!(answered.len() > made, "some rooms were taken");
}

/// The process manager goes on, past the bookings that it can't handle.
async fn check_payments(service: &Service, booked: &[RoomBooked]) {
    let mut payable: Vec<Uuid> = Vec::new();
    let mut refused = 0;
    for RoomBooked { booking, .. } in booked {
        match booking.guest.as_str() {
            NO_GUEST => refused += 1,
            _ => payable.push(booking.id),
        }
    }
    let begun = Instant::now();
    while events(service, PAID).await.len() < payable.len() || poison(service).await < refused {
        let waited = begun.elapsed();
        assert!(waited < Duration::from_secs(60), "the bookings are paid");
        sleep(Duration::from_millis(100)).await;
    }
    let mut paid: Vec<Uuid> = all(service, PAID).await;
    paid.sort_unstable();
    payable.sort_unstable();
    assert_eq!(paid, payable, "each booking is paid once");
    assert_eq!(poison(service).await, refused);
    assert!(refused > 0);
    let requests = in_category(service, COMMANDS).await;
    assert_eq!(requests, booked.len(), "each booking has one message");
}

/// The rows of the read model, once it has caught up.
async fn check_rooms(service: &Service, booked: &[RoomBooked]) {
    let rooms = service.rooms.clone().follow(service.events.clone());
    let following = tokio::spawn(rooms);
    let begun = Instant::now();
    loop {
        let (mut stays, mut unpaid) = (0, 0);
        for room in 0..20 {
            for stay in service.rooms.stays(room).await.unwrap() {
                stays += 1;
                unpaid += usize::from(!stay.paid && stay.guest != NO_GUEST);
            }
        }
        if (stays, unpaid) == (booked.len(), 0) {
            break;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{stays} stays, {unpaid} unpaid"
        );
        sleep(Duration::from_millis(100)).await;
    }
    following.abort();
    let recorded = service.series.all_metadata();
    assert!(recorded.contains_key("bookings_total") && recorded.contains_key("booking_seconds"));
}

async fn events(service: &Service, event_type: &str) -> Vec<SequencedEvent> {
    let query = Query::builder().event_type(event_type).build().unwrap();
    let events = service.events.query(&query, ReadOptions::new()).await;
    events.unwrap().events
}

/// The data of all events of a type.
async fn all<T: serde::de::DeserializeOwned>(service: &Service, event_type: &str) -> Vec<T> {
    let events = events(service, event_type).await;
    events.iter().map(|event| event.json().unwrap()).collect()
}

async fn in_category(service: &Service, category: &str) -> usize {
    let (category, read) = (Category::new(category).unwrap(), CategoryRead::new());
    let messages = service
        .messages
        .get_category_messages(&category, read.batch_size(None))
        .await;
    messages.unwrap().len()
}

async fn poison(service: &Service) -> usize {
    in_category(service, "poison").await
}
