//! What clients of the bank were answered, what its tables hold, and where the two contradict each other. Knows no server and asks nobody.
//! Rule: only what was said for certain counts: an answer that did not come claims nothing, and what it asked for is there wholly or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::time::Duration;

/// What a client was answered about a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    Committed,
    /// It was rolled back, or has not run.
    NotKept,
    /// Said to be unknown.
    Unknown,
    /// No answer came, or one that is none of the bank's own.
    Missing,
}

/// A change that a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Transfer {
        source: i64,
        target: i64,
        amount: i64,
    },
    Note,
    Pair,
}

impl Change {
    /// The parts that it leaves.
    fn parts(self) -> &'static [i64] {
        match self {
            Change::Transfer { .. } | Change::Note => &[0],
            Change::Pair => &[1, 2],
        }
    }
}

/// A change that was asked for once, under a key of its own.
#[derive(Clone, Debug)]
pub struct Asked {
    pub key: String,
    pub sequence: i64,
    pub change: Change,
    pub answer: Answer,
    /// What came, for a test that fails.
    pub text: String,
    /// When it was over, since the test began.
    pub ended: Duration,
    pub took: Duration,
}

/// What one client did, in order. It asks for one thing at a time.
#[derive(Clone, Debug, Default)]
pub struct ClientHistory {
    pub changes: Vec<Asked>,
    pub reads: Vec<Read>,
    pub visits: Vec<Visit>,
    pub sums: Vec<i64>,
}

/// A read of the youngest of its own changes.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// The youngest that was acknowledged by then, or 0.
    pub acknowledged: i64,
    /// The youngest that was asked for by then, or 0.
    pub asked: i64,
    pub found: i64,
}

/// What was done with a session.
#[derive(Clone, Copy, Debug)]
pub enum Visit {
    Set(i64, Answer),
    /// 0 where it is empty.
    Found(i64),
}

/// What the tables hold.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// The parts of each key.
    pub entries: BTreeMap<String, Vec<i64>>,
    /// The accounts with their balances at the beginning and now.
    pub balances: BTreeMap<i64, (i64, i64)>,
    /// Source, target and amount of each transfer.
    pub transfers: Vec<(i64, i64, i64)>,
    /// Tokens of ticks and when they began, in microseconds.
    pub ticks: Vec<(i64, i64)>,
    /// Tokens of marks and when they were made.
    pub marks: Vec<(i64, i64)>,
}

/// What contradicts what.
#[derive(Debug, Default)]
pub struct Findings(Vec<String>);

impl Findings {
    fn note(&mut self, finding: impl Display) {
        self.0.push(finding.to_string());
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first of them, and how many there are.
    pub fn shown(&self) -> String {
        let first: Vec<&str> = self.0.iter().take(20).map(String::as_str).collect();
        format!("{} contradictions:\n{}", self.0.len(), first.join("\n"))
    }
}

/// How many changes had which answer.
pub fn counts<'a>(clients: impl IntoIterator<Item = &'a ClientHistory>) -> BTreeMap<Answer, usize> {
    let mut counts = BTreeMap::new();
    for asked in clients.into_iter().flat_map(|client| &client.changes) {
        *counts.entry(asked.answer).or_default() += 1;
    }
    counts
}

/// The longest time without a change that was acknowledged, within these times.
pub fn longest_silence(clients: &[ClientHistory], from: Duration, until: Duration) -> Duration {
    let changes = clients.iter().flat_map(|client| &client.changes);
    let good = changes.filter(|asked| asked.answer == Answer::Committed);
    let mut times: Vec<Duration> = good
        .map(|asked| asked.ended)
        .filter(|time| (from..until).contains(time))
        .collect();
    times.extend([from, until]);
    times.sort_unstable();
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
    gaps.max().unwrap_or_default()
}

/// Looks for contradictions.
pub fn check(clients: &[ClientHistory], tables: &Tables) -> Findings {
    let mut findings = Findings::default();
    check_entries(clients, tables, &mut findings);
    check_balances(tables, &mut findings);
    for (number, client) in clients.iter().enumerate() {
        check_reads(number, client, tables, &mut findings);
        check_session(number, client, &mut findings);
        let total: i64 = tables.balances.values().map(|(begun, _)| begun).sum();
        for sum in client.sums.iter().filter(|sum| **sum != total) {
            findings.note(format!(
                "client {number} saw {sum} in all accounts together, not {total}"
            ));
        }
    }
    check_ticks(tables, &mut findings);
    findings
}

