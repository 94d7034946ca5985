//! How many requests of an application may wait at once: `requests_max`.
//! Rule: a request takes a permit when its handler waits for the first time. One that ends in its first turn meets no other, so it needs
//! none; and one that would be too many is refused before its first turn, so that a retry repeats nothing.

use std::cell::Cell;

use super::refusal::{RefusalCount, RequestRefusal};

/// The permits of one application on one worker.
pub(super) struct Permits {
    max: usize,
    waiting: Cell<usize>,
    refused: RefusalCount,
}

/// One of `requests_max`, until the response.
pub(super) struct RequestPermit<'p>(&'p Cell<usize>);

impl Permits {
    pub fn new(max: usize) -> Permits {
        Permits {
            max,
            waiting: Cell::new(0),
            refused: RefusalCount::default(),
        }
    }

    pub fn waiting(&self) -> usize {
        self.waiting.get()
    }

    /// Whether one more may begin.
    pub fn check(&self) -> Result<(), RequestRefusal> {
        let max = self.max;
        if self.waiting.get() < max {
            return Ok(());
        }
        self.refused.add(move |count| {
            tracing::warn!("requests_max ({max}) is reached: {count} requests were answered 503");
        });
        Err(RequestRefusal::Busy { max })
    }

    pub fn take(&self) -> RequestPermit<'_> {
        self.waiting.set(self.waiting.get() + 1);
        RequestPermit(&self.waiting)
    }
}

impl Drop for RequestPermit<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_beyond_the_limit_is_refused_until_one_ends() {
        let permits = Permits::new(1);
        assert_eq!(permits.check(), Ok(()));
        let permit = permits.take();
        assert_eq!(permits.check(), Err(RequestRefusal::Busy { max: 1 }));
        assert_eq!(permits.waiting(), 1);
        drop(permit);
        assert_eq!(permits.check(), Ok(()));
    }
}
