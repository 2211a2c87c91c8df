//! Files that several processes open, and files that no store can open.

use std::fs;

use sqlite_store::{FileConfig, Location};
use store_fault::Fault;
use tokio::task::JoinSet;

use crate::Place;
use crate::store::{Failed, Store};

/// A store that opens the file while another one installs the schema sees none or all of it.
pub(crate) async fn stores_that_open_together_make_one_store<S: Store>(place: &Place<S>) {
    const STORES: u64 = 8;
    for round in 0..10 {
        let path = place.folder.path().join(format!("{round}.db"));
        let mut opening = JoinSet::new();
        for _ in 0..STORES {
            let file = FileConfig::new(Location::File(path.clone()));
            opening.spawn(async move {
                let store = S::open(file).await.expect("the store opens");
                store.write().await.expect("a write");
                store
            });
        }
        let stores = opening.join_all().await;
        assert_eq!(stores[0].count().await.unwrap(), STORES);
        for store in stores {
            store.close().await;
        }
    }
}

async fn refused<S: Store>(location: Location) -> Failed {
    let opened = S::open(FileConfig::new(location)).await;
    opened.map(drop).expect_err("no store can be here")
}

pub(crate) async fn file_that_is_no_database_is_refused_and_kept<S: Store>(place: &Place<S>) {
    let text = "no database, but longer than its header would be".repeat(100);
    fs::write(place.path(), &text).unwrap();
    let refused = refused::<S>(Location::File(place.path())).await;
    let fault = &refused.fault;
    assert!(matches!(fault, Some(Fault::NotADatabase(_))), "{refused:?}");
    assert!(!refused.is_transient, "the file will never be a database");
    assert_eq!(fs::read_to_string(place.path()).unwrap(), text);
}

pub(crate) async fn path_where_no_file_can_be_may_pass<S: Store>(place: &Place<S>) {
    let folder = place.folder.path();
    for path in [folder.join("missing").join("store.db"), folder.to_owned()] {
        let refused = refused::<S>(Location::File(path)).await;
        let fault = &refused.fault;
        assert!(matches!(fault, Some(Fault::Unreachable(_))), "{refused:?}");
        assert!(refused.is_transient);
    }
}
