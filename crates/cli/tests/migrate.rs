//! `tsumugi migrate` and `tsumugi seed` as a user meets them, on every database: what they print, keep, refuse and undo,
//! and many processes at once.

mod databases;
#[path = "databases/test_runs.rs"]
mod test_runs;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use databases::Database;
use tempfile::TempDir;

const USERS: (&str, &str) = (
    "migrations/20260101120000_create_users.rb",
    "up { db.create(:users) { increments :id; string :name, 100 } }\ndown { db.drop :users }\n",
);
const NICKS: (&str, &str) = (
    "migrations/20260102120000_add_nick.rb",
    "up do |db|\n  db.alter(:users) { add.string :nick, 20, nullable: true }\n  db[:users].insert(name: 'first?')\nend\n\
     down { db.alter(:users) { drop_column :nick } }\n",
);
const PIPED: (&str, &str) = (
    "migrations/20260103120000_piped.rb",
    "up { db.pipeline { |all| all.execute 'delete from users where id = ?', 0 } }\n",
);
const BROKEN: (&str, &str) = (
    "migrations/20260103120000_broken.rb",
    "up do\n  db.create(:more) { increments :id }\n  db.execute \"insert into users(name) values ('lost')\"\n  db.execute 'insert into nowhere values (1)'\nend\n",
);

/// A folder with files, and a database.
struct Site {
    folder: TempDir,
    database: Database,
}

/// What a test runs on: the same on each.
fn on_all(files: &[(&str, &str)], test: impl Fn(&Site)) {
    for database in Database::all() {
        let folder = tempfile::tempdir().unwrap();
        let site = Site { folder, database };
        for (name, text) in files {
            site.write(name, text);
        }
        test(&site);
    }
}

