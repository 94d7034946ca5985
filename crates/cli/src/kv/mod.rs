//! `tsumugi kv`: the key-value store on its own. Without a command it serves databases; its commands talk to a server.
//! Calls are made by the client of `tsumugi-rpc`, and what a database's folder holds is the store's affair.

mod call;
mod command_word;
mod commands;
mod cursor;
pub mod embedded;
mod escape;
mod interrupt;
mod limit;
mod list;
#[cfg(feature = "bench")]
pub mod load;
mod maintenance;
mod outlet;
mod record;
mod remote;
mod serve;
mod transfer;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

/// Arguments of `kv`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    call: Option<call::KvCall>,
    #[command(flatten)]
    serve: serve::Options,
}

impl Arguments {
    /// Whether this is the server.
    pub fn is_server(&self) -> bool {
        self.call.is_none()
    }

    /// Where the server's log goes, if not to standard error.
    pub fn log_file(&self) -> Option<&Path> {
        self.serve.log_file()
    }
}

/// What follows the options in the help.
pub const HELP: &str = "\
Examples:
  tsumugi kv                                   one database in memory, on 127.0.0.1:1978
  tsumugi kv casket.tkt                        one on disk, in the folder casket.tkt
  tsumugi kv 'casket.tkt#durability=disk' 'cache.tkmc#capacity=512m'
  tsumugi kv --listen unix:/run/kv.sock --listen [::1]:1978 casket.tkt
  tsumugi kv --listen unix:/run/kv.sock etcd://a,b,c/app
                                               what a cluster of etcd keeps below `app`, for clients of Tkrzw-RPC
  tsumugi kv --listen 0.0.0.0:1978 --tls-cert kv.pem --tls-key kv.key --token-file tokens casket.tkt

A DATABASE is PATH#NAME=VALUE,NAME=VALUE; clients know it by its place in the list, from 0.
  durability=memory     in memory, also without a path, as memory:NAME, or with .tkmt, .tkmb, .tkmh, .tkmc (a cache)
  durability=process    on disk; nothing acknowledged is lost when the process dies (the default)
  durability=disk       on disk; nothing acknowledged is lost when the machine dies
  capacity=512m when_full=evict|refuse         of a database in memory
  cache=64m             memory for blocks of a database on disk
  value_max=64m         the longest value
  etcd://HOST,HOST/NAMESPACE, redis://HOST:PORT/DATABASE, tkrzw://HOST:PORT/INDEX and the other URLs of KV.open
                        an engine on other machines: calls that it cannot do are answered NOT_IMPLEMENTED, and
                        calls while it is away NETWORK, with whether a write may have taken place
A path that is also a command is written as ./get. So is a new database whose name is almost that of a command,
as ./gets: it would be taken for one that was mistyped.

Clients of Tkrzw-RPC connect as they are; others are generated from tkrzw_rpc.proto, or by reflection.
Signals: SIGTERM or SIGINT lets running calls finish, a second one ends at once; SIGHUP reads
certificates and tokens again.

To a server that runs, on this machine or another:
  tsumugi kv set greeting こんにちは
  tsumugi kv get greeting
  tsumugi kv list --prefix user: --address unix:/run/kv.sock
  tsumugi kv export > casket.tsv               and tsumugi kv import casket.tsv";

/// Serves until a signal, or makes one call.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    match arguments.call {
        Some(call) => call.run(),
        None => serve::run(arguments.serve),
    }
}