fn check_entries(clients: &[ClientHistory], tables: &Tables, findings: &mut Findings) {
    let mut keys = BTreeSet::new();
    for asked in clients.iter().flat_map(|client| &client.changes) {
        let found = tables.entries.get(&asked.key).cloned().unwrap_or_default();
        if !keys.insert(&asked.key) {
            findings.note(format!("the test asks twice under {}", asked.key));
        }
        let distinct: BTreeSet<i64> = found.iter().copied().collect();
        let is_whole = distinct
            .iter()
            .copied()
            .eq(asked.change.parts().iter().copied());
        let what = match asked.answer {
            _ if distinct.len() < found.len() => "doubled",
            _ if !found.is_empty() && !is_whole => "there in part",
            Answer::Committed if found.is_empty() => "acknowledged and missing",
            Answer::NotKept if !found.is_empty() => "said not to be kept and present",
            _ => continue,
        };
        let (key, change, answer) = (&asked.key, asked.change, asked.answer);
        let (took, text) = (asked.took, &asked.text);
        findings.note(format!(
            "{what}: parts {found:?} of {key}, {change:?}, {answer:?} after {took:?}: {text}"
        ));
    }
    for key in tables.entries.keys().filter(|key| !keys.contains(key)) {
        findings.note(format!("{key} is there and nobody has asked for it"));
    }
}

fn check_balances(tables: &Tables, findings: &mut Findings) {
    let mut expected: BTreeMap<i64, i64> = tables
        .balances
        .iter()
        .map(|(account, (begun, _))| (*account, *begun))
        .collect();
    for (source, target, amount) in &tables.transfers {
        *expected.entry(*source).or_default() -= amount;
        *expected.entry(*target).or_default() += amount;
    }
    let is_now = |account| tables.balances.get(account).map_or(0, |(_, now)| *now);
    for (account, expected) in &expected {
        let now = is_now(account);
        if now != *expected || now < 0 {
            findings.note(format!(
                "account {account} has {now}, and its transfers give {expected}"
            ));
        }
    }
    let total = |of: fn(&(i64, i64)) -> i64| -> i64 { tables.balances.values().map(of).sum() };
    let (begun, now) = (total(|(begun, _)| *begun), total(|(_, now)| *now));
    if begun != now {
        findings.note(format!("all accounts together have {now}, not {begun}"));
    }
}

fn check_reads(number: usize, client: &ClientHistory, tables: &Tables, findings: &mut Findings) {
    let there: BTreeSet<i64> = client
        .changes
        .iter()
        .filter(|asked| tables.entries.contains_key(&asked.key))
        .map(|asked| asked.sequence)
        .collect();
    let mut seen = 0;
    for read in &client.reads {
        if read.found < read.acknowledged {
            findings.note(format!(
                "client {number} does not see its own change: {read:?}"
            ));
        }
        if read.found > read.asked {
            findings.note(format!(
                "client {number} sees what it has not asked for: {read:?}"
            ));
        }
        // What a replica has shown before it was acknowledged may be lost with the primary. What is there now never was.
        if read.found < seen && there.contains(&seen) {
            findings.note(format!(
                "client {number} saw {seen} before and does not now: {read:?}"
            ));
        }
        seen = seen.max(read.found);
    }
}

/// How often a client saw a change of its own that is lost: a replica has it before it is acknowledged.
pub fn seen_and_lost(clients: &[ClientHistory], tables: &Tables) -> usize {
    let lost = clients.iter().map(|client| {
        let found: BTreeSet<i64> = client.reads.iter().map(|read| read.found).collect();
        let changes = client.changes.iter();
        changes
            .filter(|asked| found.contains(&asked.sequence))
            .filter(|asked| !tables.entries.contains_key(&asked.key))
            .count()
    });
    lost.sum()
}

