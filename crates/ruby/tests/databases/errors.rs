//! Errors of statements: their classes and what they carry, the same on both databases.

use crate::{Engine, check, check_on};

const TABLES: &str = "
  db.execute_script 'create table t(id integer primary key, name text not null unique, age integer constraint grown check (age > 17)); \
                     create table u(t integer constraint there references t(id)); insert into t values (1, ?, 20)'.sub('?', \"'a'\")
  def failure
    yield
  rescue DB::Error => e
    { class: e.class.to_s, constraint: e.constraint, code: e.code, binds: e.binds }
  end
";

#[test]
fn error_kind_decides_its_class() {
    check(
        TABLES,
        &[
            (
                "failure { db.execute('insert into t values (?, ?, ?)', 2, nil, 20) }[:class]",
                "DB::NotNullViolation",
            ),
            (
                "failure { db.execute('insert into t values (2, ?, 20)', 'a') }[:class]",
                "DB::UniqueViolation",
            ),
            (
                "failure { db.execute('insert into t values (?, ?, ?)', 2, 'b', 1) }.then { |f| [f[:class], f[:constraint], f[:binds]] }",
                r#"["DB::CheckViolation","grown",[2,"b",1]]"#,
            ),
            (
                "failure { db.execute('insert into u values (9)') }[:class]",
                "DB::ForeignKeyViolation",
            ),
            ("failure { db.query('selec 1') }[:class]", "DB::SyntaxError"),
            (
                "failure { db.query('select * from missing') }[:class]",
                "DB::UndefinedTable",
            ),
            ("failure { db.query('select ?') }[:class]", "DB::UsageError"),
            ("failure { db.execute('begin') }[:class]", "DB::UsageError"),
            (
                "begin; db.query('selec 1'); rescue DB::Error => e; { sql: e.sql }; end",
                r#"{"sql":"selec 1"}"#,
            ),
            (
                "begin; db.query('selec 1'); rescue => e; { standard: e.is_a?(StandardError) }; end",
                r#"{"standard":true}"#,
            ),
            ("db.query('select count(*) as n from t').first[:n]", "1"),
        ],
    );
}

#[test]
fn missing_table_is_a_syntax_error_of_its_own_class_that_names_migrate() {
    for engine in crate::ALL {
        check_on(
            engine,
            "",
            &[
                (
                    "begin; db[:nowhere].insert(id: 1); rescue DB::Error => e; e.class.to_s; end",
                    "DB::UndefinedTable",
                ),
                (
                    "begin; db.query('select * from nowhere'); rescue DB::SyntaxError => e; json(e.message.include?('`tsumugi migrate up`')); end",
                    "true",
                ),
            ],
        );
    }
}

#[test]
fn postgresql_names_constraint_code_and_position() {
    check_on(
        Engine::Postgres,
        TABLES,
        &[
            (
                "failure { db.execute('insert into t values (1, ?, 20)', 'b') }[:constraint]",
                "t_pkey",
            ),
            (
                "failure { db.execute('insert into u values (9)') }[:constraint]",
                "there",
            ),
            (
                "failure { db.query('select 1 / 0') }",
                r#"{"class":"DB::DataError","constraint":null,"code":"22012","binds":[]}"#,
            ),
            (
                "begin; db.query('select 1 frmo t'); rescue DB::SyntaxError => e; { at: e.sql[e.position..] }; end",
                r#"{"at":"t"}"#,
            ),
            (
                "failure { db.query(\"select ?::int\", 'x') }[:class]",
                "DB::DataError",
            ),
            (
                "failure { db.query('do $$ begin raise exception using errcode = $a$XX123$a$; end $$') }[:code]",
                "XX123",
            ),
        ],
    );
}

#[test]
fn statement_that_takes_too_long_is_stopped() {
    let app = "get('/') { begin; db.query('select pg_sleep(60)'); rescue DB::QueryCanceled => e; e.message; end }
               get('/next') { db.query('select 7 as n').first[:n].to_s }";
    let served = crate::Served::new(Engine::Postgres, "timeout: 0.2, pool: 1", app);
    let said = served.rig.get("/").text();
    assert!(said.contains("statement_timeout (200 ms)"), "{said}");
    served.check("/next", "7");
}

#[test]
fn pool_that_is_used_up_says_so_in_time() {
    let app = "get('/') {
                 held = Channel.new 1
                 parallel(
                   -> { db.transaction { held << 1; sleep 0.6 } },
                   -> { held.pop; begin; db.transaction { }; rescue DB::PoolTimeout => e; e.message; end })[1]
               }
               get('/next') { db.transaction { db.query('select 7 as n').first[:n].to_s } }"
        .replace("Channel", "Tsumugi::Channel");
    for engine in crate::BOTH {
        let served = crate::Served::new(engine, "acquire: 0.1, pool: 1", &app);
        let said = served.rig.get("/").text();
        assert!(
            said.contains("within acquire_timeout"),
            "{engine:?}: {said}"
        );
        served.check("/next", "7");
    }
}
