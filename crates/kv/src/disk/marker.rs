//! The file that says what a folder is: a database that is being made, or one that is whole, with its seal. Looks at no other file.
//! Rule: it is replaced in one step that outlives a crash, and nothing that has it damaged is opened.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::failure::{if_there, io_error};
use super::layout::{SEAL_BYTES, Seal};
use crate::error::Result;

/// The file's name in the folder of a database.
pub(super) const FILE: &str = "tsumugi-kv";
/// The file's name while it is written.
pub(super) const NEW: &str = "tsumugi-kv.new";
const CREATING: &str = "tsumugi-kv 1 creating\n";
/// Of a database without a seal, as earlier versions made them.
const READY: &str = "tsumugi-kv 1 ready\n";
/// Before the seal and its checksum, both in hexadecimal digits.
const READY_SEALED: &str = "tsumugi-kv 2 ready ";
const RANDOM: &str = "/dev/urandom";

/// What a folder is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Marker {
    /// What is in there was never acknowledged.
    Creating,
    Ready(Option<Seal>),
    /// Damaged, or of another version.
    Unknown,
}

impl Marker {
    pub(super) fn read(folder: &Path) -> Result<Option<Self>> {
        let file = folder.join(FILE);
        let bytes = if_there(fs::read(&file)).map_err(|error| io_error("reading", &file, error))?;
        Ok(bytes.map(|bytes| Self::of(&String::from_utf8_lossy(&bytes))))
    }

    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let new = folder.join(NEW);
        let write = || {
            let mut file = File::create(&new)?;
            file.write_all(self.text().as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, folder.join(FILE))?;
            File::open(folder)?.sync_all()
        };
        write().map_err(|error| io_error("writing", &new, error))
    }

    fn of(text: &str) -> Self {
        let sealed = || {
            let digits = text.strip_prefix(READY_SEALED)?.get(..2 * SEAL_BYTES)?;
            let seal = u128::from_str_radix(digits, 16).ok()?;
            Some(Self::Ready(Some(Seal(seal.to_be_bytes()))))
        };
        let known = [Some(Self::Creating), Some(Self::Ready(None)), sealed()];
        let mut known = known.into_iter().flatten();
        known
            .find(|marker| marker.text() == text)
            .unwrap_or(Self::Unknown)
    }

    fn text(&self) -> String {
        match self {
            Self::Creating => CREATING.to_owned(),
            Self::Ready(None) => READY.to_owned(),
            Self::Ready(Some(Seal(seal))) => {
                let (digits, sum) = (u128::from_be_bytes(*seal), xxh3_64(seal));
                format!("{READY_SEALED}{digits:032x} {sum:016x}\n")
            }
            Self::Unknown => String::new(),
        }
    }
}

impl Seal {
    /// One that cannot be guessed.
    pub(super) fn new() -> Result<Self> {
        let mut seal = [0; SEAL_BYTES];
        let random = File::open(RANDOM).and_then(|mut random| random.read_exact(&mut seal));
        random.map_err(|error| io_error("reading", Path::new(RANDOM), error))?;
        Ok(Self(seal))
    }
}
