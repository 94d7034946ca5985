//! What handlers have of databases, over sockets: the same application on SQLite, PostgreSQL and Firebird, and what only one has.
//! Rule: what an application may rely on everywhere is checked on all; a difference has a test that says so.

#[path = "../rig/mod.rs"]
mod rig;

mod bulk;
mod connecting;
mod errors;
mod firebird;
mod jobs;
mod left_streams;
mod listening;
mod logged;
mod pipelines;
mod queries;
mod room;
mod schema;
mod sessions;
mod streams;
mod transactions;
mod values;

use rig::Rig;

/// What an application runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
    Firebird,
}

pub(crate) const ALL: [Engine; 3] = [Engine::Sqlite, Engine::Postgres, Engine::Firebird];

/// Those whose raw SQL is alike.
pub(crate) const BOTH: [Engine; 2] = [Engine::Sqlite, Engine::Postgres];

/// A server's database, which lasts as long as this.
enum Database {
    None,
    Postgres(tsumugi_testkit::postgres::PostgresDatabase<'static>),
    Firebird(tsumugi_testkit::firebird::FirebirdDatabase<'static>),
}

/// An application and its database, which ends after it.
pub(crate) struct Served {
    pub(crate) rig: Rig,
    database: Database,
}

impl Served {
    /// Serves `app`, which has `db`; `options` go to `DB.connect` after the URL.
    pub(crate) fn new(engine: Engine, options: &str, app: &str) -> Served {
        let database = match engine {
            Engine::Sqlite => Database::None,
            Engine::Postgres => {
                Database::Postgres(tsumugi_testkit::postgres::Server::shared().database())
            }
            Engine::Firebird => {
                Database::Firebird(tsumugi_testkit::firebird::Server::shared().database())
            }
        };
        let url = match &database {
            Database::None => "\"sqlite:#{Tsumugi.data_dir}/test.db\"".to_owned(),
            Database::Postgres(database) => format!("'{}'", database.url()),
            Database::Firebird(database) => format!("'{}'", database.url()),
        };
        let options = if options.is_empty() {
            String::new()
        } else {
            format!(", {options}")
        };
        let rig = Rig::serve(&format!(
            "plugin(:db) {{ DB.connect {url}{options} }}\n{app}"
        ));
        Served { rig, database }
    }

    /// Asks the server itself, past the application.
    pub(crate) fn psql(&self, sql: &str) -> String {
        let Database::Postgres(database) = &self.database else {
            panic!("on PostgreSQL");
        };
        database.psql(sql)
    }

    #[track_caller]
    pub(crate) fn check(&self, path: &str, expected: &str) {
        let answer = self.rig.get(path);
        assert_eq!(answer.text(), expected, "{path}");
    }
}

/// What lines say about exceptions.
pub(crate) const HELPERS: &str = "
  def exception
    yield
    raise 'nothing was raised'
  rescue StandardError => e
    e
  end
  def failed(&block) = exception(&block).class.to_s
  def said(&block) = exception(&block).message
  def error_text(&block) = exception(&block).then { |e| \"#{e.class}: #{e.message}\" }
";

/// Serves each line of Ruby below a path of its own, after `setup`, and checks what it answers.
#[track_caller]
pub(crate) fn check_on(engine: Engine, setup: &str, lines: &[(&str, &str)]) {
    let routes: String = lines
        .iter()
        .enumerate()
        .map(|(i, (line, _))| format!("get('/{i}') {{ {line} }}\n"))
        .collect();
    let served = Served::new(engine, "", &format!("{HELPERS}{setup}\n{routes}"));
    for (i, (line, expected)) in lines.iter().enumerate() {
        let answer = served.rig.get(&format!("/{i}"));
        let text = answer.text();
        let text = text.split("<body>").last().unwrap_or_default();
        assert_eq!(text, *expected, "{engine:?}: {line}");
    }
}

/// The same on SQLite and PostgreSQL.
#[track_caller]
pub(crate) fn check(setup: &str, lines: &[(&str, &str)]) {
    for engine in BOTH {
        check_on(engine, setup, lines);
    }
}
