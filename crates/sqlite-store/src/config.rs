use std::path::{Path, PathBuf};
use std::time::Duration;

use store_fault::{Fault, Reason};

use crate::OpenedFile;
use crate::access::{read_only_file, refusal};

/// The storage of a store: memory or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// In memory, until the store is dropped.
    Memory,
    /// In this file and two beside it (`-wal`, `-shm`). The file is created if it is missing; its folder
    /// must exist. It must be on a local file system, because SQLite's write-ahead log needs shared
    /// memory. Open it with the same SQLite library as the store: if a process has the file open with
    /// two libraries, either one drops the locks of the other.
    File(PathBuf),
}

/// The failures that acknowledged writes survive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Power loss. Each commit is flushed to the disk before it is acknowledged (`synchronous = FULL`).
    #[default]
    Full,
    /// A crash of the process, but not power loss: only checkpoints of the write-ahead log flush it.
    /// Power loss may lose the last commits, but never a part of a commit, and it does not corrupt the
    /// file (`synchronous = NORMAL`).
    Normal,
}

impl Durability {
    /// The value of the pragma `synchronous`.
    pub const fn number(self) -> i64 {
        match self {
            Self::Normal => 1,
            Self::Full => 2,
        }
    }
}

/// The file of a store, and the limits of its writes and reads. Each store adds its settings.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FileConfig {
    /// The storage: memory or a file.
    pub location: Location,
    /// Whether the file is opened only for reads, for example an archive or a backup on a read-only
    /// mount. Nothing is installed or upgraded, and writes fail with [`Fault::ReadOnlyFile`]. Default:
    /// off.
    ///
    /// Reads see what other processes write. But if the file and its folder can't be written and no
    /// process has the store open, SQLite opens the file as immutable: it takes no locks and does not
    /// notice changes. Let no program write to the file from another mount meanwhile, because reads
    /// would then return wrong data or fail.
    pub read_only: bool,
    /// Whether acknowledged writes survive power loss. Default: [`Durability::Full`].
    pub durability: Durability,
    /// Maximum number of calls per commit. Default: 512.
    pub max_batch_requests: usize,
    /// Maximum bytes of events or messages per commit. A larger call is committed alone. Default: 1
    /// MiB.
    pub max_batch_bytes: usize,
    /// Maximum number of queued calls. Further callers wait for space. Default: 8,192.
    pub max_queued_requests: usize,
    /// Maximum bytes of events or messages in queued calls. Default: 16 MiB.
    pub max_queued_bytes: usize,
    /// Time limit of a write, including the wait in the queue and for locks of other processes.
    /// Default: 5 s.
    pub write_timeout: Duration,
    /// Time limit of a read's waits. The store's own `Config` names them. Default: 10 s.
    pub read_timeout: Duration,
    /// Maximum number of read connections that stay open. The writer's connection is not included.
    /// The store's own `Config` says what happens to further reads. Default: 8.
    pub read_connections: u32,
}

impl FileConfig {
    /// The defaults, for a store in `location`.
    pub fn new(location: Location) -> Self {
        Self {
            location,
            read_only: false,
            durability: Durability::Full,
            max_batch_requests: 512,
            max_batch_bytes: 1 << 20,
            max_queued_requests: 8192,
            max_queued_bytes: 16 << 20,
            write_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_secs(10),
            read_connections: 8,
        }
    }

    /// Makes the path absolute: readers open it later, when the working directory may have changed.
    /// SQLite may give names like `:memory:` or `file:x` a special meaning, but never an absolute path.
    /// Caps the time limits to what SQLite accepts, about 25 days.
    ///
    /// # Errors
    /// [`Fault::Unreachable`] if the path is empty, or relative without a current directory.
    pub fn normalize(&mut self) -> Result<(), Fault> {
        const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);
        self.write_timeout = self.write_timeout.min(LONGEST);
        self.read_timeout = self.read_timeout.min(LONGEST);
        if let Location::File(path) = &mut self.location {
            *path = std::path::absolute(&*path).map_err(|failed| {
                Fault::Unreachable(Reason::new(format!("{}: {failed}", path.display())))
            })?;
        }
        Ok(())
    }

    /// The file that SQLite has just opened; `None` in memory.
    ///
    /// # Errors
    /// [`Fault::FileMoved`] if there is none at the path.
    pub fn opened(&self) -> Result<Option<OpenedFile>, Fault> {
        self.path().map(OpenedFile::at).transpose()
    }

    /// Refuses to write if the file is only for reads.
    ///
    /// # Errors
    /// [`Fault::ReadOnlyFile`].
    pub fn refuse_read_only(&self) -> Result<(), Fault> {
        match self.path() {
            Some(path) if self.read_only => {
                Err(read_only_file(path, "it was opened only for reads"))
            }
            _ => Ok(()),
        }
    }

    /// Turns the fault of a writer into [`Fault::ReadOnlyFile`] if the file's folder takes no new files.
    /// SQLite reports the same for a folder that is missing, and if the process has too many open files.
    #[must_use]
    pub fn explain(&self, failed: Fault) -> Fault {
        let (Some(path), Fault::Unreachable(_) | Fault::ReadOnly(_)) = (self.path(), &failed)
        else {
            return failed;
        };
        match refusal(path) {
            Some(refused) => {
                read_only_file(path, &format!("its folder takes no new files: {refused}"))
            }
            None => failed,
        }
    }

    /// The limits of a queue of writes.
    pub fn queue_limits(&self) -> group_commit::Limits {
        group_commit::Limits {
            max_batch_requests: self.max_batch_requests,
            max_batch_bytes: self.max_batch_bytes,
            max_queued_requests: self.max_queued_requests,
            max_queued_bytes: self.max_queued_bytes,
            ..group_commit::Limits::default()
        }
    }

    fn path(&self) -> Option<&Path> {
        match &self.location {
            Location::Memory => None,
            Location::File(path) => Some(path),
        }
    }
}

/// Lets a store's `Config`, which has a [`FileConfig`] in its field `file`, read and set the file's
/// settings like its own.
#[macro_export]
macro_rules! embed_file_config {
    ($config:ident) => {
        impl ::std::ops::Deref for $config {
            type Target = $crate::FileConfig;

            fn deref(&self) -> &$crate::FileConfig {
                &self.file
            }
        }

        impl ::std::ops::DerefMut for $config {
            fn deref_mut(&mut self) -> &mut $crate::FileConfig {
                &mut self.file
            }
        }

        impl $config {
            /// The defaults, for a store in this file.
            pub fn file(path: impl Into<::std::path::PathBuf>) -> Self {
                Self::at($crate::Location::File(path.into()))
            }

            /// The defaults, for a store in memory, which is lost when the store is dropped.
            pub fn memory() -> Self {
                Self::at($crate::Location::Memory)
            }

            /// Turns on `read_only`.
            #[must_use]
            pub fn read_only(mut self) -> Self {
                self.file.read_only = true;
                self
            }

            /// Sets `durability`.
            #[must_use]
            pub fn durability(mut self, durability: $crate::Durability) -> Self {
                self.file.durability = durability;
                self
            }
        }
    };
}
