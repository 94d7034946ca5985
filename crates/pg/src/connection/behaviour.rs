//! How a connection behaves, besides what its server says. Decides nothing itself.
//! Rule: it is the same for as long as the connection is open.

use crate::config::{Config, Pooler};
use crate::limits;

/// How a connection behaves, besides what its server says.
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    /// Statements kept prepared.
    pub statement_cache: usize,
    /// Whether statements may be prepared by name.
    pub pooling: Pooling,
    /// Bytes of one whole answer; a larger one has to be streamed.
    pub reply_bytes_max: usize,
    /// Whether the server's place in its log is to be learnt behind what is committed: see [`crate::LogPosition`].
    pub follows_log: bool,
}

impl Default for Behaviour {
    fn default() -> Self {
        Behaviour {
            statement_cache: limits::STATEMENT_CACHE_DEFAULT,
            pooling: Pooling::Session,
            reply_bytes_max: limits::REPLY_BYTES_DEFAULT,
            follows_log: false,
        }
    }
}

/// What is between us and the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pooling {
    /// Nothing, or a pooler that gives us one server session for as long as we are connected.
    #[default]
    Session,
    /// A pooler that may give us another session for every transaction: nothing may stay in a session, so statements are sent anew
    /// with each execution.
    Transaction,
}

impl Behaviour {
    /// What a configuration says of it.
    pub fn of(config: &Config) -> Behaviour {
        Behaviour {
            statement_cache: config.statement_cache,
            pooling: match config.pooler {
                Pooler::Transaction => Pooling::Transaction,
                _ if config.statement_cache == 0 => Pooling::Transaction,
                _ => Pooling::Session,
            },
            ..Behaviour::default()
        }
    }
}
