//! The URL of another database on the same server. Reads no more of a URL than where its database stands.
//! Rule: user, password, hosts and options stay as they are written.

use std::fmt::Write as _;

/// `url` with this database in place of its own, which may also stand in its query, under `key`.
pub(super) fn with_database(url: &str, key: &str, database: &str) -> String {
    let (before, query) = url.split_once('?').unwrap_or((url, ""));
    let (scheme, rest) = before.split_once("://").unwrap_or(("", before));
    let authority = rest.split('/').next().unwrap_or(rest);
    let mut made = format!("{scheme}://{authority}/");
    for byte in database.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' => made.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => made.push(char::from(byte)),
            // Writing to a String does not fail.
            byte => drop(write!(made, "%{byte:02X}")),
        }
    }
    let is_other = |pair: &&str| !pair.is_empty() && pair.split('=').next() != Some(key);
    for (index, pair) in query.split('&').filter(is_other).enumerate() {
        made.push(if index == 0 { '?' } else { '&' });
        made.push_str(pair);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, expected: &str) {
        assert_eq!(with_database(url, "dbname", "made"), expected);
    }

    #[test]
    fn other_database_has_the_same_server_user_and_options() {
        check("postgres://h/app", "postgres://h/made");
        check("postgres://h", "postgres://h/made");
        check(
            "postgresql://u:p%2Fq@a:1,[::1]:2/app?pool=3&sslmode=require",
            "postgresql://u:p%2Fq@a:1,[::1]:2/made?pool=3&sslmode=require",
        );
        check(
            "postgres:///app?host=/run/postgresql&user=app",
            "postgres:///made?host=/run/postgresql&user=app",
        );
        check("postgres://h?dbname=app&user=x", "postgres://h/made?user=x");
    }

    #[test]
    fn path_of_a_file_is_written_so_that_it_is_read_again() {
        let made = with_database("firebird://u:p@h:1/alias", "database", "/srv/a b?%.fdb");
        assert_eq!(made, "firebird://u:p@h:1//srv/a%20b%3F%25.fdb");
        let made = with_database("firebird://u@h/a", "database", "C:\\x\\y.fdb");
        assert_eq!(made, "firebird://u@h/C%3A%5Cx%5Cy.fdb");
    }
}
