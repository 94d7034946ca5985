//! Several statements in one write.

use crate::{Engine, check, check_on};

const TABLE: &str = "db.execute_script 'create table t(n integer primary key)'
  def count = db.query('select count(*) as n from t').first[:n]
  def insert(p, *numbers) = numbers.each { |n| p.execute 'insert into t values (?)', n }";

#[test]
fn results_come_in_order() {
    check(
        TABLE,
        &[
            (
                "db.pipeline { |p| 3.times { |i| p.query 'select cast(? as integer) as n', i } }.map { |rows| rows.first[:n] }",
                "[0,1,2]",
            ),
            ("db.pipeline { |p| }", "[]"),
            (
                "a = b = nil; r = db.pipeline { |p| a = p.query('select 1 as n'); b = p.query('select 2 as n') }; [a, b, r[b].first[:n]]",
                "[0,1,2]",
            ),
            ("db.pipeline { |p| insert p, 1, 2 }.size", "2"),
            ("count", "2"),
        ],
    );
}

#[test]
fn pipelined_statements_are_independent_unless_atomic() {
    check(
        TABLE,
        &[
            (
                "failed { db.pipeline { |p| insert p, 1, 1, 2 } }",
                "DB::UniqueViolation",
            ),
            ("count", "2"),
            (
                "failed { db.pipeline(atomic: true) { |p| insert p, 3, 3, 4 } }",
                "DB::UniqueViolation",
            ),
            ("count", "2"),
            (
                "db.pipeline(atomic: true) { |p| insert p, 3, 4 }; count",
                "4",
            ),
        ],
    );
}

#[test]
fn pipeline_in_a_transaction_belongs_to_it() {
    check(
        TABLE,
        &[
            (
                "(db.transaction { db.pipeline { |p| insert p, 1, 2 }; raise 'no' } rescue 0); count",
                "0",
            ),
            (
                "db.transaction { db.pipeline { |p| insert p, 1, 2 }; db.pipeline { |p| p.query 'select count(*) as n from t' }[0].first[:n] }",
                "2",
            ),
            (
                "failed { db.transaction { db.pipeline { |p| insert p, 3, 3, 4 } } }",
                "DB::UniqueViolation",
            ),
            ("count", "2"),
        ],
    );
}

#[test]
fn atomic_pipeline_that_fails_in_a_transaction_which_goes_on_keeps_nothing() {
    for engine in [Engine::Sqlite, Engine::Firebird] {
        let table = match engine {
            Engine::Firebird => {
                TABLE.replace("n integer primary key", "n integer not null primary key")
            }
            Engine::Sqlite | Engine::Postgres => TABLE.to_owned(),
        };
        check_on(
            engine,
            &table,
            &[
                (
                    "db.transaction { [failed { db.pipeline(atomic: true) { |p| insert p, 1, 2, 2, 3 } }, count] }",
                    r#"["DB::UniqueViolation",0]"#,
                ),
                (
                    "db.transaction { db.pipeline(atomic: true) { |p| insert p, 1, 2 }; count }",
                    "2",
                ),
                ("count", "2"),
            ],
        );
    }
}

#[test]
fn pipeline_takes_queries_of_the_builder_beside_texts() {
    check(
        &format!("{TABLE}\nplugin(:other) {{ DB.connect 'sqlite::memory:?name=other' }}"),
        &[
            ("db.pipeline { |p| insert p, 1, 2, 3 }.size", "3"),
            (
                "db.pipeline { |p| [3, 1].each { |n| p.query db[:t].where(n: n).limit(1) } }.map(&:first)",
                r#"[{"n":3},{"n":1}]"#,
            ),
            // Both have no sign for a value, and yet are two texts.
            (
                "db.pipeline { |p| p.query 'select * from \"t\"'; p.query db[:t]; p.execute db[:t]; p.query 'select * from \"t\"' }.map(&:size)",
                "[3,3,3,3]",
            ),
            (
                "error_text { db.pipeline { |p| p.query db[:t].where(n: 1), 1 } }",
                "ArgumentError: a query has its values already: a pipeline takes none beside it",
            ),
            (
                "error_text { db.pipeline { |p| p.query other[:t] } }",
                "DB::UsageError: the query is of another database than the pipeline",
            ),
        ],
    );
}

#[test]
fn one_more_than_pipeline_max_is_refused() {
    check(
        "",
        &[
            (
                "said { db.pipeline { |p| 10_001.times { p.query 'select 1' } } }",
                "a pipeline takes 10000 statements (pipeline_max), not 10001",
            ),
            (
                "db.pipeline { |p| 10_000.times { |i| p.query 'select cast(? as integer) as n', i } }.last.first[:n]",
                "9999",
            ),
        ],
    );
}

#[test]
fn table_that_changed_since_the_last_time_is_no_error() {
    check_on(
        Engine::Postgres,
        &format!(
            "{TABLE}\ndef both(**options) = db.pipeline(**options) {{ |p| p.query 'select * from t'; p.query 'select * from t order by n' }}"
        ),
        &[
            ("both.size", "2"),
            (
                "db.execute 'alter table t add a integer'; both.map(&:columns)",
                r#"[["n","a"],["n","a"]]"#,
            ),
            (
                "db.execute 'alter table t add b integer'; both(atomic: true).map(&:columns)",
                r#"[["n","a","b"],["n","a","b"]]"#,
            ),
        ],
    );
}

#[test]
fn procedure_that_commits_and_fails_like_a_stale_statement_runs_once() {
    check_on(
        Engine::Postgres,
        "db.execute_script \"create table ran(n int); create procedure p() language plpgsql as
           'begin insert into ran values (1); commit; raise exception using errcode = ''26000''; end'\"
         def ran
           failed = begin; yield; :fine; rescue DB::Error => e; e.class; end
           n = db.query('select count(*) as n from ran').first[:n]
           db.execute 'delete from ran'
           [failed, n]
         end",
        &[
            ("ran { db.execute 'call p()' }", r#"["DB::Error",1]"#),
            ("ran { db.query 'call p()' }", r#"["DB::Error",1]"#),
            ("ran { db.pipeline { |p| p.execute 'call p()' } }", r#"["DB::Error",1]"#),
            (
                "ran { db.pipeline { |p| p.execute 'call p()'; p.query 'select 1' } }",
                r#"["DB::Error",1]"#,
            ),
            (
                "ran { db.pipeline(atomic: true) { |p| p.execute 'call p()'; p.query 'select 1' } }",
                r#"["DB::Error",1]"#,
            ),
            ("ran { db.connection { db.execute 'call p()' } }", r#"["DB::Error",1]"#),
            // Within a transaction nobody may commit.
            (
                "ran { db.transaction(retries: 3) { db.execute 'call p()' } }",
                r#"["DB::Error",0]"#,
            ),
        ],
    );
}
