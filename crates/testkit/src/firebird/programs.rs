//! Where Firebird's programs and files are, and the environment they run in. Debian keeps the server off the PATH.
//! Rule: what is not there is a panic that names the command that installs it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The path of a program.
pub fn find(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/opt/firebird/bin"].map(PathBuf::from))
        .map(|directory| directory.join(name))
        .find(|program| program.is_file())
        .unwrap_or_else(|| missing(name))
}

/// The directory of the server's messages and character sets.
pub fn library() -> PathBuf {
    let entries = std::fs::read_dir("/usr/lib").into_iter().flatten();
    entries
        .filter_map(|entry| Some(entry.ok()?.path().join("firebird/3.0")))
        .find(|directory| directory.join("intl/libfbintl.so").is_file())
        .unwrap_or_else(|| missing("libfbintl.so"))
}

/// The script that fills a security database.
pub fn security_script() -> PathBuf {
    let script = PathBuf::from("/usr/share/firebird/3.0/security.sql");
    if script.is_file() {
        script
    } else {
        missing("security.sql")
    }
}

fn missing(name: &str) -> ! {
    panic!("\n\n*** {name} is missing: run `make setup PROFILE=test`; it installs Firebird ***\n\n")
}

/// A command that sees the Firebird configured in `root` and nothing else of the caller's environment but PATH.
pub fn command(program: &Path, root: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(root)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        // Passwords beyond ASCII are lost in plain C.
        .env("LC_ALL", "C.UTF-8")
        .env("TZ", "UTC")
        .env("HOME", root)
        .env("FIREBIRD", root)
        .env("FIREBIRD_LOCK", root.join("lock"))
        .env("FIREBIRD_TMP", root.join("tmp"))
        .env("FIREBIRD_MSG", library());
    command
}

/// Writes what every configuration in `root` has besides its two files of settings.
pub fn furnish(root: &Path) -> std::io::Result<()> {
    for directory in ["lock", "tmp", "intl", "data"] {
        std::fs::create_dir_all(root.join(directory))?;
    }
    std::fs::write(root.join("plugins.conf"), "")?;
    std::os::unix::fs::symlink(library().join("firebird.msg"), root.join("firebird.msg"))?;
    // A copy: behind a symbolic link it is not found, and then most character sets are missing.
    let library = library().join("intl/libfbintl.so");
    std::fs::copy(library, root.join("intl/libfbintl.so"))?;
    Ok(())
}
