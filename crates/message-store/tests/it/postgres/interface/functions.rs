//! The functions on names.

use message_conformance::{NAMES, NameParts};
use message_store::{
    Category, CategoryRead, ExpectedVersion, MessageStore, Position, StreamName, StreamRead,
    hash_64,
};

use super::client;
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{fresh_store, message};

#[tokio::test]
async fn name_functions_split_stream_name() {
    let (_database, mut sql) = client().await;
    let empty = NameParts {
        name: "",
        category: "",
        id: None,
        cardinal_id: None,
    };
    for parts in NAMES.into_iter().chain([empty]) {
        let name = parts.name;
        let sql_text = format!(
            "SELECT category('{name}'), id('{name}'), cardinal_id('{name}'), is_category('{name}')"
        );
        let row = sql.rows(&sql_text).await.swap_remove(0);
        let or_null = |part: Option<&'static str>| part.unwrap_or("NULL");
        let is_category = if parts.id.is_none() { "t" } else { "f" };
        let expected = [
            parts.category,
            or_null(parts.id),
            or_null(parts.cardinal_id),
            is_category,
        ];
        assert_eq!(row, expected, "{parts:?}");
    }
    let nulls = "SELECT category(NULL), id(NULL), cardinal_id(NULL), hash_64(NULL)";
    assert_eq!(sql.rows(nulls).await, [["NULL"; 4]]);
    // Message DB takes NULL, which has no hyphen, for a category.
    assert_eq!(sql.value("SELECT is_category(NULL)").await, "t");
}

/// A category lists the messages of each of these streams, so each must be usable. The crate refuses
/// the last two names for new streams.
#[tokio::test]
async fn stream_written_by_sql_is_usable_in_crate() {
    let (database, store) = fresh_store().await;
    let mut sql = Sql::as_message_store(database.url()).await;
    let long = "x".repeat(StreamName::MAX_BYTES + 1);
    let names = NAMES.map(|parts| parts.name);
    for name in names.into_iter().chain(["", long.as_str()]) {
        sql.write(name).await;
        sql.write(name).await;
        let all = crate::support::postgres::whole_category(&store, "").await;
        let stream = all.last().unwrap().stream();
        assert_eq!(stream.as_str(), name);
        let version = store.stream_version(&stream).await.unwrap();
        assert_eq!(version, Some(Position::new(1)), "{name:?}");
        let expected = ExpectedVersion::from_version(version);
        let next = store.write_message(&stream, message(2), expected).await;
        assert_eq!(next.unwrap().position, Position::new(2), "{name:?}");
        let read = store.get_stream_messages(&stream, StreamRead::new()).await;
        assert_eq!(read.unwrap().len(), 3, "{name:?}");
        let category = Category::of(&stream);
        let members = store.get_category_messages(&category, CategoryRead::new());
        let members = members.await.unwrap();
        assert!(members.iter().any(|member| member.stream_name() == name));
        let truncated = store.truncate_stream(&stream, Position::new(2)).await;
        assert_eq!(truncated.unwrap(), 2, "{name:?}");
        assert_eq!(sql.write(name).await, 3);
    }
    store.close().await;
}

#[tokio::test]
async fn name_functions_agree_with_crate() {
    let (_database, mut sql) = client().await;
    for name in ["a-1", "a:b-1+2", "a--1", "a-1-2+3+4", "ä-ö+ü"] {
        let parsed = StreamName::new(name).unwrap();
        let row = sql
            .rows(&format!(
                "SELECT category('{name}'), id('{name}'), cardinal_id('{name}'), hash_64('{name}')"
            ))
            .await
            .swap_remove(0);
        let hash = hash_64(name).to_string();
        assert_eq!(
            row,
            [
                parsed.category(),
                parsed.id().unwrap(),
                parsed.cardinal_id().unwrap(),
                &hash
            ]
        );
    }
}

#[tokio::test]
async fn hash_equals_message_db() {
    let (_database, mut sql) = client().await;
    // The first eight bytes of the MD5, computed with md5sum.
    for (text, hash) in [("", "-3162216497309240828"), ("a", "919145239626757800")] {
        assert_eq!(sql.value(&format!("SELECT hash_64('{text}')")).await, hash);
        assert_eq!(
            sql.value(&format!("SELECT hash_64(value => '{text}')"))
                .await,
            hash
        );
    }
}

#[tokio::test]
async fn category_lock_ends_with_transaction() {
    let (database, mut sql) = client().await;
    let mut other = Sql::as_message_store(database.url()).await;
    sql.run("BEGIN").await;
    let key = sql.value("SELECT acquire_lock('account-1')").await;
    assert_eq!(key, hash_64("account").to_string());
    let free = format!("SELECT pg_try_advisory_lock({key})");
    assert_eq!(other.value(&free).await, "f");
    sql.run("COMMIT").await;
    assert_eq!(other.value(&free).await, "t");
}

#[tokio::test]
async fn version_is_message_db_version() {
    let (_database, mut sql) = client().await;
    assert_eq!(sql.value("SELECT message_store_version()").await, "1.3.0");
}
