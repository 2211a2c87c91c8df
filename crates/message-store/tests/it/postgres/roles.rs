//! The roles that run a store, and the role of Message DB's clients.

use std::time::SystemTime;

use local_postgres::{Durability, Options};
use message_store::ndjson::import;
use message_store::postgres::{Config, PostgresNamespaces, PostgresStore, check_schema};
use message_store::{
    Category, CategoryRead, Error, Fault, GlobalPosition, MessageStore, NamespaceName,
    Namespaces as _, Position,
};

use crate::support::postgres::sql::Sql;
use crate::support::postgres::{
    connect, create_run_time_login, fresh_database, fresh_store, readme_grants, separate_server,
    stream_name, url_as, wait_until, whole_category, whole_stream, write,
};

/// A new login with these options, and a URL that uses it.
async fn login(url: &str, name: &str, options: &str) -> String {
    let mut sql = Sql::connect(url).await;
    sql.run(&format!("CREATE ROLE {name} LOGIN {options}"))
        .await;
    url_as(url, name)
}

#[tokio::test]
async fn login_that_may_create_nothing_runs_a_store() {
    let (database, owner) = fresh_store().await;
    write(&owner, "a-1", 1).await;
    owner.close().await;
    let app = create_run_time_login(&database).await;
    let url = url_as(database.url(), &app);
    let mut sql = Sql::connect(database.url()).await;
    // The second connect compares all objects.
    for digest in ["checksum", "'other'"] {
        let change = format!("UPDATE message_store.migration SET checksum = {digest}");
        sql.run(&change).await;
        let store = connect(Config::new(&url)).await;
        write(&store, "a-1", 2).await;
        assert_eq!(
            whole_stream(&store, "a-1").await.len(),
            whole_category(&store, "").await.len()
        );
        let one = GlobalPosition::new(1);
        store.save_checkpoint("c", one).await.unwrap();
        assert_eq!(store.checkpoint("c").await.unwrap(), Some(one.into()));
        let read = CategoryRead::new().start(store.head().await.unwrap());
        let page = store.get_category_messages(&Category::all(), read).await;
        assert!(page.unwrap().is_empty());
        assert!(store.head().await.unwrap().is_some());
        assert_eq!(store.info().await.unwrap().stream_count, 1);
        store.close().await;
    }
    let store = connect(Config::new(&url)).await;
    let mut heard = store.notifications();
    let name = stream_name("a-1");
    let kept = Position::new(1);
    assert_eq!(store.truncate_stream(&name, kept).await.unwrap(), 1);
    let all = Category::all();
    let expired = store.expire_messages(&all, SystemTime::now()).await;
    assert_eq!(expired.unwrap(), 1);
    let listening = async || {
        store
            .stats()
            .listener
            .is_some_and(|one| one.lost_since.is_none())
    };
    wait_until("the store listens", listening).await;
    let moved = import(&store, moved_line("b-1", 9).as_bytes(), |_| ()).await;
    assert_eq!(moved.unwrap().stored, 1);
    heard.changed().await;
    store.health().await.unwrap();
    check_schema(&Config::new(&url)).await.unwrap();
    store.close().await;
    sql.run(&format!("DROP OWNED BY {app}; DROP ROLE {app}"))
        .await;
}

/// A line of an export.
fn moved_line(stream: &str, global_position: u64) -> String {
    format!(
        "{{\"id\":\"00000000-0000-4000-8000-000000000001\",\"stream\":\"{stream}\",\"type\":\"Moved\",\
          \"pos\":0,\"gpos\":{global_position},\"data\":1,\"time\":\"2026-11-21T03:49:42Z\"}}"
    )
}

#[tokio::test]
async fn login_with_the_rights_of_the_readme_makes_and_drops_namespaces() {
    let database = fresh_database().await;
    PostgresNamespaces::install_schemas(Config::new(database.url()))
        .await
        .unwrap();
    let app = format!("app_{}", database.name());
    let url = login(database.url(), &app, "").await;
    let mut sql = Sql::connect(database.url()).await;
    sql.run(&readme_grants(&database, &app, 1)).await;
    let namespaces = PostgresNamespaces::connect(Config::new(url)).await.unwrap();
    let name = NamespaceName::new("tenant").unwrap();
    namespaces.create(&name, None).await.unwrap();
    let store = namespaces.open(&name).await.unwrap();
    write(&store, "a-1", 1).await;
    write(&store, "a-1", 2).await;
    let kept = Position::new(1);
    let truncated = store.truncate_stream(&stream_name("a-1"), kept).await;
    assert_eq!(truncated.unwrap(), 1);
    assert_eq!(whole_category(&store, "a").await.len(), 1);
    assert_eq!(namespaces.list().await.unwrap().len(), 1);
    assert_eq!(namespaces.delete(&name).await.unwrap(), 1);
    namespaces.close().await;
    sql.run(&format!("DROP OWNED BY {app}; DROP ROLE {app}"))
        .await;
}

