//! A part of the suite firebird: what one statement costs outside of a transaction, and inside one that many share. Outside, a statement that
//! may write has a transaction of its own. Rule: the server is reached through a relay that counts writes, so that a count is exact.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use crate::bench::{Bench, ProgramEntry, Run};
use crate::client::ProbeClient;
use crate::report::{Better, ReportTable, Row};

/// Statements of one request; inside of a transaction they share its beginning and its end.
const STATEMENTS: usize = 200;

/// Bytes that the relay passes on at a time: more than any message here has.
const PIECE_BYTES: usize = 64 << 10;

const APPLICATION: &str = r#"plugin(:db) { DB.connect ENV["DATABASE_URL"], pool: 1 }

db.execute "recreate table bench_cost(n integer)"
db.execute "create or alter procedure bench_cost_add(n integer) returns (m integer) as
  begin insert into bench_cost values (:n); m = n; suspend; end"

helpers do
  def run(what, n)
    case what
    when "select" then db.query("select cast(? as integer) as n from rdb$database", n).first[:n]
    when "insert" then db.execute("insert into bench_cost(n) values (?)", n)
    when "procedure" then db.query("select m from bench_cost_add(?)", n).first[:m]
    end
  end
end

get "/:where/:what/:count", count: Integer do |where, what, count|
  all = proc { count.times { |n| run(what, n) } }
  where == "inside" ? db.transaction(&all) : all.call
  "done"
end
"#;

/// What is run, and what it is called.
const STATEMENT_KINDS: [(&str, &str); 3] = [
    ("select", "a select"),
    ("insert", "an insert"),
    ("procedure", "a select from a procedure that writes"),
];

const PLACES: [(&str, &str); 2] = [
    ("outside", "outside of a transaction"),
    ("inside", "inside of one"),
];

/// Passes on what a program and a server say to each other.
struct Relay {
    address: SocketAddr,
    /// What the program wrote: each piece that came after all before it was passed on.
    writes: Arc<AtomicUsize>,
}

impl Relay {
    /// To this server, for as long as the process lasts.
    fn start(server: SocketAddr) -> Result<Relay> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let writes = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&writes);
        thread::spawn(move || {
            for program in listener.incoming().map_while(std::io::Result::ok) {
                let Ok(server) = TcpStream::connect(server) else {
                    continue;
                };
                let Ok((back, answers)) = program
                    .try_clone()
                    .and_then(|back| Ok((back, server.try_clone()?)))
                else {
                    continue;
                };
                let counted = Arc::clone(&counted);
                thread::spawn(move || {
                    pass(program, server, || {
                        counted.fetch_add(1, Relaxed);
                    })
                });
                thread::spawn(move || pass(answers, back, || ()));
            }
        });
        Ok(Relay { address, writes })
    }
}

/// Until one of them has gone.
fn pass(mut from: TcpStream, mut to: TcpStream, count: impl Fn()) {
    let _ = to.set_nodelay(true);
    let mut piece = vec![0; PIECE_BYTES];
    while let Ok(length @ 1..) = from.read(&mut piece) {
        count();
        if to.write_all(&piece[..length]).is_err() {
            return;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

/// The server of a URL, and the same URL by way of `relay`.
fn rerouted(url: &str) -> Result<(Relay, String)> {
    let (before, rest) = url.split_once("://").context("a URL has a scheme")?;
    let (authority, path) = rest.split_once('/').context("a URL has a path")?;
    let (user, server) = authority.rsplit_once('@').unwrap_or(("", authority));
    let relay = Relay::start(
        server
            .parse()
            .with_context(|| format!("{server} is no address"))?,
    )?;
    let at = if user.is_empty() { "" } else { "@" };
    let rerouted = format!("{before}://{user}{at}{}/{path}", relay.address);
    Ok((relay, rerouted))
}

/// Adds two tables to the suite: time, and writes to the server, of one statement.
pub(crate) fn compare(bench: &mut Bench, url: &str) -> Result<()> {
    let Ok((relay, url)) = rerouted(url) else {
        bench.miss(
            "cost of a transaction for each statement",
            "FIREBIRD_URL names no address and port",
        );
        return Ok(());
    };
    let folder = bench.folder().to_owned();
    let file = folder.join("firebird-cost.rb");
    std::fs::write(&file, APPLICATION)?;
    let process = bench
        .ours()
        .serve(&file, &folder, 1, &[("DATABASE_URL", url.as_str())])?;
    let mut client = ProbeClient::connect(process.address)?;
    let mut ask = |path: &str| -> Result<()> {
        let answer = client.fetch(path)?;
        ensure!(answer.status == 200, "{path} answers {}", answer.status);
        Ok(())
    };
    let mut counts = Vec::new();
    for (statement, title) in STATEMENT_KINDS {
        for (place, words) in PLACES {
            let path = format!("/{place}/{statement}/{STATEMENTS}");
            // Statements are prepared by then.
            ask(&path)?;
            let before = relay.writes.load(Relaxed);
            ask(&path)?;
            let writes = relay.writes.load(Relaxed) - before;
            counts.push(Row {
                runs: vec![writes as f64 / STATEMENTS as f64],
                ..row(title, words)
            });
        }
    }
    bench.table(ReportTable {
        name: "writes".to_owned(),
        title: "writes to the server for one statement".to_owned(),
        unit: "writes".to_owned(),
        better: Better::Less,
        notes: vec![format!("of {STATEMENTS}, one after the other on one connection; a transaction's own beginning and end among them")],
        rows: counts,
        ..ReportTable::default()
    });
    times(bench, process.address)
}

fn row(title: &str, words: &str) -> Row {
    Row {
        case: format!("{title}, {words}"),
        program: "tsumugi".to_owned(),
        ours: true,
        ..Row::default()
    }
}

/// How long one statement takes.
fn times(bench: &mut Bench, address: SocketAddr) -> Result<()> {
    let mut entries = Vec::new();
    for (statement, title) in STATEMENT_KINDS {
        for (place, words) in PLACES {
            let path = format!("/{place}/{statement}/{STATEMENTS}");
            entries.push(ProgramEntry::new(row(title, words), move |_| {
                let mut client = ProbeClient::connect(address)?;
                let began = Instant::now();
                let answer = client.fetch(&path)?;
                ensure!(answer.status == 200, "{path} answers {}", answer.status);
                Ok(Run {
                    figure: began.elapsed().as_secs_f64() * 1e6 / STATEMENTS as f64,
                    ..Run::default()
                })
            }));
        }
    }
    let table = ReportTable {
        name: "cost".to_owned(),
        title: "time of one statement, with and without a transaction of its own".to_owned(),
        unit: "µs".to_owned(),
        better: Better::Less,
        notes: vec![format!(
            "{STATEMENTS} in one request, one after the other, by way of a relay on this machine"
        )],
        ..ReportTable::default()
    };
    bench.contest(table, entries).map(drop)
}
