//! Blobs both ways, small, empty and larger than anything is buffered. Rule: what comes is compared byte by byte.

use tsumugi_firebird::{BlobStorage, Connection, Error, TransactionOptions};
use tsumugi_firebird_proto::values::{TextRules, Value};
use tsumugi_testkit::firebird::{FirebirdDatabase, Server};

use crate::{is_usable, open, run};

const TABLE: &str = "create table b (n int, data blob, words blob sub_type text character set utf8,
    cyrillic blob sub_type text character set win1251, own blob sub_type -7); commit;";

async fn prepared(database: &FirebirdDatabase<'_>) -> Connection {
    database.isql(TABLE);
    open(database).await
}

/// The blob that the first row of a query begins with, and the character set of its column.
async fn blob(db: &Connection, sql: &str) -> Option<(u64, Option<u8>)> {
    let rows = db.query(sql, &[]).await.unwrap();
    let row = rows.first().unwrap();
    let field = row.field(0).unwrap();
    match field.value(TextRules::default()) {
        Value::Blob(id) => Some((id, field.column.character_set())),
        Value::Null => None,
        other => panic!("{other:?}"),
    }
}

async fn read(db: &Connection, sql: &str) -> Vec<u8> {
    let (id, set) = blob(db, sql).await.unwrap();
    let mut blob = db.blob(id, set).await.unwrap();
    blob.read(1 << 30).await.unwrap().to_vec()
}

#[test]
fn small_empty_and_missing_blobs_are_distinguished() {
    run(async {
        let database = Server::shared().database();
        let db = prepared(&database).await;
        let insert = "insert into b values (1, ?, ?, ?, ?)";
        let values = [
            Value::Bytes(&[0, 255, 16]),
            Value::Text("日本語".into()),
            Value::Text("Привет".into()),
            Value::Null,
        ];
        db.query(insert, &values).await.unwrap();
        assert_eq!(read(&db, "select data from b").await, [0, 255, 16]);
        assert_eq!(read(&db, "select words from b").await, "日本語".as_bytes());
        assert_eq!(
            read(&db, "select cyrillic from b").await,
            "Привет".as_bytes()
        );
        assert_eq!(blob(&db, "select own from b").await, None);
        db.query(
            "update b set data = ?, own = ?",
            &[Value::Bytes(&[]), Value::Bytes(b"own")],
        )
        .await
        .unwrap();
        assert_eq!(read(&db, "select data from b").await, b"");
        assert_eq!(read(&db, "select own from b").await, b"own");
    });
}

#[test]
fn blob_that_fills_one_answer_or_two_is_whole() {
    run(async {
        let database = Server::shared().database();
        let db = prepared(&database).await;
        // A segment has 32 KiB at most, and takes two bytes more in an answer, of which the first has 16 KiB and another 65,535.
        let one = 16 * 1024 - 2;
        let two = 16 * 1024 + 65_535 - 4 * 2;
        for full in [one, two] {
            for length in full - 4..full + 4 {
                let whole: Vec<u8> = (0..length)
                    .map(|at: usize| at.to_le_bytes()[at % 3])
                    .collect();
                let values = [Value::Bytes(&whole)];
                db.query(
                    "update or insert into b (n, data) values (1, ?) matching (n)",
                    &values,
                )
                .await
                .unwrap();
                assert!(read(&db, "select data from b").await == whole, "{length}");
            }
        }
    });
}

#[test]
fn ten_megabytes_go_both_ways_in_pieces() {
    run(async {
        let database = Server::shared().database();
        let db = prepared(&database).await;
        let whole: String = "日本語のテキスト".repeat((10 << 20) / 24);
        for storage in [BlobStorage::Segments, BlobStorage::Stream] {
            let transaction = db.begin(TransactionOptions::default()).await.unwrap();
            let mut writer = transaction.create_blob(storage).await.unwrap();
            for piece in whole.as_bytes().chunks(100_001) {
                writer.write(piece).await.unwrap();
            }
            let id = writer.finish().await.unwrap();
            transaction.query("delete from b", &[]).await.unwrap();
            transaction
                .query("insert into b (words) values (?)", &[Value::Blob(id)])
                .await
                .unwrap();
            transaction.commit().await.unwrap();

            let (id, set) = blob(&db, "select words from b").await.unwrap();
            let mut reader = db.blob(id, set).await.unwrap();
            let mut came = Vec::new();
            while let Some(piece) = reader.next().await.unwrap() {
                assert!(piece.len() <= 65_535);
                came.extend_from_slice(&piece);
            }
            assert!(came == whole.as_bytes());
        }
    });
}

#[test]
fn value_too_long_for_a_message_becomes_a_blob() {
    run(async {
        let database = Server::shared().database();
        let db = prepared(&database).await;
        let long = "糸".repeat(100_000);
        db.query(
            "insert into b (words) values (?)",
            &[Value::Text(long.as_str().into())],
        )
        .await
        .unwrap();
        assert!(read(&db, "select words from b").await == long.as_bytes());
        let (id, set) = blob(&db, "select words from b").await.unwrap();
        let mut reader = db.blob(id, set).await.unwrap();
        let refused = reader.read(1000).await;
        assert!(matches!(refused, Err(Error::TooLarge { .. })));
    });
}

