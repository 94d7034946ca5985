//! How recent a read has to be for one user: the places in the logs of servers behind all that the user has written and seen. Asks no server.
//! Rule: a place only moves on, and where it is not known how far, the primary is asked.
//!
//! A request has one, which its futures find by [`Recency::current`] while they are polled; what belongs to no request finds none, and its reads go by
//! what the pool has written and seen. Between two requests of a user it is kept as texts ([`RecencyTexts`]), which a server gives to the client and believes
//! again only where it has signed them. One text is of what was written and one of what was seen, so that an answer to a read, which comes late, does not
//! take back what an answer to a write said.

use std::cell::{Cell, RefCell};
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use tsumugi_pg::LogPosition;

use crate::limits::RECENCY_DATABASES_MAX;

static HAS_REPLICAS: AtomicBool = AtomicBool::new(false);

/// Whether a database with replicas was connected to in this process. Where there is none, nobody needs a [`Recency`].
pub fn has_replicas() -> bool {
    HAS_REPLICAS.load(Ordering::Relaxed)
}

pub(crate) fn note_replicas() {
    HAS_REPLICAS.store(true, Ordering::Relaxed);
}

tokio::task_local! {
    static CURRENT: Rc<Recency>;
}

/// What the reads of one user have to have seen, by database.
#[derive(Debug, Default)]
pub struct Recency {
    written: Places,
    seen: Places,
    /// The client has a text, of an earlier request.
    is_known: Cell<bool>,
    has_written: Cell<bool>,
}

/// A [`Recency`] as a client keeps it between two requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecencyTexts {
    /// How far it has written.
    pub written: Option<String>,
    /// How far it has seen what others have written.
    pub seen: Option<String>,
}

#[derive(Debug, Default)]
struct Places {
    list: RefCell<Vec<Place>>,
    has_moved: Cell<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// What a cluster and all of its physical copies share.
    system: u64,
    /// None where it is not known how far it is.
    position: Option<LogPosition>,
}

/// What stands for a place that is not known.
const UNKNOWN: &str = "?";

/// What a read has to have seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadRequirement {
    /// Only the primary has it for certain.
    Primary,
    /// Everything in front of this place, if there is one.
    From(Option<LogPosition>),
}

impl Recency {
    /// From the texts of earlier requests. A text that is none of [`Recency::texts`] says nothing.
    pub fn of_texts(texts: &RecencyTexts) -> Recency {
        let read = |text: &Option<String>| text.as_deref().and_then(Places::parse);
        let (written, seen) = (read(&texts.written), read(&texts.seen));
        Recency {
            is_known: Cell::new(written.is_some() || seen.is_some()),
            has_written: Cell::new(false),
            written: written.unwrap_or_default(),
            seen: seen.unwrap_or_default(),
        }
    }

    /// The texts for the next request of this user, those of them that the client has not got: somebody who has written nothing needs none.
    pub fn texts(&self) -> RecencyTexts {
        let is_wanted = self.has_written.get() || self.is_known.get();
        RecencyTexts {
            written: self.written.text(),
            seen: self.seen.text().filter(|_| is_wanted),
        }
    }

    /// Runs this for the user.
    pub async fn scope<T>(self: &Rc<Self>, run: impl Future<Output = T>) -> T {
        CURRENT.scope(Rc::clone(self), run).await
    }

    /// Runs this for the user, at once.
    pub fn enter<T>(self: &Rc<Self>, run: impl FnOnce() -> T) -> T {
        CURRENT.sync_scope(Rc::clone(self), run)
    }

    /// That of the request that is being polled.
    pub fn current() -> Option<Rc<Recency>> {
        CURRENT.try_with(Rc::clone).ok()
    }

    /// What a read of a database has to have seen.
    pub(crate) fn needed(&self, system: u64) -> ReadRequirement {
        let (written, seen) = (self.written.find(system), self.seen.find(system));
        match written {
            Some(Place { position: None, .. }) => ReadRequirement::Primary,
            written => {
                let places = [written, seen].into_iter().flatten();
                ReadRequirement::From(places.filter_map(|place| place.position).max())
            }
        }
    }

    /// Something was written, and the log went on to this place at most; none where that is not known.
    pub(crate) fn note_write(&self, system: u64, position: Option<LogPosition>) {
        self.has_written.set(true);
        self.written.note(system, |before| match before {
            None => position,
            Some(before) => Some(position?.max(before.position?)),
        });
    }

    /// Something was seen that the log had at this place.
    pub(crate) fn note_read(&self, system: u64, position: LogPosition) {
        self.seen.note(system, |before| {
            let before = before.and_then(|before| before.position);
            Some(before.map_or(position, |before| before.max(position)))
        });
    }

    /// The same on the primary, which had all that was written.
    pub(crate) fn note_primary_read(&self, system: u64, position: LogPosition) {
        self.note_read(system, position);
        if self.needed(system) == ReadRequirement::Primary {
            self.written.note(system, |_| Some(position));
        }
    }
}

impl Places {
    fn parse(text: &str) -> Option<Places> {
        let places = text.split('-').take(RECENCY_DATABASES_MAX);
        let places: Option<Vec<Place>> = places.map(Place::parse).collect();
        Some(Places {
            list: RefCell::new(places?),
            has_moved: Cell::new(false),
        })
    }

    /// None where nothing has moved.
    fn text(&self) -> Option<String> {
        if !self.has_moved.get() {
            return None;
        }
        let mut text = String::new();
        for Place { system, position } in &*self.list.borrow() {
            let dash = if text.is_empty() { "" } else { "-" };
            // A string takes everything.
            let _ = match position {
                Some(LogPosition { timeline, lsn }) => {
                    write!(text, "{dash}{system:x}.{timeline:x}.{lsn:x}")
                }
                None => write!(text, "{dash}{system:x}.{UNKNOWN}"),
            };
        }
        (!text.is_empty()).then_some(text)
    }

