//! What Synchronize and Search are told in words: suffixes of backups, modes of searches. Touches no file.
//! A word that means nothing is answered with those that do.

use std::path::PathBuf;
use std::time::SystemTime;

use tsumugi_kv::{Database, SearchMode};

use super::outcome::status;
use crate::code::Code;
use crate::limits::PARAMETER_BYTES_MAX;
use crate::proto::{SearchRequest, StatusProto, StringPair};

/// Where a backup goes, if one is wished for: beside the database, under its name and a suffix.
pub(crate) fn backup(
    database: &Database,
    params: &[StringPair],
) -> Result<Option<PathBuf>, StatusProto> {
    let mut folder = None;
    for StringPair { first, second } in params {
        if first.len() + second.len() > PARAMETER_BYTES_MAX {
            return Err(refused(format!(
                "a parameter has more than {PARAMETER_BYTES_MAX} bytes (PARAMETER_BYTES_MAX)"
            )));
        }
        match first.as_str() {
            "make_backup" => folder = Some(beside(database, second)?),
            // Settings of structures that are not here.
            "reducer" | "sync_hard" => {}
            _ => return Err(refused(format!("there is no parameter {first}"))),
        }
    }
    Ok(folder)
}

fn beside(database: &Database, suffix: &str) -> Result<PathBuf, StatusProto> {
    if database.is_in_memory() {
        return Err(status(
            Code::Precondition,
            "a database in memory has no place for a backup",
        ));
    }
    // The client chooses a name beside the database, not a place elsewhere.
    if suffix.contains(['/', '\0']) {
        return Err(refused("the suffix of a backup holds no slash"));
    }
    let mut folder = database.spec().path.clone().into_os_string();
    if suffix.is_empty() {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        folder.push(format!(".backup-{}", now.unwrap_or_default().as_secs()));
    } else {
        folder.push(suffix);
    }
    Ok(folder.into())
}

/// How a search looks, and how many keys it returns at most; 0 for as many as there may be.
pub(crate) fn search(request: &SearchRequest) -> Result<(SearchMode, usize), StatusProto> {
    let mode = request
        .mode
        .parse()
        .map_err(|error: tsumugi_kv::Error| refused(error.to_string()))?;
    Ok((mode, usize::try_from(request.capacity).unwrap_or(0)))
}

fn refused(reason: impl Into<String>) -> StatusProto {
    status(Code::InvalidArgument, reason)
}

#[cfg(test)]
mod tests {
    use tsumugi_kv::Spec;

    use super::*;

    fn check(name: &str, value: &str, expected: Code) {
        let database = Database::open(&Spec::memory()).unwrap();
        let pair = StringPair {
            first: name.to_owned(),
            second: value.to_owned(),
        };
        let code = backup(&database, &[pair])
            .err()
            .map_or(0, |status| status.code);
        assert_eq!(Code::of(code), expected, "{name}={value}");
    }

    #[test]
    fn parameters_that_mean_nothing_are_refused() {
        check("reducer", "last", Code::Success);
        check("make_backup", ".copy", Code::Precondition);
        check("speed", "1", Code::InvalidArgument);
        check(
            "make_backup",
            &"x".repeat(PARAMETER_BYTES_MAX),
            Code::InvalidArgument,
        );
    }
}
