//! Values come back as they went in, and results become JSON and CSV by the table of types.

use tsumugi_db::{Value, ValueRef, values};

use crate::{open, query_json, run};

fn check(value: impl Into<Value>, expected: ValueRef<'_>) {
    let value = value.into();
    run(async {
        let f = open("").await;
        f.db.execute("insert into t(n) values (?)", [value.clone()])
            .await
            .unwrap();
        for sql in ["select n from t where n is ?", "select ?"] {
            let rows = f.db.query(sql, [value.clone()]).await.unwrap();
            assert_eq!(rows.first().unwrap().value(0), Some(expected), "{sql}");
        }
    });
}

#[test]
fn bound_value_of_every_type_reads_back_unchanged() {
    check(i64::MIN, ValueRef::Integer(i64::MIN));
    check(i64::MAX, ValueRef::Integer(i64::MAX));
    check(0_i64, ValueRef::Integer(0));
    check(0.1, ValueRef::Real(0.1));
    check(5e-324, ValueRef::Real(5e-324));
    check(f64::MAX, ValueRef::Real(f64::MAX));
    check(f64::NEG_INFINITY, ValueRef::Real(f64::NEG_INFINITY));
    check("", ValueRef::Text(""));
    check("a\0b", ValueRef::Text("a\0b"));
    check("紡ぎ😀", ValueRef::Text("紡ぎ😀"));
    check("NULL", ValueRef::Text("NULL"));
    check(vec![0_u8, 255, 0], ValueRef::Blob(&[0, 255, 0]));
    check(Vec::<u8>::new(), ValueRef::Blob(&[]));
    check(None::<i64>, ValueRef::Null);
}

#[test]
fn booleans_are_one_and_zero_and_what_is_not_a_number_is_null() {
    check(true, ValueRef::Integer(1));
    check(false, ValueRef::Integer(0));
    check(f64::NAN, ValueRef::Null);
}

#[test]
fn rows_become_json_and_csv() {
    run(async {
        let f = open("").await;
        let sql = "select 9223372036854775807 as i, 0.5 as r, 9e999 as inf, '紡,\"\n' as s, x'DEADBEEF' as b, null as z";
        let rows = f.db.query(sql, []).await.unwrap();
        assert_eq!(
            crate::json(&rows),
            "[{\"i\":9223372036854775807,\"r\":0.5,\"inf\":null,\"s\":\"紡,\\\"\\n\",\"b\":\"3q2+7w==\",\"z\":null}]"
        );
        let mut csv = Vec::new();
        rows.columns().write_csv(&mut csv);
        rows.write_csv(&mut csv).unwrap();
        assert_eq!(
            String::from_utf8(csv).unwrap(),
            "i,r,inf,s,b,z\r\n9223372036854775807,0.5,Infinity,\"紡,\"\"\n\",3q2+7w==,\r\n"
        );
        assert_eq!(
            query_json(&f.db, "select 1 as a, 2 as b, 3 as a").await,
            r#"[{"b":2,"a":3}]"#
        );
        assert_eq!(query_json(&f.db, "select * from t").await, "[]");
    });
}

#[test]
fn stored_json_with_line_breaks_is_written_on_one_line() {
    run(async {
        let f = open("").await;
        f.db.execute("create table j(a json_text)", [])
            .await
            .unwrap();
        let text = "{\n  \"a\": [1,\r\n 2],\n  \"b\": \"x  \\n\"\n}\n";
        f.db.execute("insert into j values (?)", values![text])
            .await
            .unwrap();
        assert_eq!(
            query_json(&f.db, "select a from j").await,
            r#"[{"a":{"a": [1,2],"b": "x  \n"}}]"#
        );
    });
}

#[test]
fn sum_of_decimal_texts_is_a_decimal_and_other_text_stays_text() {
    run(async {
        let f = open("").await;
        f.db.execute_script("create table d(c text); insert into d values ('1.50'), ('2')")
            .await
            .unwrap();
        let json = async |sql: &str| query_json(&f.db, sql).await;
        assert_eq!(json("select sum(c) as s from d").await, r#"[{"s":"3.50"}]"#);
        // Text with white space behind it stays what it is, and the mark of a sum stays inside.
        assert_eq!(
            json("select '12' || char(12) as t").await,
            r#"[{"t":"12\f"}]"#
        );
        assert_eq!(
            json("select '¥' || sum(c) as a, sum(c) || '円' as b, sum(c) + 0 as n from d").await,
            r#"[{"a":"¥3.50","b":"3.50円","n":3.5}]"#
        );
    });
}

#[test]
fn texts_that_are_no_numbers_add_up_as_in_sqlite() {
    run(async {
        let f = open("").await;
        let sql =
            "select sum(x) as s, avg(x) as a from (select '12abc' as x union all select x'3132')";
        assert_eq!(query_json(&f.db, sql).await, r#"[{"s":24.0,"a":12.0}]"#);
    });
}

#[test]
fn text_that_is_not_utf8_is_an_error_that_names_the_column() {
    run(async {
        let f = open("").await;
        let error =
            f.db.query("select 1, cast(x'ff' as text) as odd", [])
                .await
                .unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().contains("column odd")),
            ("DataError", true)
        );
        let rows = f.db.query("select ? as fine", values!["x"]).await.unwrap();
        assert_eq!(crate::json(&rows), r#"[{"fine":"x"}]"#);
    });
}