    fn find(&self, system: u64) -> Option<Place> {
        let list = self.list.borrow();
        list.iter().find(|place| place.system == system).copied()
    }

    fn note(&self, system: u64, moved: impl FnOnce(Option<Place>) -> Option<LogPosition>) {
        let before = self.find(system);
        let place = Place {
            system,
            position: moved(before),
        };
        if before == Some(place) {
            return;
        }
        self.has_moved.set(true);
        let mut list = self.list.borrow_mut();
        list.retain(|other| other.system != system);
        if list.len() == RECENCY_DATABASES_MAX {
            // The one that moved longest ago.
            list.remove(0);
        }
        list.push(place);
    }
}

impl Place {
    fn parse(text: &str) -> Option<Place> {
        if let Some((system, UNKNOWN)) = text.split_once('.') {
            let system = u64::from_str_radix(system, 16).ok()?;
            let position = None;
            return Some(Place { system, position });
        }
        let mut parts = text.split('.');
        let mut number = || u64::from_str_radix(parts.next()?, 16).ok();
        let (system, timeline, lsn) = (number()?, number()?, number()?);
        let timeline = timeline.try_into().ok()?;
        if parts.next().is_some() {
            return None;
        }
        Some(Place {
            system,
            position: Some(LogPosition { timeline, lsn }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(timeline: u32, lsn: u64) -> LogPosition {
        LogPosition { timeline, lsn }
    }

    fn texts(written: Option<&str>, seen: Option<&str>) -> RecencyTexts {
        RecencyTexts {
            written: written.map(str::to_owned),
            seen: seen.map(str::to_owned),
        }
    }

    #[test]
    fn place_only_moves_on() {
        let recency = Recency::default();
        assert_eq!(recency.needed(7), ReadRequirement::From(None));
        recency.note_write(7, Some(at(1, 30)));
        recency.note_read(7, at(1, 20));
        assert_eq!(recency.needed(7), ReadRequirement::From(Some(at(1, 30))));
        recency.note_read(7, at(2, 10));
        assert_eq!(recency.needed(7), ReadRequirement::From(Some(at(2, 10))));
        assert_eq!(recency.needed(8), ReadRequirement::From(None));
    }

    #[test]
    fn write_without_a_place_needs_the_primary_until_that_was_read() {
        let recency = Recency::default();
        recency.note_write(7, None);
        assert_eq!(recency.needed(7), ReadRequirement::Primary);
        recency.note_write(7, Some(at(1, 20)));
        assert_eq!(recency.needed(7), ReadRequirement::Primary);
        recency.note_read(7, at(1, 25));
        assert_eq!(recency.needed(7), ReadRequirement::Primary);
        // So it is at the next request.
        assert_eq!(recency.texts(), texts(Some("7.?"), Some("7.1.19")));
        let next = Recency::of_texts(&recency.texts());
        assert_eq!(next.needed(7), ReadRequirement::Primary);
        assert_eq!(next.needed(8), ReadRequirement::From(None));
        next.note_primary_read(7, at(1, 30));
        assert_eq!(next.texts().written.as_deref(), Some("7.1.1e"));
        recency.note_primary_read(7, at(1, 30));
        assert_eq!(recency.needed(7), ReadRequirement::From(Some(at(1, 30))));
        assert_eq!(recency.texts(), texts(Some("7.1.1e"), Some("7.1.1e")));
    }

    #[test]
    fn texts_are_for_those_who_wrote_or_have_some() {
        let recency = Recency::default();
        recency.note_read(7, at(1, 10));
        assert_eq!(recency.texts(), RecencyTexts::default());
        recency.note_write(255, Some(at(2, 16)));
        recency.note_write(7, Some(at(1, 9)));
        let given = texts(Some("ff.2.10-7.1.9"), Some("7.1.a"));
        assert_eq!(recency.texts(), given);

        let next = Recency::of_texts(&given);
        assert_eq!(next.needed(255), ReadRequirement::From(Some(at(2, 16))));
        assert_eq!(next.needed(7), ReadRequirement::From(Some(at(1, 10))));
        next.note_read(7, at(1, 9));
        assert_eq!(next.texts(), RecencyTexts::default());
        next.note_read(7, at(1, 11));
        assert_eq!(next.texts(), texts(None, Some("7.1.b")));
    }

    #[test]
    fn text_of_another_form_says_nothing() {
        for text in [
            "",
            "7",
            "7.1",
            "7.1.x",
            "7.1.a-",
            "7.1.a.b",
            "7.1ffffffff.a",
            "7.?.1",
            "x.?",
            "-",
        ] {
            let recency = Recency::of_texts(&texts(Some(text), Some(text)));
            assert_eq!(recency.needed(7), ReadRequirement::From(None), "{text}");
            recency.note_read(7, at(1, 1));
            assert_eq!(recency.texts(), RecencyTexts::default(), "{text}");
        }
    }

    #[test]
    fn database_beyond_the_limit_displaces_the_one_that_moved_longest_ago() {
        let recency = Recency::default();
        let most = u64::try_from(RECENCY_DATABASES_MAX).unwrap();
        for system in 0..most {
            recency.note_write(system, Some(at(1, 1)));
        }
        recency.note_write(0, Some(at(1, 2)));
        recency.note_write(most, Some(at(1, 2)));
        assert_eq!(recency.needed(0), ReadRequirement::From(Some(at(1, 2))));
        assert_eq!(recency.needed(1), ReadRequirement::From(None));
        let text = recency.texts().written.unwrap();
        assert_eq!(text.split('-').count(), RECENCY_DATABASES_MAX);
    }
}
