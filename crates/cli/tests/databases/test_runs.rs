//! `tsumugi test` on every database: each test has one of its own, migrated, and nothing of it is left, whichever way the run ends.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tsumugi_testkit::{freeze, pause};

use super::{Database, Site, USERS, on_all};

/// How long what has to happen may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Handlers use a transaction beside other connections.
const APP: (&str, &str) = (
    "app.rb",
    "plugin(:db) { DB.connect }\n\
     db.migrate\n\
     plugin(:kv) { KV.open 'memory:users' }\n\
     post '/users' do\n\
       kv.incr 'made'\n\
       db.transaction { db[:users].insert(name: 'ann') }\n\
       parallel(-> { db[:users].count }, -> { db[:users].count }).inspect\n\
     end\n\
     get('/users') { \"#{db[:users].count} of #{kv.incr('read')}\" }\n",
);

const TESTS: (&str, &str) = (
    "test/app_test.rb",
    "2.times do |n|\n\
       test \"a user is the first #{n}\" do\n\
         assert Tsumugi.test?\n\
         assert_equal '0 of 1', get('/users').body\n\
         assert_equal '[1, 1]', post('/users').body\n\
         assert_equal 1, db[:users].max(:id)\n\
         puts \"at #{db.query('select name from users').size} #{ENV['DATABASE_URL'] || Tsumugi.data_dir} end\"\n\
       end\n\
     end\n\
     test('fails') { db[:users].insert(name: 'bo'); flunk 'on purpose' }\n",
);

const SLEEPER: (&str, &str) = (
    "test/sleeper.rb",
    "test('sleeps') { db[:users].insert(name: 'ann'); puts \"at #{ENV['DATABASE_URL']} end\"; sleep 29 }\n",
);

impl Site {
    /// A folder in which runs of tests make theirs.
    fn temporary(&self) -> PathBuf {
        let folder = self.path().join("tmp");
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn test(&self, words: &[&str]) -> (i32, String) {
        let mut command = self.command(&[&["test"], words].concat());
        command.env("TMPDIR", self.temporary());
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.code().unwrap(), text.concat())
    }

    /// Begins the test that sleeps, and waits until it does.
    fn sleeper(&self) -> Child {
        let path = self.path().join("log");
        let log = File::create(&path).unwrap();
        let mut command = self.command(&["test", "app.rb", SLEEPER.0]);
        command.env("TMPDIR", self.temporary());
        command.stderr(log.try_clone().unwrap()).stdout(log);
        let child = command.stdin(Stdio::null()).spawn().unwrap();
        self.until("the test to run", || {
            std::fs::read_to_string(&path).unwrap().contains(" end")
        });
        child
    }

    #[track_caller]
    fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_so() {
            let log = || std::fs::read_to_string(self.path().join("log")).unwrap_or_default();
            assert!(Instant::now() < end, "waited for {what}: {}", log());
            pause();
        }
    }

    /// How many databases and folders of tests there are.
    fn left(&self) -> usize {
        let folders = self.temporary().read_dir().unwrap().count();
        let databases = match &self.database {
            Database::Sqlite => "0".to_owned(),
            Database::Postgres(database) => database.psql(
                "select count(*) from pg_database where datname like 'tsumugi_test_' || \
                 (select oid from pg_database where datname = current_database()) || '_%'",
            ),
            Database::Firebird(database) => {
                let count = "set heading off; select count(*) from tsumugi_test_databases;";
                database.isql(count)
            }
        };
        folders + databases.trim().parse::<usize>().unwrap()
    }
}

#[test]
fn each_test_has_a_migrated_database_of_its_own_and_none_is_left() {
    on_all(&[USERS, APP, TESTS], |site| {
        let (code, text) = site.test(&[]);
        assert!(text.contains("2 passed, 1 failed"), "{text}");
        assert!(text.contains("on purpose"), "{text}");
        assert_eq!(code, 1, "{text}");
        let mut places: Vec<&str> = text.lines().filter(|line| line.contains("at 1 ")).collect();
        places.dedup();
        assert_eq!(places.len(), 2, "{text}");
        assert_eq!(site.left(), 0, "{text}");
        if let Database::Firebird(_) = site.database {
            let paths = places.iter().map(|line| line.rsplit("//").next().unwrap());
            for path in paths.map(|path| path.trim_end_matches(" end")) {
                assert!(path.contains("tsumugi_test_"), "{text}");
                let path = PathBuf::from(format!("/{path}"));
                assert!(!path.exists(), "{}", path.display());
            }
        }
    });
}

