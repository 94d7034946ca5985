//! What figures were measured on: processor, memory, kernel, system, and how busy it was. Reads what Linux tells; changes nothing.

use std::fs;

use serde::{Deserialize, Serialize};

/// A machine at the moment a run began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Its processor, as it calls itself.
    pub processor: String,
    /// Threads that can run at once.
    pub cores: usize,
    /// Memory, in bytes.
    pub memory_bytes: u64,
    /// Its kernel.
    pub kernel: String,
    /// Its distribution.
    pub system: String,
    /// Runnable threads on average over the last minute before the run: what else it did.
    pub load_before: f64,
}

impl Machine {
    /// This one, now. What it does not tell is empty or 0.
    pub fn here() -> Machine {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let load = read("/proc/loadavg");
        let memory = field(&read("/proc/meminfo"), "MemTotal", ':');
        let kib = memory.split(' ').next().unwrap_or_default();
        Machine {
            processor: field(&read("/proc/cpuinfo"), "model name", ':'),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory_bytes: kib.parse::<u64>().unwrap_or_default() * 1024,
            kernel: version(&read("/proc/sys/kernel/osrelease")).to_owned(),
            system: field(&read("/etc/os-release"), "PRETTY_NAME", '='),
            load_before: load
                .split(' ')
                .next()
                .and_then(|load| load.parse().ok())
                .unwrap_or_default(),
        }
    }
}

/// Of a kernel's release, without what its builder added.
fn version(release: &str) -> &str {
    let release = release.trim();
    release
        .split_once('-')
        .map_or(release, |(version, _)| version)
}

/// What stands behind a name in lines of names and values.
fn field(text: &str, name: &str, mark: char) -> String {
    let pairs = text.lines().filter_map(|line| line.split_once(mark));
    let found = pairs.into_iter().find(|(key, _)| key.trim() == name);
    let value = found.map_or("", |(_, value)| value);
    value.trim().trim_matches('"').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_name() {
        let text = "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n";
        assert_eq!(field(text, "PRETTY_NAME", '='), "Debian GNU/Linux 12");
        assert_eq!(field(text, "VERSION", '='), "");
    }
}
