//! A server whose disk is full.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use dcb_core::{Append, Error, Event, EventStore as _, Fault};
use local_postgres::Durability;

use crate::support::events::{head, tagged, unless};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, fresh_log, log_on, private_server};

fn assert_full<T: std::fmt::Debug>(answer: Result<T, Error>) {
    let Err(full @ Error::Fault(Fault::DiskFull(_))) = answer else {
        panic!("{answer:?}");
    };
    assert!(full.is_transient());
}

/// The error was `Database`, unlike SQLite's.
#[tokio::test(flavor = "multi_thread")]
async fn full_disk_is_told_and_nothing_is_written() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    let mut sql = Sql::connect(&log.url).await;
    let schema = &log.schema;
    sql.run(&format!(
        "CREATE FUNCTION {schema}.fill() RETURNS trigger LANGUAGE plpgsql AS $$ \
         BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$; \
         CREATE TRIGGER fill BEFORE INSERT ON {schema}.event FOR EACH ROW \
         EXECUTE FUNCTION {schema}.fill()"
    ))
    .await;
    assert_full(store.append(tagged("a")).await);
    assert_full(store.append_if(tagged("b"), unless("b")).await);
    let known = Event::builder("A")
        .id(uuid::Uuid::now_v7())
        .build()
        .unwrap();
    assert_full(store.submit(Append::new(known)).await);
    assert_eq!(head(&store).await, 1);
    sql.run(&format!("DROP TRIGGER fill ON {schema}.event"))
        .await;
    assert_eq!(store.append(tagged("a")).await.unwrap().first().get(), 2);
    store.close().await;
    sql.close().await;
}

/// A small file system in memory, until dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` where this process may not mount.
    fn mount(path: &Path, owner: &fs::Metadata) -> Option<Self> {
        let (user, group) = (owner.uid(), owner.gid());
        let options = format!("size=2m,mode=0700,uid={user},gid={group}");
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", &options, "none"])
            .arg(path);
        let mounted = mount.output().is_ok_and(|mounted| mounted.status.success());
        unmet::need("mount", mounted.then(|| Self(path.to_owned())))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).output();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn append_succeeds_once_a_full_disk_has_space() {
    let server = private_server(Durability::Relaxed, &[]).await;
    let mut sql = Sql::connect(server.url()).await;
    let data = sql.row("SHOW data_directory").await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let owner = fs::metadata(&data[0]).expect("the server is on this machine");
    let path = folder.path().join("disk");
    fs::create_dir(&path).unwrap();
    // The server's user has to reach the mount.
    let reachable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), reachable).unwrap();
    let Some(_disk) = SmallDisk::mount(&path, &owner) else {
        return;
    };
    let log = log_on(server.url());
    let store = connect(&log).await;
    sql.run(&format!(
        "CREATE TABLESPACE small LOCATION '{}'",
        path.display()
    ))
    .await;
    let table = format!("ALTER TABLE {}.event SET TABLESPACE", log.schema);
    sql.run(&format!("{table} small")).await;
    let mut stored = 0;
    let full = loop {
        let bytes: Vec<u8> = (0..4096)
            .flat_map(|_| uuid::Uuid::now_v7().into_bytes())
            .collect();
        let event = Event::builder("Large")
            .data(bytes[..4000].to_vec())
            .build()
            .unwrap();
        match store.append(event).await {
            Ok(_) => stored += 1,
            full => break full,
        }
        assert!(stored < 1_000, "the disk has no room for so much");
    };
    assert_full(full);
    assert_eq!(head(&store).await, stored);
    sql.run(&format!("{table} pg_default")).await;
    let next = store.append(tagged("a")).await.unwrap();
    assert_eq!(next.first().get(), stored + 1);
    store.close().await;
    sql.close().await;
}
