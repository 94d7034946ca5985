//! A bank of three processes, two in Ruby and one in Rust, over a cluster of three PostgreSQL under Patroni, with sessions in its etcd and behind a
//! balancer, while members of each are killed, stopped and cut off. Rule: after each fault what clients were answered is compared with the tables: nothing
//! acknowledged is missing, nothing that was said not to be kept is there, nothing is there twice, and no client's reads go back.
//!
//! `TSUMUGI_BANK_ROUNDS` says how many faults, which are a few without it, and `TSUMUGI_BANK_SEED` which; they are a part of `make soak`.

mod clients;
mod faults;
mod history;
mod native;
mod patroni;
mod process;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tsumugi_testkit::Dice;
use tsumugi_testkit::etcd::EtcdCluster;
use tsumugi_testkit::haproxy::Balancer;
use tsumugi_testkit::patroni::PatroniCluster;
use tsumugi_testkit::postgres::Options;

use self::clients::{ACCOUNTS, BankClient, Traffic};
use self::faults::{Fault, schedule};
use self::history::{Answer, ClientHistory, Tables};
use self::process::{BankProcess, Face};
use crate::rig::pause;

/// So many clients load the bank.
const CLIENTS: usize = 8;

/// At the beginning.
const BALANCE: i64 = 1_000;

/// Until the bank acknowledges again, whatever became of it. Not a promise: a machine may be crowded.
const RECOVERY_MAX: Duration = Duration::from_secs(120);

/// A process of the bank in Rust, where this program was started as one; see [`process`].
#[test]
fn process_in_rust() {
    native::serve_if_asked();
}

fn variable(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} is a number, not {value}")),
    )
}

/// The tables, with their accounts filled. `owner` is who may write to them.
fn tables_sql(owner: &str) -> String {
    format!(
        "create table accounts (id int primary key, balance int not null); \
         insert into accounts select i, {BALANCE} from generate_series(0, {}) i; \
         create table entries (key text not null, part int not null, client int not null, sequence bigint not null, source int, target int, amount int); \
         create index on entries (client, sequence); \
         create table ticks (name text not null, token bigint not null, began timestamptz not null); \
         create table marks (token bigint not null, at timestamptz not null); \
         grant all on all tables in schema public to {owner}; grant all on schema public to {owner}",
        ACCOUNTS - 1
    )
}

/// All of them at one moment: the timer goes on meanwhile.
const ALL_TABLES: &str = "select 'entry', key, part::text, '' from entries \
     union all select 'transfer', source::text, target::text, amount::text from entries where source is not null \
     union all select 'balance', id::text, balance::text, '' from accounts \
     union all select 'tick', token::text, (extract(epoch from began) * 1000000)::bigint::text, '' from ticks \
     union all select 'mark', token::text, (extract(epoch from at) * 1000000)::bigint::text, '' from marks";

/// What the tables hold, as `ask` reads them.
fn read_tables(ask: &dyn Fn(&str) -> String) -> Tables {
    let text = ask(ALL_TABLES);
    let mut tables = Tables::default();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('|').collect();
        let number = |at: usize| -> i64 { fields[at].parse().unwrap() };
        match fields[0] {
            "entry" => {
                let parts = tables.entries.entry(fields[1].to_owned()).or_default();
                parts.push(number(2));
            }
            "transfer" => tables.transfers.push((number(1), number(2), number(3))),
            "balance" => drop(tables.balances.insert(number(1), (BALANCE, number(2)))),
            "tick" => tables.ticks.push((number(1), number(2))),
            "mark" => tables.marks.push((number(1), number(2))),
            kind => panic!("{kind}"),
        }
    }
    tables
}

/// The processes and their clients.
struct Bank {
    processes: Vec<BankProcess>,
    clients: Vec<BankClient>,
    began: Instant,
    context: String,
}

