//! SQL through psql, for what suites need of a database beside what servers do. Knows no table.
//! Rule: the password is in psql's environment, where other users of the machine do not see it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::stop::StopFlag;

/// A program and the database it asks.
pub struct Psql {
    program: PathBuf,
    url: String,
    password: Option<String>,
}

impl Psql {
    /// Of the database at `url`.
    pub fn new(program: PathBuf, url: &str) -> Psql {
        let (url, password) = apart(url);
        Psql {
            program,
            url,
            password,
        }
    }

    /// What it prints.
    pub fn ask(&self, sql: &str, stop: &StopFlag) -> Result<String> {
        let mut command = Command::new(&self.program);
        command.args([&self.url, "-Atc", sql]);
        command.envs(self.password.as_ref().map(|word| ("PGPASSWORD", word)));
        let output = stop.run(&mut command)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "psql: {errors}");
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// A URL without its password, and that, decoded.
pub fn apart(url: &str) -> (String, Option<String>) {
    let parts = url.split_once("://").and_then(|(scheme, rest)| {
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (user, host) = rest[..end].rsplit_once('@')?;
        let (user, password) = user.split_once(':')?;
        let bare = format!("{scheme}://{user}@{host}{}", &rest[end..]);
        Some((bare, decoded(password)))
    });
    match parts {
        Some((url, password)) => (url, Some(password)),
        None => (url.to_owned(), None),
    }
}

/// A text with its escapes of the form `%41` decoded.
pub fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        let hex = || u8::from_str_radix(std::str::from_utf8(more.get(..2)?).ok()?, 16).ok();
        match (*first == b'%').then(hex).flatten() {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[2..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, bare: &str, password: Option<&str>) {
        let (found, word) = apart(url);
        assert_eq!((found.as_str(), word.as_deref()), (bare, password), "{url}");
    }

    #[test]
    fn password_is_separated_from_its_url() {
        check("postgres://a@b:1/c", "postgres://a@b:1/c", None);
        check(
            "postgres://a:%40x%3@b/c?d=e:f@g",
            "postgres://a@b/c?d=e:f@g",
            Some("@x%3"),
        );
        check(
            "postgres://a:b:c@[::1]:5",
            "postgres://a@[::1]:5",
            Some("b:c"),
        );
        check("host=a password=b", "host=a password=b", None);
    }
}
