//! The password file (chapter "The Password File"): `host:port:database:user:password`, the first line that fits counts.
//! It reads no file itself; what it holds is never shown.
//! Rule: `*` as a whole field fits everything; a backslash takes the next character as it is.

use super::{Config, Host, Secret};

/// The text of a password file.
pub struct Passfile<'a>(pub &'a str);

impl Passfile<'_> {
    /// The password for this host. A UNIX socket is known by its directory, the usual one as `localhost`.
    pub fn password(&self, config: &Config, host: &Host) -> Option<Secret> {
        let (name, port) = match host {
            Host::Tcp { name, port, .. } => (name.clone(), port),
            Host::Unix { directory, port }
                if crate::platform::is_usual_socket_directory(directory) =>
            {
                ("localhost".to_owned(), port)
            }
            Host::Unix { directory, port } => (directory.display().to_string(), port),
        };
        let wanted = [&name, &port.to_string(), &config.database, &config.user];
        let lines = self.0.lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(|line| fitting(line, wanted)).next()
    }
}

/// The password of a line whose four fields fit.
fn fitting(line: &str, wanted: [&String; 4]) -> Option<Secret> {
    let mut rest = line;
    for wanted in wanted {
        let (raw, field, after) = field(rest)?;
        if raw != "*" && field != *wanted {
            return None;
        }
        rest = after;
    }
    // The password is the rest of the line; libpq lets it have colons.
    let mut password = String::new();
    let mut characters = rest.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => password.extend(characters.next()),
            _ => password.push(character),
        }
    }
    (!password.is_empty()).then(|| Secret::from(password))
}

/// A field as written, as meant, and what follows its colon.
fn field(text: &str) -> Option<(&str, String, &str)> {
    let mut meant = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            ':' => return Some((text.get(..at)?, meant, text.get(at + 1..)?)),
            '\\' => meant.extend(characters.next().map(|(_, escaped)| escaped)),
            _ => meant.push(character),
        }
    }
    None
}
