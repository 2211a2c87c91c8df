//! Writes of the crate and of SQL clients to the same streams.

use std::time::Duration;

use conformance_suite::{assert_greatest, effort};
use message_store::postgres::Config;
use message_store::{
    Error, ExpectedVersion, Fault, Message, MessageStore, Position, Problem, StreamWrite,
};
use uuid::Uuid;

use crate::support::UNLIMITED;
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, fresh_store, message, stream_name, whole_stream, write};

/// In each round, all writers expect the same version and exactly one of them succeeds.
#[tokio::test(flavor = "multi_thread")]
async fn one_of_concurrent_writers_with_same_version_wins() {
    let (database, store) = fresh_store().await;
    let other = connect(Config::new(database.url())).await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(Sql::connect(database.url()).await);
    }
    for round in 0..effort(30) as i64 {
        let expected = ExpectedVersion::from_number(Some(round - 1)).unwrap();
        let callers: Vec<_> = [&store, &other, &store, &store]
            .into_iter()
            .map(|store| {
                let store = store.clone();
                tokio::spawn(async move {
                    let written = store
                        .write_message(&stream_name("a-1"), message(0), expected)
                        .await;
                    match written {
                        Ok(written) => {
                            assert_eq!(written.position.get(), round.unsigned_abs());
                            true
                        }
                        Err(Error::WrongExpectedVersion { actual, .. }) => {
                            assert_eq!(actual, Some(Position::new(round.unsigned_abs())));
                            false
                        }
                        Err(error) => panic!("{error}"),
                    }
                })
            })
            .collect();
        let mut winners = 0;
        let raced: Vec<_> = clients
            .drain(..)
            .map(|mut sql| {
                tokio::spawn(async move {
                    let write = format!(
                        "SELECT message_store.write_message(gen_random_uuid()::varchar, 'a-1', \
                         'T', '{{}}', NULL, {})",
                        round - 1
                    );
                    let written = sql.try_run(&write).await;
                    (sql, written)
                })
            })
            .collect();
        for client in raced {
            let (sql, written) = client.await.unwrap();
            clients.push(sql);
            match written {
                Ok(()) => winners += 1,
                Err(refused) => assert_eq!(refused.code, "P0001", "{refused:?}"),
            }
        }
        for caller in callers {
            winners += i32::from(caller.await.unwrap());
        }
        assert_eq!(winners, 1, "round {round}");
    }
    store.close().await;
    other.close().await;
}

#[tokio::test]
async fn message_of_sql_client_is_found_by_id() {
    let (database, store) = fresh_store().await;
    let mut sql = Sql::connect(database.url()).await;
    let id = Uuid::now_v7();
    sql.run(&format!(
        "SELECT message_store.write_message('{id}', 'a-1', 'T', '{{\"n\": 1.0, \"m\": [1]}}')"
    ))
    .await;
    let message = |data: &str| {
        let message = Message::builder("T").id(id).data_json(data).build();
        message.expect("the message is valid")
    };
    let again = store
        .write_message(
            &stream_name("a-1"),
            message(r#"{"m":[1],"n":1}"#),
            ExpectedVersion::NoStream,
        )
        .await
        .unwrap();
    assert_eq!((again.position.get(), again.global_position.get()), (0, 1));
    let name = stream_name("a-1");
    let other = store.write_message(&name, message("{}"), ExpectedVersion::Any);
    assert!(matches!(other.await, Err(Error::DuplicateId { id: taken }) if taken == id));
    store.close().await;
}

#[tokio::test]
async fn message_of_crate_conflicts_for_sql_client() {
    let (database, store) = fresh_store().await;
    let id = Uuid::now_v7();
    let written = message(1).with_id(id);
    store
        .write_message(&stream_name("a-1"), written, ExpectedVersion::Any)
        .await
        .unwrap();
    let mut sql = Sql::connect(database.url()).await;
    let write = format!("SELECT message_store.write_message('{id}', 'a-1', 'T', '1')");
    assert_eq!(sql.refused(&write).await.code, "23505");
    assert_eq!(sql.write("a-1").await, 1);
    let rows = sql
        .rows("SELECT type, data FROM message_store.get_stream_messages('a-1')")
        .await;
    assert_eq!(rows, [["Happened", "1"], ["ByClient", "{}"]]);
    store.close().await;
}

/// Two stores write the same id to two categories at the same time. No lock serializes them.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writes_with_same_id_store_one() {
    let (database, store) = fresh_store().await;
    let other = connect(Config::new(database.url())).await;
    for round in 0..effort(30) {
        let id = Uuid::now_v7();
        let (one, two) = (format!("a-{round}"), format!("b-{round}"));
        let (one, two) = (stream_name(&one), stream_name(&two));
        let writes = tokio::join!(
            store.write_message(&one, message(1).with_id(id), ExpectedVersion::Any),
            other.write_message(&two, message(1).with_id(id), ExpectedVersion::Any),
        );
        let stored = [&writes.0, &writes.1].map(|written| match written {
            Ok(_) => true,
            Err(Error::DuplicateId { .. }) => false,
            Err(error) => panic!("{error}"),
        });
        assert!(stored[0] != stored[1], "{writes:?}");
    }
    store.close().await;
    other.close().await;
}

