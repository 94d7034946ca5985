//! Messages that one process keeps for its own followers, without a database. Sends nothing.
//! Rule: numbers begin anywhere, so that those of the process before are known to be of another one.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use ring::rand::{SecureRandom as _, SystemRandom};

use crate::engine::{KeptMessage, KeptRange};
use crate::error::{Error, Result};
use crate::limits::CHANNELS_MAX;

static CHANNELS: LazyLock<Mutex<HashMap<String, Log>>> = LazyLock::new(Mutex::default);

#[derive(Debug)]
struct Log {
    last: i64,
    messages: VecDeque<Arc<str>>,
}

impl Log {
    fn new() -> Log {
        let mut random = [0; 8];
        // Without them the numbers begin at the same place, which can only hide a gap.
        let _ = SystemRandom::new().fill(&mut random);
        Log {
            // Clients that compute with floats have these exactly.
            last: i64::from_ne_bytes(random) & ((1 << 52) - 1),
            messages: VecDeque::new(),
        }
    }

    /// The number of the oldest message that is kept, or that of the next one.
    fn oldest(&self) -> i64 {
        let count = i64::try_from(self.messages.len()).unwrap_or(i64::MAX);
        self.last.saturating_sub(count).saturating_add(1)
    }
}

/// A panic elsewhere leaves the table whole: every change of it is one step.
fn channels() -> MutexGuard<'static, HashMap<String, Log>> {
    CHANNELS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The messages of a channel, which begin with the first question for them.
fn log<'a>(channels: &'a mut HashMap<String, Log>, name: &str) -> Result<&'a mut Log> {
    if !channels.contains_key(name) && channels.len() >= CHANNELS_MAX {
        return Err(Error::TooMany {
            limit: "CHANNELS_MAX",
            max: CHANNELS_MAX,
        });
    }
    Ok(channels.entry(name.to_owned()).or_insert_with(Log::new))
}

/// Keeps a message and the so many before it, and answers its number.
pub(crate) fn keep(name: &str, message: &str, most: i64) -> Result<i64> {
    let mut channels = channels();
    let log = log(&mut channels, name)?;
    log.last += 1;
    log.messages.push_back(Arc::from(message));
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    while log.messages.len() > most {
        log.messages.pop_front();
    }
    Ok(log.last)
}

/// What is kept of a channel.
pub(crate) fn kept_range(name: &str) -> Result<KeptRange> {
    let mut channels = channels();
    let log = log(&mut channels, name)?;
    let has_some = !log.messages.is_empty();
    Ok(KeptRange {
        last: log.last,
        oldest: has_some.then(|| log.oldest()),
    })
}

/// The first so many messages after a number.
pub(crate) fn kept_after(name: &str, after: i64, most: usize) -> Vec<KeptMessage> {
    let channels = channels();
    let Some(log) = channels.get(name) else {
        return Vec::new();
    };
    let numbered = (log.oldest()..).zip(&log.messages);
    let later = numbered.filter(|(id, _)| *id > after).take(most);
    let message = |(id, text): (i64, &Arc<str>)| KeptMessage {
        id,
        text: Arc::clone(text),
    };
    later.map(message).collect()
}
