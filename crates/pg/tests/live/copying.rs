//! COPY in both directions: text, binary, long, refused, given up.

use bytes::BytesMut;
use tsumugi_pg::Error;
use tsumugi_pg_proto::backend::DataRow;
use tsumugi_pg_proto::copy;
use tsumugi_pg_proto::types::{Decode as _, Format, Type};

use crate::{code, int, is_clean, open, poll_once, run};

#[test]
fn rows_go_in_and_out_as_text() {
    run(async {
        let db = open("").await;
        db.script("create temp table t(n int, word text)")
            .await
            .unwrap();
        let mut copy = db.copy_in("copy t from stdin").await.unwrap();
        assert_eq!(copy.formats().overall, Format::Text);
        assert_eq!(copy.formats().columns.len(), 2);
        let mut rows = BytesMut::new();
        copy::text_row(&mut rows, [Some("1"), Some("a\tb")]).unwrap();
        copy::text_row(&mut rows, [Some("2"), None]).unwrap();
        // Pieces need not end where rows do.
        for piece in rows.chunks(3) {
            copy.send(piece).await.unwrap();
        }
        assert_eq!(copy.finish().await.unwrap(), 2);
        let mut out = db.copy_out("copy t to stdout").await.unwrap();
        let mut lines = Vec::new();
        while let Some(line) = out.next().await.unwrap() {
            let fields: Vec<_> = copy::text_fields(&line)
                .map(|field| field.map(|field| String::from_utf8(field.into_owned()).unwrap()))
                .collect();
            lines.push(fields);
        }
        assert_eq!(out.rows(), 2);
        assert_eq!(lines[0], [Some("1".to_owned()), Some("a\tb".to_owned())]);
        assert_eq!(lines[1], [Some("2".to_owned()), None]);
        is_clean(&db).await;
    });
}

#[test]
fn rows_go_in_and_out_in_binary() {
    run(async {
        let db = open("").await;
        db.script("create temp table t(n int, word text)")
            .await
            .unwrap();
        let mut copy = db
            .copy_in("copy t from stdin (format binary)")
            .await
            .unwrap();
        assert_eq!(copy.formats().overall, Format::Binary);
        let types = [Type::INT4.into(), Type::TEXT.into()];
        let mut rows = BytesMut::new();
        copy::binary_header(&mut rows);
        for n in 0..1000_i32 {
            copy::binary_row(&mut rows, &types, &[&n, &"紡ぎ"]).unwrap();
        }
        copy::binary_trailer(&mut rows);
        copy.send(&rows).await.unwrap();
        assert_eq!(copy.finish().await.unwrap(), 1000);
        let mut out = db
            .copy_out("copy (select * from t order by n) to stdout (format binary)")
            .await
            .unwrap();
        let mut reader = copy::BinaryReader::new(1024);
        let mut count = 0;
        while let Some(piece) = out.next().await.unwrap() {
            reader.feed(&piece);
            while let Some(row) = reader.row().unwrap() {
                let row = DataRow::new(&row).unwrap();
                let n = i32::decode_as(Format::Binary, Type::INT4, row.column(0).unwrap());
                assert_eq!(n.unwrap(), count);
                count += 1;
            }
        }
        assert!(reader.is_ended());
        assert_eq!(count, 1000);
    });
}

