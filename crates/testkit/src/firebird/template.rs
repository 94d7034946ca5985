//! A security database with the users of the tests and an empty database, made once and copied for every server. Not a server.
//! They lie in the build directory, named after what they were made with; the first process to make them renames them into place.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

use crate::{build_directory, printed};

use crate::firebird::{programs, user};

/// Changes with what [`make`] does.
const REVISION: u32 = 3;

/// The security database's file.
pub const SECURITY: &str = "security3.fdb";

/// The empty database's file.
pub const EMPTY: &str = "empty.fdb";

/// A page of the operating system, which a write changes as a whole. Of a larger one a server that is killed may leave a half behind, and
/// Firebird would take that for what was committed: its pages have no checksums.
const PAGE_BYTES: u32 = 4096;

/// The directory of both files.
pub fn directory() -> PathBuf {
    // Threads of one process take turns; processes race, and the first wins.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = build_directory().join("tmp");
    std::fs::create_dir_all(&folder)
        .unwrap_or_else(|error| panic!("cannot make {}: {error}", folder.display()));
    let template = folder.join(format!("firebird-template-3.0-{REVISION}"));
    if !template.is_dir() {
        make(&template);
    }
    template
}

fn make(template: &Path) {
    let folder = tempfile::Builder::new()
        .prefix("tsumugi-firebird-template-")
        .tempdir()
        .unwrap_or_else(|error| panic!("cannot make a temporary directory: {error}"));
    let root = folder.path();
    let (security, empty) = (root.join(SECURITY), root.join(EMPTY));
    programs::furnish(root).expect("the directory is ours");
    let settings = format!(
        "SecurityDatabase = {}\nUserManager = Srp, Legacy_UserManager\n",
        security.display()
    );
    std::fs::write(root.join("firebird.conf"), settings).expect("the directory is ours");
    std::fs::write(root.join("databases.conf"), "").expect("the directory is ours");

    let create = format!(
        "create database '{}' page_size {PAGE_BYTES};",
        security.display()
    );
    embedded(root, None, &create);
    let script = std::fs::read_to_string(programs::security_script()).expect("it can be read");
    embedded(root, Some(&security), &script);
    embedded(root, Some(&security), &(user::statements() + "commit;"));
    create_empty(root, &empty, PAGE_BYTES);
    make_fast(root, &security);
    let mut partial = template.to_owned();
    partial
        .as_mut_os_string()
        .push(format!("-partial-{}", std::process::id()));
    let kept = std::fs::create_dir(&partial)
        .and_then(|()| std::fs::copy(&security, partial.join(SECURITY)))
        .and_then(|_| std::fs::copy(&empty, partial.join(EMPTY)));
    kept.unwrap_or_else(|error| panic!("cannot make {}: {error}", partial.display()));
    if std::fs::rename(&partial, template).is_err() {
        // Another test process was faster.
        let _ = std::fs::remove_dir_all(&partial);
        assert!(template.is_dir(), "cannot make {}", template.display());
    }
}

/// Makes an empty database with such pages in a server's folder, before the server runs.
pub fn empty_of_pages(folder: &Path, bytes: u32) -> PathBuf {
    let file = folder.join(format!("empty_{bytes}.fdb"));
    // Without a server there is no alias for it, and none is asked for.
    std::fs::write(folder.join("firebird.conf"), "").expect("the directory is ours");
    std::fs::write(folder.join("databases.conf"), "").expect("the directory is ours");
    create_empty(folder, &file, bytes);
    file
}

fn create_empty(root: &Path, file: &Path, page_bytes: u32) {
    let file_name = file.display();
    let create =
        format!("create database '{file_name}' page_size {page_bytes} default character set UTF8;");
    embedded(root, None, &create);
    make_fast(root, file);
}

/// What lives for seconds need not reach the disk.
fn make_fast(root: &Path, file: &Path) {
    let gfix = programs::find("gfix");
    let output = programs::command(&gfix, root)
        .args(["-user", "SYSDBA", "-write", "async"])
        .arg(file)
        .output();
    printed(&gfix, output.expect("it was just found"));
}

/// What Firebird finds wrong with a file that no server has open, without one.
pub fn validated(root: &Path, file: &Path) -> String {
    let gfix = programs::find("gfix");
    let output = programs::command(&gfix, root)
        .args(["-user", "SYSDBA", "-v", "-full"])
        .arg(file)
        .output()
        .expect("it was just found");
    let said = [output.stdout, output.stderr].concat();
    match String::from_utf8_lossy(&said).trim() {
        "" if output.status.success() => "nothing".to_owned(),
        "" => output.status.to_string(),
        said => said.to_owned(),
    }
}

/// Runs SQL without a server: isql opens the file itself, and needs no password.
fn embedded(root: &Path, database: Option<&Path>, sql: &str) {
    let isql = programs::find("isql-fb");
    let mut child = programs::command(&isql, root)
        .args(["-q", "-bail", "-ch", "UTF8", "-user", "SYSDBA"])
        .args(database)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", isql.display()));
    let mut pipe = child.stdin.take().expect("the pipe was asked for");
    // Whatever ends it early is in what it printed.
    let _ = pipe.write_all(sql.as_bytes());
    drop(pipe);
    let output = child.wait_with_output().expect("the child was started");
    printed(&isql, output);
}
