use std::fs;
use std::path::Path;

use conformance_suite::effort;
use message_store::sqlite::{Config, SqliteNamespaces};
use message_store::{
    Error, ExpectedVersion, Fault, MessageStore, NamespaceName, Namespaces, StoreInfo,
};
use tokio::task::JoinSet;

use crate::namespaces;
use crate::support::sqlite::{message, start_worker_in, stream_name, worker_file};

/// Some of these names differ only in punctuation or case. Others would escape from the folder if
/// they were joined to its path without a check.
const ODD: [&str; 14] = [
    "a",
    "A",
    "a.b",
    "a-b",
    "a_b",
    "a/b",
    "a b",
    "..",
    "../a",
    "/etc/passwd",
    "a\\b",
    "nul",
    "é",
    "%41",
];

fn namespace(name: &str) -> NamespaceName {
    NamespaceName::new(name).unwrap()
}

fn in_folder(folder: &Path) -> SqliteNamespaces {
    SqliteNamespaces::new(Config::file(folder)).unwrap()
}

async fn names(namespaces: &SqliteNamespaces) -> Vec<String> {
    let listed = namespaces.list().await.unwrap();
    listed
        .into_iter()
        .map(|listed| listed.name.to_string())
        .collect()
}

async fn write(namespaces: &SqliteNamespaces, name: &str, count: u64) {
    let store = namespaces.open(&namespace(name)).await.unwrap();
    for number in 0..count {
        store
            .write_message(&stream_name("a-1"), message(number), ExpectedVersion::Any)
            .await
            .unwrap();
    }
}

async fn count(namespaces: &SqliteNamespaces, name: &str) -> u64 {
    let store = namespaces.open(&namespace(name)).await.unwrap();
    store.info().await.unwrap().message_count
}

#[tokio::test]
async fn unusual_names_stay_distinct_and_in_folder() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("inner");
    for namespaces in [
        in_folder(&folder),
        SqliteNamespaces::new(Config::memory()).unwrap(),
    ] {
        for (messages, odd) in (1..).zip(ODD) {
            namespaces.create(&namespace(odd), None).await.unwrap();
            write(&namespaces, odd, messages).await;
        }
        for (messages, odd) in (1..).zip(ODD) {
            assert_eq!(count(&namespaces, odd).await, messages, "{odd}");
        }
        let mut sorted = ODD.map(str::to_owned);
        sorted.sort_unstable();
        assert_eq!(names(&namespaces).await, sorted);
        namespaces.close().await;
    }
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 1);
    // One file each, with names that differ even on a case-insensitive file system.
    let files = fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().file_name());
    let mut files: Vec<String> = files
        .map(|file| file.to_str().unwrap().to_lowercase())
        .collect();
    files.sort_unstable();
    files.dedup();
    assert_eq!(files.len(), ODD.len());
}

#[test]
fn invalid_namespace_name_is_refused() {
    for name in ["", "a\0", &"x".repeat(65), &"x".repeat(10_000)] {
        let refused = NamespaceName::new(name);
        assert!(matches!(refused, Err(Error::Invalid { field, .. }) if field == "namespace"));
    }
    NamespaceName::new("é".repeat(32)).unwrap();
}

#[tokio::test]
async fn longest_namespace_name_is_valid_file_name() {
    let folder = tempfile::tempdir().unwrap();
    let namespaces = in_folder(folder.path());
    let longest = namespace(&"é".repeat(32));
    namespaces.create(&longest, None).await.unwrap();
    assert_eq!(namespaces.get(&longest).await.unwrap().name, longest);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_concurrent_creators_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..5 {
        let mut creators = JoinSet::new();
        for _ in 0..4 {
            // The callers share only the folder, like separate processes.
            let namespaces = in_folder(folder.path());
            let name = namespace(&format!("n{round}"));
            creators.spawn(async move { namespaces.create(&name, Some("{}")).await });
        }
        let outcomes = creators.join_all().await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
        for outcome in outcomes {
            assert!(
                matches!(outcome, Ok(_) | Err(Error::NamespaceExists { .. })),
                "{outcome:?}"
            );
        }
    }
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        5,
        "no temporary files are left"
    );
}

