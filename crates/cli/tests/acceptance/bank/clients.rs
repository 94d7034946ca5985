//! Clients of the bank: each has one connection and a session, asks for one thing at a time and writes down what it was answered. They know no table.
//! Rule: a client that got no answer says so and claims nothing, and nothing is ever asked for twice under one key.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tsumugi_testkit::Dice;

use super::history::{Answer, Asked, Change, ClientHistory, Read, Visit};
use crate::rig::{Client, Reply, pause};

/// Above all limits of a request together.
const ANSWER_MAX: Duration = Duration::from_secs(45);

/// Between two things that a client asks for, at most.
const REST_MS: u64 = 40;

pub const ACCOUNTS: u64 = 10;

/// One client, over all rounds.
pub struct BankClient {
    number: usize,
    dice: Dice,
    began: Instant,
    connection: Option<Client>,
    cookies: BTreeMap<String, String>,
    sequence: i64,
    acknowledged: i64,
    visit: i64,
    pub history: ClientHistory,
    /// Reads of its own changes that a standby answered.
    pub standby_reads: usize,
    /// Answers that are none of the bank's own, such as the balancer's, by their status.
    pub strange: BTreeMap<u16, usize>,
}

/// Whether clients go on, and how many changes were acknowledged.
#[derive(Default)]
pub struct Traffic {
    is_over: AtomicBool,
    acknowledged: AtomicUsize,
}

impl Traffic {
    pub fn acknowledged(&self) -> usize {
        self.acknowledged.load(Ordering::Relaxed)
    }

