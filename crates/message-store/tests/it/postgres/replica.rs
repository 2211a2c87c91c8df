//! Reads from a streaming replica.

use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use local_postgres::{Durability, LocalPostgres, Options};
use message_store::postgres::{Config, PostgresStore};
use message_store::{
    Bookmark, CategoryRead, ConsumerGroup, Error, ExpectedVersion, Fault, GlobalPosition,
    MessageRunner, MessageStore, Start, SubscribeOptions,
};
use sqlx::Connection as _;

use crate::support::postgres::sql::Sql;
use crate::support::postgres::{
    category, connect, message, separate_server, stream_name, wait_until, whole_category,
    whole_stream, write,
};

/// A server that does not sync to disk, but whose commits are synchronous. An asynchronous commit
/// would write the log later, and `wait_for` compares positions in the written log.
async fn primary() -> LocalPostgres {
    separate_server(Options {
        durability: Durability::Relaxed,
        settings: vec![("synchronous_commit".to_owned(), "on".to_owned())],
        ..Options::default()
    })
    .await
}

/// A replica of a server, started by the same binaries under the same user.
struct Replica {
    process: Child,
    folder: PathBuf,
    url: String,
}

impl Replica {
    async fn start(url: &str) -> Self {
        let mut sql = Sql::connect(url).await;
        let binaries = sql
            .value("SELECT setting FROM pg_config() WHERE name = 'BINDIR'")
            .await;
        let data = sql.value("SHOW data_directory").await;
        let owner = std::fs::metadata(&data).expect("the server runs on this machine");
        let (user, group) = (owner.uid(), owner.gid());
        let folder = Path::new(&data).with_file_name(format!("replica{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder beside the server's");
        chown(&folder, Some(user), Some(group)).expect("the owner of the folder can be changed");
        let command = |name: &str| {
            let mut command = Command::new(Path::new(&binaries).join(name));
            command.uid(user).gid(group).current_dir("/");
            command.arg("-D").arg(&folder);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command
        };
        let copied = command("pg_basebackup")
            .args(["-R", "-X", "stream", "-c", "fast", "--no-sync", "-d", url])
            .status();
        assert!(
            copied.expect("the program starts").success(),
            "the server cannot be copied"
        );
        set_mode(&folder, 0o700);
        let port = free_port();
        let process = command("postgres")
            .args(["-p", &port.to_string(), "-k", ""])
            .args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"])
            .spawn()
            .expect("the program starts");
        let (before, rest) = url.split_once('@').expect("a user");
        let (_, database) = rest.split_once('/').expect("a database");
        let replica = Self {
            process,
            folder,
            url: format!("{before}@127.0.0.1:{port}/{database}"),
        };
        wait_until("the replica answers", async || {
            sqlx::PgConnection::connect(&replica.url).await.is_ok()
        })
        .await;
        replica
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        // Remaining files are deleted with the server's folder.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn set_mode(folder: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(folder, permissions).expect("the mode of the folder can be changed");
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// A store whose reads use the replica, which has caught up.
async fn connect_to_replica(config: Config) -> PostgresStore {
    let store = connect(config).await;
    wait_until("the replica is used", async || store.replicas_in_use() == 1).await;
    store
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_for_position_makes_it_readable_on_replica() {
    let server = primary().await;
    // Install the schema on the primary first: a store can't install it on the replica, which is
    // read-only.
    connect(Config::new(server.url())).await.close().await;
    let replica = Replica::start(server.url()).await;
    let mut config = Config::new(server.url()).replica_url(&replica.url);
    config.read_timeout = Duration::from_millis(500);
    let store = connect_to_replica(config).await;
    let name = stream_name("a-1");
    let mut on_replica = Sql::connect(&replica.url).await;
    on_replica.run("SELECT pg_wal_replay_pause()").await;
    let written = store
        .write_message(&name, message(1), ExpectedVersion::Any)
        .await;
    let written = written.unwrap();
    // The replica lacks the message, and `wait_for` finds that out.
    assert!(whole_stream(&store, "a-1").await.is_empty());
    let behind = store.wait_for(written.global_position).await;
    assert!(
        matches!(
            behind,
            Err(Error::Fault(Fault::TimedOut {
                operation: "read",
                ..
            }))
        ),
        "{behind:?}"
    );
    // Reads of all messages and of the head go to the primary.
    assert_eq!(whole_category(&store, "").await.len(), 1);
    assert_eq!(
        store.head().await.unwrap().map(|head| head.position),
        Some(written.global_position)
    );
    on_replica.run("SELECT pg_wal_replay_resume()").await;
    store.wait_for(written.global_position).await.unwrap();
    assert_eq!(whole_stream(&store, "a-1").await.len(), 1);
    assert_eq!(whole_category(&store, "a").await.len(), 1);
    // If no message has the position yet, `wait_for` waits for everything that was committed so
    // far.
    for number in 2..20 {
        store
            .write_message(&name, message(number), ExpectedVersion::Any)
            .await
            .unwrap();
        store
            .wait_for(written.global_position.next().next().next())
            .await
            .unwrap();
    }
    store.wait_for(GlobalPosition::new(1 << 40)).await.unwrap();
    assert_eq!(whole_stream(&store, "a-1").await.len(), 19);
    store.close().await;
}

/// A member skips messages of other members up to the head. It must not skip messages that the
/// replica does not have yet.
#[tokio::test(flavor = "multi_thread")]
async fn group_member_misses_no_message_of_lagging_replica() {
    let server = primary().await;
    connect(Config::new(server.url())).await.close().await;
    let replica = Replica::start(server.url()).await;
    let store = connect_to_replica(Config::new(server.url()).replica_url(&replica.url)).await;
    let mut on_replica = Sql::connect(&replica.url).await;
    on_replica.run("SELECT pg_wal_replay_pause()").await;
    let written = store
        .write_message(&stream_name("a-1"), message(1), ExpectedVersion::Any)
        .await
        .unwrap();
    let alone = ConsumerGroup::new(0, 1).unwrap();
    let options = SubscribeOptions::new();
    let mut member = store.subscribe_to_group(category("a"), alone, GlobalPosition::START, options);
    let mut seen = Vec::new();
    seen.extend(member.try_next().await.unwrap());
    on_replica.run("SELECT pg_wal_replay_resume()").await;
    store.wait_for(written.global_position).await.unwrap();
    seen.extend(member.try_next().await.unwrap());
    assert_eq!(seen.len(), 1);
    store.close().await;
}

/// A replica that is behind is no other past. The primary decides.
#[tokio::test(flavor = "multi_thread")]
async fn bookmark_that_replica_lacks_is_checked_by_primary() {
    let server = primary().await;
    connect(Config::new(server.url())).await.close().await;
    let replica = Replica::start(server.url()).await;
    let store = connect(Config::new(server.url()).replica_url(&replica.url)).await;
    let mut on_replica = Sql::connect(&replica.url).await;
    on_replica.run("SELECT pg_wal_replay_pause()").await;
    for number in 0..3 {
        write(&store, "a-1", number).await;
    }
    let head = store.head().await.unwrap().unwrap();
    for start in [head.into(), Start::from(head.position.next())] {
        let read = CategoryRead::new().start(start);
        let page = store.get_category_messages(&category("a"), read).await;
        assert!(page.unwrap().is_empty());
        let options = SubscribeOptions::new();
        let mut follower = store.subscribe_to_category(category("a"), start, options);
        assert!(follower.try_next().await.unwrap().is_none());
    }
    let lost = Bookmark::new(head.position, uuid::Uuid::from_u128(1));
    let read = CategoryRead::new().start(lost);
    let refused = store.get_category_messages(&category("a"), read).await;
    assert!(
        matches!(refused, Err(Error::PastReplaced { .. })),
        "{refused:?}"
    );
    store.close().await;
}

/// A runner advances to the head, which comes from the primary.
#[tokio::test(flavor = "multi_thread")]
async fn runner_misses_no_message_of_lagging_replica() {
    let server = primary().await;
    connect(Config::new(server.url())).await.close().await;
    let replica = Replica::start(server.url()).await;
    let store = connect_to_replica(Config::new(server.url()).replica_url(&replica.url)).await;
    let mut on_replica = Sql::connect(&replica.url).await;
    on_replica.run("SELECT pg_wal_replay_pause()").await;
    let written = store
        .write_message(&stream_name("a-1"), message(1), ExpectedVersion::Any)
        .await
        .unwrap();
    let runner = MessageRunner::new(store.clone(), "c", category("a"), |_| async { Ok(()) });
    let mut runner = runner.unwrap();
    runner.catch_up().await.unwrap();
    assert_eq!(runner.progress().handled(), 1);
    assert_eq!(
        runner.progress().position(),
        Some(written.global_position),
        "it waits for no replica"
    );
    on_replica.run("SELECT pg_wal_replay_resume()").await;
    store.close().await;
}
