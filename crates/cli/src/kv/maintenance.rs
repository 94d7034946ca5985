//! `tsumugi kv backup` and `clear`: what concerns a whole database and is done by the server.
//! Nothing is removed without a yes.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::process::ExitCode;

use anyhow::Result;
use tsumugi_worker::ERRORS;

use super::interrupt::report_on_interrupt;
use super::remote::Remote;
use crate::limits::BACKUP_MS_MAX;
use crate::progress::{self, Extent};

/// Exit code of wrong usage.
const USAGE: u8 = 2;

/// `backup`
#[derive(clap::Args)]
pub struct Backup {
    /// What the copy's name has behind that of the database and `.backup.`: letters, digits, - _ and .; the time by default
    #[arg(default_value = "")]
    suffix: String,
    #[command(flatten)]
    remote: Remote,
}

impl Backup {
    /// Has the server copy the database, and waits for it.
    pub async fn run(self) -> Result<()> {
        let client = self.remote.patient_client(BACKUP_MS_MAX)?;
        let bar = progress::bar(Extent::Once, "backup");
        report_on_interrupt(|| {
            "the server goes on with the copy; it is complete when the server's disk is at rest and the copy opens".to_owned()
        });
        let done = client.backup(&self.suffix).await;
        bar.finish_and_clear();
        Ok(done?)
    }
}

/// `clear`
#[derive(clap::Args)]
pub struct Clear {
    /// Do not ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Clear {
    /// Removes every record, after a yes.
    pub async fn run(self) -> Result<ExitCode> {
        if !self.yes && !io::stdin().is_terminal() {
            writeln!(
                &ERRORS,
                "tsumugi: clear removes every record; pass --yes when input is not a terminal"
            )?;
            return Ok(ExitCode::from(USAGE));
        }
        let client = self.remote.client()?;
        if !self.yes {
            let (count, target, index) = (
                client.count().await?,
                self.remote.target()?,
                self.remote.index(),
            );
            write!(
                &ERRORS,
                "remove all {count} records of database {index} at {target}? [y/N] "
            )?;
            let mut answer = String::new();
            io::stdin().lock().read_line(&mut answer)?;
            if !matches!(answer.trim(), "y" | "Y" | "yes") {
                writeln!(&ERRORS, "nothing was removed")?;
                return Ok(ExitCode::FAILURE);
            }
        }
        client.clear().await?;
        Ok(ExitCode::SUCCESS)
    }
}
