//! The files of a database, either raw or with corrected checksums, so that the bytes get past the
//! check. A database that opens once opens again with the same contents.
#![no_main]

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use crc32c::{crc32c, crc32c_append};
use libfuzzer_sys::fuzz_target;
use tsdb::storage::{Storage, StorageFile, StoredFile};
use tsdb::{Db, Durability, Error, OpenOptions, Sample};

const SEGMENT: &str = "log-0000000000000001";
const SNAPSHOT: &str = "snapshot-0000000000000001";

type Files = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

#[derive(Clone, Default)]
struct Memory(Files);

struct MemoryFile {
    files: Files,
    name: String,
}

fuzz_target!(|bytes: &[u8]| {
    let Some((form, bytes)) = bytes.split_first() else {
        return;
    };
    let memory = Memory::default();
    match form % 4 {
        0 => memory.put(SEGMENT, bytes.to_vec()),
        1 => memory.put(SEGMENT, framed(b"TSDB-LOG", bytes)),
        2 => {
            memory.put(SEGMENT, framed(b"TSDB-LOG", &[]));
            memory.put(SNAPSHOT, bytes.to_vec());
        }
        _ => {
            memory.put(SEGMENT, framed(b"TSDB-LOG", &[]));
            memory.put(SNAPSHOT, framed(b"TSDB-SNP", &[bytes, &[8]].concat()));
        }
    }
    let Ok(db) = open(&memory) else { return };
    let before = dump(&db);
    db.write_snapshot().expect("memory is never full");
    drop(db);
    let db = open(&memory).expect("a snapshot of this code opens");
    assert!(dump(&db) == before);
});

fn open(memory: &Memory) -> Result<Db, Error> {
    let options = OpenOptions {
        durability: Durability::Commit,
        snapshot_after_bytes: None,
        ..OpenOptions::default()
    };
    Db::open_on(memory.clone(), options, |_| {})
}

fn dump(db: &Db) -> Vec<(String, Vec<(i64, u64)>)> {
    let selection = db.select(&[], i64::MIN, i64::MAX);
    let mut dump: Vec<_> = selection
        .iter()
        .map(|series| {
            let mut samples = Vec::new();
            series.collect_into(&mut samples);
            let bits = |sample: &Sample| (sample.timestamp_ms, sample.value.to_bits());
            (
                series.labels().to_string(),
                samples.iter().map(bits).collect(),
            )
        })
        .collect();
    dump.sort();
    dump
}

/// A file with one frame, or with none, and correct checksums.
fn framed(magic: &[u8; 8], entries: &[u8]) -> Vec<u8> {
    let mut file = [magic.as_slice(), &1_u32.to_le_bytes(), &[0; 4]].concat();
    file.extend_from_slice(&1_u64.to_le_bytes());
    file.extend_from_slice(&0_u64.to_le_bytes());
    let checksum = crc32c_append(crc32c(&file[..12]), &file[16..]);
    file[12..16].copy_from_slice(&checksum.to_le_bytes());
    if !entries.is_empty() {
        let mut header = (entries.len() as u64).to_le_bytes().to_vec();
        header.extend_from_slice(&0_u64.to_le_bytes());
        header.extend_from_slice(&crc32c(entries).to_le_bytes());
        let position_checksum = crc32c_append(crc32c(&1_u64.to_le_bytes()), &32_u64.to_le_bytes());
        let checksum = crc32c_append(position_checksum, &header);
        file.extend_from_slice(&header);
        file.extend_from_slice(&checksum.to_le_bytes());
        file.extend_from_slice(entries);
    }
    file
}

impl Memory {
    fn put(&self, name: &str, bytes: Vec<u8>) {
        let mut files = self.0.lock().expect("no panic under the lock");
        files.insert(name.to_owned(), bytes);
    }
}

impl Storage for Memory {
    fn list(&self) -> io::Result<Vec<StoredFile>> {
        let files = self.0.lock().expect("no panic under the lock");
        let file = |(name, bytes): (&String, &Vec<u8>)| StoredFile {
            name: name.clone(),
            length: bytes.len() as u64,
        };
        Ok(files.iter().map(file).collect())
    }

    fn read(&self, name: &str, into: &mut Vec<u8>) -> io::Result<()> {
        let files = self.0.lock().expect("no panic under the lock");
        into.clone_from(files.get(name).ok_or(io::ErrorKind::NotFound)?);
        Ok(())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        self.put(name, Vec::new());
        Ok(Box::new(MemoryFile {
            files: Arc::clone(&self.0),
            name: name.to_owned(),
        }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.0.lock().expect("no panic under the lock");
        let bytes = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), bytes);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut files = self.0.lock().expect("no panic under the lock");
        files
            .remove(name)
            .map(drop)
            .ok_or(io::ErrorKind::NotFound.into())
    }

    fn sync_folder(&self) -> io::Result<()> {
        Ok(())
    }
}

impl StorageFile for MemoryFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut files = self.files.lock().expect("no panic under the lock");
        files
            .entry(self.name.clone())
            .or_default()
            .extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
