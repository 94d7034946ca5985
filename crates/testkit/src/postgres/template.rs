//! A data directory made once and copied for every server, because initdb takes seconds. Not a server.
//! It lies in the build directory, named after what it was made with; the first process to make it renames it into place.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

use crate::{build_directory, printed};

use crate::postgres::process_user::ProcessUser;
use crate::postgres::{programs, user};

/// Changes with what [`make`] does.
const REVISION: u32 = 2;

/// Copies the template to `data`, which must not exist.
pub fn copy(account: ProcessUser, data: &Path) {
    let initdb = programs::find("initdb");
    let template = {
        // Threads of one process take turns; processes race, and the first wins.
        static TURN: Mutex<()> = Mutex::new(());
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let template = place(&initdb);
        if !template.is_dir() {
            make(account, &initdb, &template);
        }
        template
    };
    account.copy(&template, data);
}

fn place(initdb: &Path) -> PathBuf {
    let output = std::process::Command::new(initdb).arg("--version").output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {}: {error}", initdb.display()));
    // "initdb (PostgreSQL) 15.18 (…)"
    let printed = printed(initdb, output);
    let version = printed.split_whitespace().nth(2).unwrap_or("unknown");
    let folder = build_directory().join("tmp");
    std::fs::create_dir_all(&folder)
        .unwrap_or_else(|error| panic!("cannot make {}: {error}", folder.display()));
    folder.join(format!("pg-template-{version}-{REVISION}"))
}

fn make(account: ProcessUser, initdb: &Path, template: &Path) {
    // The account may not be let into the build directory: it works in the one for temporary files.
    let folder = tempfile::Builder::new()
        .prefix("tsumugi-initdb-")
        .tempdir()
        .unwrap_or_else(|error| panic!("cannot make a temporary directory: {error}"));
    account.own(folder.path());
    let data = folder.path().join("data");
    let output = account
        .command(initdb, folder.path())
        .arg("--pgdata")
        .arg(&data)
        .args(["--username", "postgres", "--auth", "trust"])
        .args(["--encoding", "UTF8", "--locale", "C"])
        .args(["--wal-segsize", "1", "--no-sync"])
        .output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {}: {error}", initdb.display()));
    printed(initdb, output);
    for database in ["template1", "postgres"] {
        alone(account, folder.path(), &data, database);
    }
    std::fs::write(data.join("pg_hba.conf"), user::ACCESS).expect("the directory is ours");

    let mut partial = template.to_owned();
    partial
        .as_mut_os_string()
        .push(format!("-partial-{}", std::process::id()));
    ProcessUser::copy(account, &data, &partial);
    if std::fs::rename(&partial, template).is_err() {
        // Another test process was faster.
        let _ = std::fs::remove_dir_all(&partial);
        assert!(template.is_dir(), "cannot make {}", template.display());
    }
}

/// Runs the commands for new roles in a server without connections. Roles are made in the first database only.
fn alone(account: ProcessUser, folder: &Path, data: &Path, database: &str) {
    let program = programs::find("postgres");
    let mut child = account
        .command(&program, folder)
        .args(["--single", "-F", "-O", "-D"])
        .arg(data)
        .arg(database)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", program.display()));
    let commands = match database {
        "template1" => user::roles(),
        _ => "grant all on schema public to public\n".to_owned(),
    };
    let mut pipe = child.stdin.take().expect("the pipe was asked for");
    pipe.write_all(commands.as_bytes())
        .unwrap_or_else(|error| panic!("a single-user server broke off: {error}"));
    drop(pipe);
    let output = child.wait_with_output().expect("the child was started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    printed(&program, output);
    assert!(
        !said.contains("ERROR"),
        "a single-user server said:\n{said}"
    );
}
