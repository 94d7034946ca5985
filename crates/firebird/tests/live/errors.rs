//! What an error says of a statement that the server refuses: the code, the SQLSTATE, the words. Rule: after every error the connection is used again.

use tsumugi_testkit::firebird::Server;

use crate::{is_usable, open, run};

#[test]
fn errors_have_their_code_their_state_and_their_words() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        for sql in [
            "create table parent (id integer not null constraint pk_parent primary key, s varchar(5))",
            "create table child (id integer constraint fk_parent references parent(id))",
            "alter table parent add constraint no_x check (s <> 'x')",
            "create exception e_stock '在庫切れ'",
            "insert into parent values (1, 'a')",
        ] {
            db.query(sql, &[]).await.unwrap();
        }
        for (sql, expected) in [
            (
                "insert into parent values (1, 'b')",
                "unique or primary key PK_PARENT of table PARENT is violated; the value is (\"ID\" = 1) (23000, 335544665)",
            ),
            (
                "insert into child values (7)",
                "foreign key FK_PARENT of table CHILD is violated; the row it names does not exist; the value is (\"ID\" = 7) (23000, 335544466)",
            ),
            (
                "insert into parent values (2, 'x')",
                "check constraint NO_X of PARENT is violated; At trigger 'CHECK_1' (23000, 335544558)",
            ),
            (
                "insert into parent values (null, 'b')",
                "column \"PARENT\".\"ID\" does not take the value *** null *** (23000, 335544347)",
            ),
            (
                "insert into parent values (3, 'too long')",
                "the text is too long; at most 5, actual 8 (22001, 335544914)",
            ),
            (
                "select cast('abc' as integer) from rdb$database",
                "abc cannot be converted (22018, 335544334)",
            ),
            (
                "select cast(99999 as smallint) from rdb$database",
                "the number is out of range (22003, 335544916)",
            ),
            (
                "execute block as begin exception e_stock; end",
                "exception E_STOCK: 在庫切れ; At block line: 1, col: 24 (HY000, 335544517)",
            ),
            (
                "select *\nform parent",
                "unexpected word at line 2, column 1: form (42000, 335544634)",
            ),
            (
                "create table parent (id integer)",
                "table PARENT exists already (42S01, 336068740)",
            ),
            (
                "drop table nowhere",
                "table NOWHERE does not exist (42S02, 336397206)",
            ),
        ] {
            let error = db.query(sql, &[]).await.expect_err(sql);
            let message = error.server().expect("the server says why").to_string();
            assert_eq!(message, expected, "{sql}");
            is_usable(&db).await;
        }
    });
}

#[test]
fn violated_constraint_and_place_are_read_from_the_message() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        db.query(
            "create table t (id integer constraint one_each unique)",
            &[],
        )
        .await
        .unwrap();
        let insert = "insert into t values (1)";
        db.query(insert, &[]).await.unwrap();
        let error = db.query(insert, &[]).await.expect_err("twice");
        assert_eq!(error.server().unwrap().constraint(), Some("ONE_EACH"));
        let error = db
            .query("select nothing\nfrom rdb$database", &[])
            .await
            .expect_err("no such column");
        assert_eq!(error.server().unwrap().place(), Some((1, 8)));
    });
}
