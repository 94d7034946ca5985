//! The commands of `tsumugi kv` for one record, and other short ones: an argument or two, one call, a line.
//! Arguments are bytes as the shell gives them, or escaped text with `--escaped`.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use tsumugi_kv::SetMode;

use super::escape;
use super::remote::Remote;
use crate::limits::{SEARCH_KEYS_DEFAULT, VALUE_BYTES_MAX};

/// How keys and values are written.
#[derive(clap::Args)]
pub struct Writing {
    /// Keys and values are text with escapes: \t \n \r \0 \\ and \xHH
    #[arg(long, short)]
    escaped: bool,
}

impl Writing {
    fn bytes(&self, argument: OsString) -> Result<Vec<u8>> {
        let bytes = argument.into_vec();
        if !self.escaped {
            return Ok(bytes);
        }
        escape::read(&bytes)
            .with_context(|| format!("cannot read {:?}", String::from_utf8_lossy(&bytes)))
    }
}

/// `get`
#[derive(clap::Args)]
pub struct Get {
    key: OsString,
    /// Print the bytes of the value and nothing else, no newline either
    #[arg(long, conflicts_with = "escaped")]
    raw: bool,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    remote: Remote,
}

impl Get {
    /// Prints the value.
    pub async fn run(self) -> Result<()> {
        let key = self.writing.bytes(self.key)?;
        let Some(value) = self.remote.client()?.get(key.clone()).await? else {
            bail!(missing(&key));
        };
        let mut text = Vec::new();
        if self.writing.escaped {
            escape::put(&value, &mut text);
        } else {
            text.extend_from_slice(&value);
        }
        if !self.raw {
            text.push(b'\n');
        }
        print(&text)
    }
}

/// `set`
#[derive(clap::Args)]
pub struct SetCall {
    key: OsString,
    /// The value; or --file
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    value: Option<OsString>,
    /// Take the value from a file, or from standard input with -
    #[arg(long, value_name = "PATH|-")]
    file: Option<PathBuf>,
    /// Leave a record that is there as it is, with exit code 1
    #[arg(long)]
    if_absent: bool,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    remote: Remote,
}

impl SetCall {
    /// Stores the value.
    pub async fn run(self) -> Result<()> {
        let key = self.writing.bytes(self.key)?;
        let value = match (self.value, &self.file) {
            (Some(value), _) => self.writing.bytes(value)?,
            (None, Some(path)) => file(path)?,
            (None, None) => Vec::new(),
        };
        let mode = if self.if_absent {
            SetMode::IfAbsent
        } else {
            SetMode::Overwrite
        };
        if !self.remote.client()?.set(key.clone(), value, mode).await? {
            bail!("there is a record with the key {:?} already", Key(&key));
        }
        Ok(())
    }
}

/// A file as a value.
fn file(path: &Path) -> Result<Vec<u8>> {
    let mut value = Vec::new();
    let most = VALUE_BYTES_MAX as u64 + 1;
    let read = if path.as_os_str() == "-" {
        io::stdin().lock().take(most).read_to_end(&mut value)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut value))
    };
    read.with_context(|| format!("cannot read {}", path.display()))?;
    if value.len() > VALUE_BYTES_MAX {
        bail!(
            "{} has more than {VALUE_BYTES_MAX} bytes, and no database takes such a value",
            path.display()
        );
    }
    Ok(value)
}

/// `remove`
#[derive(clap::Args)]
pub struct Remove {
    key: OsString,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    remote: Remote,
}

impl Remove {
    /// Removes the record.
    pub async fn run(self) -> Result<()> {
        let key = self.writing.bytes(self.key)?;
        if !self.remote.client()?.remove(key.clone()).await? {
            bail!(missing(&key));
        }
        Ok(())
    }
}

/// `append`
#[derive(clap::Args)]
pub struct Append {
    key: OsString,
    value: OsString,
    /// Put between what is there and what is added
    #[arg(long, value_name = "TEXT", default_value = "")]
    delimiter: OsString,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    remote: Remote,
}

impl Append {
    /// Adds to the value.
    pub async fn run(self) -> Result<()> {
        let key = self.writing.bytes(self.key)?;
        let value = self.writing.bytes(self.value)?;
        let delimiter = self.writing.bytes(self.delimiter)?;
        let client = self.remote.client()?;
        Ok(client.append(key, value, delimiter).await?)
    }
}

/// `increment`
#[derive(clap::Args)]
pub struct Increment {
    key: OsString,
    /// What is added; less than nothing subtracts
    #[arg(default_value_t = 1, allow_negative_numbers = true)]
    by: i64,
    /// What is added to when there is no record
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    initial: i64,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    remote: Remote,
}

impl Increment {
    /// Adds and prints the number.
    pub async fn run(self) -> Result<()> {
        let key = self.writing.bytes(self.key)?;
        let client = self.remote.client()?;
        let number = client.increment(key, self.by, self.initial).await?;
        print(format!("{number}\n").as_bytes())
    }
}

/// `search`
#[derive(clap::Args)]
pub struct Search {
    /// How keys fit
    mode: String,
    pattern: OsString,
    /// Print at most so many keys; 0 is all
    #[arg(long, value_name = "N", default_value_t = SEARCH_KEYS_DEFAULT, value_parser = clap::value_parser!(i32).range(0..))]
    limit: i32,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    remote: Remote,
}

impl Search {
    /// Prints the keys.
    pub async fn run(self) -> Result<()> {
        let pattern = self.writing.bytes(self.pattern)?;
        let client = self.remote.client()?;
        let keys = client.search(&self.mode, pattern, self.limit).await?;
        let mut text = Vec::new();
        for key in keys {
            escape::put(&key, &mut text);
            text.push(b'\n');
        }
        print(&text)
    }
}

/// `inspect`
#[derive(clap::Args)]
pub struct Inspect {
    /// About the server instead of one database
    #[arg(long, conflicts_with = "index")]
    server: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Inspect {
    /// Prints names and values.
    pub async fn run(self) -> Result<()> {
        let mut client = self.remote.client()?;
        if self.server {
            client = client.at(-1);
        }
        let mut text = Vec::new();
        for (name, value) in client.inspect().await? {
            escape::put(name.as_bytes(), &mut text);
            text.push(b'\t');
            escape::put(value.as_bytes(), &mut text);
            text.push(b'\n');
        }
        print(&text)
    }
}

/// A key in a message.
struct Key<'a>(&'a [u8]);

impl std::fmt::Debug for Key<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "\"{}\"", escape::escaped(self.0))
    }
}

fn missing(key: &[u8]) -> String {
    format!("there is no record with the key {:?}", Key(key))
}

/// Prints what was asked for. Who reads no more, as `head` does, has had enough.
fn print(text: &[u8]) -> Result<()> {
    let mut output = io::stdout().lock();
    let printed = output.write_all(text).and_then(|()| output.flush());
    match printed {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed.context("cannot write to standard output"),
    }
}
