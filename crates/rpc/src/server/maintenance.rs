//! Words in Synchronize and Search: suffixes of backups, modes of searches. Changes no file.
//! A word that means nothing is answered with those that do.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use time::UtcDateTime;
use tsumugi_kv::{KvDatabase, SearchMode};

use super::engine_call::EngineCall;
use super::outcome::{of_done, status};
use crate::code::TkrzwCode;
use crate::limits::PARAMETER_BYTES_MAX;
use crate::proto::{SearchRequest, StatusProto, StringPair, SynchronizeRequest};

/// Answers Synchronize of an engine, whose backups are the affair of those who run it.
pub(crate) async fn synchronize_engine(
    engine: &EngineCall,
    request: &SynchronizeRequest,
) -> StatusProto {
    let done = match suffix(&request.params) {
        Err(refused) => Err(refused),
        Ok(Some(_)) => engine.backup().await,
        Ok(None) if request.hard => engine.synchronize().await,
        Ok(None) => Ok(()),
    };
    of_done(done)
}

/// Where a backup goes, if one is wished for: beside the database, under its name and a suffix.
pub(crate) fn backup(
    database: &KvDatabase,
    params: &[StringPair],
) -> Result<Option<PathBuf>, StatusProto> {
    suffix(params)?
        .map(|suffix| backup_target(database, suffix))
        .transpose()
}

/// The suffix of the backup that is wished for.
fn suffix(params: &[StringPair]) -> Result<Option<&str>, StatusProto> {
    let mut suffix = None;
    for StringPair { first, second } in params {
        if first.len() + second.len() > PARAMETER_BYTES_MAX {
            return Err(refused(format!(
                "a parameter has more than {PARAMETER_BYTES_MAX} bytes (PARAMETER_BYTES_MAX)"
            )));
        }
        match first.as_str() {
            "make_backup" => suffix = Some(second.as_str()),
            // Settings of structures that are not here.
            "reducer" | "sync_hard" => {}
            _ => return Err(refused(format!("there is no parameter {first}"))),
        }
    }
    Ok(suffix)
}

fn backup_target(database: &KvDatabase, suffix: &str) -> Result<PathBuf, StatusProto> {
    if database.is_in_memory() {
        return Err(status(
            TkrzwCode::Precondition,
            "a database in memory has no place for a backup",
        ));
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let name = backup_name(suffix, now.unwrap_or_default().as_secs());
    backup_path(&database.spec().path, &name).map_err(|error| {
        status(
            TkrzwCode::System,
            format!("the database's folder has no name: {error}"),
        )
    })
}

/// Beside the folder of a database and never inside of it, however its path was written.
fn backup_path(path: &Path, name: &str) -> io::Result<PathBuf> {
    let path = match path.file_name() {
        Some(_) => path.to_owned(),
        // Such as `.`, which has a name only in the folder above.
        None => path.canonicalize()?,
    };
    let mut own = path.file_name().unwrap_or_default().to_owned();
    own.push(name);
    Ok(path.with_file_name(own))
}

/// What a backup's name has beyond that of the database. The client chooses a name beside it, not a place elsewhere: as in Tkrzw,
/// other characters than these are left out, and the time in UTC stands for nothing.
fn backup_name(suffix: &str, now_s: u64) -> String {
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "-_.".contains(*letter);
    let plain: String = suffix.chars().filter(is_plain).collect();
    match plain.is_empty() {
        true => format!(".backup.{}", date(now_s)),
        false => format!(".backup.{plain}"),
    }
}

/// `YYYYMMDDhhmmss` in UTC.
fn date(unix_s: u64) -> String {
    let now = i64::try_from(unix_s).map(UtcDateTime::from_unix_timestamp);
    // After the year 9999 all backups have one name.
    let now = now.ok().and_then(Result::ok).unwrap_or(UtcDateTime::MAX);
    let (hour, minute, second) = now.as_hms();
    let (year, month, day) = now.to_calendar_date();
    let month = u8::from(month);
    format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}")
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
    status(TkrzwCode::InvalidArgument, reason)
}

#[cfg(test)]
mod tests {
    use tsumugi_kv::Spec;

    use super::*;

    fn check(name: &str, value: &str, expected: TkrzwCode) {
        let database = KvDatabase::open(&Spec::memory()).unwrap();
        let pair = StringPair {
            first: name.to_owned(),
            second: value.to_owned(),
        };
        let code = backup(&database, &[pair])
            .err()
            .map_or(0, |status| status.code);
        assert_eq!(TkrzwCode::of(code), expected, "{name}={value}");
    }

    #[test]
    fn backups_are_named_as_by_tkrzw() {
        for (suffix, expected) in [
            ("daily", ".backup.daily"),
            (".bak", ".backup..bak"),
            ("../../etc/x y", ".backup.....etcxy"),
            ("", ".backup.20240229235959"),
            ("///", ".backup.20240229235959"),
        ] {
            assert_eq!(backup_name(suffix, 1_709_251_199), expected, "{suffix}");
        }
        for (unix_s, expected) in [
            (0, "19700101000000"),
            (951_826_154, "20000229120914"),
            (4_102_444_800, "21000101000000"),
            (u64::MAX, "99991231235959"),
        ] {
            assert_eq!(date(unix_s), expected);
        }
    }

    #[test]
    fn backup_is_beside_its_database_however_the_path_is_written() {
        for path in [
            "data/casket",
            "data/casket/",
            "data/casket//",
            "data/casket/.",
        ] {
            let backup = backup_path(Path::new(path), ".backup.x").unwrap();
            assert_eq!(backup, Path::new("data/casket.backup.x"), "{path}");
        }
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        let backup = backup_path(Path::new("."), ".backup.x").unwrap();
        assert_eq!(backup.parent(), here.parent());
    }

    #[test]
    fn parameters_that_mean_nothing_are_refused() {
        check("reducer", "last", TkrzwCode::Success);
        check("make_backup", ".copy", TkrzwCode::Precondition);
        check("speed", "1", TkrzwCode::InvalidArgument);
        check(
            "make_backup",
            &"x".repeat(PARAMETER_BYTES_MAX),
            TkrzwCode::InvalidArgument,
        );
    }
}
