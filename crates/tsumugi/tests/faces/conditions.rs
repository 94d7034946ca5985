//! Changes whose conditions are true of every row: refused like those without a condition, and nothing is changed.

use tsumugi::db::values;

use crate::on_each;

const TABLE: &str = "create table numbers (id bigint not null primary key);
insert into numbers (id) values (1);
insert into numbers (id) values (2);
insert into numbers (id) values (3);";

#[test]
fn change_by_a_condition_of_nothing_is_refused() {
    on_each(
        |_| TABLE.to_owned(),
        async |engine, client| {
            for face in ["rust", "ruby"] {
                let check = async |path: &str, body: &str, expected: &str| {
                    let call = client.post(&format!("/{face}/{path}"));
                    let reply = call.body("application/json", body.to_owned()).await;
                    assert_eq!(reply.text(), expected, "{engine:?}, {face}: {path} {body}");
                };
                let delete = "this delete has no condition that a row could fail: say all_rows (in Ruby all_rows!) if every row is meant";
                let update = "this update has no condition that a row could fail: say all_rows (in Ruby all_rows!) if every row is meant";
                check("delete_others", "[]", delete).await;
                check("delete_within", "[null, null]", delete).await;
                check("move_others", "[]", update).await;
                check("delete_others", "[1, 2, 3]", "0").await;
                check("delete_within", "[4, null]", "0").await;
                check("move_others", "[1, 2, 3]", "0").await;
                check("delete_others", "[2]", "2").await;
                let again = "insert into numbers (id) values (?)";
                for id in [1, 3] {
                    let db = &client.state().db;
                    db.execute(again, values![id]).await.unwrap();
                }
            }
        },
    );
}