#[tokio::test]
async fn login_without_rights_learns_which_it_needs() {
    let (database, owner) = fresh_store().await;
    owner.close().await;
    for (prefix, options) in [("stranger", ""), ("member", "IN ROLE message_store")] {
        let name = format!("{prefix}_{}", database.name());
        let url = login(database.url(), &name, options).await;
        let refused = PostgresStore::connect(Config::new(url)).await;
        let Err(Error::Fault(Fault::Refused(reason))) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(reason.code(), Some("42501"));
        let message = reason.message();
        assert!(message.starts_with("permission denied"), "{message}");
        let needs = "SELECT on message_store.migration";
        assert!(message.contains(needs), "{message}");
        let mut sql = Sql::connect(database.url()).await;
        sql.run(&format!("DROP ROLE {name}")).await;
    }
}

/// A dump has no roles. A role belongs to the whole server, so the test has a separate one.
#[tokio::test]
async fn missing_role_of_message_db_is_made_and_granted() {
    let server = separate_server(Options {
        durability: Durability::Relaxed,
        ..Options::default()
    })
    .await;
    let database = server.create_database("roles").await.unwrap();
    let config = Config::new(database.url());
    connect(config.clone()).await.close().await;
    let mut sql = Sql::connect(database.url()).await;
    sql.run("DROP OWNED BY message_store; DROP ROLE message_store")
        .await;
    let lacks = check_schema(&config).await;
    let Err(Error::Fault(Fault::SchemaChanged { differences, .. })) = lacks else {
        panic!("{lacks:?}");
    };
    assert_eq!(
        differences,
        ["the role message_store is missing, or lacks rights"]
    );
    connect(config.clone()).await.close().await;
    let mut client = Sql::as_message_store(database.url()).await;
    assert_eq!(client.write("a-1").await, 0);
    // A grant that is missing is granted again.
    sql.run("REVOKE SELECT ON message_store.type_summary FROM message_store")
        .await;
    connect(config.clone()).await.close().await;
    assert_eq!(client.number("SELECT count(*) FROM type_summary").await, 1);
    check_schema(&config).await.unwrap();
}

/// Two databases that are made at the same time on a new server: both create the role.
#[tokio::test]
async fn role_of_message_db_is_granted_in_each_of_two_new_databases() {
    let server = separate_server(Options {
        durability: Durability::Relaxed,
        ..Options::default()
    })
    .await;
    // A race: without the mend, two of three runs of this test fail.
    const ROUNDS: usize = 12;
    for _ in 0..ROUNDS {
        let one = server.create_database("roles").await.unwrap();
        let two = server.create_database("roles").await.unwrap();
        let stores = tokio::join!(
            connect(Config::new(one.url())),
            connect(Config::new(two.url()))
        );
        for (store, database) in [(stores.0, &one), (stores.1, &two)] {
            store.close().await;
            check_schema(&Config::new(database.url())).await.unwrap();
            let mut sql = Sql::connect(database.url()).await;
            sql.run("DROP OWNED BY message_store").await;
        }
        let mut sql = Sql::connect(one.url()).await;
        sql.run("DROP ROLE message_store").await;
    }
}

/// An owner who may not create the role opens the store all the same.
#[tokio::test]
async fn owner_without_createrole_opens_store_without_the_role() {
    let server = separate_server(Options {
        durability: Durability::Relaxed,
        ..Options::default()
    })
    .await;
    let database = server.create_database("roles").await.unwrap();
    let url = login(database.url(), "owner", "").await;
    let name = database.name();
    let mut sql = Sql::connect(database.url()).await;
    sql.run(&format!("GRANT CREATE ON DATABASE {name} TO owner"))
        .await;
    for _ in 0..2 {
        let store = connect(Config::new(&url)).await;
        write(&store, "a-1", 1).await;
        store.close().await;
    }
    assert_eq!(
        sql.value("SELECT to_regrole('message_store')").await,
        "NULL"
    );
    sql.run("CREATE ROLE message_store LOGIN").await;
    connect(Config::new(&url)).await.close().await;
    let mut client = Sql::as_message_store(database.url()).await;
    assert_eq!(client.write("a-1").await, 2);
}
