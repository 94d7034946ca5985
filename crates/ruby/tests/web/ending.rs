//! What becomes of Ruby that waits when its server ends at once.

use std::io::{Read, Write};

use crate::rig::Rig;

#[test]
fn wait_under_ensure_ends_with_the_server() {
    let rig = Rig::serve(
        r#"
        plugin(:parked) { [] }
        get("/parked") { parked.size.to_s }
        get "/" do
          parked << 1
          sleep 60
        ensure
          parked << 2
          sleep 60
        end
        "#,
    );
    let parked_is = |count: &str| while rig.get("/parked").text() != count {};
    let mut client = rig.connect();
    client
        .write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        .unwrap();
    parked_is("1");
    drop(client);
    parked_is("2");
    let mut other = rig.connect();
    other
        .write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        .unwrap();
    parked_is("3");
    drop(rig);
    assert_eq!(other.read(&mut [0]).unwrap_or(0), 0);
}
