//! The service file (chapter "The Connection Service File"): named groups of keys. Reading it blocks.
//! Rule: the user's file first, then the system's; a name in neither is an error that says where it was looked for.

use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::keys::Settings;
use crate::error::Error;
use crate::files::read_bounded;

/// What the service `name` says.
pub fn read(name: &str, environment: &Environment) -> Result<Settings, Error> {
    let named = environment.variable("PGSERVICEFILE").map(PathBuf::from);
    let users = named
        .clone()
        .or_else(|| Some(environment.home()?.join(".pg_service.conf")));
    let systems = environment
        .variable("PGSYSCONFDIR")
        .map_or_else(|| PathBuf::from("/etc/postgresql-common"), PathBuf::from)
        .join("pg_service.conf");
    let mut looked = Vec::new();
    for path in users.into_iter().chain([systems]) {
        let must_be_there = named.as_ref() == Some(&path);
        match read_bounded(&path) {
            Ok(text) => {
                if let Some(pairs) = group(name, &text, &path)? {
                    return known(pairs, &path);
                }
            }
            Err(error) if must_be_there || error.kind() != std::io::ErrorKind::NotFound => {
                let reason = format!("cannot read {}: {error}", path.display());
                return Err(Error::config("service", reason));
            }
            Err(_) => {}
        }
        looked.push(path.display().to_string());
    }
    let reason = format!("there is no service `{name}` in {}", looked.join(" and "));
    Err(Error::config("service", reason))
}

/// The pairs of the group; `None` when it is not in the file.
fn group(name: &str, text: &str, path: &Path) -> Result<Option<Vec<(String, String)>>, Error> {
    let mut pairs = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            if pairs.is_some() {
                break;
            }
            if header.split(']').next() == Some(name) {
                pairs = Some(Vec::new());
            }
            continue;
        }
        let Some(pairs) = &mut pairs else {
            continue;
        };
        let (key, value) = line
            .split_once('=')
            .ok_or_else(|| wrong(path, index, "has no `=`"))?;
        let key = key.trim();
        if key == "service" {
            return Err(wrong(
                path,
                index,
                "names another service, which is not followed",
            ));
        }
        pairs.push((key.to_owned(), value.trim().to_owned()));
    }
    Ok(pairs)
}

fn known(pairs: Vec<(String, String)>, path: &Path) -> Result<Settings, Error> {
    let (settings, rest) = Settings::sort(pairs);
    match rest.first() {
        None => Ok(settings),
        Some((key, _)) => {
            let known = super::known_keys().join(", ");
            let reason = format!("unknown in {}; the known keys are {known}", path.display());
            Err(Error::config(key, reason))
        }
    }
}

fn wrong(path: &Path, index: usize, what: &str) -> Error {
    let reason = format!("line {} of {} {what}", index + 1, path.display());
    Error::config("service", reason)
}
