//! The endpoints on a PostgreSQL server that is thrown away.
//! Reads what the database has besides what the application answers.

use tsumugi::Settings;
use tsumugi::prelude::*;
use tsumugi::trial::{self, Client};

use crate::{App, World, routes};

fn run(test: impl AsyncFnOnce(&Client<App>)) {
    let server = tsumugi_testkit::postgres::Server::shared();
    server.load_world();
    let url = server.url(tsumugi_testkit::postgres::User::ADMIN);
    let settings = Settings {
        environment: [("DATABASE_URL".to_owned(), url)].into(),
        ..Settings::default()
    };
    trial::run_with(settings, routes, test);
}

fn is_world(world: &World) -> bool {
    (1..=10_000).contains(&world.id) && (1..=10_000).contains(&world.random_number)
}

#[test]
fn every_endpoint_answers_as_the_benchmark_demands() {
    run(async |client| {
        assert_eq!(client.get("/plaintext").await.text(), "Hello, World!");
        let world: World = client.get("/db").await.json();
        assert!(is_world(&world));
        for (asked, rows) in [("20", 20), ("501", 500), ("0", 1), ("junk", 1), ("", 1)] {
            let worlds = client.get(&format!("/queries?q={asked}")).await;
            let worlds: Vec<World> = worlds.json();
            assert_eq!(worlds.len(), rows, "{asked}");
            assert!(worlds.iter().all(is_world));
        }
        let changed: Vec<World> = client.get("/updates?q=20").await.json();
        for world in changed {
            let row = client
                .state()
                .db
                .table("world")
                .filter(col("id").eq(world.id));
            let number = row.select("randomnumber").first::<i64>().await.unwrap();
            assert_eq!(number, Some(world.random_number));
        }
        let page = client.get("/fortunes").await;
        assert_eq!(page.text().matches("<tr><td>").count(), 13);
        assert!(page.text().contains("&lt;script&gt;alert("));
        for way in [
            "single_prepared",
            "pool_unprepared",
            "pool_prepared",
            "pipelined",
        ] {
            let worlds: Vec<World> = client.get(&format!("/pool?way={way}")).await.json();
            assert_eq!(worlds.len(), 500, "{way}");
        }
        assert_eq!(client.get("/pool?way=none").await.status, 400);
    });
}
