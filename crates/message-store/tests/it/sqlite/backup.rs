use message_store::ExpectedVersion;

use crate::support::sqlite::{all, message, open, stream_name};

#[test]
fn backup_during_writes_is_consistent() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (
        folder.path().join("messages.sqlite"),
        folder.path().join("copy.sqlite"),
    );
    let store = open(&path);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0..200 {
                store
                    .write_message(&stream_name("a-1"), message(number), ExpectedVersion::Any)
                    .unwrap();
            }
        });
        while all(&store).len() < 20 {
            std::thread::yield_now();
        }
        store.backup(&copy).unwrap();
        writer.join().unwrap();
    });
    let copied = all(&open(&copy));
    assert!(copied.len() >= 20);
    assert_eq!(copied, all(&store)[..copied.len()]);
}