#[tokio::test]
async fn namespace_attributes_survive_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let created = in_folder(folder.path());
    let attributes = r#"{"description":"tests"}"#;
    let created = created
        .create(&namespace("a"), Some(attributes))
        .await
        .unwrap();
    let namespaces = in_folder(folder.path());
    assert_eq!(namespaces.get(&namespace("a")).await.unwrap(), created);
    assert_eq!(namespaces.list().await.unwrap(), [created]);
    let refused = namespaces.create(&namespace("b"), Some("{")).await;
    assert!(matches!(refused, Err(Error::Invalid { field, .. }) if field == "attributes"));
}

#[tokio::test]
async fn deleting_namespace_keeps_others() {
    let folder = tempfile::tempdir().unwrap();
    for namespaces in [
        in_folder(folder.path()),
        SqliteNamespaces::new(Config::memory()).unwrap(),
    ] {
        for name in ["a", "b"] {
            namespaces.create(&namespace(name), None).await.unwrap();
            write(&namespaces, name, 3).await;
        }
        let open = namespaces.open(&namespace("a")).await.unwrap();
        assert_eq!(namespaces.delete(&namespace("a")).await.unwrap(), 3);
        assert!(matches!(
            open.head().await,
            Err(Error::Fault(Fault::Closed))
        ));
        for absent in [
            namespaces.delete(&namespace("a")).await.err(),
            namespaces.open(&namespace("a")).await.err(),
            namespaces.get(&namespace("a")).await.err(),
        ] {
            assert!(
                matches!(absent, Some(Error::NamespaceNotFound { .. })),
                "{absent:?}"
            );
        }
        assert_eq!(names(&namespaces).await, ["b"]);
        assert_eq!(count(&namespaces, "b").await, 3);
        namespaces.create(&namespace("a"), None).await.unwrap();
        let again = namespaces.open(&namespace("a")).await.unwrap();
        assert_eq!(again.info().await.unwrap(), StoreInfo::default());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_concurrent_deleters_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    let name = namespace("a");
    for namespaces in [
        in_folder(folder.path()),
        SqliteNamespaces::new(Config::memory()).unwrap(),
    ] {
        for _ in 0..effort(15) {
            namespaces.create(&name, None).await.unwrap();
            let mut deleters = JoinSet::new();
            for _ in 0..4 {
                let (namespaces, name) = (namespaces.clone(), name.clone());
                deleters.spawn(async move { namespaces.delete(&name).await });
            }
            let outcomes = deleters.join_all().await;
            assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
            for outcome in outcomes {
                assert!(
                    matches!(outcome, Ok(0) | Err(Error::NamespaceNotFound { .. })),
                    "{outcome:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn closed_store_is_reopened() {
    let folder = tempfile::tempdir().unwrap();
    namespaces::closed_store_is_reopened(&in_folder(folder.path())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn held_calls_delay_no_other() {
    let folder = tempfile::tempdir().unwrap();
    namespaces::held_calls_delay_no_other(&in_folder(folder.path())).await;
}

/// An in-memory namespace loses its messages with its store.
#[tokio::test]
async fn in_memory_namespace_ends_with_its_store() {
    let namespaces = SqliteNamespaces::new(Config::memory()).unwrap();
    for name in ["a", "b"] {
        namespaces.create(&namespace(name), None).await.unwrap();
    }
    let open = namespaces.open(&namespace("a")).await.unwrap();
    open.close().await;
    for absent in [
        namespaces.open(&namespace("a")).await.err(),
        namespaces.get(&namespace("a")).await.err(),
        namespaces.delete(&namespace("a")).await.err(),
    ] {
        assert!(
            matches!(absent, Some(Error::NamespaceNotFound { .. })),
            "{absent:?}"
        );
    }
    assert_eq!(names(&namespaces).await, ["b"]);
    namespaces.create(&namespace("a"), None).await.unwrap();
    assert_eq!(count(&namespaces, "a").await, 0);
}

#[tokio::test]
async fn stats_sum_all_open_stores() {
    let namespaces = SqliteNamespaces::new(Config::memory()).unwrap();
    for (name, count) in [("one", 2), ("two", 3)] {
        namespaces.create(&namespace(name), None).await.unwrap();
        write(&namespaces, name, count).await;
    }
    assert_eq!(namespaces.stats().messages_written, 5);
}

/// The tenants of the tests of open files.
const TENANTS: u64 = 60;

/// Creates and uses one tenant after the other, and then each again.
async fn serve_tenants(folder: &Path, max_open: Option<usize>) -> SqliteNamespaces {
    let mut config = Config::file(folder);
    config.max_open_namespaces = max_open.unwrap_or(config.max_open_namespaces);
    let namespaces = SqliteNamespaces::new(config).unwrap();
    for round in 1..=2 {
        for tenant in 0..TENANTS {
            let name = format!("tenant {tenant}");
            if round == 1 {
                namespaces.create(&namespace(&name), None).await.unwrap();
            }
            write(&namespaces, &name, 1).await;
            assert_eq!(count(&namespaces, &name).await, round, "{name}");
        }
    }
    assert_eq!(names(&namespaces).await.len() as u64, TENANTS);
    namespaces
}

/// An open store had its files open for ever, so the process soon had too many.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn idle_namespaces_are_closed_and_their_counters_stay() {
    let folder = tempfile::tempdir().unwrap();
    let namespaces = serve_tenants(folder.path(), None).await;
    let held = namespaces.open(&namespace("tenant 0")).await.unwrap();
    for tenant in 1..TENANTS {
        count(&namespaces, &format!("tenant {tenant}")).await;
    }
    let files = fs::read_dir("/proc/self/fd").unwrap().filter(|file| {
        let target = file
            .as_ref()
            .ok()
            .and_then(|file| fs::read_link(file.path()).ok());
        target.is_some_and(|target| target.starts_with(folder.path()))
    });
    // Three of the writer and two of a reader, for each of 32 stores.
    assert!(files.count() <= 32 * 5);
    assert_eq!(namespaces.stats().messages_written, 2 * TENANTS);
    held.head().await.expect("a store that is held stays open");
}

#[test]
fn tenants_worker() {
    let Some(folder) = worker_file() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        for max_open in [None, Some(usize::MAX)] {
            let folder = folder.join(format!("{max_open:?}"));
            serve_tenants(&folder, max_open).await.close().await;
        }
    });
}

/// Holds as many tenants as the process can open, then goes on.
#[test]
fn holding_worker() {
    let Some(folder) = worker_file() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        let namespaces = in_folder(&folder);
        let mut held = Vec::new();
        let refused = loop {
            let name = namespace(&format!("tenant {}", held.len()));
            let opened = match namespaces.create(&name, None).await {
                Ok(_) => namespaces.open(&name).await,
                Err(refused) => break refused,
            };
            match opened {
                Ok(store) => held.push(store),
                Err(refused) => break refused,
            }
        };
        let expected = matches!(refused, Error::TooManyNamespaces { open } if open == held.len());
        assert!(expected && !refused.is_transient(), "{refused:?}");
        assert!(held.len() > 30, "{}", held.len());
        for store in &held {
            store
                .write_message(&stream_name("a-1"), message(1), ExpectedVersion::Any)
                .await
                .unwrap();
        }
        // The others have opened more files for their writes meanwhile.
        let created = held.len();
        held.truncate(created / 2);
        let name = namespace("another");
        namespaces.create(&name, None).await.unwrap();
        namespaces.open(&name).await.unwrap();
        assert_eq!(namespaces.list().await.unwrap().len(), created + 1);
        namespaces.close().await;
    });
}

/// SQLite's error was transient, and came again as long as the process ran.
#[cfg(unix)]
#[test]
fn held_namespaces_beyond_the_limit_of_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let limited = "ulimit -n 220 && exec \"$0\" \"$@\"";
    let mut worker = start_worker_in(
        &["sh", "-c", limited],
        "sqlite::namespaces::holding_worker",
        folder.path(),
    );
    assert!(worker.wait().unwrap().success());
}

/// SQLite's error was transient, and came again as long as the process ran.
#[cfg(unix)]
#[test]
fn limit_of_open_files_refuses_no_tenant() {
    let folder = tempfile::tempdir().unwrap();
    let limited = "ulimit -n 220 && exec \"$0\" \"$@\"";
    let mut worker = start_worker_in(
        &["sh", "-c", limited],
        "sqlite::namespaces::tenants_worker",
        folder.path(),
    );
    assert!(worker.wait().unwrap().success());
}
