//! What a caller chooses when it connects or begins a transaction, and how a URL says it. Opens nothing.
//! Rule: every option has a default and a range, and an error about one says both.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use crate::error::{Error, MIGRATE, Result};
use crate::limits;

/// Choices for [`Database::connect`](crate::Database::connect). A URL's options take precedence over these.
///
/// All connects to one database in a process share its connections. `pool`, `statement_cache` and `busy_timeout`
/// belong to those and are taken from the first connect; the others belong to each connect.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Connections to a server, or SQLite's readers, beside which there is one writer: 1 to [`limits::POOL_MAX`](crate::limits::POOL_MAX).
    pub pool: usize,
    /// Connections to a server that stay open without use, 0 to `pool`. An embedded database keeps all of its own.
    pub min: usize,
    /// Age at which a connection to a server is replaced, shortened by up to a tenth so that not all are at once.
    pub lifetime: Duration,
    /// How long to wait for a free connection.
    pub acquire_timeout: Duration,
    /// How long one statement, or one batch of a stream, may run. A stream in a transaction or session of PostgreSQL is one statement.
    pub statement_timeout: Duration,
    /// How long a statement waits for another process's lock. On Firebird one of a transaction waits as long for a row that another one has changed.
    pub busy_timeout: Duration,
    /// How long a transaction or stream may keep its connection without using it.
    pub idle_timeout: Duration,
    /// How long a change of a table from Rust waits for another change of the schema, on SQLite for any write: that is
    /// beside `acquire_timeout`. Migrations and seeds wait for [`limits::SCHEMA_LOCK_MAX`](crate::limits::SCHEMA_LOCK_MAX).
    pub schema_wait: Duration,
    /// Prepared statements that each connection keeps, 1 to [`limits::STATEMENT_CACHE_MAX`](crate::limits::STATEMENT_CACHE_MAX).
    pub statement_cache: usize,
    /// Packed size of one result, up to [`limits::ROWS_MAX_BYTES_MAX`](crate::limits::ROWS_MAX_BYTES_MAX).
    pub rows_max_bytes: usize,
    /// Whether statements are logged.
    pub log: StatementLog,
    /// How the names of a Firebird result's columns are shown.
    pub names: Names,
    /// Copies of a PostgreSQL database that reads may go to, beside the hosts of its URL with [`ReadTarget::Replica`].
    pub replicas: ReplicaUrls,
    /// Which hosts of a PostgreSQL URL that names several the reads of [`Executor::Read`](crate::Executor::Read) may go to.
    pub reads: ReadTarget,
    /// How far behind its primary a replica may be, 1 ms to [`limits::REPLICA_LAG_MAX`](crate::limits::REPLICA_LAG_MAX). One that is further behind is asked
    /// nothing until it has come up.
    pub replica_lag: Duration,
}

/// URLs of replicas, with their passwords.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ReplicaUrls(Vec<String>);

impl ReplicaUrls {
    /// These, at most [`limits::REPLICAS_MAX`](crate::limits::REPLICAS_MAX). What a URL does not say is as on any connect: it inherits nothing from the primary's.
    pub fn new(urls: impl IntoIterator<Item = impl Into<String>>) -> ReplicaUrls {
        ReplicaUrls(urls.into_iter().map(Into::into).collect())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl std::fmt::Debug for ReplicaUrls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ReplicaUrls({})", self.0.len())
    }
}

/// Which hosts of a URL the reads go to that may go to a replica.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadTarget {
    /// That which everything goes to.
    #[default]
    Primary,
    /// Those that are standbys. Another database than PostgreSQL, or one of a single host, has none.
    Replica,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            pool: limits::POOL_DEFAULT,
            min: limits::POOL_MIN_DEFAULT,
            lifetime: limits::LIFETIME_DEFAULT,
            acquire_timeout: limits::ACQUIRE_TIMEOUT_DEFAULT,
            statement_timeout: limits::STATEMENT_TIMEOUT_DEFAULT,
            busy_timeout: limits::BUSY_TIMEOUT_DEFAULT,
            idle_timeout: limits::IDLE_TIMEOUT_DEFAULT,
            schema_wait: limits::SCHEMA_WAIT_DEFAULT,
            statement_cache: limits::STATEMENT_CACHE_DEFAULT,
            rows_max_bytes: limits::ROWS_MAX_BYTES_DEFAULT,
            log: StatementLog::Off,
            names: Names::Lower,
            replicas: ReplicaUrls::default(),
            reads: ReadTarget::Primary,
            replica_lag: limits::REPLICA_LAG_DEFAULT,
        }
    }
}

