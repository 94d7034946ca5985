//! The statements that one connection has prepared, by their text. Prepares nothing itself.
//! Rule: never more than the connection's limit; the one used longest ago makes room, and its name is given back to be closed.

use std::collections::HashMap;
use std::rc::Rc;
use std::task::Waker;

use tsumugi_pg_proto::connection::StatementName;
use tsumugi_pg_proto::types::Oid;

use crate::statement::Description;

#[derive(Debug)]
pub(crate) struct Cache {
    by_sql: HashMap<Rc<str>, Vec<Entry>>,
    /// The one asked for last, which is found without hashing its text. While it is, its entry's `used` need not grow: all others'
    /// are smaller.
    recent: Option<Recent>,
    max: usize,
    len: usize,
    clock: u64,
    /// Names that the server still knows and that will not be used again.
    closing: Vec<StatementName>,
    /// Those that the request being written closes.
    being_closed: Vec<StatementName>,
}

#[derive(Debug)]
struct Entry {
    sql: Rc<str>,
    /// The parameter types that were asked for: other types make another statement.
    hints: Rc<[Oid]>,
    state: State,
    used: u64,
}

#[derive(Debug)]
struct Recent {
    sql: Rc<str>,
    hints: Rc<[Oid]>,
    description: Rc<Description>,
}

impl Recent {
    fn is(&self, sql: &str, hints: &[Oid]) -> bool {
        *self.sql == *sql && *self.hints == *hints
    }
}

#[derive(Debug)]
enum State {
    Ready(Rc<Description>),
    /// One caller prepares it; the others wait.
    Preparing(Vec<Waker>),
}

/// What the cache knows of a statement.
pub(crate) enum CacheLookup {
    Ready(Rc<Description>),
    /// Another caller is preparing it: the waker will be woken.
    Preparing,
    /// It is for the caller to prepare, and to say how that ended.
    Unknown,
}

impl Cache {
    pub(crate) fn new(max: usize) -> Self {
        Cache {
            by_sql: HashMap::new(),
            recent: None,
            max: max.max(1),
            len: 0,
            clock: 0,
            closing: Vec::new(),
            being_closed: Vec::new(),
        }
    }

    /// What is known of `sql`. If nothing is, it is for the caller to prepare.
    pub(crate) fn look_up(&mut self, sql: &str, hints: &[Oid], waker: &Waker) -> CacheLookup {
        if let Some(recent) = &self.recent
            && recent.is(sql, hints)
        {
            return CacheLookup::Ready(Rc::clone(&recent.description));
        }
        self.recent = None;
        self.clock += 1;
        let clock = self.clock;
        if let Some(entry) = self.find(sql, hints) {
            entry.used = clock;
            return match &mut entry.state {
                State::Ready(description) => {
                    let description = Rc::clone(description);
                    self.recent = Some(Recent {
                        sql: Rc::clone(&entry.sql),
                        hints: Rc::clone(&entry.hints),
                        description: Rc::clone(&description),
                    });
                    CacheLookup::Ready(description)
                }
                State::Preparing(waiting) => {
                    waiting.push(waker.clone());
                    CacheLookup::Preparing
                }
            };
        }
        while self.len >= self.max && self.evict_oldest() {}
        let sql: Rc<str> = sql.into();
        let entry = Entry {
            sql: Rc::clone(&sql),
            hints: hints.into(),
            state: State::Preparing(Vec::new()),
            used: clock,
        };
        self.by_sql.entry(sql).or_default().push(entry);
        self.len += 1;
        CacheLookup::Unknown
    }

    /// The statement was prepared.
    pub(crate) fn prepared(&mut self, sql: &str, hints: &[Oid], description: Rc<Description>) {
        if let Some(entry) = self.find(sql, hints)
            && let State::Preparing(waiting) = &mut entry.state
        {
            let waiting = std::mem::take(waiting);
            entry.state = State::Ready(description);
            waiting.into_iter().for_each(Waker::wake);
            return;
        }
        // The cache was cleared meanwhile.
        self.close_description(&description);
    }

    /// The statement could not be prepared, or must be prepared anew. Each caller that waits for it tries by itself.
    pub(crate) fn forget(&mut self, sql: &str, hints: &[Oid]) {
        self.recent.take_if(|recent| recent.is(sql, hints));
        let Some(entries) = self.by_sql.get_mut(sql) else {
            return;
        };
        let Some(at) = entries.iter().position(|entry| *entry.hints == *hints) else {
            return;
        };
        let entry = entries.swap_remove(at);
        if entries.is_empty() {
            self.by_sql.remove(sql);
        }
        self.len -= 1;
        self.release_entry(entry);
    }

