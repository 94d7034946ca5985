//! Key-value stores of a whole server: one for all workers, through reloads, and through the death of the process.

use std::collections::HashSet;

use nix::sys::signal::Signal;

use crate::rig::Site;

fn app(folder: &std::path::Path, version: u32) -> String {
    format!(
        "plugin(:disk) {{ KV.open '{}/store' }}
         plugin(:memory) {{ KV.open 'memory:shared' }}
         sessions kv: disk
         get('/incr') {{ [worker.id, disk.incr('n'), memory.incr('n')] }}
         get('/version') {{ {version} }}
         get('/in') {{ session[:user] = 1; disk['花'] = '桜'; status 204 }}
         get('/read') {{ [disk['花'], disk.number('n'), memory.number('n')] }}",
        folder.display()
    )
}

#[test]
fn workers_share_a_store_through_reloads_and_find_it_again_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--workers", "2", "--admin", "127.0.0.1:0"];
    let site = Site::start_with(&app(folder.path(), 1), &options);
    let mut workers = HashSet::new();
    let mut count = 0;
    while workers.len() < 2 {
        count += 1;
        let text = site.get("/incr").text();
        let (worker, numbers) = text.trim_start_matches('[').split_once(',').unwrap();
        assert_eq!(numbers, format!("{count},{count}]"));
        workers.insert(worker.to_owned());
        assert!(count < 10_000, "only worker {worker} answers");
    }
    site.write("app.rb", &app(folder.path(), 2));
    site.signal(Signal::SIGHUP);
    site.until("/version", "2");
    site.check_status("/in", 204);
    site.check("/read", &format!("[\"桜\",{count},{count}]"));
    site.signal(Signal::SIGKILL);
    drop(site);

    let site = Site::start_with(&app(folder.path(), 1), &options);
    site.check("/read", &format!("[\"桜\",{count},null]"));
}

#[test]
fn a_store_that_another_process_has_open_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let first = Site::start(&app(folder.path(), 1));
    let mut second = Site::bind(&app(folder.path(), 1), &[]);
    assert_eq!(second.exit_code(), 1);
    let line = second.expect_log("KV::Locked");
    assert!(line.contains("is open in another process"), "{line}");
    first.check("/version", "1");
}
