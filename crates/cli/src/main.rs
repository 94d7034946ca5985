//! The `tsumugi` command. Reads arguments and starts what they ask for; knows neither HTTP nor Ruby itself.
//! Exit codes: 0 ok, 1 failed, 2 wrong usage.

#![forbid(unsafe_code)]

mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// An application server: handlers in Ruby, written as if they blocked, on workers that never do.
#[derive(Parser)]
#[command(name = "tsumugi", version = VERSION, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[cfg(feature = "mimalloc")]
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (mruby 3.2, mimalloc)");
#[cfg(not(feature = "mimalloc"))]
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (mruby 3.2, system allocator)");

#[derive(Subcommand)]
enum Command {
    /// Serve an application
    Serve(serve::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("TSUMUGI_LOG")
                .unwrap_or_else(|_| "info".into()),
        )
        .with_writer(std::io::stderr)
        .init();
    let result = match arguments.command {
        Command::Serve(arguments) => serve::run(arguments),
    };
    result.unwrap_or_else(|error| {
        eprintln!("tsumugi: {error:#}");
        ExitCode::FAILURE
    })
}
