//! How much of what was asked for shall have come before the system tells of it. Reads nothing.
//!
//! A server sends each answer by itself, and when it is as quick as its client each is a turn of the event loop with a system call or
//! two: most of what an answer costs, on both sides. A caller with a pipeline of many statements has its results when the last has come,
//! so as long as the line begins with its answers, nobody needs to know of one. Rule: the mark is below what is certainly still to come
//! for the caller at the head of the line, so no answer to anybody else is waited for, and none that may never come.

use crate::limits;

/// The mark of one stream.
#[derive(Debug)]
pub(super) struct LowWater<S> {
    /// Sets it; false where the system cannot.
    set: fn(&S, usize) -> bool,
    bytes: usize,
    is_possible: bool,
}

impl<S> LowWater<S> {
    /// The mark of a new socket, which tells of every byte.
    pub(super) fn new(set: fn(&S, usize) -> bool) -> Self {
        LowWater {
            set,
            bytes: 1,
            is_possible: true,
        }
    }

    /// The caller at the head of the line has its results when `due` more answers have come.
    pub(super) fn keep(&mut self, stream: &S, due: u32) {
        let bytes = mark(due);
        if bytes != self.bytes && self.is_possible {
            self.is_possible = (self.set)(stream, bytes);
            self.bytes = bytes;
        }
    }
}

/// Of the first answer all but a byte may have come already.
fn mark(due: u32) -> usize {
    if due < limits::LOW_WATER_ANSWERS_MIN {
        return 1;
    }
    let certain = (due as usize - 1).saturating_mul(limits::ANSWER_BYTES_MIN);
    certain.min(limits::LOW_WATER_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn the_mark_is_below_what_is_certain_to_come_and_within_its_limit() {
        for (due, expected) in [
            (0, 1),
            (1, 1),
            (limits::LOW_WATER_ANSWERS_MIN - 1, 1),
            (500, 499 * limits::ANSWER_BYTES_MIN),
            (u32::MAX, limits::LOW_WATER_BYTES_MAX),
        ] {
            assert_eq!(mark(due), expected, "{due}");
        }
    }

    #[test]
    fn the_system_is_told_of_changes_only_and_not_again_when_it_cannot() {
        let told = RefCell::new(Vec::new());
        let mut low_water = LowWater::new(|told: &RefCell<Vec<usize>>, bytes| {
            told.borrow_mut().push(bytes);
            told.borrow().len() < 3
        });
        for due in [1, 20, 20, 1, 20, 1, 20] {
            low_water.keep(&told, due);
        }
        let many = 19 * limits::ANSWER_BYTES_MIN;
        assert_eq!(told.into_inner(), [many, 1, many]);
    }
}
