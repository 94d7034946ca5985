//! Reads marked for replicas, on a server that has none: ordinary reads, on every database.

use crate::on_each;

const TABLE: &str = "create table numbers (id bigint not null primary key);
insert into numbers (id) values (1);
insert into numbers (id) values (2);";

#[test]
fn marked_reads_run_on_the_one_server_and_refuse_what_writes() {
    on_each(
        |_| TABLE.to_owned(),
        async |engine, client| {
            for face in ["rust", "ruby"] {
                let reply = client.get(&format!("/{face}/reads")).await;
                assert_eq!(reply.text(), "2 2 true", "{engine:?}, {face}");
            }
        },
    );
}
