//! The account of the server: PostgreSQL refuses root, so root hands over to another account. Not a sandbox.
//! Rule: what the server reads or writes belongs to that account.

use std::os::unix::fs::{chown, lchown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::unistd::{Uid, User};

/// Accounts root may hand over to, the best first.
const CANDIDATES: [&str; 2] = ["postgres", "nobody"];

/// The account of a server's processes; `None` is the caller's own.
#[derive(Clone, Copy)]
pub struct ProcessUser(Option<(u32, u32)>);

impl ProcessUser {
    /// The caller's own, unless that is root.
    pub fn choose() -> ProcessUser {
        if !Uid::effective().is_root() {
            return ProcessUser(None);
        }
        let found = CANDIDATES
            .iter()
            .find_map(|name| User::from_name(name).ok().flatten());
        let user = found.unwrap_or_else(|| {
            panic!("PostgreSQL refuses to run as root and there is neither of the accounts {CANDIDATES:?}")
        });
        ProcessUser(Some((user.uid.as_raw(), user.gid.as_raw())))
    }

    /// Makes the command run as this account, in `directory`, with nothing of the caller's environment but PATH.
    pub fn command(self, program: &Path, directory: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(directory)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .env("HOME", directory);
        if let Some((user, group)) = self.0 {
            command.uid(user).gid(group);
        }
        command
    }

    /// Gives one file or directory to this account.
    pub fn own(self, path: &Path) {
        if let Some((user, group)) = self.0 {
            chown(path, Some(user), Some(group))
                .unwrap_or_else(|error| panic!("cannot hand {} over: {error}", path.display()));
        }
    }

    /// Copies a directory with all that is in it; the copy belongs to this account.
    pub fn copy(self, from: &Path, to: &Path) {
        let copied = copy(from, to, &|path| match self.0 {
            Some((user, group)) => lchown(path, Some(user), Some(group)),
            None => Ok(()),
        });
        copied.unwrap_or_else(|error| {
            panic!(
                "cannot copy {} to {}: {error}",
                from.display(),
                to.display()
            )
        });
    }
}

fn copy(from: &Path, to: &Path, own: &dyn Fn(&Path) -> std::io::Result<()>) -> std::io::Result<()> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target, own)?;
        } else {
            std::fs::copy(entry.path(), &target)?;
            own(&target)?;
        }
    }
    std::fs::set_permissions(to, std::fs::metadata(from)?.permissions())?;
    own(to)
}