    /// Statements to be closed, at most as many as fit into one request without being noticed.
    pub(crate) fn closing(&mut self) -> &[StatementName] {
        let from = self.closing.len().saturating_sub(CLOSED_AT_ONCE_MAX);
        let start = self.being_closed.len();
        self.being_closed.extend(self.closing.drain(from..));
        self.being_closed.get(start..).unwrap_or_default()
    }

    /// The request that closes statements was written.
    pub(crate) fn written(&mut self) {
        self.being_closed.clear();
    }

    /// The request was taken back: what it would have closed is still to be closed.
    pub(crate) fn taken_back(&mut self) {
        self.closing.append(&mut self.being_closed);
    }

    /// The server may know a statement by this name that will not be used.
    pub(crate) fn close(&mut self, name: Option<StatementName>) {
        self.closing.extend(name);
    }

    pub(crate) fn has_closing(&self) -> bool {
        !self.closing.is_empty()
    }

    /// Forgets all that is prepared: the server has forgotten it, too.
    pub(crate) fn clear(&mut self) {
        let names: Vec<_> = self
            .by_sql
            .iter()
            .flat_map(|(sql, entries)| {
                entries
                    .iter()
                    .map(move |entry| (sql.clone(), entry.hints.clone()))
            })
            .collect();
        for (sql, hints) in names {
            self.forget(&sql, &hints);
        }
        self.closing.clear();
    }

    fn find(&mut self, sql: &str, hints: &[Oid]) -> Option<&mut Entry> {
        let entries = self.by_sql.get_mut(sql)?;
        entries.iter_mut().find(|entry| *entry.hints == *hints)
    }

    /// Makes room. False when all are being prepared.
    fn evict_oldest(&mut self) -> bool {
        let ready = self.by_sql.iter().flat_map(|(sql, entries)| {
            let ready = entries
                .iter()
                .filter(|entry| matches!(entry.state, State::Ready(_)));
            ready.map(move |entry| (entry.used, sql, &entry.hints))
        });
        let oldest = ready.min_by_key(|(used, ..)| *used);
        let Some((_, sql, hints)) =
            oldest.map(|(used, sql, hints)| (used, sql.clone(), hints.clone()))
        else {
            return false;
        };
        self.forget(&sql, &hints);
        true
    }

    fn close_description(&mut self, description: &Description) {
        description.let_go.set(true);
        self.closing.extend(description.name);
    }

    fn release_entry(&mut self, entry: Entry) {
        match entry.state {
            State::Ready(description) => self.close_description(&description),
            State::Preparing(waiting) => waiting.into_iter().for_each(Waker::wake),
        }
    }
}

/// Statements closed along with one request.
const CLOSED_AT_ONCE_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// Looks up what `asked` names, letter by letter, in a cache for two; upper case stands for what had to be prepared.
    #[track_caller]
    fn check(asked: &str, expected: &str) {
        let mut cache = Cache::new(2);
        let found = asked.chars().map(|letter| {
            let sql = letter.to_string();
            match cache.look_up(&sql, &[], Waker::noop()) {
                CacheLookup::Ready(_) => letter,
                CacheLookup::Preparing => '?',
                CacheLookup::Unknown => {
                    cache.prepared(&sql, &[], Rc::new(Description::unnamed()));
                    letter.to_ascii_uppercase()
                }
            }
        });
        assert_eq!(found.collect::<String>(), expected);
    }

    #[test]
    fn least_recently_used_statement_is_evicted() {
        check("aab", "AaB");
        check("abca", "ABCA");
        check("abaca", "ABaCa");
        check("abbbaacb", "ABbbaaCB");
        check("aaabbbaca", "AaaBbbaCa");
        check("aabac", "AaBaC");
        check("abacab", "ABaCaB");
    }

    #[test]
    fn forgotten_statement_is_not_found_although_it_was_the_last() {
        let mut cache = Cache::new(2);
        for _ in 0..2 {
            assert!(matches!(
                cache.look_up("a", &[], Waker::noop()),
                CacheLookup::Unknown
            ));
            cache.prepared("a", &[], Rc::new(Description::unnamed()));
            assert!(matches!(
                cache.look_up("a", &[], Waker::noop()),
                CacheLookup::Ready(_)
            ));
            assert!(matches!(
                cache.look_up("a", &[23], Waker::noop()),
                CacheLookup::Unknown
            ));
            cache.forget("a", &[]);
            cache.clear();
        }
    }
}
