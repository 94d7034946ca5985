//! Rows of the author's types on SQLite in memory, there and back. No route.
//! Rule: what comes back is what was given, or it was refused.

mod memory;

use serde::{Deserialize, Serialize};
use tsumugi::{Db, Plugin, Result, Router, Worker, trial};

struct App {
    db: Db,
}

impl Plugin for App {
    async fn start(_: &Worker) -> Result<App> {
        let db = memory::connect().await?;
        let table =
            "create table pictures (id integer primary key, bytes blob not null, ratio real)";
        db.execute(table, []).await?;
        Ok(App { db })
    }
}

#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct Picture {
    bytes: Vec<u8>,
    ratio: Option<f64>,
}

fn picture(bytes: &[u8], ratio: Option<f64>) -> Picture {
    Picture {
        bytes: bytes.to_owned(),
        ratio,
    }
}

#[test]
fn bytes_come_back_and_what_is_not_finite_is_refused() {
    trial::run(Router::<App>::new, async |client| {
        let pictures = client.state().db.table("pictures");
        let given = [
            picture(&[0, 1, 255], Some(1.5)),
            picture(&[], Some(f64::MIN_POSITIVE)),
            picture(b"[1]", None),
        ];
        for picture in &given {
            pictures.insert(picture).await.unwrap();
        }
        let refused = pictures.insert(picture(&[1], Some(f64::NAN))).await;
        assert!(refused.unwrap_err().to_string().contains("ratio: NaN"));
        let found: Vec<Picture> = pictures.clone().order("id").all().await.unwrap();
        assert_eq!(found, given);
    });
}

#[test]
fn tuple_has_as_many_values_as_the_row() {
    trial::run(Router::<App>::new, async |client| {
        let pictures = client.state().db.table("pictures");
        pictures.insert(picture(&[1], None)).await.unwrap();
        let two = pictures.clone().select(["id", "ratio"]);
        let pair: Option<(i64, Option<f64>)> = two.first().await.unwrap();
        assert_eq!(pair, Some((1, None)));
        let short = two.first::<(i64,)>().await.unwrap_err().to_string();
        assert!(short.contains("it has 2 columns, not 1"), "{short}");
    });
}

#[test]
fn rows_come_in_batches_of_the_given_size() {
    trial::run(Router::<App>::new, async |client| {
        let pictures = client.state().db.table("pictures");
        for n in 0..5 {
            pictures.insert(picture(&[n], None)).await.unwrap();
        }
        let mut batches = pictures.batches_of(2).await.unwrap();
        let mut sizes = Vec::new();
        while let Some(rows) = batches.next().await.unwrap() {
            sizes.push(rows.len());
        }
        assert_eq!(sizes, [2, 2, 1]);
        for rows in [0, 1_001] {
            let refused = pictures.batches_of(rows).await.unwrap_err().to_string();
            let expected = format!("a batch has 1 to 1000 rows, not {rows}");
            assert!(refused.contains(&expected), "{refused}");
        }
    });
}
