//! Transactions that are run again, and those that are not because a part of them is committed, as Firebird commits changes of tables.

use crate::{Engine, on_each};

#[test]
fn transaction_of_which_a_part_is_committed_is_not_run_again() {
    on_each(
        |_| "create table numbers (id bigint not null primary key)".to_owned(),
        async |engine, client| {
            for face in ["rust", "ruby"] {
                let reply = client.get(&format!("/{face}/change/2")).await;
                let tries = match engine {
                    Engine::Firebird => 1,
                    Engine::Sqlite | Engine::Postgres => 3,
                };
                let expected = format!("false {tries} 0");
                assert_eq!(reply.text(), expected, "{engine:?}, {face}");
            }
        },
    );
}
