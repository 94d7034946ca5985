//! Where PostgreSQL's programs are. Debian keeps those of the server off the PATH.
//! Rule: a program that is not there is a panic that names the command that installs it.

use std::path::PathBuf;

/// The path of a program: of the newest PostgreSQL under the usual directories, else on the PATH.
pub fn find(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).collect::<Vec<_>>();
    let elsewhere = ["/usr/sbin", "/usr/local/pgsql/bin"].map(PathBuf::from);
    versions()
        .into_iter()
        .chain(on_path)
        .chain(elsewhere)
        .map(|directory| directory.join(name))
        .find(|program| program.is_file())
        .unwrap_or_else(|| {
            panic!(
                "\n\n*** {name} is missing: run `make setup PROFILE=test`; it installs PostgreSQL and PgBouncer ***\n\n"
            )
        })
}

/// `/usr/lib/postgresql/NUMBER/bin` of Debian, the newest first.
fn versions() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let number = entry.file_name().to_str()?.parse().ok()?;
            Some((number, entry.path().join("bin")))
        })
        .filter(|(_, directory)| directory.join("initdb").is_file())
        .collect();
    found.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    found.into_iter().map(|(_, directory)| directory).collect()
}
