//! The limit of open files of this process: a load of many connections needs more than systems allow by default. Opens none.

use anyhow::{Result, bail};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Raises the soft limit of open files. The server raises its own.
pub fn allow_files(wanted: u64) -> Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft >= wanted {
        return Ok(());
    }
    if hard < wanted {
        bail!(
            "{wanted} open files are needed and the hard limit is {hard}: raise it with `ulimit -Hn`"
        );
    }
    Ok(setrlimit(Resource::RLIMIT_NOFILE, wanted, hard)?)
}
