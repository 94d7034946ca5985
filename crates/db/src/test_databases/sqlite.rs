//! SQLite: a file in the folder of each test, copied from one that was migrated once; in memory a name of its own for each test, held open for as long as the
//! test has it, since what is in memory goes with the last that is connected.
//! Rule: the file that a URL names is opened to look for tables, if it is there, and never made.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::test_database::{PREFIX, TestContents, TestDatabase, refuse};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::options::{self, Location, Options};

/// The file of a test where a URL names SQLite.
const FILE: &str = "test.db";
/// The file of an application that was given no URL.
const DEFAULT_FILE: &str = "app.db";
/// The file that is copied.
const TEMPLATE_FILE: &str = "template.db";

pub(super) struct SqliteTests {
    target: SqliteTarget,
    run: u32,
    /// Once it was asked for.
    template: Option<PathBuf>,
    folder: PathBuf,
    /// Those in memory that tests have, by their names.
    held: HashMap<String, Database>,
}

/// What databases of tests are.
enum SqliteTarget {
    /// With the options of the URL.
    Memory(String),
    /// The name of the file of each test, and the options of the URL.
    File(&'static str, String),
}

impl SqliteTests {
    pub(super) async fn open(url: Option<&str>, folder: &Path, run: u32) -> Result<SqliteTests> {
        let target = match url {
            None => SqliteTarget::File(DEFAULT_FILE, String::new()),
            Some(url) => {
                let query = url.split_once('?').map_or("", |(_, query)| query);
                match options::parse(url, Options::default())?.0 {
                    Location::Memory(_) => SqliteTarget::Memory(without(query, "name")),
                    Location::File { path, .. } => {
                        refuse_tables(path).await?;
                        SqliteTarget::File(FILE, without(query, "mode"))
                    }
                }
            }
        };
        Ok(SqliteTests {
            target,
            run,
            template: None,
            folder: folder.to_owned(),
            held: HashMap::new(),
        })
    }

    pub(super) fn template(&mut self) -> Option<String> {
        let SqliteTarget::File(_, query) = &self.target else {
            return None;
        };
        let path = self.folder.join(TEMPLATE_FILE);
        let url = file_url(&path, query);
        self.template = Some(path);
        Some(url)
    }

    pub(super) async fn create(&mut self, folder: &Path, number: u32) -> Result<TestDatabase> {
        let (file, query) = match &self.target {
            SqliteTarget::Memory(query) => {
                let name = format!("{PREFIX}{:08x}_{number}", self.run);
                let more = if query.is_empty() { "" } else { "&" };
                let url = format!("sqlite::memory:?name={name}{more}{query}");
                let held = Database::connect(&url, Options::default()).await?;
                self.held.insert(name.clone(), held);
                return Ok(TestDatabase {
                    url,
                    name,
                    contents: TestContents::Nothing,
                });
            }
            SqliteTarget::File(file, query) => (folder.join(file), query),
        };
        // Migrations that kept nothing have made no file.
        let template = self.template.clone().filter(|path| path.exists());
        if let Some(template) = template {
            let to = file.clone();
            off_the_worker(move || copy(&template, &to)).await?;
        }
        Ok(TestDatabase {
            url: file_url(&file, query),
            name: file.display().to_string(),
            contents: match self.template {
                Some(_) => TestContents::Template,
                None => TestContents::Nothing,
            },
        })
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.held.remove(name);
    }
}

fn file_url(path: &Path, query: &str) -> String {
    let more = if query.is_empty() { "" } else { "?" };
    format!("sqlite:{}{more}{query}", path.display())
}

/// The options of a URL but this one.
fn without(query: &str, key: &str) -> String {
    let others = query
        .split('&')
        .filter(|pair| pair.split('=').next() != Some(key));
    others.collect::<Vec<_>>().join("&")
}

async fn refuse_tables(path: PathBuf) -> Result<()> {
    let place = format!("the SQLite file {}", path.display());
    let tables = off_the_worker(move || {
        if !path.exists() {
            return Ok(Vec::new());
        }
        tables(&path).map_err(|source| failed(&path, source))
    });
    refuse(&place, &tables.await?)
}

fn tables(path: &Path) -> rusqlite::Result<Vec<String>> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let sql = "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite\\_%' escape '\\' order by name limit 2";
    let mut statement = connection.prepare(sql)?;
    let names = statement.query_map([], |row| row.get(0))?;
    names.collect()
}

/// Copies a database that no transaction is open on.
fn copy(template: &Path, to: &Path) -> Result<()> {
    let written = Connection::open_with_flags(template, OpenFlags::SQLITE_OPEN_READ_WRITE);
    // Until then a part of it may be in the file beside it.
    let written = written.and_then(|connection| {
        connection.query_row("pragma wal_checkpoint(truncate)", [], |row| {
            row.get::<_, i64>(0)
        })
    });
    if written.map_err(|source| failed(template, source))? != 0 {
        return Err(failed(template, "it is still being used"));
    }
    std::fs::copy(template, to).map_err(|source| failed(to, source))?;
    Ok(())
}

fn failed(path: &Path, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    let source = source.into();
    Error::Open {
        path: path.to_owned(),
        reason: source.to_string(),
        source: Some(source),
    }
}

async fn off_the_worker<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    #[expect(
        clippy::disallowed_methods,
        reason = "once or twice for a test, on a worker that serves nobody"
    )]
    let worked = tokio::task::spawn_blocking(work);
    worked
        .await
        .map_err(|_| Error::usage("the database of the test could not be made"))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_has_what_was_not_yet_in_the_file_of_its_template() {
        let folder = tempfile::tempdir().unwrap();
        let (template, copied) = (folder.path().join("a.db"), folder.path().join("b.db"));
        let open = Connection::open(&template).unwrap();
        open.execute_batch(
            "pragma journal_mode = wal; create table t(a); insert into t values (7)",
        )
        .unwrap();
        copy(&template, &copied).unwrap();
        let copied = Connection::open(&copied).unwrap();
        let found = copied.query_row("select a from t", [], |row| row.get::<_, i64>(0));
        assert_eq!(found.unwrap(), 7);
    }

    #[test]
    fn options_of_the_url_are_kept_but_its_place() {
        assert_eq!(without("pool=1&name=x&log=off", "name"), "pool=1&log=off");
        assert_eq!(without("mode=rw", "mode"), "");
        let url = file_url(Path::new("/a/b.db"), "pool=1");
        assert_eq!(url, "sqlite:/a/b.db?pool=1");
        assert_eq!(file_url(Path::new("/a/b.db"), ""), "sqlite:/a/b.db");
    }
}