#[tokio::test]
async fn json_unsupported_by_database_is_refused_with_path() {
    let (_database, store) = fresh_store().await;
    let name = stream_name("a-1");
    let with = |data: &str, metadata: &str| {
        let message = Message::builder("T")
            .data_json(data)
            .metadata_json(metadata);
        message.build().expect("the data is JSON")
    };
    let nul = r#"{"a":"\u0000"}"#;
    let field = |refused: Error| match refused {
        Error::Invalid {
            field,
            problem: Problem::ContainsNul,
        } => field,
        error => panic!("{error}"),
    };
    let any = ExpectedVersion::Any;
    let one = store.write_message(&name, with(nul, "1"), any).await;
    assert_eq!(field(one.unwrap_err()), "data");
    let batch = vec![with("1", "1"), with("1", nul)];
    let several = store.write_batch(&name, batch.clone(), any).await;
    assert_eq!(field(several.unwrap_err()), "messages[1].metadata");
    let streams = vec![StreamWrite::new(name.clone(), batch)];
    let streams = store.write_streams(streams).await;
    assert_eq!(
        field(streams.unwrap_err()),
        "streams[0].messages[1].metadata"
    );
    let half = store
        .write_message(&name, with(r#""\ud800""#, "1"), any)
        .await;
    assert!(
        matches!(&half, Err(Error::Invalid { field, problem: Problem::Malformed { .. } }) if field == "data"),
        "{half:?}"
    );
    assert_eq!(store.stream_version(&name).await.unwrap(), None);
    store.close().await;
}

/// An error that only the server detects reaches only the caller of that write.
#[tokio::test(flavor = "multi_thread")]
async fn write_that_violates_added_constraint_fails_alone() {
    let (database, store) = fresh_store().await;
    let mut sql = Sql::connect(database.url()).await;
    sql.run("ALTER TABLE message_store.messages ADD CHECK (type <> 'Forbidden')")
        .await;
    let callers: Vec<_> = (0..40)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                let message_type = if number == 17 { "Forbidden" } else { "T" };
                let message = Message::builder(message_type).build().unwrap();
                let name = stream_name(&format!("a-{number}"));
                store
                    .write_message(&name, message, ExpectedVersion::Any)
                    .await
            })
        })
        .collect();
    for (number, caller) in callers.into_iter().enumerate() {
        let written = caller.await.unwrap();
        match number {
            17 => assert!(
                matches!(&written, Err(Error::Fault(fault)) if fault.code() == Some("23514")),
                "{written:?}"
            ),
            _ => drop(written.unwrap()),
        }
    }
    store.close().await;
}

#[tokio::test]
async fn large_payloads_are_compressed_and_round_trip() {
    let (database, store) = fresh_store().await;
    let text = "registrar ".repeat(20_000);
    let large = Message::builder("T").data(&text).metadata(&vec![1; 5000]);
    store
        .write_message(
            &stream_name("a-1"),
            large.build().unwrap(),
            ExpectedVersion::Any,
        )
        .await
        .unwrap();
    let messages = whole_stream(&store, "a-1").await;
    assert_eq!(messages[0].data::<String>().unwrap(), text);
    assert_eq!(messages[0].metadata::<Vec<u8>>().unwrap(), [1; 5000]);
    let mut sql = Sql::connect(database.url()).await;
    let stored = sql
        .number("SELECT pg_column_size(data) FROM message_store.messages")
        .await;
    assert!(stored < 20_000, "{stored} bytes are stored");
    let lz4 = sql
        .value("SELECT count(*) FROM pg_config() WHERE setting LIKE '%--with-lz4%'")
        .await;
    if lz4 == "1" {
        let compression = "SELECT pg_column_compression(data) FROM message_store.messages";
        assert_eq!(sql.value(compression).await, "lz4");
    }
    store.close().await;
}

