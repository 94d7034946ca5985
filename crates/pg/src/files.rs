//! Small files that a configuration names: read whole, up to a limit. Blocks; connections call it on another thread.
//! Rule: a file that is too large is an error before it is memory.

use std::io::{self, Read as _};
use std::path::Path;

use crate::limits::FILE_BYTES_MAX;

/// The text of a file.
pub fn read_bounded(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = std::fs::File::open(path)?;
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        let reason = format!("larger than file_bytes_max ({FILE_BYTES_MAX})");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(text)
}
