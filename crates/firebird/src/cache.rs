//! Statements kept prepared on one connection, by their text. One that is in use is not here: a caller that runs the same text meanwhile
//! prepares another. Sends nothing. Rule: at most as many as configured are kept; what goes is handed back, to be freed.

use std::collections::HashMap;
use std::rc::Rc;

use tsumugi_firebird_proto::handle::Statement;

use crate::description::Description;

/// A statement of the server's.
#[derive(Debug)]
pub(crate) struct PreparedStatement {
    pub(crate) handle: Statement,
    pub(crate) sql: Rc<str>,
    pub(crate) description: Rc<Description>,
    /// A cursor of it may be open. It has to be closed before it is executed again.
    pub(crate) open: bool,
    /// The cache's age when it was prepared.
    generation: u64,
}

impl PreparedStatement {
    pub(crate) fn new(
        handle: Statement,
        sql: Rc<str>,
        description: Rc<Description>,
        generation: u64,
    ) -> PreparedStatement {
        PreparedStatement {
            handle,
            sql,
            description,
            open: false,
            generation,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Cache {
    max: usize,
    kept: usize,
    idle: HashMap<Rc<str>, Vec<(u64, PreparedStatement)>>,
    /// Counts uses, so that the oldest is known.
    clock: u64,
    /// Counts changes of the schema: a statement from before one is not kept.
    generation: u64,
}

impl Cache {
    pub(crate) fn new(max: usize) -> Cache {
        Cache {
            max,
            kept: 0,
            idle: HashMap::new(),
            clock: 0,
            generation: 0,
        }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// A statement with this text that is not in use.
    pub(crate) fn take(&mut self, sql: &str) -> Option<PreparedStatement> {
        let (_, prepared) = self.idle.get_mut(sql)?.pop()?;
        self.kept -= 1;
        Some(prepared)
    }

    /// Keeps a statement that is used no more. Another one, or the same, has to go if one is returned.
    pub(crate) fn keep(&mut self, prepared: PreparedStatement) -> Option<PreparedStatement> {
        if self.max == 0 || prepared.generation != self.generation {
            return Some(prepared);
        }
        let gone = if self.kept == self.max {
            self.take_oldest()
        } else {
            None
        };
        self.clock += 1;
        self.kept += 1;
        let place = self.idle.entry(Rc::clone(&prepared.sql)).or_default();
        place.push((self.clock, prepared));
        gone
    }

    fn take_oldest(&mut self) -> Option<PreparedStatement> {
        self.idle.retain(|_, kept| !kept.is_empty());
        let oldest = self
            .idle
            .iter()
            .filter_map(|(sql, kept)| Some((kept.first()?.0, Rc::clone(sql))))
            .min_by_key(|(used, _)| *used);
        let kept = self.idle.get_mut(&oldest?.1)?;
        self.kept -= 1;
        Some(kept.remove(0).1)
    }

    /// Forgets all that are not in use, and does not keep what is in use now.
    pub(crate) fn clear(&mut self) -> Vec<PreparedStatement> {
        self.generation += 1;
        self.kept = 0;
        let idle = self.idle.drain().flat_map(|(_, kept)| kept);
        idle.map(|(_, prepared)| prepared).collect()
    }

    /// How many are kept.
    pub(crate) fn len(&self) -> usize {
        self.kept
    }
}
