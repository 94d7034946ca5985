//! `tsumugi bench`: the suites, and beside them the load of a key-value server, which has a client of the server's and so is none of theirs.
//! Decides which of the two was asked for.

use std::process::ExitCode;

use anyhow::Result;
use clap::CommandFactory as _;
use clap::error::ErrorKind;
use tsumugi_bench::BenchArguments;

use crate::kv::load::KvLoadArguments;

/// What is loaded by `--address`: the name of the suite, too.
const KV: &str = "kv";

/// Arguments of `bench`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(flatten)]
    suites: BenchArguments,
    #[command(flatten)]
    load: KvLoadArguments,
}

/// What follows the options in the help.
pub const HELP: &str = "\
Examples:
  tsumugi bench http --quick          a one-line handler beside nginx+Lua and H2O
  tsumugi bench all --json run.json
  tsumugi bench all --json run.json --resume    goes on with what was ended
  tsumugi bench load http://127.0.0.1:8080/ --rate 1000

Servers are started on free ports of this machine and end with the command. What is missing
here is named with the package to install.

A key-value server that runs, here or elsewhere, ours or the original of Tkrzw-RPC:
  tsumugi bench kv --address 127.0.0.1:1978
  tsumugi bench kv --address unix:/run/kv.sock --threads 1,2,4 --separate --iter 100000
  tsumugi bench kv --address 10.0.0.5:1978 --stream --async --depth 64
  tsumugi bench kv --address 127.0.0.1:1978 --size 100000 --only set,get --iter 1000
Echo, Set, Get, Iterate and Remove, one after the other, as tkrzw_dbm_remote_perf calls them: the
columns of the table. Every answer is checked. The database should be empty, and is again when
remove was among the operations.";

/// Runs what was asked for.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let Arguments { suites, load } = arguments;
    let Some(address) = load.address() else {
        if load.lacks_address() {
            usage("say which server that is about: tsumugi bench kv --address ADDR");
        }
        return tsumugi_bench::run(suites);
    };
    if !suites.is_only(KV) {
        usage(&format!(
            "--address is of the load for a key-value server, and stands alone but for --json: tsumugi bench kv --address {address}"
        ));
    }
    let plan = load.plan().unwrap_or_else(|fault| usage(&fault));
    load.run(address, &plan, suites.json())
}

/// Says what is wrong in the words of clap, and ends the process with code 2.
fn usage(message: &str) -> ! {
    #[derive(clap::Parser)]
    #[command(name = "tsumugi bench")]
    struct BenchCommand {
        #[command(flatten)]
        _arguments: Arguments,
    }
    BenchCommand::command()
        .error(ErrorKind::ValueValidation, message)
        .exit()
}