#[test]
fn blobs_left_behind_leave_the_connection_clean() {
    run(async {
        let database = Server::shared().database();
        let db = prepared(&database).await;
        let transaction = db.begin(TransactionOptions::default()).await.unwrap();
        let mut writer = transaction
            .create_blob(BlobStorage::Segments)
            .await
            .unwrap();
        writer.write(&[1; 1_000_000]).await.unwrap();
        drop(writer);
        drop(transaction.create_blob(BlobStorage::Segments));
        transaction.commit().await.unwrap();
        let long = "x".repeat(1_000_000);
        db.query(
            "insert into b (words) values (?)",
            &[Value::Text(long.as_str().into())],
        )
        .await
        .unwrap();
        let (id, set) = blob(&db, "select words from b").await.unwrap();
        let mut reader = db.blob(id, set).await.unwrap();
        reader.next().await.unwrap().unwrap();
        drop(reader);
        is_usable(&db).await;
        assert!(db.blob(0x1234_5678, None).await.is_err());
        is_usable(&db).await;
        assert_eq!(db.awaited(), 0);
    });
}

/// Pieces of the blob of one of several readers, each with something of its own in every place.
fn content(reader: usize) -> Vec<u8> {
    let number = |at: usize| u32::try_from(at * 16 + reader).unwrap().to_le_bytes();
    (0..500_000 / 4).flat_map(number).collect()
}

#[test]
fn blobs_that_cannot_be_opened_leave_those_of_other_readers_whole() {
    const READERS: usize = 5;
    run(async {
        let database = Server::shared().database();
        let db = prepared(&database).await;
        for reader in 0..READERS {
            let values = [
                Value::Integer(i64::try_from(reader).unwrap()),
                Value::Bytes(&content(reader)),
            ];
            let insert = "insert into b (n, data) values (?, ?)";
            db.query(insert, &values).await.unwrap();
        }
        let deleted = deleted(&db).await;
        // One that only this transaction knows.
        let transaction = db.begin(TransactionOptions::default()).await.unwrap();
        let mut writer = transaction
            .create_blob(BlobStorage::Segments)
            .await
            .unwrap();
        writer.write(b"mine").await.unwrap();
        let mine = writer.finish().await.unwrap();

        let reading = (0..READERS).map(|reader| read_again_and_again(&db, reader));
        let failing = [0x1234_5678, u64::MAX, mine, deleted].map(async |id| {
            for _ in 0..60 {
                let opened = db.blob(id, None).await;
                // The server may keep one that was deleted for a while.
                assert!(opened.is_err() || id == deleted);
                drop(opened);
                tokio::task::yield_now().await;
            }
        });
        let failing_within = async {
            for _ in 0..60 {
                assert!(transaction.blob(0x1234_5678, None).await.is_err());
            }
        };
        tokio::join!(
            futures_util::future::join_all(reading),
            futures_util::future::join_all(failing),
            failing_within
        );
        let mut mine = transaction.blob(mine, None).await.unwrap();
        assert_eq!(mine.read(9).await.unwrap(), b"mine".as_slice());
        drop(mine);
        db.reset().await;
        is_usable(&db).await;
        assert_eq!(db.awaited(), 0);
    });
}

/// The id of a blob whose row is gone.
async fn deleted(db: &Connection) -> u64 {
    let insert = "insert into b (n, data) values (99, 'gone')";
    db.query(insert, &[]).await.unwrap();
    let (deleted, _) = blob(db, "select data from b where n = 99").await.unwrap();
    db.query("delete from b where n = 99", &[]).await.unwrap();
    deleted
}

async fn read_again_and_again(db: &Connection, reader: usize) {
    for round in 0..6 {
        let sql = format!("select data from b where n = {reader}");
        let (id, set) = blob(db, &sql).await.unwrap();
        let mut found = db.blob(id, set).await.unwrap();
        let mut came = Vec::new();
        while let Some(piece) = found.next().await.unwrap() {
            came.extend_from_slice(&piece);
            if (round + reader).is_multiple_of(3) {
                tokio::task::yield_now().await;
            }
        }
        assert_eq!(came.len(), 500_000, "reader {reader}, round {round}");
        assert!(came == content(reader), "reader {reader}, round {round}");
    }
}

#[test]
fn blobs_of_a_transaction_that_has_ended_leave_those_of_the_next_alone() {
    run(async {
        let database = Server::shared().database();
        let db = prepared(&database).await;
        let storage = BlobStorage::Segments;
        let first = db.begin(TransactionOptions::default()).await.unwrap();
        let mut written = first.create_blob(storage).await.unwrap();
        let dropped = first.create_blob(storage).await.unwrap();
        let mut whole = first.create_blob(storage).await.unwrap();
        whole.write(&[1; 300_000]).await.unwrap();
        let id = whole.finish().await.unwrap();
        let mut read = first.blob(id, None).await.unwrap();
        first.roll_back().await.unwrap();
        // The server gives them the same numbers.
        let next = db.begin(TransactionOptions::default()).await.unwrap();
        let mut writers = Vec::new();
        for _ in 0..4 {
            writers.push(next.create_blob(storage).await.unwrap());
        }
        drop(dropped);
        let error = written.write(&[2; 10]).await.unwrap_err();
        assert!(matches!(error, Error::BlobClosed), "{error}");
        let error = written.finish().await.unwrap_err();
        assert!(matches!(error, Error::BlobClosed), "{error}");
        let error = loop {
            match read.next().await {
                Ok(piece) => assert!(piece.expect("it is cut off").iter().all(|byte| *byte == 1)),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::BlobClosed), "{error}");
        assert!(read.next().await.unwrap().is_none());
        drop(read);
        for mut writer in writers {
            writer.write(&[3; 100_000]).await.unwrap();
            let id = writer.finish().await.unwrap();
            let mut reader = next.blob(id, None).await.unwrap();
            assert!(reader.read(usize::MAX).await.unwrap()[..] == [3; 100_000]);
        }
        db.reset().await;
        is_usable(&db).await;
    });
}
