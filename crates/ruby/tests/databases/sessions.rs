//! Connections of a fibre's own, and what is refused on those that are shared.

use tsumugi_testkit::postgres::{Pooler, Server};

use crate::rig::Rig;
use crate::{Engine, HELPERS, check_on};

const SHOW: &str = "def shown = db.query('show work_mem').first[:work_mem]";

#[test]
fn session_state_lasts_for_its_block() {
    check_on(
        Engine::Postgres,
        SHOW,
        &[
            (
                "db.connection { db.execute(\"set work_mem = '7MB'\"); shown }",
                "7MB",
            ),
            ("shown", "4MB"),
            (
                "db.connection { |c| c.execute('create temporary table w(n int)'); c.execute('insert into w values (1), (2)'); c.query('select sum(n) as n from w').first[:n] }",
                "3",
            ),
            (
                "failed { db.query('select 1 from w') }",
                "DB::UndefinedTable",
            ),
            (
                "db.connection { db.query('select pg_advisory_lock(7)'); db.query(\"select count(*) as n from pg_locks where locktype = 'advisory'\").first[:n] }",
                "1",
            ),
            (
                "db.connection { db.connection { db.query('select 1 as n').first[:n] } }",
                "1",
            ),
            (
                "db.connection { db.execute_script \"set work_mem = '9MB'; select 1\"; shown }",
                "9MB",
            ),
            (
                "db.connection { db.pipeline { |p| p.execute \"set work_mem = '8MB'\"; p.query 'show work_mem' }[1].first[:work_mem] }",
                "8MB",
            ),
            (
                "(db.connection { db.execute(\"set work_mem = '7MB'\"); raise 'no' } rescue 0); 10.times.map { shown }.uniq",
                r#"["4MB"]"#,
            ),
            (
                "db.connection { db.stream('select 1 as n').to_a }",
                r#"[{"n":1}]"#,
            ),
        ],
    );
}

#[test]
fn transaction_on_a_connection_of_ones_own_ends_before_what_comes_next() {
    check_on(
        Engine::Postgres,
        "db.execute_script 'create table t(n int)'\ndef count = db.query('select count(*) as n from t').first[:n]",
        &[
            (
                "db.connection { db.transaction { db.execute 'insert into t values (1)' }; count }",
                "1",
            ),
            (
                "db.connection { (db.transaction { db.execute 'insert into t values (2)'; raise 'no' } rescue 0); count }",
                "1",
            ),
            (
                "db.connection { (db.transaction { db.query('selec 1') } rescue 0); db.transaction { count } }",
                "1",
            ),
            (
                "failed { db.connection { db.execute('begin') } }",
                "DB::UsageError",
            ),
            (
                "db.transaction { db.connection { db.execute 'insert into t values (3)' }; raise 'no' } rescue count",
                "1",
            ),
        ],
    );
}

#[test]
fn other_fibres_use_other_connections() {
    check_on(
        Engine::Postgres,
        SHOW,
        &[(
            "db.connection { db.execute(\"set work_mem = '7MB'\"); [shown, parallel(-> { shown })[0]] }",
            r#"["7MB","4MB"]"#,
        )],
    );
}

#[test]
fn shared_connections_refuse_what_would_change_them() {
    let refused = |sql: &str| format!("failed {{ db.query({sql:?}) }}");
    let lines: Vec<(String, &str)> = [
        "BEGIN",
        "set work_mem = '7MB'",
        "listen a",
        "create temp table t(n int)",
        "select pg_advisory_lock(1)",
        "copy t from stdin",
    ]
    .iter()
    .map(|sql| (refused(sql), "DB::UsageError"))
    .collect();
    let lines: Vec<(&str, &str)> = lines.iter().map(|(a, b)| (a.as_str(), *b)).collect();
    check_on(Engine::Postgres, "", &lines);
}

#[test]
fn transaction_pooler_has_no_connections_for_a_block() {
    let pooler = Pooler::start(Server::shared());
    let rig = Rig::serve(&format!(
        "{HELPERS}
         plugin(:db) {{ DB.connect '{}?pooler=transaction' }}
         get('/connection') {{ error_text {{ db.connection {{ }} }} }}
         get('/listen') {{ error_text {{ db.listen('a') {{ }} }} }}
         get('/pinned') {{ db.transaction {{ db.execute(\"set local work_mem = '7MB'\"); db.query('show work_mem').first[:work_mem] }} }}",
        pooler.url("postgres")
    ));
    for (path, expected) in [
        (
            "/connection",
            "DB::Unsupported: a pooler in transaction mode has no exclusive sessions: connect past it",
        ),
        (
            "/listen",
            "DB::Unsupported: a pooler in transaction mode has no LISTEN: connect past it",
        ),
        ("/pinned", "7MB"),
    ] {
        assert_eq!(rig.get(path).text(), expected, "{path}");
    }
}

#[test]
fn sqlite_has_no_connections_for_a_block() {
    check_on(
        Engine::Sqlite,
        "",
        &[
            (
                "error_text { db.connection { } }",
                "DB::Unsupported: SQLite has no exclusive sessions: all callers share its connections",
            ),
            (
                "error_text { db.copy_in('copy t from stdin') { } }",
                "DB::Unsupported: SQLite has no COPY",
            ),
            (
                "error_text { db.listen('a') { } }",
                "DB::Unsupported: SQLite has no LISTEN",
            ),
            (
                "error_text { db.notify 'a' }",
                "DB::Unsupported: SQLite has no NOTIFY",
            ),
            (
                "failed { db.copy_out('copy t to stdout') { } }",
                "DB::Unsupported",
            ),
            (
                "failed { db.transaction { db.copy_in('copy t from stdin') { } } }",
                "DB::Unsupported",
            ),
        ],
    );
}
