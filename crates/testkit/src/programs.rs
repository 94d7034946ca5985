//! Where the programs of etcd, Patroni and HAProxy are. Rule: a program that is not there is a panic that names its Debian package and the command that installs it.

use std::path::PathBuf;

/// The path of a program.
pub fn find(name: &str, package: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/usr/local/bin"].map(PathBuf::from))
        .map(|directory| directory.join(name))
        .find(|program| program.is_file())
        .unwrap_or_else(|| {
            panic!(
                "\n\n*** {name} is missing: run `make setup PROFILE=test`; it installs {package} ***\n\n"
            )
        })
}
