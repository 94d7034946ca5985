//! A commit to a SQLite file that the disk breaks off: the application is told that nobody knows what became of it, and so are its operators.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use crate::rig::{Client, PATIENCE, Site, pause};

const APP: &str = r##"
plugin(:db) { DB.connect "sqlite:notes.db", log: false }
get "/keep" do
  db.execute "create table if not exists notes (content blob)"
  db.transaction { db.execute "insert into notes values (zeroblob(20000))" }
  "kept"
rescue DB::CommitUnknown
  "unknown"
end
"##;

#[test]
fn commit_that_the_disk_breaks_off_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("app.rb"), APP).unwrap();
    // A file may have so many blocks of 512 bytes: what is written beyond fails, as a disk does.
    let script = "trap '' XFSZ; ulimit -f 400; \
                  exec \"$0\" serve app.rb --workers 1 --listen 127.0.0.1:0 --admin 127.0.0.1:0";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_tsumugi")]);
    let site = Site::launch(Arc::new(folder), command).listening();
    site.expect_log("serving");
    let line = site.expect_log("admin pages on http://");
    let admin = line.split("http://").nth(1).unwrap();
    let end = admin.find(|c: char| !c.is_ascii_digit() && !".:".contains(c));
    let admin: SocketAddr = admin[..end.unwrap_or(admin.len())].parse().unwrap();
    // Workers report their figures from time to time.
    let until_unknown = |expected: &str| {
        let begun = Instant::now();
        loop {
            let metrics = Client::new(admin).get("/metrics").text();
            let mut lines = metrics.lines();
            let line =
                lines.find(|line| line.starts_with("tsumugi_database_commits_unknown_total{"));
            if line.is_some_and(|line| line.ends_with(expected)) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{line:?}");
            pause(50);
        }
    };
    assert_eq!(site.get("/keep").text(), "kept");
    until_unknown(" 0");
    let mut tries = 0;
    while site.get("/keep").text() != "unknown" {
        tries += 1;
        assert!(tries < 100, "{}", site.log());
    }
    until_unknown(" 1");
}
