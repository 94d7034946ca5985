//! Texts of several character sets in one table. The conversions are the server's, unless a column says nothing of its character set.
//! Rule: what cannot be converted fails alone, and the connection goes on.

use tsumugi_firebird::Connection;
use tsumugi_firebird_proto::GdsCode;
use tsumugi_firebird_proto::values::{CharacterSet, TextRules, Value};
use tsumugi_testkit::firebird::{FirebirdDatabase, Server};

use crate::{code, int, is_usable, open, run};

const TEXTS: [(&str, &str); 5] = [
    ("utf8", "日本語テキスト"),
    ("win1251", "Привет"),
    ("sjis_0208", "日本語"),
    ("eucj_0208", "東京"),
    ("none", "日本"),
];

/// A table with a column for each of [`TEXTS`], filled by a connection in UTF8.
async fn filled(database: &FirebirdDatabase<'_>) -> Connection {
    let db = open(database).await;
    let columns = TEXTS.map(|(set, _)| format!("c_{set} varchar(40) character set {set}"));
    let create = format!("create table texts ({})", columns.join(", "));
    db.query(&create, &[]).await.unwrap();
    let values = TEXTS.map(|(_, text)| Value::Text(text.into()));
    db.query("insert into texts values (?, ?, ?, ?, ?)", &values)
        .await
        .unwrap();
    db
}

async fn row(db: &Connection, rules: TextRules) -> Vec<String> {
    let rows = db.query("select * from texts", &[]).await.unwrap();
    let row = rows.first().unwrap();
    row.values(rules)
        .map(|value| match value {
            Value::Text(text) => text.into_owned(),
            other => format!("{other:?}"),
        })
        .collect()
}

#[test]
fn connection_in_utf8_writes_and_reads_every_character_set() {
    run(async {
        let database = Server::shared().database();
        let db = filled(&database).await;
        let expected = TEXTS.map(|(_, text)| text);
        assert_eq!(row(&db, TextRules::default()).await, expected);
        for (set, text) in TEXTS {
            let found = db
                .query(
                    &format!("select count(*) from texts where c_{set} = ?"),
                    &[Value::Text(text.into())],
                )
                .await
                .unwrap();
            assert_eq!(int(&found), 1, "{set}");
        }
    });
}

#[test]
fn text_without_a_character_set_is_read_in_the_connections() {
    run(async {
        let database = Server::shared().database();
        let db = filled(&database).await;
        let bytes = Value::Bytes(b"\x93\xfa\x96\x7b");
        db.query("update texts set c_none = ?", &[bytes])
            .await
            .unwrap();
        let rules = TextRules {
            none: CharacterSet::by_name("SJIS_0208"),
            ..TextRules::default()
        };
        assert_eq!(row(&db, rules).await[4], "日本");
        let unsaid = row(&db, TextRules::default()).await;
        assert_eq!(unsaid[4], "Bytes([147, 250, 150, 123])");
    });
}

#[test]
fn text_that_does_not_convert_fails_alone() {
    run(async {
        let database = Server::shared().database();
        let db = filled(&database).await;
        let japanese = [Value::Text("日".into())];
        let stored = db.query("update texts set c_win1251 = ?", &japanese).await;
        assert_eq!(code(stored), GdsCode::TRANSLITERATION);
        is_usable(&db).await;
        let cast = "select cast(c_utf8 as varchar(40) character set win1251) from texts";
        let fetched = db.query(cast, &[]).await;
        assert_eq!(code(fetched), GdsCode::TRANSLITERATION);
        is_usable(&db).await;
    });
}