/// Whether every statement is logged with its SQL, binds, rows and time, at level debug, target `tsumugi_db`. Those of
/// [`bookkeeping`](crate::bookkeeping()) are logged at level trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatementLog {
    /// Nothing is logged.
    #[default]
    Off,
    /// One line for each statement. It shows binds, so it is for development.
    Statements,
}

/// What becomes of the other statements of a pipeline when one fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineAtomicity {
    /// Each statement stands for itself.
    Each,
    /// All or none.
    All,
}

/// How names are shown that a database keeps in capitals because they were written without quotes, as Firebird does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// In small letters, if they have no small letter already.
    #[default]
    Lower,
    /// As the database has them.
    AsIs,
}

/// Choices for [`Database::begin`](crate::Database::begin).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionOptions {
    /// When a transaction that writes takes the write lock.
    pub mode: TransactionMode,
    /// Whether it may write.
    pub access: Access,
    /// How it sees the changes of others.
    pub isolation: Isolation,
}

impl TransactionOptions {
    /// A transaction that only reads: all its statements see the database as it was at the beginning, and others may write meanwhile.
    pub fn read_only() -> Self {
        TransactionOptions {
            access: Access::ReadOnly,
            ..Self::default()
        }
    }

    /// A transaction that writes and takes its lock as `mode` says.
    pub fn write(mode: TransactionMode) -> Self {
        TransactionOptions {
            mode,
            access: Access::ReadWrite,
            isolation: Isolation::Default,
        }
    }
}

/// When a transaction takes the database's write lock. Within one process the writer is exclusive in every mode; this
/// is about other processes.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransactionMode {
    /// At the first write, which fails if another process wrote after this one first read.
    Deferred,
    /// At the beginning.
    #[default]
    Immediate,
    /// At the beginning. In WAL mode the same as immediate.
    Exclusive,
    /// At the beginning, to make tables anew: until the commit no foreign key is looked at, so dropping a table deletes nothing in
    /// others; the commit fails if one then refers to nothing. PostgreSQL needs no such thing, and takes it for the default.
    Rebuild,
    /// At the beginning, to change tables and what is in them. Firebird's statements do not see tables that their own transaction
    /// changed, so there a change of tables is committed, with what came before it, when the next other statement comes;
    /// [`TransactionMode::Rebuild`] is the same there. To other databases this is the same as immediate.
    Schema,
    /// To try changes of tables that are rolled back: at the beginning, as [`TransactionMode::Rebuild`]. After a change of tables
    /// Firebird leaves out other statements, which could not run: they answer nothing.
    Trial,
}

/// How a transaction sees the changes of others. SQLite's are always serializable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// As the database is configured.
    #[default]
    Default,
    /// Each statement sees what was committed before it began.
    ReadCommitted,
    /// All statements see what was committed before the first.
    RepeatableRead,
    /// As if transactions ran one after the other. Some fail with [`Error::SerializationFailure`] and have to be run again. On Firebird
    /// they take turns, and each sees what was committed before it.
    Serializable,
}

/// Whether a transaction may write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// It keeps the writer.
    #[default]
    ReadWrite,
    /// It keeps a reader.
    ReadOnly,
}

/// Where a SQLite database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// In the memory of this process, under a name that is empty by default.
    Memory(String),
    /// In a file.
    File { path: PathBuf, missing: MissingFile },
}

impl Location {
    /// The name of the file, or `:memory:`.
    pub(crate) fn name(&self) -> String {
        match self {
            Location::Memory(_) => ":memory:".to_owned(),
            Location::File { path, .. } => {
                let name = path.file_name().unwrap_or(path.as_os_str());
                name.to_string_lossy().into_owned()
            }
        }
    }
}

/// What to do about a missing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MissingFile {
    Create,
    Fail,
}

const URLS: &str = "sqlite:PATH, sqlite://PATH, sqlite::memory:, postgres://USER@HOST/DATABASE or firebird://USER@HOST/DATABASE";
const URL_OPTIONS: &str = "mode=rwc|rw, name=NAME (memory only), statement_cache, busy_timeout_ms";