#[tokio::test]
async fn stats_count_both_write_queues() {
    let (database, store) = fresh_store().await;
    let mut open = Sql::connect(database.url()).await;
    open.run("BEGIN").await;
    open.write("held-1").await;
    let writing = {
        let store = store.clone();
        tokio::spawn(async move { write(&store, "held-2", 1).await })
    };
    write(&store, "free-1", 1).await;
    open.run("ROLLBACK").await;
    writing.await.unwrap();
    let stats = store.stats();
    assert_eq!((stats.writes, stats.messages_written), (2, 2));
    assert_eq!((stats.conflicts, stats.lost_connections), (0, 0));
    store.close().await;
    let name = stream_name("a-1");
    let closed = store.write_message(&name, message(1), ExpectedVersion::Any);
    assert!(matches!(closed.await, Err(Error::Fault(Fault::Closed))));
    assert!(matches!(
        store.head().await,
        Err(Error::Fault(Fault::Closed))
    ));
}

/// `Duration::MAX` is longer than a clock can count, and longer than the server supports.
#[tokio::test(flavor = "multi_thread")]
async fn every_limit_may_have_its_greatest_value() {
    let (database, _) = fresh_store().await;
    let mut config = Config::new(database.url());
    config.limits = UNLIMITED;
    config.write_timeout = Duration::MAX;
    config.read_timeout = Duration::MAX;
    config.max_replica_lag = Duration::MAX;
    config.max_batch_requests = usize::MAX;
    config.max_batch_bytes = usize::MAX;
    config.max_queued_requests = usize::MAX;
    config.max_queued_bytes = usize::MAX;
    config.read_connections = u32::MAX;
    assert_greatest(&config);
    let store = connect(config).await;
    store
        .write_message(&stream_name("a-1"), message(0), ExpectedVersion::Any)
        .await
        .unwrap();
    assert_eq!(whole_stream(&store, "a-1").await.len(), 1);
    store.close().await;
}

#[test]
fn debug_output_of_config_hides_password() {
    let config = Config::new("postgres://u:secret@h/a").replica_url("postgres://u:secret@r/a");
    assert!(!format!("{config:?}").contains("secret"));
}

/// An SQL client holds the category's lock for longer than the callers wait. Most of them wait in the
/// second batch, which has less time than the first.
#[tokio::test(flavor = "multi_thread")]
async fn write_behind_a_held_lock_times_out_with_nothing_written() {
    const LIMIT: Duration = Duration::from_secs(2);
    for is_pooled in [false, true] {
        let (database, other) = fresh_store().await;
        let mut config = Config::new(database.url());
        config.write_timeout = LIMIT;
        config.transaction_pooling = is_pooled;
        let store = connect(config).await;
        let mut sql = Sql::connect(database.url()).await;
        sql.run("BEGIN").await;
        sql.run("SELECT pg_advisory_xact_lock(message_store.category_lock('a'))")
            .await;
        let mut writes = Vec::new();
        for number in 0..30 {
            let store = store.clone();
            writes.push(tokio::spawn(async move {
                let (stream, any) = (stream_name("a-1"), ExpectedVersion::Any);
                store.write_message(&stream, message(number), any).await
            }));
            // The others wait behind the first.
            if number == 0 {
                tokio::time::sleep(LIMIT / 10).await;
            }
        }
        for write in writes {
            let told = write.await.unwrap();
            let is_timeout = matches!(
                told,
                Err(Error::Fault(Fault::TimedOut {
                    operation: "write",
                    limit: LIMIT
                }))
            );
            assert!(is_timeout, "{told:?}");
        }
        sql.run("COMMIT").await;
        write(&store, "a-1", 1).await;
        assert_eq!(whole_stream(&other, "a-1").await.len(), 1);
        store.close().await;
        other.close().await;
    }
}
