//! Files and folders that can't be written.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file or folder that can't be written until the value is dropped. Root ignores modes, so root mounts
/// the path on itself, read-only.
pub(crate) struct ReadOnly {
    path: PathBuf,
    is_mounted: bool,
}

impl ReadOnly {
    /// `None` if root may not mount here.
    pub(crate) fn make(path: &Path) -> Option<Self> {
        let path = path.to_owned();
        let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
        if !is_root {
            set_mode(&path, 0o555);
            return Some(Self {
                path,
                is_mounted: false,
            });
        }
        let mounted = run("mount", &["--bind"], &[&path, &path]);
        unmet::need("mount", mounted.then_some(()))?;
        let guard = Self {
            path,
            is_mounted: true,
        };
        assert!(run("mount", &["-o", "remount,ro,bind"], &[&guard.path]));
        Some(guard)
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        if self.is_mounted {
            run("umount", &["--lazy"], &[&self.path]);
        } else {
            set_mode(&self.path, 0o755);
        }
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the test owns the path");
}

fn run(program: &str, options: &[&str], paths: &[&Path]) -> bool {
    let ran = Command::new(program).args(options).args(paths).output();
    ran.is_ok_and(|ran| ran.status.success())
}
