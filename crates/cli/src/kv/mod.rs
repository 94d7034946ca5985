//! `tsumugi kv`: the key-value store on its own. Without a word it serves databases; its words talk to a server.
//! Knows neither gRPC nor files of databases.

mod limit;
mod serve;

use std::process::ExitCode;

use anyhow::Result;

/// What `kv` is told.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    serve: serve::Options,
}

/// What follows the options in the help.
pub const HELP: &str = "\
Examples:
  tsumugi kv                                   one database in memory, on 127.0.0.1:1978
  tsumugi kv casket.tkt                        one on disk, in the folder casket.tkt
  tsumugi kv 'casket.tkt#durability=disk' 'cache.tkmc#capacity=512m'
  tsumugi kv --listen unix:/run/kv.sock --listen [::1]:1978 casket.tkt
  tsumugi kv --listen 0.0.0.0:1978 --tls-cert kv.pem --tls-key kv.key --token-file tokens casket.tkt

A DATABASE is PATH#NAME=VALUE,NAME=VALUE; clients know it by its place in the list, from 0.
  durability=memory     in memory, also without a path or with .tkmt, .tkmb, .tkmh, .tkmc (a cache)
  durability=process    on disk; nothing acknowledged is lost when the process dies (the default)
  durability=disk       on disk; nothing acknowledged is lost when the machine dies
  capacity=512m when_full=evict|refuse         of a database in memory
  cache=64m             memory for blocks of a database on disk
  value_max=64m         the longest value

Clients of Tkrzw-RPC connect as they are; others are generated from tkrzw_rpc.proto, or by reflection.
Signals: SIGTERM or SIGINT lets running calls finish, a second one ends at once; SIGHUP reads
certificates and tokens again.";

/// Serves until a signal.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    serve::run(arguments.serve)
}
