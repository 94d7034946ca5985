//! Pipelines: queries of the builder and texts in one write, their rows in the order in which they were given.

use crate::on_each;

const TABLE: &str = "create table numbers (id bigint not null primary key);
insert into numbers (id) values (1);
insert into numbers (id) values (2);
insert into numbers (id) values (3);";

#[test]
fn pipeline_of_queries_and_texts_gives_rows_in_their_order() {
    on_each(
        |_| TABLE.to_owned(),
        async |engine, client| {
            for face in ["rust", "ruby"] {
                for (id, expected) in [
                    (2, "[[2], [3], [1]]"),
                    (3, "[[3], [], [1]]"),
                    (0, "[[], [1, 2, 3], [1]]"),
                ] {
                    let reply = client.get(&format!("/{face}/pipe/{id}")).await;
                    assert_eq!(reply.text(), expected, "{engine:?}, {face}, {id}");
                }
            }
        },
    );
}
