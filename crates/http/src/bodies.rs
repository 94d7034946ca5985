//! The bytes of request bodies that a worker holds in memory at once. Knows requests by their bytes, not by their bodies.
//! What has come of a body counts until its request has been answered: a handler holds it, or what it made of it, as long.

use std::{cell::Cell, rc::Rc};

use crate::error::{Error, Result};

/// The bodies of one worker.
#[derive(Debug)]
pub struct Bodies {
    bytes: Cell<u64>,
    bytes_max: u64,
    refused: Cell<u64>,
}

impl Bodies {
    pub(crate) fn new(bytes_max: u64) -> Bodies {
        Bodies {
            bytes: Cell::new(0),
            bytes_max,
            refused: Cell::new(0),
        }
    }

    /// Bytes now.
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// Requests that were refused because there was no room for their bodies.
    pub fn refused(&self) -> u64 {
        self.refused.get()
    }

    /// Is there room for so many bytes more?
    fn check(&self, more: u64) -> Result<()> {
        if self.bytes.get().saturating_add(more) <= self.bytes_max {
            return Ok(());
        }
        self.refused.set(self.refused.get() + 1);
        let (name, limit) = ("bodies_bytes_max", self.bytes_max);
        // A body that is longer than all of them may be together will never find room.
        Err(match more > limit {
            true => Error::TooLarge { name, limit },
            false => Error::Crowded { name, limit },
        })
    }
}

/// The bytes of one request's body that are in memory.
#[derive(Debug)]
pub(crate) struct BodyMemory {
    bodies: Rc<Bodies>,
    bytes: Cell<u64>,
}

impl BodyMemory {
    pub(crate) fn new(bodies: &Rc<Bodies>) -> BodyMemory {
        BodyMemory {
            bodies: Rc::clone(bodies),
            bytes: Cell::new(0),
        }
    }

    /// Is there room for so many bytes more? Takes none: what a client says of its body costs it nothing.
    pub(crate) fn check(&self, more: u64) -> Result<()> {
        self.bodies.check(more)
    }

    /// So many bytes more are in memory.
    pub(crate) fn add(&self, more: usize) -> Result<()> {
        let more = more as u64;
        self.bodies.check(more)?;
        self.bodies.bytes.set(self.bodies.bytes.get() + more);
        self.bytes.set(self.bytes.get() + more);
        Ok(())
    }

    /// So many of them have gone to disk.
    pub(crate) fn remove(&self, fewer: usize) {
        let fewer = (fewer as u64).min(self.bytes.get());
        self.bodies.bytes.set(self.bodies.bytes.get() - fewer);
        self.bytes.set(self.bytes.get() - fewer);
    }
}

impl Drop for BodyMemory {
    fn drop(&mut self) {
        let bytes = self.bodies.bytes.get() - self.bytes.get();
        self.bodies.bytes.set(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_request_are_free_once_it_is_over() {
        let bodies = Rc::new(Bodies::new(10));
        let (first, second) = (BodyMemory::new(&bodies), BodyMemory::new(&bodies));
        first.add(6).unwrap();
        second.add(4).unwrap();
        assert!(matches!(
            second.add(1),
            Err(Error::Crowded {
                name: "bodies_bytes_max",
                limit: 10
            })
        ));
        first.remove(1);
        second.add(1).unwrap();
        drop(first);
        assert_eq!((bodies.bytes(), bodies.refused()), (5, 1));
        drop(second);
        assert_eq!(bodies.bytes(), 0);
    }

    #[test]
    fn body_larger_than_the_whole_limit_is_too_large() {
        let bodies = Rc::new(Bodies::new(10));
        let load = BodyMemory::new(&bodies);
        assert!(load.check(10).is_ok());
        assert!(matches!(load.check(11), Err(Error::TooLarge { .. })));
    }
}