impl Site {
    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
        command
            .args(words)
            .current_dir(self.path())
            .env_remove("DATABASE_URL")
            // A machine under load has warnings to give.
            .env("TSUMUGI_LOG", "error")
            .stdin(Stdio::null());
        if let Some(url) = self.database.url() {
            command.env("DATABASE_URL", url);
        }
        command
    }

    /// Serves until the application has loaded.
    fn serve(&self) {
        let mut command = self.command(&["serve", "--listen", "127.0.0.1:0", "--workers", "1"]);
        command.env("TSUMUGI_LOG", "info").stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut log = String::new();
        for line in BufReader::new(child.stderr.take().unwrap()).lines() {
            log = log + &line.unwrap() + "\n";
            if log.contains("serving") {
                break;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(log.contains("serving"), "{log}");
    }

    fn run(&self, words: &[&str]) -> (i32, String) {
        let output: Output = self.command(words).output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.code().unwrap(), text.concat())
    }

    /// Expects an exit code and lines, without the milliseconds.
    #[track_caller]
    fn check(&self, words: &[&str], code: i32, expected: &str) {
        let (actual, text) = self.run(words);
        let text: Vec<&str> = text
            .lines()
            .map(|line| line.split(" (").next().unwrap_or(line))
            .collect();
        assert_eq!(text.join("\n"), expected, "{words:?}");
        assert_eq!(actual, code, "{words:?}");
    }

    /// What the database answers, through the console of an application.
    fn ask(&self, ruby: &str) -> String {
        self.write("ask.rb", "plugin(:db) { DB.connect }\n");
        self.write("ask.txt", &format!("{ruby}\n"));
        let mut command = self.command(&["console", "ask.rb"]);
        command.stdin(std::fs::File::open(self.path().join("ask.txt")).unwrap());
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

const NAMES: &str = "db.query('select name from users order by id').map { |row| row[:name] }";

#[test]
fn migrations_are_applied_in_order_shown_and_undone() {
    on_all(&[NICKS, USERS], |site| {
        site.check(
            &["migrate", "up", "--steps", "1"],
            0,
            "up    20260101120000_create_users.rb\n1 migration applied",
        );
        site.check(
            &["migrate", "up"],
            0,
            "up    20260102120000_add_nick.rb\n1 migration applied",
        );
        site.check(&["migrate", "up"], 0, "nothing to do");
        assert_eq!(site.ask(NAMES), "=> [\"first?\"]");
        site.check(
            &["migrate", "redo"],
            0,
            "down  20260102120000_add_nick.rb\nup    20260102120000_add_nick.rb\n1 migration undone and applied",
        );
        assert_eq!(site.ask(NAMES), "=> [\"first?\", \"first?\"]");
        // As after a `redo` whose second half has failed.
        site.run(&["migrate", "down"]);
        let (code, text) = site.run(&["migrate", "redo"]);
        assert_eq!(code, 1, "{text}");
        assert!(
            text.contains("is not applied") && text.contains("`migrate up`"),
            "{text}"
        );
        assert_eq!(site.ask("db.table?(:users)"), "=> true");
        site.run(&["migrate", "up"]);
        site.check(
            &["migrate", "down", "--steps", "9"],
            0,
            "down  20260102120000_add_nick.rb\ndown  20260101120000_create_users.rb\n2 migrations undone",
        );
        assert_eq!(site.ask("db.table?(:users)"), "=> false");
        let status = site.run(&["migrate", "status"]).1;
        assert_eq!(
            status,
            "pending  20260101120000_create_users.rb\npending  20260102120000_add_nick.rb\n"
        );
    });
}

#[test]
fn tables_of_jobs_are_made_and_brought_up_to_date_where_the_application_keeps_jobs() {
    const APP: &str = "plugin(:db) { DB.connect }\njobs DB.connect\njob(:a) { 1 }\n";
    const TABLES: &str = "[:tsumugi_jobs, :tsumugi_job_keys].map { |name| db.table?(name) }";
    on_all(&[USERS], |site| {
        let users = "up    20260101120000_create_users.rb\n1 migration applied";
        site.check(&["migrate", "up"], 0, users);
        assert_eq!(site.ask(TABLES), "=> [false, false]");
        site.write("app.rb", APP);
        site.check(
            &["migrate", "up", "--dry-run"],
            0,
            "tried 0 migrations; nothing was kept",
        );
        let jobs = "up    tables of jobs\n1 migration applied";
        site.check(&["migrate", "up"], 0, jobs);
        assert_eq!(site.ask(TABLES), "=> [true, true]");
        site.check(&["migrate", "up"], 0, "nothing to do");
        // As an older version has made them. An application that says nothing of jobs finds them there.
        let word = if site.database.is_firebird() {
            "drop"
        } else {
            "drop column"
        };
        site.ask(&format!(
            "db.execute 'alter table tsumugi_jobs {word} trace'"
        ));
        site.write("app.rb", "get('/') { 1 }\n");
        site.check(&["migrate", "up"], 0, jobs);
        site.check(&["migrate", "up"], 0, "nothing to do");
    });
    // It needs no migrations of its own.
    on_all(&[("app.rb", APP)], |site| {
        site.check(
            &["migrate", "up"],
            0,
            "up    tables of jobs\n1 migration applied",
        );
        let (code, text) = site.run(&["migrate", "down"]);
        assert!(code == 1 && text.contains("there is no folder"), "{text}");
    });
}

#[test]
fn a_migration_that_fails_in_the_middle_leaves_the_schema_as_it_was_and_says_what_happened() {
    on_all(&[USERS, BROKEN], |site| {
        let (code, text) = site.run(&["migrate", "up"]);
        assert_eq!(code, 1, "{text}");
        // Firebird's statements do not see a table that their own transaction made: it is committed before.
        let firebird = site.database.is_firebird();
        let kept = match firebird {
            true => {
                "what came before its last statements is kept, because Firebird commits changes of tables before other statements: DB::"
            }
            false => "nothing of it was kept: DB::",
        };
        let failed = format!("tsumugi: 20260103120000_broken.rb failed (up), {kept}");
        for piece in [
            "up    20260101120000_create_users.rb",
            &failed,
            "nowhere",
            "\n  insert into nowhere values (1)\n",
            "\n    from migrations/20260103120000_broken.rb:4\n",
        ] {
            assert!(text.contains(piece), "no {piece:?} in:\n{text}");
        }
        assert_eq!(
            site.ask("[db.table?(:more), db.table?(:users)]"),
            format!("=> [{firebird}, true]")
        );
        assert_eq!(site.ask(NAMES), "=> []");
        let (_, status) = site.run(&["migrate", "status"]);
        assert!(
            status.contains("pending  20260103120000_broken.rb"),
            "{status}"
        );
        // Mended, it is applied; a table that is there already and the same is left alone.
        site.write(BROKEN.0, "up { db.create(:more) { increments :id } }\n");
        site.check(
            &["migrate", "up"],
            0,
            "up    20260103120000_broken.rb\n1 migration applied",
        );
        site.check(
            &["migrate", "down"],
            1,
            "tsumugi: 20260103120000_broken.rb failed",
        );
    });
}

#[test]
fn migration_that_only_changes_tables_is_applied_whole_or_not_at_all() {
    let tables = "up do
      db.create(:owners) { increments :id; string :name, 10, index: true }
      db.create(:pets) { increments :id; foreign :owner_id, on: :owners }
      db.alter(:owners) { add.integer :age, default: 1; drop_column :name }
      raise 'no' if ENV['FAIL']
    end
    down { %i[pets owners].each { |table| db.drop table } }";
    on_all(&[("migrations/1_tables.rb", tables)], |site| {
        let mut command = site.command(&["migrate", "up"]);
        let output = command.env("FAIL", "1").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("nothing of it was kept"), "{said}");
        assert_eq!(
            site.ask("[db.table?(:owners), db.table?(:pets)]"),
            "=> [false, false]"
        );
        site.check(
            &["migrate", "up"],
            0,
            "up    1_tables.rb\n1 migration applied",
        );
        assert_eq!(
            site.ask("db.query('select * from owners').columns"),
            "=> [:id, :age]"
        );
        site.check(
            &["migrate", "down"],
            0,
            "down  1_tables.rb\n1 migration undone",
        );
        assert_eq!(site.ask("db.table?(:owners)"), "=> false");
    });
}

#[test]
fn a_dry_run_prints_the_statements_and_keeps_nothing() {
    on_all(&[USERS, NICKS, PIPED], |site| {
        let (code, text) = site.run(&["migrate", "up", "--dry-run"]);
        assert_eq!(code, 0, "{text}");
        assert!(!text.contains("advisory"), "{text}");
        for piece in [
            "-- up 20260101120000_create_users.rb\ncreate table ",
            "-- up 20260102120000_add_nick.rb\nalter table ",
            ";\ninsert into ",
            "-- up 20260103120000_piped.rb\ndelete from users where id = ?",
            "tried 3 migrations; nothing was kept\n",
        ] {
            assert!(text.contains(piece), "no {piece:?} in:\n{text}");
        }
        assert!(!text.contains("tsumugi_migrations"), "{text}");
        assert_eq!(
            site.ask("[db.table?(:users), db.table?(:tsumugi_migrations)]"),
            "=> [false, false]"
        );
    });
}

#[test]
fn changed_or_missing_applied_file_is_reported() {
    on_all(&[USERS, NICKS], |site| {
        site.run(&["migrate", "up"]);
        site.write(NICKS.0, "up { }\ndown { db.execute 'delete from users' }\n");
        let (code, text) = site.run(&["migrate", "up"]);
        assert_eq!(code, 1);
        assert!(
            text.starts_with(
                "tsumugi: 20260102120000_add_nick.rb is not what was applied: put it back"
            ),
            "{text}"
        );
        let (_, status) = site.run(&["migrate", "status"]);
        assert!(
            status.contains("\nchanged  20260102120000_add_nick.rb "),
            "{status}"
        );
        std::fs::remove_file(site.path().join(NICKS.0)).unwrap();
        let (_, status) = site.run(&["migrate", "status"]);
        assert!(
            status.contains("\nunknown  20260102120000_add_nick "),
            "{status}"
        );
        let (code, text) = site.run(&["migrate", "down"]);
        assert_eq!(code, 1);
        assert!(
            text.starts_with("tsumugi: 20260102120000_add_nick is applied and unknown here"),
            "{text}"
        );
    });
}

#[test]
fn numbers_of_migrations_are_numbers_however_they_are_written() {
    const ONE: &str = "up { db.create(:one) { increments :id } }\ndown { db.drop :one }\n";
    const TWO: &str = "up { db.create(:two) { increments :id } }\ndown { db.drop :two }\n";
    let files = [
        ("migrations/7_one.rb", ONE),
        ("migrations/0010_two.rb", TWO),
    ];
    on_all(&files, |site| {
        site.check(
            &["migrate", "up"],
            0,
            "up    7_one.rb\nup    0010_two.rb\n2 migrations applied",
        );
        std::fs::remove_file(site.path().join("migrations/7_one.rb")).unwrap();
        site.write("migrations/007_one.rb", ONE);
        site.check(&["migrate", "up"], 0, "nothing to do");
        let status = site.run(&["migrate", "status"]).1;
        let words = |line: &str| {
            line.split_whitespace()
                .take(2)
                .collect::<Vec<_>>()
                .join(" ")
        };
        let status: Vec<String> = status.lines().map(words).collect();
        assert_eq!(status, ["applied 007_one.rb", "applied 0010_two.rb"]);
        site.check(
            &["migrate", "down", "--steps", "2"],
            0,
            "down  0010_two.rb\ndown  007_one.rb\n2 migrations undone",
        );
        site.check(
            &["migrate", "status"],
            0,
            "pending  007_one.rb\npending  0010_two.rb",
        );
        site.write("migrations/7_one.rb", ONE);
        site.check(
            &["migrate", "up"],
            1,
            "tsumugi: 007_one.rb and 7_one.rb have the same number",
        );
    });
}

#[test]
fn many_processes_at_once_apply_each_migration_once() {
    let slow = "up do\n  db.create(:slow) { increments :id }\n  sleep 0.2\n  db.execute 'insert into slow(id) values (1)'\nend\n";
    on_all(
        &[USERS, NICKS, ("migrations/20260103120000_slow.rb", slow)],
        |site| {
            let children: Vec<_> = (0..6)
                .map(|_| {
                    let mut command = site.command(&["migrate", "up"]);
                    command.stdout(Stdio::piped()).stderr(Stdio::piped());
                    command.spawn().unwrap()
                })
                .collect();
            let mut applied = 0;
            for child in children {
                let output = child.wait_with_output().unwrap();
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(output.status.success(), "{text}{said}");
                applied += text.matches("up    ").count();
            }
            assert_eq!(applied, 3);
            assert_eq!(site.ask(NAMES), "=> [\"first?\"]");
        },
    );
}

#[test]
fn a_table_that_others_refer_to_is_made_anew_in_a_migration() {
    let owners = "up do
      db.create(:owners) { increments :id; string :name, 10 }
      db.create(:pets) { increments :id; foreign :owner_id, on: :owners, on_delete: :cascade }
      db.execute \"insert into owners(name) values ('a')\"
      db.execute 'insert into pets(owner_id) values (1)'
    end";
    let longer = "up { db.alter(:owners) { change.string :name, 200 } }";
    let files = [
        ("migrations/1_owners.rb", owners),
        ("migrations/2_longer.rb", longer),
    ];
    on_all(&files, |site| {
        site.check(
            &["migrate", "up"],
            0,
            "up    1_owners.rb\nup    2_longer.rb\n2 migrations applied",
        );
        assert_eq!(
            site.ask("db.query('select owner_id from pets').to_a"),
            "=> [{:owner_id=>1}]"
        );
    });
}

#[test]
fn migration_without_transaction_runs_without_one() {
    let index = "transaction false\nup do\n  how = ENV['DATABASE_URL'].to_s.start_with?('postgres') ? 'concurrently' : ''\n  db.execute \"create index #{how} users_name on users(name)\"\nend\n";
    on_all(
        &[USERS, ("migrations/20260104120000_index.rb", index)],
        |site| {
            site.check(
            &["migrate", "up"],
            0,
            "up    20260101120000_create_users.rb\nup    20260104120000_index.rb\n2 migrations applied",
        );
        },
    );
}

/// What a command says and leaves behind in a folder of these files, without a database.
#[track_caller]
fn check_leaves(files: &[(&str, &str)], words: &[&str], said: &str, left: &[&str]) {
    let site = Site {
        folder: tempfile::tempdir().unwrap(),
        database: Database::Sqlite,
    };
    for (name, text) in files {
        site.write(name, text);
    }
    let (_, text) = site.run(words);
    assert!(text.contains(said), "{words:?}: {text}");
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<_> = site.path().read_dir().unwrap().map(name).collect();
    names.sort();
    assert_eq!(names, left, "{words:?}");
}

#[test]
fn command_with_nothing_to_do_says_what_is_missing_and_creates_nothing() {
    let no_folder = "there is no folder migrations: `tsumugi migrate new NAME` makes it";
    for word in ["status", "up", "down", "redo"] {
        check_leaves(&[], &["migrate", word], no_folder, &[]);
    }
    check_leaves(&[], &["migrate", "up", "--dry-run"], no_folder, &[]);
    let no_seeds = "there is neither seeds.rb nor a folder seeds beside the application; what fills an empty table is written so: `seeder(:users) { db[:users].insert(name: \"Ann\") }`";
    check_leaves(&[], &["seed"], no_seeds, &[]);
    let pending = [USERS];
    for (words, said) in [
        (
            &["migrate", "status"][..],
            "pending  20260101120000_create_users.rb",
        ),
        (&["migrate", "up", "--dry-run"], "tried 1 migration"),
        (&["migrate", "down"], "nothing to do"),
        (&["migrate", "redo"], "nothing to do"),
    ] {
        check_leaves(&pending, words, said, &["migrations"]);
    }
    let broken = [(
        "migrations/20260101120000_broken.rb",
        "up { raise 'not yet' }\n",
    )];
    check_leaves(&broken, &["migrate", "up"], "not yet", &["migrations"]);
    let seeds = [("seeds.rb", "seeder(:users) { }\n")];
    let no_tables = "tsumugi: there is no database data/app.db yet: apply the migrations first, by `tsumugi migrate up`";
    check_leaves(&seeds, &["seed"], no_tables, &["seeds.rb"]);
}

#[test]
fn migration_noted_by_an_earlier_version_is_the_same() {
    on_all(&[USERS, NICKS], |site| {
        assert_eq!(site.run(&["migrate", "up"]).0, 0);
        let names = "db.query('select name from tsumugi_migrations order by version').map { |row| row[:name] }";
        let noted = r#"=> ["20260101120000_create_users", "20260102120000_add_nick"]"#;
        assert_eq!(site.ask(names), noted);
        site.ask("db.query('select version, name from tsumugi_migrations').each { |row| db.execute('update tsumugi_migrations set name = ? where version = ?', \"#{row[:name]}.rb\", row[:version]) }");
        assert!(site.ask(names).contains("add_nick.rb"));
        site.check(&["migrate", "up"], 0, "nothing to do");
        let status = site.run(&["migrate", "status"]).1;
        assert_eq!(status.matches("applied  ").count(), 2, "{status}");
        std::fs::remove_file(site.path().join(NICKS.0)).unwrap();
        let status = site.run(&["migrate", "status"]).1;
        assert!(
            status.contains("\nunknown  20260102120000_add_nick "),
            "{status}"
        );
        site.write(NICKS.0, NICKS.1);
        site.check(
            &["migrate", "redo", "--steps", "2"],
            0,
            "down  20260102120000_add_nick.rb\ndown  20260101120000_create_users.rb\n\
             up    20260101120000_create_users.rb\nup    20260102120000_add_nick.rb\n2 migrations undone and applied",
        );
        assert_eq!(site.ask(names), noted);
    });
}

#[test]
fn seeds_fill_empty_tables_only() {
    let seeds = "seeder(:users) do\n  progress(3, 'users') { |n| db.execute 'insert into users(name) values (?)', \"user #{n}\" }\nend\n";
    on_all(&[USERS, ("seeds.rb", seeds)], |site| {
        let (code, text) = site.run(&["seed"]);
        assert_eq!(code, 1, "{text}");
        site.run(&["migrate", "up"]);
        site.check(&["seed"], 0, "seeds of users\nran the seeds");
        site.check(
            &["seed"],
            0,
            "-- seeds of users: left out, the table has rows\nran the seeds",
        );
        assert_eq!(site.ask(NAMES), "=> [\"user 0\", \"user 1\", \"user 2\"]");
        // One that fails leaves the table empty.
        site.ask("db.execute 'delete from users'");
        site.write("seeds.rb", "seeder(:users) do\n  db.execute \"insert into users(name) values ('x')\"\n  raise 'no more'\nend\n");
        let (code, text) = site.run(&["seed"]);
        assert_eq!(code, 1);
        assert!(text.contains("no more"), "{text}");
        assert_eq!(site.ask(NAMES), "=> []");
    });
}

#[test]
fn applications_migrate_and_seed_themselves_when_they_start() {
    let app = "plugin(:db) { DB.connect }\n\
               db.migrate\n\
               db.seeder(:users) { db.execute \"insert into users(name) values ('one')\" }\n\
               get('/') { 'x' }\n";
    on_all(&[USERS, ("app.rb", app)], |site| {
        for _ in 0..2 {
            site.serve();
        }
        assert_eq!(site.ask(NAMES), "=> [\"one\"]");
    });
}

#[test]
fn command_that_looks_at_an_application_applies_no_migration_to_a_database_that_is_there() {
    let app = "plugin(:db) { DB.connect }\ndb.migrate\nget('/') { 'x' }\n";
    on_all(&[USERS, ("app.rb", app)], |site| {
        site.check(
            &["migrate", "up"],
            0,
            "up    20260101120000_create_users.rb\n1 migration applied",
        );
        site.write(NICKS.0, NICKS.1);
        for words in [
            &["check"][..],
            &["check", "--data", "data"],
            &["routes"],
            &["console"],
        ] {
            let (code, text) = site.run(words);
            assert_eq!(code, 0, "{words:?}: {text}");
            let (_, status) = site.run(&["migrate", "status"]);
            assert!(status.contains("pending"), "{words:?}: {status}");
        }
        site.serve();
        let (_, status) = site.run(&["migrate", "status"]);
        assert!(!status.contains("pending"), "{status}");
    });
}

#[test]
fn processes_that_start_at_once_make_and_fill_a_table_once() {
    let app = "plugin(:db) { DB.connect }\n\
               db.create(:notes) { increments :id; text :text }\n\
               db.seeder(:notes) { sleep 0.2; db[:notes].insert(text: 'the only one') }\n\
               get('/') { 'x' }\n";
    on_all(&[("app.rb", app)], |site| {
        let start = |_| {
            let mut command = site.command(&["check", "--data", "data"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        };
        let children: Vec<_> = (0..4).map(start).collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{said}");
        }
        assert_eq!(site.ask("db[:notes].pluck(:text)"), "=> [\"the only one\"]");
    });
}

#[test]
fn a_reader_that_goes_away_stops_no_migration() {
    on_all(&[USERS, NICKS], |site| {
        let mut command = site.command(&["migrate", "up"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(0));
        site.check(&["migrate", "up"], 0, "nothing to do");
    });
}

#[test]
fn a_new_migration_has_the_time_in_its_name_and_applies() {
    on_all(&[], |site| {
        let (code, text) = site.run(&["migrate", "new", "create_notes"]);
        assert_eq!(code, 0, "{text}");
        assert!(
            text.starts_with("made ./migrations/2") && text.ends_with("_create_notes.rb\n"),
            "{text}"
        );
        let (code, text) = site.run(&["migrate", "up"]);
        assert_eq!(code, 0, "{text}");
        assert_eq!(site.ask("db.table?(:notes)"), "=> true");
        assert_eq!(site.run(&["migrate", "new", "Create Notes"]).0, 1);
        let (code, text) = site.run(&["migrate", "new", "create_notes"]);
        assert!(
            code == 1 && text.contains("_create_notes.rb has this name already"),
            "{text}"
        );
        // Two of one second have different numbers.
        for name in ["one", "two"] {
            assert_eq!(site.run(&["migrate", "new", name]).0, 0);
        }
        let entries = std::fs::read_dir(site.path().join("migrations")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let numbers: std::collections::BTreeSet<String> =
            names.map(|name| name[..14].to_owned()).collect();
        assert_eq!(numbers.len(), 3);
        // Applied with nothing in it, it could not be written any more.
        let (code, text) = site.run(&["migrate", "up"]);
        assert_eq!(code, 0, "{text}");
        assert!(
            text.contains("_one.rb: not written yet") && !text.contains("_two.rb"),
            "{text}"
        );
        let (_, text) = site.run(&["migrate", "status"]);
        assert_eq!(text.matches("pending").count(), 2, "{text}");
    });
}

#[test]
fn migration_that_cannot_run_is_reported() {
    on_all(&[], |site| {
        site.check(
            &["migrate", "up"],
            1,
            "tsumugi: there is no folder migrations: `tsumugi migrate new NAME` makes it",
        );
        site.write("migrations/create.rb", "up {}");
        site.check(
            &["migrate", "up"],
            1,
            "tsumugi: create.rb is no name of a migration: 20260131120000_what_it_does.rb is",
        );
    });
}

#[test]
fn migrate_says_within_seconds_that_no_server_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let migrations = folder.path().join("migrations");
    std::fs::create_dir(&migrations).unwrap();
    std::fs::write(folder.path().join(USERS.0), USERS.1).unwrap();
    for url in [
        "postgres://u:p@127.0.0.1:1/x",
        "firebird://u:p@127.0.0.1:1/x",
    ] {
        let started = std::time::Instant::now();
        let output = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
            .args(["migrate", "up"])
            .current_dir(folder.path())
            .env("DATABASE_URL", url)
            .output()
            .unwrap();
        let took = started.elapsed();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{url}: {message}");
        assert!(message.contains("127.0.0.1:1"), "{url}: {message}");
        assert!(took.as_secs() < 30, "{url}: {took:?}");
    }
}
