//! The commands of `tsumugi kv`: which there are, and which of them waits for what. Reads no argument itself.
//! Rule of all commands: what was asked for goes to standard output and nothing else does; exit code 1 when it is not there.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use tokio::task::LocalSet;
use tsumugi_rpc::RpcTarget;

use super::{commands, list, maintenance, transfer};

const GET: &str = "\
Examples:
  tsumugi kv get greeting               the value, and a newline after it
  tsumugi kv get photo --raw > a.jpg    the bytes of the value and nothing else
  tsumugi kv get '\\x00\\x01' --escaped   a key that is no text; the value is escaped, too

Exit codes: 0 found, 1 not there (or no answer), 2 wrong usage.";

const SET: &str = "\
Examples:
  tsumugi kv set greeting hello
  tsumugi kv set photo --file a.jpg     the bytes of the file; - is standard input
  tsumugi kv set lock me --if-absent    exit code 1 if there is a record already";

const INCREMENT: &str = "\
Examples:
  tsumugi kv increment visits           1 more, from 0; prints the number
  tsumugi kv increment stock -3 --initial 100

The number is kept as eight bytes, the highest first.";

const LIST: &str = "\
Examples:
  tsumugi kv list                       KEY, a tab, VALUE; one record a line
  tsumugi kv list --prefix user: --keys --limit 20
  tsumugi kv list --from b --to d       from b to before d
  tsumugi kv list --backward

Tabs, newlines, backslashes, control characters and what is no UTF-8 are written as \\t, \\n, \\\\ and \\xHH.";

const SEARCH: &str = "\
Examples:
  tsumugi kv search begin user:         keys that begin so, one a line, escaped as by list
  tsumugi kv search regex '^user:[0-9]+$' --limit 10
  tsumugi kv search edit greting --limit 3

Modes: contain, begin, end, regex, edit, editbin, containcase, containword, containcaseword,
upper, upperinc, lower, lowerinc.";

const BACKUP: &str = "\
Examples:
  tsumugi kv backup daily               copies the folder casket.tkt to casket.tkt.backup.daily, on the server
  tsumugi kv backup                     to casket.tkt.backup.YYYYMMDDhhmmss, in UTC

The server goes on serving. A copy replaces an earlier one of its name, once it is whole. It opens like any
database: tsumugi kv casket.tkt.backup.daily";

const IMPORT: &str = "\
Examples:
  tsumugi kv import casket.tsv
  tsumugi kv import --format flat casket.flat
  zcat casket.tsv.gz | tsumugi kv import --keep

A line of TSV is KEY, a tab, VALUE, escaped as by list; a value may hold tabs as they are. flat is what
tkrzw_dbm_util export writes. Records are stored in their order, so the last of two with one key stays;
importing again does no harm.";

const EXPORT: &str = "\
Examples:
  tsumugi kv export casket.tsv
  tsumugi kv export --format flat casket.flat
  tsumugi kv export | gzip > casket.tsv.gz

A file appears under its name when it is complete; until then it is FILE.part.";

const CLEAR: &str = "\
Example:
  tsumugi kv clear --index 1 --yes";

/// The same error, with how to have a server at an address where none answers.
fn with_start_hint(error: anyhow::Error) -> anyhow::Error {
    let Some(tsumugi_rpc::Error::Connect { target, .. }) = error.downcast_ref() else {
        return error;
    };
    let target = target.parse::<RpcTarget>().ok();
    let start = match target.and_then(|target| target.listen_address()) {
        Some(listen) => format!("`tsumugi kv --listen {listen}` starts one, and "),
        None => String::new(),
    };
    // What is said of the causes stands before the hint, and is not said again behind it.
    let story = tsumugi_server::story(error.as_ref());
    error.context(format!(
        "{story}; is a server running there? {start}--address names another"
    ))
}

/// One of the commands.
#[derive(clap::Subcommand)]
pub enum KvCall {
    /// Print the value at a key
    #[command(after_help = GET)]
    Get(commands::Get),
    /// Store a value
    #[command(after_help = SET, alias = "put")]
    Set(commands::SetCall),
    /// Remove a record
    #[command(aliases = ["delete", "del", "rm"])]
    Remove(commands::Remove),
    /// Add to the end of a value
    Append(commands::Append),
    /// Add to a number and print it
    #[command(after_help = INCREMENT)]
    Increment(commands::Increment),
    /// Print records in the order of their keys
    #[command(after_help = LIST, alias = "ls")]
    List(list::List),
    /// Print keys that fit a pattern
    #[command(after_help = SEARCH)]
    Search(commands::Search),
    /// Print what the server tells about a database
    Inspect(commands::Inspect),
    /// Have the server copy a database on disk beside itself
    #[command(after_help = BACKUP)]
    Backup(maintenance::Backup),
    /// Store the records of a file
    #[command(after_help = IMPORT)]
    Import(transfer::Import),
    /// Write all records to a file
    #[command(after_help = EXPORT)]
    Export(transfer::Export),
    /// Remove every record
    #[command(after_help = CLEAR)]
    Clear(maintenance::Clear),
}

impl KvCall {
    /// Makes the call, on this thread.
    pub fn run(self) -> Result<ExitCode> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start an event loop")?;
        let called = LocalSet::new().block_on(&runtime, self.called());
        called.map_err(with_start_hint)
    }

    async fn called(self) -> Result<ExitCode> {
        let done = match self {
            KvCall::Get(get) => get.run().await,
            KvCall::Set(set) => set.run().await,
            KvCall::Remove(remove) => remove.run().await,
            KvCall::Append(append) => append.run().await,
            KvCall::Increment(increment) => increment.run().await,
            KvCall::List(list) => list.run().await,
            KvCall::Search(search) => search.run().await,
            KvCall::Inspect(inspect) => inspect.run().await,
            KvCall::Backup(backup) => backup.run().await,
            KvCall::Import(import) => import.run().await,
            KvCall::Export(export) => export.run().await,
            KvCall::Clear(clear) => return clear.run().await,
        };
        done.map(|()| ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(target: &str, expected: &str) {
        let refused = tsumugi_rpc::Error::Connect {
            target: target.to_owned(),
            source: std::io::ErrorKind::ConnectionRefused.into(),
        };
        let error = with_start_hint(refused.into());
        let text = tsumugi_server::story(error.as_ref());
        let said = text.strip_prefix(&format!("cannot connect to {target}: "));
        let hint = said.and_then(|said| said.split_once("; "));
        assert_eq!(hint.map(|(_, hint)| hint), Some(expected), "{text}");
        let cause = error.downcast_ref::<tsumugi_rpc::Error>();
        assert!(cause.is_some(), "the cause is lost");
    }

    #[test]
    fn hint_starts_a_server_only_at_an_address_of_this_machine_without_tls() {
        let local = |listen| {
            format!(
                "is a server running there? `tsumugi kv --listen {listen}` starts one, and --address names another"
            )
        };
        check("tkrzw+unix:/run/kv.sock", &local("unix:/run/kv.sock"));
        check("tkrzw://127.0.0.1:1978", &local("127.0.0.1:1978"));
        let elsewhere = "is a server running there? --address names another";
        check("tkrzw://kv.example.org:1978", elsewhere);
        check("tkrzw+tls://localhost:1978", elsewhere);
    }
}