impl Bank {
    fn start(seed: u64, database: &str, sessions: &str) -> Bank {
        let began = Instant::now();
        let faces = [
            ("one", Face::Ruby),
            ("two", Face::Rust),
            ("three", Face::Ruby),
        ];
        let processes =
            faces.map(|(name, face)| BankProcess::start(face, name, database, sessions));
        let clients = (0..CLIENTS).map(|number| BankClient::new(number, seed, began));
        Bank {
            processes: processes.into(),
            clients: clients.collect(),
            began,
            context: format!("TSUMUGI_BANK_SEED={seed}"),
        }
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        let processes = self.processes.iter();
        processes.map(|process| process.address).collect()
    }

    fn logs(&self) -> String {
        let logs: Vec<String> = self.processes.iter().map(BankProcess::log).collect();
        logs.join("\n")
    }

    /// Runs this while clients load the bank, from when it goes well until it goes well again. When it began and ended, since the test began.
    fn load(
        &mut self,
        addresses: &[SocketAddr],
        fault: impl FnOnce(&mut [BankProcess]),
    ) -> (Duration, Duration) {
        let traffic = Traffic::default();
        let began = self.began;
        let mut clients = std::mem::take(&mut self.clients);
        let mut times = (Duration::ZERO, Duration::ZERO);
        let mut flows = true;
        std::thread::scope(|scope| {
            let _end = EndGuard(&traffic);
            for client in &mut clients {
                scope.spawn(|| client.run(addresses, &traffic));
            }
            flows = wait_for_changes(&traffic, 40);
            times.0 = began.elapsed();
            fault(&mut self.processes);
            flows = flows && wait_for_changes(&traffic, 40);
            times.1 = began.elapsed();
        });
        self.clients = clients;
        assert!(
            flows,
            "{}: the bank acknowledges nothing\n{}",
            self.context,
            self.logs()
        );
        times
    }

    fn histories(&self) -> Vec<ClientHistory> {
        let clients = self.clients.iter();
        clients.map(|client| client.history.clone()).collect()
    }

    /// Compares all answers so far with the tables.
    fn check(&self, ask: &dyn Fn(&str) -> String) {
        for process in &self.processes {
            let log = process.whole_log();
            // Reads behind a change of an earlier request would not be looked for.
            let refused = log.contains("follow what was written in the same request");
            assert!(!refused, "{log}");
        }
        let tables = read_tables(ask);
        let findings = history::check(&self.histories(), &tables);
        assert!(
            findings.is_empty(),
            "{}: {}\n{}",
            self.context,
            findings.shown(),
            self.logs()
        );
    }

    /// Prints what clients were answered; how many reads standbys answered.
    fn report(&self, what: &str, ask: &dyn Fn(&str) -> String) -> usize {
        let histories = self.histories();
        let counts = history::counts(&histories);
        let count = |answer| counts.get(&answer).copied().unwrap_or(0);
        let tables = read_tables(ask);
        let reads: usize = histories.iter().map(|client| client.reads.len()).sum();
        let clients = self.clients.iter();
        let standby_reads: usize = clients.map(|client| client.standby_reads).sum();
        let visits: usize = histories.iter().map(|client| client.visits.len()).sum();
        let mut strange: BTreeMap<u16, usize> = BTreeMap::new();
        for (status, count) in self.clients.iter().flat_map(|client| &client.strange) {
            *strange.entry(*status).or_default() += count;
        }
        println!(
            "soak     {what}: {} committed, {} not kept, {} CommitUnknown or may have run, {} without an answer (by status {strange:?}); {reads} reads of \
             own changes ({standby_reads} on standbys, {} saw one that was never acknowledged and is lost), {visits} visits of sessions, {} ticks with {} marks; no contradiction",
            count(Answer::Committed),
            count(Answer::NotKept),
            count(Answer::Unknown),
            count(Answer::Missing),
            history::seen_and_lost(&histories, &tables),
            tables.ticks.len(),
            tables.marks.len(),
        );
        assert!(count(Answer::Committed) > 100 && reads > 10 && visits > 10);
        assert!(!tables.marks.is_empty(), "the timer has never ticked");
        standby_reads
    }
}

/// Ends the clients, also where the test fails.
struct EndGuard<'a>(&'a Traffic);

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Waits until so many more changes are acknowledged; whether they come.
fn wait_for_changes(traffic: &Traffic, count: usize) -> bool {
    let (begun, since) = (traffic.acknowledged(), Instant::now());
    while traffic.acknowledged() < begun + count {
        if since.elapsed() > RECOVERY_MAX {
            return false;
        }
        pause(20);
    }
    true
}

