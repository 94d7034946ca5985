//! The same test for every client: what one adds, it finds. Databases are thrown away.

use tsumugi::Settings;
use tsumugi::trial;

use crate::{User, Users, ours, routes, rusqlite_client, tokio_postgres_client};

fn check<C: Users>(url: &str) {
    let settings = Settings {
        environment: [("DATABASE_URL".to_owned(), url.to_owned())].into(),
        ..Settings::default()
    };
    trial::run_with(settings, routes::<C>, async |client| {
        let added = client.post("/users").json(&"紡ぎ").await;
        assert_eq!(added.status, 201);
        let id: i64 = added.json();
        let user: User = client.get(&format!("/users/{id}")).await.json();
        let name = "紡ぎ".to_owned();
        assert_eq!(user, User { id, name });
        assert_eq!(client.get("/users/0").await.status, 404);
    });
}

#[test]
fn clients_of_sqlite_are_interchangeable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("users.db");
    let made = rusqlite::Connection::open(&path).unwrap();
    made.execute_batch("create table users (id integer primary key, name text not null)")
        .unwrap();
    drop(made);
    let url = format!("sqlite:{}", path.display());
    check::<ours::Client>(&url);
    check::<rusqlite_client::Client>(&url);
}

#[test]
fn clients_of_postgresql_are_interchangeable() {
    let server = tsumugi_testkit::postgres::Server::shared();
    server.psql(
        "create table users (id bigint generated always as identity primary key, name text not null);
         grant all on users to public",
    );
    let url = server.url(tsumugi_testkit::postgres::User::TRUST);
    check::<ours::Client>(&url);
    check::<tokio_postgres_client::Client>(&url);
}
