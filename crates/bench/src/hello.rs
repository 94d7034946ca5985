//! The suites hello and tax: throughput of a one-line handler, beside other servers and beside what its fibre costs.
//! Servers run all the time and are loaded in turn; every one is checked to answer the same before it is measured.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::client;
use crate::figures::{Figures, order, thousands};
use crate::process::Process;
use crate::servers::{Ours, Peer};
use crate::wrk;
use crate::{Length, Verdict};

/// What every server answers.
const HELLO: &[u8] = b"hello\n";

/// A server in its turn.
struct Entrant {
    name: &'static str,
    path: &'static str,
    process: Process,
    figures: Figures,
}

impl Entrant {
    fn new(name: &'static str, path: &'static str, process: Process) -> Result<Entrant> {
        let answer = client::fetch(process.address, path)
            .with_context(|| format!("{name} does not answer"))?;
        if answer.status != 200 || answer.body != HELLO {
            bail!("{name} answers {answer:?}");
        }
        Ok(Entrant {
            name,
            path,
            process,
            figures: Figures::default(),
        })
    }
}

/// Loads the entrants in turn, there and back again.
fn measure(entrants: &mut [Entrant], length: Length) -> Result<()> {
    for entrant in &*entrants {
        wrk::run(entrant.process.address, entrant.path, 1)?; // caches, fibres and connections are warm after that
    }
    for round in 0..length.rounds {
        for at in order(entrants.len(), round) {
            let entrant = &mut entrants[at];
            let figure = wrk::run(entrant.process.address, entrant.path, length.seconds)
                .with_context(|| entrant.name)?;
            entrant.figures.push(figure);
        }
    }
    Ok(())
}

/// Ours beside each peer.
pub fn hello(ours: &Ours, folder: &Path, length: Length) -> Result<Verdict> {
    let mut verdict = Verdict::Passed;
    for peer in Peer::ALL {
        if let Some(packages) = peer.missing() {
            println!(
                "hello    {:<10} skipped: install the Debian packages {packages}",
                peer.name()
            );
            continue;
        }
        match beside(peer, ours, folder, length) {
            Ok(line) => println!("{line}"),
            Err(error) => {
                println!("hello    {:<10} FAILED: {error:#}", peer.name());
                verdict = Verdict::Failed;
            }
        }
    }
    Ok(verdict)
}

fn beside(peer: Peer, ours: &Ours, folder: &Path, length: Length) -> Result<String> {
    let mut entrants = [
        Entrant::new("tsumugi", "/hello", ours.start("hello.rb", folder)?)?,
        Entrant::new(peer.name(), "/hello", peer.start(folder)?)?,
    ];
    measure(&mut entrants, length)?;
    let [ours, other] = entrants;
    Ok(format!(
        "hello    {:<10} ours {} req/s   peer {} req/s   ratio {}",
        peer.name(),
        thousands(ours.figures.median()),
        thousands(other.figures.median()),
        ours.figures.over(&other.figures)
    ))
}

/// What a fibre costs: native, direct call, fibre, fibre with one wait.
pub fn tax(ours: &Ours, folder: &Path, length: Length) -> Result<Verdict> {
    let mut entrants = [
        Entrant::new("native", "/hello", ours.start_case("native", folder)?)?,
        Entrant::new("direct", "/hello", ours.start_case("direct", folder)?)?,
        Entrant::new("fibre", "/hello", ours.start("hello.rb", folder)?)?,
        Entrant::new("wait", "/wait", ours.start("hello.rb", folder)?)?,
    ];
    measure(&mut entrants, length)?;
    let direct = entrants[1].figures.clone();
    for entrant in entrants {
        println!(
            "tax      {:<10} {:>9} req/s   over direct {}",
            entrant.name,
            thousands(entrant.figures.median()),
            entrant.figures.over(&direct)
        );
    }
    Ok(Verdict::Passed)
}
