//! COPY from Ruby.

use crate::{Engine, Served, check_on};

const TABLE: &str = "db.execute_script 'create table t(n int, s text)'
  def all = db.query('select n, s from t order by n').map(&:values)";

#[test]
fn rows_go_in_and_come_out() {
    check_on(
        Engine::Postgres,
        TABLE,
        &[
            (
                "db.copy_in('copy t from stdin') { |io| io << \"1\\ta\\n2\\t\" << \"b\\n\" }",
                "2",
            ),
            (
                "db.copy_in('copy t from stdin') { |io| io.row(3, \"tab\\tline\\nback\\\\slash\"); io.row(4, nil); io.row(5, '') }",
                "3",
            ),
            (
                "all",
                r#"[[1,"a"],[2,"b"],[3,"tab\tline\nback\\slash"],[4,null],[5,""]]"#,
            ),
            (
                "out = ''; db.copy_out('copy (select n, s from t where n < 3 order by n) to stdout (format csv)') { |bytes| out << bytes }; out",
                "1,a\n2,b\n",
            ),
            ("db.copy_in('copy t from stdin') { |io| }", "0"),
            (
                "db.transaction { db.copy_in('copy t from stdin') { |io| io.row 9, 'x' }; raise 'no' } rescue all.size",
                "5",
            ),
            (
                "db.connection { |c| c.copy_in('copy t from stdin') { |io| io.row 6, 'x' } }; all.size",
                "6",
            ),
        ],
    );
}

#[test]
fn copy_that_is_left_or_refused_copies_nothing() {
    check_on(
        Engine::Postgres,
        TABLE,
        &[
            (
                "(db.copy_in('copy t from stdin') { |io| io.row 1, 'a'; raise 'no' } rescue 0); all.size",
                "0",
            ),
            (
                "db.copy_in('copy t from stdin') { |io| io.row 1, 'a'; break }; all.size",
                "0",
            ),
            (
                "failed { db.copy_in('copy t from stdin') { |io| io << \"x\\ty\\n\" } }",
                "DB::DataError",
            ),
            (
                "failed { db.copy_in('copy missing from stdin') { |io| } }",
                "DB::UndefinedTable",
            ),
            (
                "said { db.copy_in('select 1') { |io| } }",
                "copy_in takes one statement, COPY … FROM STDIN",
            ),
            (
                "n = 0; db.copy_out('copy (select generate_series(1, 100000)) to stdout') { n += 1; break if n == 3 }; n",
                "3",
            ),
            (
                "db.transaction { db.copy_in('copy t from stdin') { |io| 1000.times { |i| io.row i, 'x' } } }; all.size",
                "1000",
            ),
        ],
    );
}

#[test]
fn table_streams_to_a_client() {
    let served = Served::new(
        Engine::Postgres,
        "",
        "get('/') { stream('text/csv') { |out| db.copy_out('copy (select generate_series(1, 50000)) to stdout') { |bytes| out << bytes } } }",
    );
    let answer = served.rig.get("/");
    let expected: String = (1..=50_000).map(|n| format!("{n}\n")).collect();
    assert_eq!(answer.text(), expected);
}
