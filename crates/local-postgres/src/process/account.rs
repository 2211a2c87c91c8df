//! The user that runs a server. `initdb` and `postgres` refuse to run as root.

use std::{
    fs, io,
    os::unix::{fs::chown, process::CommandExt as _},
    path::Path,
    process::Command,
};

/// The user that runs a server: an unprivileged user of this machine, or the caller.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account {
    /// The user and group to change to. `None` if the caller is not root.
    ids: Option<(u32, u32)>,
}

impl Account {
    /// The caller's account. For root it is the user `postgres`, or `nobody` if there is no such
    /// user.
    pub(crate) fn for_servers() -> io::Result<Self> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self { ids: None });
        }
        let users = fs::read_to_string("/etc/passwd")?;
        let ids = ["postgres", "nobody"]
            .iter()
            .find_map(|name| ids_of(name, &users));
        let none = "root cannot run PostgreSQL, and /etc/passwd has neither postgres nor nobody";
        ids.map(|ids| Self { ids: Some(ids) })
            .ok_or_else(|| io::Error::other(none))
    }

    pub(crate) fn is_another_user(self) -> bool {
        self.ids.is_some()
    }

    pub(crate) fn uid(self) -> u32 {
        self.ids
            .map_or_else(|| rustix::process::geteuid().as_raw(), |(uid, _)| uid)
    }

    /// Makes the account the owner of a file or folder of the caller.
    pub(crate) fn give(self, path: &Path) -> io::Result<()> {
        let (uid, gid) = self.ids.unzip();
        chown(path, uid, gid)
    }

    /// A command that runs as this account, in `/`, which every user may enter. When the standard
    /// library changes the user, it also drops root's supplementary groups.
    pub(crate) fn command(self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir("/");
        if let Some((uid, gid)) = self.ids {
            command.uid(uid).gid(gid);
        }
        command
    }
}

fn ids_of(name: &str, users: &str) -> Option<(u32, u32)> {
    let line = users
        .lines()
        .find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}