fn check_session(number: usize, client: &ClientHistory, findings: &mut Findings) {
    let mut last = 0;
    // What has no certain answer may still arrive.
    let mut possible = BTreeSet::new();
    for visit in &client.visits {
        match visit {
            Visit::Set(value, Answer::Committed) => last = *value,
            Visit::Set(_, Answer::NotKept) => {}
            Visit::Set(value, Answer::Unknown | Answer::Missing) => {
                possible.insert(*value);
            }
            Visit::Found(found) if *found == last || possible.contains(found) => {}
            Visit::Found(found) => {
                findings.note(format!(
                    "client {number} finds {found} in its session, not {last}"
                ));
            }
        }
    }
}

fn check_ticks(tables: &Tables, findings: &mut Findings) {
    let mut began = BTreeMap::new();
    for (token, at) in &tables.ticks {
        if began.insert(*token, *at).is_some() {
            findings.note(format!("two ticks have the token {token}"));
        }
    }
    // From the youngest token down: when the first of those above it began.
    let mut next = i64::MAX;
    let mut ends = BTreeMap::new();
    for (token, at) in began.iter().rev() {
        ends.insert(*token, next);
        next = next.min(*at);
    }
    let all = tables.ticks.iter().chain(&tables.marks);
    for (token, at) in all {
        let Some(end) = ends.get(token) else {
            findings.note(format!("a mark has the token {token} of no tick"));
            continue;
        };
        if at > end {
            let late = at - end;
            findings.note(format!(
                "the tick {token} goes on {late} µs after a younger one began"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(sequence: i64, change: Change, answer: Answer) -> Asked {
        Asked {
            key: format!("0-{sequence}"),
            sequence,
            change,
            answer,
            text: String::new(),
            ended: Duration::from_secs(sequence.unsigned_abs()),
            took: Duration::ZERO,
        }
    }

    const TRANSFER: Change = Change::Transfer {
        source: 1,
        target: 2,
        amount: 3,
    };

    /// A client whose answers are all right, and the tables for it.
    fn sound() -> (ClientHistory, Tables) {
        let client = ClientHistory {
            changes: vec![
                asked(1, TRANSFER, Answer::Committed),
                asked(2, Change::Note, Answer::NotKept),
                asked(3, Change::Pair, Answer::Unknown),
                asked(4, Change::Pair, Answer::Missing),
                asked(5, TRANSFER, Answer::Missing),
            ],
            reads: vec![
                Read {
                    acknowledged: 1,
                    asked: 2,
                    found: 1,
                },
                Read {
                    acknowledged: 1,
                    asked: 5,
                    found: 4,
                },
            ],
            visits: vec![
                Visit::Found(0),
                Visit::Set(1, Answer::Committed),
                Visit::Found(1),
                Visit::Set(2, Answer::Missing),
                Visit::Set(3, Answer::Committed),
                Visit::Found(3),
                Visit::Found(2),
            ],
            sums: vec![20],
        };
        let tables = Tables {
            entries: BTreeMap::from([("0-1".to_owned(), vec![0]), ("0-4".to_owned(), vec![2, 1])]),
            balances: BTreeMap::from([(1, (10, 7)), (2, (10, 13))]),
            transfers: vec![(1, 2, 3)],
            ticks: vec![(1, 100), (3, 300)],
            marks: vec![(1, 200), (1, 300), (3, 400)],
        };
        (client, tables)
    }

    /// What is found when something is made wrong.
    #[track_caller]
    fn check_finds(change: impl FnOnce(&mut ClientHistory, &mut Tables), expected: &str) {
        let (mut client, mut tables) = sound();
        change(&mut client, &mut tables);
        let findings = check(&[client], &tables);
        assert_eq!(findings.0.len(), 1, "{}", findings.shown());
        assert!(findings.0[0].contains(expected), "{}", findings.shown());
    }

    #[test]
    fn sound_history_has_no_findings() {
        let (client, tables) = sound();
        let findings = check(std::slice::from_ref(&client), &tables);
        assert!(findings.is_empty(), "{}", findings.shown());
        assert_eq!(counts([&client])[&Answer::Missing], 2);
        assert_eq!(seen_and_lost(&[client], &tables), 0);
    }

    #[test]
    fn change_that_contradicts_its_answer_is_found() {
        let key = |sequence: i64| format!("0-{sequence}");
        check_finds(
            |client, tables| {
                tables.entries.remove(&key(1));
                client.reads.clear();
            },
            "acknowledged and missing",
        );
        check_finds(
            |_, tables| drop(tables.entries.insert(key(2), vec![0])),
            "said not to be kept and present",
        );
        for (sequence, parts) in [(1, vec![0, 0]), (4, vec![1, 2, 2]), (5, vec![0, 0])] {
            check_finds(
                |_, tables| drop(tables.entries.insert(key(sequence), parts)),
                "doubled",
            );
        }
        for (sequence, parts) in [(3, vec![1]), (4, vec![2]), (1, vec![1])] {
            check_finds(
                |_, tables| drop(tables.entries.insert(key(sequence), parts)),
                "there in part",
            );
        }
        check_finds(
            |_, tables| drop(tables.entries.insert(key(6), vec![0])),
            "nobody has asked for it",
        );
        check_finds(
            |client, _| client.changes.push(asked(5, TRANSFER, Answer::Missing)),
            "asks twice",
        );
    }

    #[test]
    fn money_that_is_lost_or_made_is_found() {
        let (client, sound) = sound();
        let found = |tables: &Tables| check(std::slice::from_ref(&client), tables).0;
        let mut tables = sound.clone();
        tables.balances.insert(1, (10, 6));
        tables.balances.insert(2, (10, 14));
        let expected = [
            "account 1 has 6, and its transfers give 7",
            "account 2 has 14, and its transfers give 13",
        ];
        assert_eq!(found(&tables), expected);
        let mut tables = sound.clone();
        tables.balances.insert(2, (10, 14));
        let expected = [
            "account 2 has 14, and its transfers give 13",
            "all accounts together have 21, not 20",
        ];
        assert_eq!(found(&tables), expected);
        let mut tables = sound;
        tables.transfers.push((1, 3, 0));
        assert!(found(&tables).is_empty());
        check_finds(|client, _| client.sums.push(19), "saw 19 in all accounts");
    }

    #[test]
    fn read_that_goes_back_is_found() {
        let read = |acknowledged, asked, found| Read {
            acknowledged,
            asked,
            found,
        };
        check_finds(
            |client, _| client.reads[0] = read(1, 2, 0),
            "does not see its own change",
        );
        check_finds(
            |client, _| client.reads.push(read(1, 5, 1)),
            "saw 4 before and does not now",
        );
        check_finds(
            |client, _| client.reads.push(read(1, 5, 6)),
            "sees what it has not asked for",
        );
        // It was not acknowledged, and is lost.
        let (mut client, mut tables) = sound();
        client.reads.push(read(1, 5, 1));
        tables.entries.remove("0-4");
        assert!(check(std::slice::from_ref(&client), &tables).is_empty());
        assert_eq!(seen_and_lost(&[client], &tables), 1);
    }

    #[test]
    fn session_that_is_lost_or_old_is_found() {
        for found in [0, 1, 4] {
            check_finds(
                |client, _| client.visits.push(Visit::Found(found)),
                "in its session, not 3",
            );
        }
        check_finds(
            |client, _| {
                client.visits.push(Visit::Set(4, Answer::NotKept));
                client.visits.push(Visit::Found(4));
            },
            "finds 4 in its session, not 3",
        );
    }

    #[test]
    fn ticks_at_once_are_found() {
        check_finds(
            |_, tables| tables.marks.push((1, 301)),
            "goes on 1 µs after a younger one began",
        );
        check_finds(
            |_, tables| tables.ticks.push((2, 301)),
            "the tick 2 goes on 1 µs",
        );
        check_finds(|_, tables| tables.marks.push((2, 250)), "of no tick");
        check_finds(
            |_, tables| tables.ticks.push((3, 300)),
            "two ticks have the token 3",
        );
    }

    #[test]
    fn silence_is_the_longest_gap_between_acknowledged_changes() {
        let times = [1, 2, 6, 7];
        let changes = times.map(|at| asked(at, TRANSFER, Answer::Committed));
        let mut client = ClientHistory {
            changes: changes.into(),
            ..ClientHistory::default()
        };
        client.changes.push(asked(4, TRANSFER, Answer::NotKept));
        let silence = |from, until| {
            let clients = std::slice::from_ref(&client);
            longest_silence(
                clients,
                Duration::from_secs(from),
                Duration::from_secs(until),
            )
            .as_secs()
        };
        assert_eq!(silence(0, 8), 4);
        assert_eq!(silence(5, 20), 13);
        assert_eq!(silence(3, 5), 2);
    }
}
