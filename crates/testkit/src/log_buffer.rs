//! A log in memory, for tests of what is logged. Formats nothing.
//! Rule: all clones are the same log, so that a subscriber of `tracing` can have one and the test another.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// What has been written, as bytes.
#[derive(Clone, Debug, Default)]
pub struct LogBuffer(Arc<Mutex<Vec<u8>>>);

impl LogBuffer {
    /// The log until now, which is empty then.
    ///
    /// # Panics
    /// When it is not UTF-8.
    pub fn take(&self) -> String {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        String::from_utf8(bytes).expect("a log of UTF-8")
    }
}

impl Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