/// Lets what is under way arrive.
const REST_MS: u64 = 2_000;

#[test]
fn bank_over_one_server_is_right_while_its_server_and_its_processes_are_killed_and_stopped() {
    let seed = variable("TSUMUGI_BANK_SEED").unwrap_or(1);
    let dice = Dice::new(seed);
    let server = Options::default()
        .setting("synchronous_commit", "on")
        .start();
    let database = server.database();
    database.psql(&tables_sql("public"));
    let url = format!(
        "{}?pool=6&acquire_timeout_ms=15000&statement_timeout_ms=5000",
        database.url()
    );
    let sessions = EtcdCluster::shared().place("bank");
    let mut bank = Bank::start(seed, &url, &sessions);
    let addresses = bank.addresses();
    let ask = |sql: &str| database.psql(sql);
    for fault in 0..3 {
        let at = dice.place(bank.processes.len());
        bank.load(&addresses, |processes| match fault {
            0 => {
                server.kill_9();
                pause(500);
                server.start_again();
            }
            1 => {
                processes[at].kill();
                pause(500);
                processes[at].start_again();
            }
            _ => {
                processes[at].freeze();
                pause(4_000);
                processes[at].thaw();
            }
        });
        pause(REST_MS);
        bank.check(&ask);
    }
    assert_eq!(bank.report("bank over one server", &ask), 0);
}

#[test]
fn bank_over_a_cluster_is_right_while_its_members_are_killed_stopped_and_cut_off() {
    let seed = variable("TSUMUGI_BANK_SEED").unwrap_or(1);
    let dice = Dice::new(seed);
    let faults = match variable("TSUMUGI_BANK_ROUNDS") {
        Some(rounds) => schedule(&dice, usize::try_from(rounds).unwrap(), &Fault::ALL),
        None => schedule(&dice, Fault::SHORT.len(), &Fault::SHORT),
    };
    let cluster = PatroniCluster::start();
    cluster.create_database("bank");
    let ask = |sql: &str| {
        let primary = cluster.wait_primary(RECOVERY_MAX);
        cluster.psql(primary, "bank", sql)
    };
    ask(&tables_sql("app"));
    ask("grant pg_read_all_stats to app");
    // One that does not have the database yet refuses connections to it, and the processes would not load.
    let there = "select count(*) from pg_class where relname = 'marks'";
    for at in 0..cluster.members() {
        while cluster.try_psql(at, "bank", there).as_deref() != Ok("1") {
            pause(20);
        }
    }
    let url = format!(
        "{}&pool=6&acquire_timeout_ms=15000&statement_timeout_ms=5000",
        cluster.urls("bank")
    );
    let mut bank = Bank::start(seed, &url, &cluster.etcd().place("bank"));
    let admins: Vec<SocketAddr> = bank.processes.iter().map(|process| process.admin).collect();
    let balancer = Balancer::start(&bank.addresses(), &admins);
    for (round, fault) in faults.into_iter().enumerate() {
        let context = format!("TSUMUGI_BANK_SEED={seed}, round {round}, {fault:?}");
        bank.context.clone_from(&context);
        let primary = cluster.wait_whole(RECOVERY_MAX);
        patroni::hold_back(&cluster, primary, &dice);
        let mut failover = None;
        let (from, until) = bank.load(&[balancer.address()], |processes| {
            failover = patroni::inflict(fault, &cluster, processes, &dice);
        });
        let silence = history::longest_silence(&bank.histories(), from, until);
        let beside = match failover {
            Some(time) => format!(
                ", Patroni had another primary after {:.1} s",
                time.as_secs_f64()
            ),
            None => String::new(),
        };
        println!(
            "soak     bank, {context}: nothing acknowledged for {:.1} s at most{beside}",
            silence.as_secs_f64()
        );
        pause(REST_MS);
        bank.check(&ask);
    }
    // What was stopped or cut off has arrived by then.
    pause(3 * REST_MS);
    bank.check(&ask);
    assert!(bank.report("bank over a cluster", &ask) > 0);
}