#[test]
fn run_that_is_interrupted_leaves_nothing_and_the_next_removes_what_a_killed_one_left() {
    on_all(&[USERS, APP, TESTS, SLEEPER], |site| {
        for signal in [Signal::SIGINT, Signal::SIGTERM] {
            let mut child = site.sleeper();
            kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
            assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
            assert_eq!(site.left(), 0, "{signal}");
        }
        let mut alive = site.sleeper();
        // Its test would end.
        freeze(alive.id().try_into().unwrap());
        let of_one = site.left();
        assert!(of_one > 0);
        let mut killed = site.sleeper();
        killed.kill().unwrap();
        killed.wait().unwrap();
        // The server sees in its own time that the connection is gone.
        site.until("the next runs to remove it", || {
            let (_, text) = site.test(&[]);
            assert!(text.contains("2 passed, 1 failed"), "{text}");
            site.left() == of_one
        });
        alive.kill().unwrap();
        alive.wait().unwrap();
    });
}

#[test]
fn test_gets_the_migrations_that_the_application_does_not_apply_itself() {
    let (name, app) = APP;
    let app = app.replace("db.migrate\n", "");
    let check = |command: &mut Command| {
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        let text = text.concat();
        assert!(text.contains("2 passed, 1 failed"), "{text}");
        assert!(!text.contains("is open already"), "{text}");
    };
    on_all(&[USERS, (name, &app), TESTS], |site| {
        let mut command = site.command(&["test"]);
        command.env("TMPDIR", site.temporary());
        check(&mut command);
        if matches!(site.database, Database::Sqlite) {
            check(command.env("DATABASE_URL", "sqlite::memory:"));
            check(command.env("DATABASE_URL", "sqlite::memory:?name=x&busy_timeout_ms=7"));
        }
    });
}

#[test]
fn database_that_cannot_be_removed_hides_no_result() {
    let database = tsumugi_testkit::postgres::Server::shared().database();
    let site = Site {
        folder: tempfile::tempdir().unwrap(),
        database: Database::Postgres(database),
    };
    let test = "test('x') do\n\
         own = ENV['DATABASE_URL'].split('/').last\n\
         db.execute \"alter database #{own} is_template true\"\n\
       end\n\
       test('y') { assert_equal 0, db[:users].count }\n";
    for (name, text) in [USERS, APP, ("test/app_test.rb", test)] {
        site.write(name, text);
    }
    let (code, text) = site.test(&[]);
    assert!(text.contains("2 passed, 0 failed"), "{text}");
    assert_eq!(code, 0, "{text}");
    let Database::Postgres(database) = &site.database else {
        unreachable!("it is one")
    };
    let left = database.psql(
        "select datname from pg_database where datname like 'tsumugi_test_%' and datistemplate",
    );
    assert_eq!(left.lines().count(), 1, "{left}");
    // As every database of a run that is over, it goes with the next.
    database.psql(&format!("alter database {left} is_template false"));
    site.write(
        "test/app_test.rb",
        "test('y') { assert_equal 0, db[:users].count }\n",
    );
    let (code, text) = site.test(&[]);
    assert_eq!((code, site.left()), (0, 0), "{text}");
}

#[test]
fn shared_database_has_to_be_named() {
    let site = Site {
        folder: tempfile::tempdir().unwrap(),
        database: Database::Sqlite,
    };
    site.write("app.rb", APP.1);
    site.write("test/app_test.rb", "test('x') { assert true }\n");
    let (code, text) = site.test(&["--shared-database"]);
    assert!(text.contains("DATABASE_URL, which is not set"), "{text}");
    assert_eq!(code, 1, "{text}");
}

#[test]
fn database_with_tables_that_no_test_has_made_is_refused() {
    on_all(&[APP, USERS], |site| {
        site.write("test/app_test.rb", "test('x') { assert true }\n");
        site.run(&["migrate", "up"]);
        let run = |words: &[&str]| {
            let mut command = site.command(words);
            if matches!(site.database, Database::Sqlite) {
                command.env("DATABASE_URL", "sqlite:data/app.db");
            }
            let output = command.output().unwrap();
            let text =
                [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
            (output.status.code().unwrap(), text.concat())
        };
        let (code, text) = run(&["test"]);
        for part in [
            "DATABASE_URL names the ",
            "has tables that no test has made (",
            "an empty database",
            "or none",
        ] {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
        assert_eq!(code, 1, "{text}");
        let (code, text) = run(&["test", "--shared-database"]);
        assert_eq!(code, 0, "{text}");
        assert!(
            text.contains("over ") && text.contains(" as it is"),
            "{text}"
        );
    });
}

#[test]
fn role_that_may_make_no_database_is_told_what_to_grant() {
    let database = tsumugi_testkit::postgres::Server::shared().database();
    let site = Site {
        folder: tempfile::tempdir().unwrap(),
        database: Database::Sqlite,
    };
    for (name, text) in [USERS, APP, TESTS] {
        site.write(name, text);
    }
    let mut command = site.command(&["test"]);
    // One that may make no database.
    let role = tsumugi_testkit::postgres::User::SCRAM;
    command.env("DATABASE_URL", database.url_as(role));
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("alter role NAME createdb"), "{text}");
    assert_eq!(output.status.code(), Some(1));
}