    pub fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl BankClient {
    pub fn new(number: usize, seed: u64, began: Instant) -> BankClient {
        BankClient {
            number,
            dice: Dice::new(seed.wrapping_mul(1_000).wrapping_add(number as u64)),
            began,
            connection: None,
            cookies: BTreeMap::new(),
            sequence: 0,
            acknowledged: 0,
            visit: 0,
            history: ClientHistory::default(),
            standby_reads: 0,
            strange: BTreeMap::new(),
        }
    }

    /// Asks for one thing after the other until the traffic ends. One of several addresses is taken anew for each connection.
    pub fn run(&mut self, addresses: &[SocketAddr], traffic: &Traffic) {
        while !traffic.is_over.load(Ordering::Relaxed) {
            match self.dice.below(12) {
                0..=4 => self.transfer(addresses, traffic),
                5 => self.change(addresses, "/note", "", Change::Note, traffic),
                6 => self.change(addresses, "/pair", "", Change::Pair, traffic),
                7 | 8 => self.read(addresses),
                9 => self.sum(addresses),
                10 => self.set_visit(addresses),
                _ => self.find_visit(addresses),
            }
            pause(self.dice.below(REST_MS));
        }
        self.connection = None;
    }

    fn transfer(&mut self, addresses: &[SocketAddr], traffic: &Traffic) {
        let source = self.dice.below(ACCOUNTS);
        let target = (source + 1 + self.dice.below(ACCOUNTS - 1)) % ACCOUNTS;
        let amount = 1 + self.dice.below(20);
        let is_serializable = self.dice.one_in(4);
        let query = format!(
            "&source={source}&target={target}&amount={amount}&serializable={is_serializable}"
        );
        let [source, target, amount] = [source, target, amount].map(u64::cast_signed);
        let change = Change::Transfer {
            source,
            target,
            amount,
        };
        self.change(addresses, "/transfer", &query, change, traffic);
    }

    fn change(
        &mut self,
        addresses: &[SocketAddr],
        path: &str,
        query: &str,
        change: Change,
        traffic: &Traffic,
    ) {
        self.sequence += 1;
        let (client, sequence) = (self.number, self.sequence);
        let key = format!("{client}-{sequence}");
        let path = format!("{path}?key={key}&client={client}&sequence={sequence}{query}");
        let begun = self.began.elapsed();
        let (answer, text) = self.ask_for_change(addresses, &path);
        if answer == Answer::Committed {
            self.acknowledged = sequence;
            traffic.acknowledged.fetch_add(1, Ordering::Relaxed);
        }
        let ended = self.began.elapsed();
        self.history.changes.push(Asked {
            key,
            sequence,
            change,
            answer,
            text,
            ended,
            took: ended - begun,
        });
    }

    fn read(&mut self, addresses: &[SocketAddr]) {
        let path = format!("/last?client={}", self.number);
        if let Some([found, is_standby]) = self.numbers_at(addresses, &path) {
            self.standby_reads += usize::from(is_standby == 1);
            self.history.reads.push(Read {
                acknowledged: self.acknowledged,
                asked: self.sequence,
                found,
            });
        }
    }

    fn sum(&mut self, addresses: &[SocketAddr]) {
        let sum = self.numbers_at(addresses, "/sum");
        self.history.sums.extend(sum.map(|[sum]| sum));
    }

    fn set_visit(&mut self, addresses: &[SocketAddr]) {
        self.visit += 1;
        let path = format!("/visit?visit={}", self.visit);
        let (answer, _) = self.ask_for_change(addresses, &path);
        self.history.visits.push(Visit::Set(self.visit, answer));
    }

    fn find_visit(&mut self, addresses: &[SocketAddr]) {
        let found = self.numbers_at(addresses, "/visit");
        let found = found.map(|[found]| Visit::Found(found));
        self.history.visits.extend(found);
    }

    fn ask_for_change(&mut self, addresses: &[SocketAddr], path: &str) -> (Answer, String) {
        let Some(reply) = self.ask(addresses, "POST", path) else {
            return (Answer::Missing, String::new());
        };
        let text = reply.text();
        let said = text.split([' ', ':']).next().unwrap_or_default();
        let answer = match (reply.status, said) {
            (200, "committed") => Answer::Committed,
            (409 | 503, "not-kept") => Answer::NotKept,
            (503, "unknown") => Answer::Unknown,
            (status, _) => {
                *self.strange.entry(status).or_default() += 1;
                Answer::Missing
            }
        };
        (answer, format!("{} {text}", reply.status))
    }

    fn numbers_at<const N: usize>(
        &mut self,
        addresses: &[SocketAddr],
        path: &str,
    ) -> Option<[i64; N]> {
        let reply = self.ask(addresses, "GET", path)?;
        let text = reply.text();
        let found = text.strip_prefix("read ").filter(|_| reply.status == 200)?;
        let numbers: Result<Vec<i64>, _> = found.split(' ').map(str::parse).collect();
        let numbers = numbers.ok().and_then(|numbers| numbers.try_into().ok());
        Some(numbers.unwrap_or_else(|| panic!("{path}: {text}")))
    }

    /// The answer, unless the connection ends before or within it.
    fn ask(&mut self, addresses: &[SocketAddr], method: &str, path: &str) -> Option<Reply> {
        if self.connection.is_none() {
            let address = self.dice.pick(addresses);
            self.connection = Client::try_new(address).map(|client| client.waiting(ANSWER_MAX));
        }
        let Some(connection) = &mut self.connection else {
            pause(50);
            return None;
        };
        let cookies = self.cookies.iter();
        let pairs: Vec<String> = cookies
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        // As a browser says of a page's own requests.
        let mut headers = "sec-fetch-site: same-origin\r\n".to_owned();
        if !pairs.is_empty() {
            headers += &format!("cookie: {}\r\n", pairs.join("; "));
        }
        let asked = connection.try_send(method, path, &headers);
        let reply = asked.and_then(|()| connection.try_receive());
        let ends = reply
            .as_ref()
            .is_none_or(|reply| reply.header("connection") == Some("close"));
        if ends {
            self.connection = None;
        }
        let reply = reply?;
        for (_, value) in reply
            .headers
            .iter()
            .filter(|(name, _)| name == "set-cookie")
        {
            let pair = value.split(';').next().unwrap_or_default();
            if let Some((name, value)) = pair.split_once('=') {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        Some(reply)
    }
}