#[test]
fn error_of_the_server_midway_ends_the_copy_and_nothing_else() {
    run(async {
        let db = open("").await;
        db.script("create temp table t(n int primary key)")
            .await
            .unwrap();
        let mut copy = db.copy_in("copy t from stdin").await.unwrap();
        copy.send(b"1\n1\n").await.unwrap();
        assert_eq!(code(copy.finish().await), "23505");
        is_clean(&db).await;
        // The error comes while more is sent.
        let mut copy = db.copy_in("copy t from stdin").await.unwrap();
        copy.send(b"not a number\n").await.unwrap();
        let line = vec![b'\n'; 100_000];
        let error = loop {
            if let Err(error) = copy.send(&line).await {
                break error;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(error.server().unwrap().code.to_string(), "22P02");
        drop(copy);
        is_clean(&db).await;
        // Before the first byte is read.
        db.script(
            "create function pg_temp.refuse() returns trigger language plpgsql as \
             'begin raise exception ''not today''; end'; \
             create trigger refuse before insert on t for each statement execute function pg_temp.refuse()",
        )
        .await
        .unwrap();
        let copy = db.copy_in("copy t from stdin").await.unwrap();
        assert_eq!(code(copy.finish().await), "P0001");
        is_clean(&db).await;
        assert_eq!(code(db.copy_in("copy no_such from stdin").await), "42P01");
        assert_eq!(code(db.copy_out("copy no_such to stdout").await), "42P01");
        let error = db.copy_out("copy (select 1 / (2 - n) from generate_series(1, 5) n) to stdout");
        let mut out = error.await.unwrap();
        assert_eq!(&out.next().await.unwrap().unwrap()[..], b"1\n");
        assert_eq!(code(out.next().await), "22012");
        is_clean(&db).await;
    });
}

#[test]
fn copy_dropped_at_any_point_copies_nothing() {
    run(async {
        let db = open("").await;
        db.script("create temp table t(n int)").await.unwrap();
        let mut copy = db.copy_in("copy t from stdin").await.unwrap();
        copy.send(b"1\n").await.unwrap();
        drop(copy);
        is_clean(&db).await;
        // Before the server asks for data; then at every later turn of the loop.
        for turns in 0..20 {
            let mut asking = Box::pin(db.copy_in("copy t from stdin"));
            for _ in 0..turns {
                let polled = poll_once(asking.as_mut()).await;
                if polled {
                    break;
                }
            }
            drop(asking);
            is_clean(&db).await;
        }
        let rows = db.query("select count(*)::int4 from t", &()).await.unwrap();
        assert_eq!(int(&rows), 0);
        let mut out = db
            .copy_out("copy (select generate_series(1, 3000000)) to stdout")
            .await
            .unwrap();
        out.next().await.unwrap().unwrap();
        drop(out);
        is_clean(&db).await;
    });
}

#[test]
fn dropped_transaction_with_a_copy_in_it_is_rolled_back() {
    run(async {
        let db = open("").await;
        db.script("create temp table t(n int)").await.unwrap();
        let transaction = db.begin(Default::default()).await.unwrap();
        let mut copy = db.copy_in("copy t from stdin").await.unwrap();
        copy.send(b"1\n").await.unwrap();
        drop(copy);
        drop(transaction);
        is_clean(&db).await;
    });
}

#[test]
fn statement_during_a_copy_on_its_connection_is_refused() {
    run(async {
        let db = open("").await;
        db.script("create temp table t(n int)").await.unwrap();
        let copy = db.copy_in("copy t from stdin").await.unwrap();
        let other = db.query("select 1", &()).await;
        assert!(matches!(other, Err(Error::Reserved)));
        assert_eq!(copy.finish().await.unwrap(), 0);
        is_clean(&db).await;
    });
}

#[test]
fn copy_through_a_function_for_other_statements_is_refused() {
    run(async {
        let db = open("").await;
        db.script("create temp table t(n int)").await.unwrap();
        for sql in [
            "copy t from stdin",
            "-- some\n /* a /* nested */ one */ ;copy t from stdin",
        ] {
            let wrong = db.query(sql, &()).await;
            assert!(matches!(wrong, Err(Error::Copy(_))), "{sql}");
        }
        assert!(db.script("copy t from stdin").await.is_err());
        is_clean(&db).await;
        assert!(matches!(db.copy_in("select 1").await, Err(Error::Copy(_))));
        assert!(matches!(db.copy_out("select 1").await, Err(Error::Copy(_))));
        let error = db.copy_out("copy t from stdin").await;
        assert!(error.is_err());
        is_clean(&db).await;
    });
}

#[test]
fn field_of_200_megabytes_leaves_in_pieces() {
    run(async {
        let db = open("").await;
        let mut out = db
            .copy_out("copy (select repeat('x', 200000000)) to stdout")
            .await
            .unwrap();
        let (mut bytes, mut longest) = (0, 0);
        while let Some(piece) = out.next().await.unwrap() {
            bytes += piece.len();
            longest = longest.max(piece.len());
        }
        assert_eq!(bytes, 200_000_001);
        assert!(longest <= 2 * 1024 * 1024, "{longest}");
        assert_eq!(out.rows(), 1);
        is_clean(&db).await;
    });
}

#[test]
fn field_of_200_megabytes_enters_with_a_bounded_buffer() {
    run(async {
        let db = open("").await;
        db.script("create temp table t(word text)").await.unwrap();
        let mut copy = db.copy_in("copy t from stdin").await.unwrap();
        let piece = vec![b'x'; 1_000_000];
        for _ in 0..200 {
            copy.send(&piece).await.unwrap();
        }
        copy.send(b"\n").await.unwrap();
        assert_eq!(copy.finish().await.unwrap(), 1);
        let rows = db.query("select length(word) from t", &()).await.unwrap();
        assert_eq!(int(&rows), 200_000_000);
    });
}