/// Takes a database URL apart and lays its options over `options`.
pub(crate) fn parse(url: &str, options: Options) -> Result<(Location, Options)> {
    if cfg!(not(feature = "firebird")) && url.starts_with("firebird:") {
        return Err(Error::usage(
            "Firebird is not in this program: it was built without the feature `firebird`",
        ));
    }
    // A URL may carry a password on other databases, so an error never repeats it.
    let Some(rest) = url.strip_prefix("sqlite:") else {
        let problem = match url.split_once(':') {
            _ if url.is_empty() => "the database URL is empty".to_owned(),
            Some((scheme, _)) => format!("unknown database scheme {scheme:?}"),
            None => "the database URL has no scheme".to_owned(),
        };
        return Err(Error::usage(format!("{problem}: expected {URLS}")));
    };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (mut missing, mut name) = (MissingFile::Create, None);
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let options = overlay(pairs, options, URL_OPTIONS, |key, value, options| {
        match (key, value) {
            ("mode", "rwc") => missing = MissingFile::Create,
            ("mode", "rw") => missing = MissingFile::Fail,
            ("name", value) if place == ":memory:" => name = Some(value.to_owned()),
            ("statement_cache", value) => options.statement_cache = number(key, value)?,
            ("busy_timeout_ms", value) => {
                options.busy_timeout = Duration::from_millis(number(key, value)?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if place == ":memory:" {
        return Ok((Location::Memory(name.unwrap_or_default()), options));
    }
    let path = place.strip_prefix("//").unwrap_or(place);
    if path.is_empty() {
        return Err(Error::usage(format!(
            "the database URL names no file: expected {URLS}"
        )));
    }
    Ok((
        Location::File {
            path: PathBuf::from(path),
            missing,
        },
        options,
    ))
}

tokio::task_local! {
    static ABSENT: (AbsentFile, RefCell<Vec<PathBuf>>);
}

/// What connecting does where the database is a file that is not there and would be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbsentFile {
    /// It is refused.
    Refused,
    /// It gives an empty database in memory.
    Empty,
    /// It is created, and removed at the end if nothing was kept in it: no table, but for the notes of migrations, and none of these.
    Provisional,
}

impl AbsentFile {
    /// Runs this so that what it connects to is created as this says. Gives the files too that may have been created provisionally.
    pub(crate) async fn scope<T>(self, run: impl Future<Output = T>) -> (T, Vec<PathBuf>) {
        let run = async {
            let value = run.await;
            (value, ABSENT.with(|(_, begun)| begun.take()))
        };
        ABSENT.scope((self, RefCell::default()), run).await
    }
}

tokio::task_local! {
    static MIGRATED: (MigrationScope, RefCell<Vec<PathBuf>>);
}

/// Which databases an application may migrate while a command looks at it; it leaves those that others use as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MigrationScope {
    /// Those in memory, and files below this folder. A file elsewhere that is not there is not made: it is a database in memory.
    Below(PathBuf),
    /// Those in memory, and files that are made meanwhile.
    NewFiles,
}

impl MigrationScope {
    /// Runs this so that other databases are not migrated: what is pending there stays so, and counts as nothing to do.
    pub async fn within<T>(self, run: impl Future<Output = T>) -> T {
        let scope = match self {
            // As the paths of databases are.
            MigrationScope::Below(folder) => {
                MigrationScope::Below(std::fs::canonicalize(&folder).unwrap_or(folder))
            }
            MigrationScope::NewFiles => MigrationScope::NewFiles,
        };
        MIGRATED.scope((scope, RefCell::default()), run).await
    }

    /// Whether the caller is within such a scope, in which the database of this file, or of a server, is not migrated.
    pub(crate) fn leaves(path: Option<&Path>) -> bool {
        let leaves = MIGRATED.try_with(|(scope, made)| match (scope, path) {
            (_, None) => true,
            (MigrationScope::Below(folder), Some(path)) => !path.starts_with(folder),
            (MigrationScope::NewFiles, Some(path)) => {
                let is_same =
                    |made: &PathBuf| std::fs::canonicalize(made).is_ok_and(|own| own == path);
                !made.borrow().iter().any(is_same)
            }
        });
        leaves.unwrap_or(false)
    }

    /// Where to connect when this file is not there; none for the file itself.
    fn instead(&self, path: &Path, made: &RefCell<Vec<PathBuf>>) -> Option<Location> {
        match self {
            MigrationScope::NewFiles => {
                made.borrow_mut().push(path.to_owned());
                None
            }
            MigrationScope::Below(folder) => {
                let parent = path
                    .parent()
                    .filter(|parent| !parent.as_os_str().is_empty());
                let parent = std::fs::canonicalize(parent.unwrap_or(Path::new(".")));
                let is_below = parent.is_ok_and(|parent| parent.starts_with(folder));
                // By its path, so that whoever connects to the file has the same one.
                let name = || path.to_string_lossy().into_owned();
                (!is_below).then(|| Location::Memory(name()))
            }
        }
    }
}

impl Location {
    /// Where to connect: elsewhere if the caller is [`AbsentFile::within`] something.
    pub(crate) fn unless_absent(self) -> Result<Location> {
        let Location::File { path, missing } = &self else {
            return Ok(self);
        };
        if *missing == MissingFile::Fail || path.exists() {
            return Ok(self);
        }
        let instead = MIGRATED.try_with(|(scope, made)| scope.instead(path, made));
        if let Ok(Some(instead)) = instead {
            return Ok(instead);
        }
        let place = ABSENT.try_with(|(absent, begun)| match absent {
            AbsentFile::Empty => Ok(Some(Location::Memory(String::new()))),
            AbsentFile::Provisional => {
                begun.borrow_mut().push(path.clone());
                Ok(None)
            }
            AbsentFile::Refused => Err(Error::usage(format!(
                "there is no database {} yet: apply the migrations first, by {MIGRATE}",
                path.display()
            ))),
        });
        Ok(place.unwrap_or(Ok(None))?.unwrap_or(self))
    }
}

/// Lays the options of a URL over those of the caller. `own` takes those that not every database has, and says false when it is none of them;
/// `known` lists them for the error.
pub(crate) fn overlay<'u>(
    pairs: impl IntoIterator<Item = (&'u str, &'u str)>,
    mut options: Options,
    known: &str,
    mut own: impl FnMut(&str, &str, &mut Options) -> Result<bool>,
) -> Result<Options> {
    for (key, value) in pairs {
        if !common(key, value, &mut options)? && !own(key, value, &mut options)? {
            return Err(Error::usage(format!(
                "unknown database option {key}: expected {COMMON}, {known}"
            )));
        }
    }
    check(&options)?;
    Ok(options)
}

/// The options that every database has, as an error lists them.
const COMMON: &str = "pool, pool_min, lifetime_ms, rows_max_bytes, acquire_timeout_ms, statement_timeout_ms, idle_timeout_ms, schema_wait_ms, reads=primary|replica, replica_lag_ms, log=off|statements";

/// Takes one of the options that every database has; false when it is none of them.
fn common(key: &str, value: &str, options: &mut Options) -> Result<bool> {
    let time = || number(key, value).map(Duration::from_millis);
    match (key, value) {
        ("log", "off") => options.log = StatementLog::Off,
        ("log", "statements") => options.log = StatementLog::Statements,
        ("pool", value) => options.pool = number(key, value)?,
        ("pool_min", value) => options.min = number(key, value)?,
        ("lifetime_ms", _) => options.lifetime = time()?,
        ("rows_max_bytes", value) => options.rows_max_bytes = number(key, value)?,
        ("acquire_timeout_ms", _) => options.acquire_timeout = time()?,
        ("statement_timeout_ms", _) => options.statement_timeout = time()?,
        ("idle_timeout_ms", _) => options.idle_timeout = time()?,
        ("schema_wait_ms", _) => options.schema_wait = time()?,
        ("reads", "primary") => options.reads = ReadTarget::Primary,
        ("reads", "replica") => options.reads = ReadTarget::Replica,
        ("replica_lag_ms", _) => options.replica_lag = time()?,
        _ => return Ok(false),
    }
    Ok(true)
}

pub(crate) fn number<T: FromStr>(key: &str, value: &str) -> Result<T> {
    value.parse().map_err(|_| {
        Error::usage(format!(
            "database option {key} must be a whole number, not {value:?}"
        ))
    })
}

fn check(options: &Options) -> Result<()> {
    let counts = [
        ("pool", options.pool, limits::POOL_MAX),
        (
            "statement_cache",
            options.statement_cache,
            limits::STATEMENT_CACHE_MAX,
        ),
        (
            "rows_max_bytes",
            options.rows_max_bytes,
            limits::ROWS_MAX_BYTES_MAX,
        ),
    ];
    for (name, value, max) in counts {
        if !(1..=max).contains(&value) {
            return Err(Error::usage(format!(
                "database option {name} must be 1 to {max}, not {value}"
            )));
        }
    }
    if options.min > options.pool {
        let (min, max) = (options.min, options.pool);
        return Err(Error::usage(format!(
            "database option pool_min must be 0 to {max} (pool), not {min}"
        )));
    }
    if !(Duration::from_millis(1)..=limits::REPLICA_LAG_MAX).contains(&options.replica_lag) {
        let (max, lag) = (limits::REPLICA_LAG_MAX.as_millis(), options.replica_lag);
        return Err(Error::usage(format!(
            "database option replica_lag must be 1 to {max} ms, not {lag:?}"
        )));
    }
    let durations = [
        ("lifetime", options.lifetime),
        ("acquire_timeout", options.acquire_timeout),
        ("statement_timeout", options.statement_timeout),
        ("busy_timeout", options.busy_timeout),
        ("idle_timeout", options.idle_timeout),
        ("schema_wait", options.schema_wait),
    ];
    for (name, value) in durations {
        if !(Duration::from_millis(1)..=limits::TIMEOUT_MAX).contains(&value) {
            let max = limits::TIMEOUT_MAX.as_millis();
            return Err(Error::usage(format!(
                "database option {name} must be 1 to {max} ms, not {value:?}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: Location) {
        assert_eq!(parse(url, Options::default()).unwrap().0, expected);
    }

    fn check_error(url: &str, part: &str) {
        let error = parse(url, Options::default()).unwrap_err();
        assert!(matches!(error, Error::Usage { .. }), "{url}");
        assert!(error.to_string().contains(part), "{url}: {error}");
    }

    fn file(path: &str, missing: MissingFile) -> Location {
        Location::File {
            path: path.into(),
            missing,
        }
    }

    #[test]
    fn urls_name_a_place() {
        check("sqlite:app.db", file("app.db", MissingFile::Create));
        check(
            "sqlite://data/app.db",
            file("data/app.db", MissingFile::Create),
        );
        check(
            "sqlite:///var/app.db?mode=rw",
            file("/var/app.db", MissingFile::Fail),
        );
        check(
            "sqlite:/var/日本.db?mode=rwc",
            file("/var/日本.db", MissingFile::Create),
        );
        check("sqlite::memory:", Location::Memory(String::new()));
        check("sqlite::memory:?name=x", Location::Memory("x".into()));
    }

    #[test]
    fn options_in_the_url_take_precedence() {
        let url = "sqlite:a?pool=9&pool_min=7&lifetime_ms=8&acquire_timeout_ms=1&statement_timeout_ms=2&busy_timeout_ms=3&idle_timeout_ms=4\
                   &schema_wait_ms=10&reads=replica&replica_lag_ms=11&statement_cache=5&rows_max_bytes=6&log=statements";
        let expected = Options {
            pool: 9,
            min: 7,
            lifetime: Duration::from_millis(8),
            acquire_timeout: Duration::from_millis(1),
            statement_timeout: Duration::from_millis(2),
            busy_timeout: Duration::from_millis(3),
            idle_timeout: Duration::from_millis(4),
            schema_wait: Duration::from_millis(10),
            statement_cache: 5,
            rows_max_bytes: 6,
            log: StatementLog::Statements,
            names: Names::Lower,
            replicas: ReplicaUrls::default(),
            reads: ReadTarget::Replica,
            replica_lag: Duration::from_millis(11),
        };
        assert_eq!(parse(url, Options::default()).unwrap().1, expected);
    }

    #[test]
    fn errors_list_what_is_accepted() {
        check_error("mysql://user:secret@host/db", "sqlite:PATH");
        check_error("app.db", "sqlite:PATH");
        check_error("sqlite:", "names no file");
        check_error("sqlite:a?color=red", "pool");
        check_error("sqlite:a?mode=ro", "mode=rwc|rw");
        check_error("sqlite:a?name=x", "memory only");
        check_error("sqlite:a?pool=many", "whole number");
        let secret = parse("mysql://user:secret@host/db", Options::default()).unwrap_err();
        assert!(!secret.to_string().contains("secret"));
    }

    #[test]
    #[cfg(not(feature = "firebird"))]
    fn firebird_that_is_not_built_in_is_refused_with_the_feature_to_build() {
        let error = parse("firebird://u:secret@h/d", Options::default()).unwrap_err();
        let expected =
            "Firebird is not in this program: it was built without the feature `firebird`";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn option_beyond_its_range_is_refused() {
        check_error("sqlite:a?pool=0", "1 to 64");
        check_error("sqlite:a?pool=65", "1 to 64");
        check_error("sqlite:a?pool=2&pool_min=3", "0 to 2 (pool)");
        check_error("sqlite:a?lifetime_ms=0", "1 to 86400000 ms");
        check_error("sqlite:a?statement_cache=4097", "1 to 4096");
        check_error("sqlite:a?rows_max_bytes=4294967296", "1 to 4294967295");
        check_error("sqlite:a?statement_timeout_ms=0", "1 to 86400000 ms");
        check_error("sqlite:a?replica_lag_ms=0", "1 to 3600000 ms");
        check_error("sqlite:a?replica_lag_ms=3600001", "1 to 3600000 ms");
        check_error("sqlite:a?reads=secondary", "reads=primary|replica");
        check_error("sqlite:a?statement_timeout_ms=86400001", "1 to 86400000 ms");
        parse(
            "sqlite:a?pool=64&statement_timeout_ms=86400000",
            Options::default(),
        )
        .unwrap();
    }
}
