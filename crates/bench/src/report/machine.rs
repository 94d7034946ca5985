//! What figures were measured on: processor, memory, kernel, system, how it shares its cores, and how busy it was. Reads what Linux says;
//! changes nothing.

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
    /// Name and version of the kernel.
    pub kernel: String,
    /// The distribution with its version.
    pub system: String,
    /// Runnable threads on average over the last minute before the run: what else it did.
    pub load_before: f64,
    /// `kernel.sched_autogroup_enabled`: whether Linux shares the cores between sessions first. None where it has no such thing.
    #[serde(default)]
    pub autogroup: Option<bool>,
    /// The group by which Linux shares the cores with everything else, if it says so.
    #[serde(default)]
    pub cgroup: Option<Cgroup>,
}

/// A control group that shares the processor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cgroup {
    /// 2, or 1 where a controller of the first version shares the processor.
    pub version: u32,
    /// Its path in its hierarchy, as far as can be seen from here.
    pub path: String,
    /// `cpu.max`, or `cpu.cfs_quota_us` and `cpu.cfs_period_us`. None in the root, which has no limit.
    pub cpu_max: Option<String>,
    /// `cpu.weight`, or `cpu.shares`. None in the root, which has no weight.
    pub cpu_weight: Option<String>,
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
            autogroup: match read("/proc/sys/kernel/sched_autogroup_enabled").trim() {
                "0" => Some(false),
                "1" => Some(true),
                _ => None,
            },
            cgroup: Cgroup::of(&read("/proc/self/cgroup"), &read("/proc/self/mounts"), read),
        }
    }

    /// How the cores are shared, in a line.
    pub fn sharing(&self) -> String {
        let autogroup = match self.autogroup {
            Some(enabled) => u8::from(enabled).to_string(),
            None => "not known".to_owned(),
        };
        let cgroup = self.cgroup.as_ref();
        let cgroup = cgroup.map_or_else(|| "not known".to_owned(), Cgroup::words);
        format!("kernel.sched_autogroup_enabled {autogroup}, cgroup {cgroup}")
    }

    /// Whether Linux shares the cores between sessions, so that it matters which programs share one.
    pub fn shares_by_session(&self) -> bool {
        // In a group with a weight, the group is what has a share.
        let weight = self
            .cgroup
            .as_ref()
            .and_then(|group| group.cpu_weight.as_ref());
        self.autogroup == Some(true) && weight.is_none()
    }
}

impl Cgroup {
    /// Reads `/proc/self/cgroup` and `/proc/self/mounts`, then the group's files.
    fn of(groups: &str, mounts: &str, read: impl Fn(&str) -> String) -> Option<Cgroup> {
        // Lines are `NUMBER:CONTROLLERS:PATH`; the second version has no controllers there.
        let find = |wanted: fn(&str) -> bool| {
            let mut lines = groups.lines().map(|line| line.splitn(3, ':').skip(1));
            lines.find_map(|mut parts| {
                let (controllers, path) = (parts.next()?, parts.next()?);
                wanted(controllers).then(|| path.to_owned())
            })
        };
        let is_cpu = |list: &str| list.split(',').any(|word| word == "cpu");
        let first = find(is_cpu).map(|path| (1, path));
        let (version, path) = first.or_else(|| Some((2, find(str::is_empty)?)))?;
        // Lines are `DEVICE FOLDER TYPE OPTIONS …`.
        let mut mounts = mounts.lines().map(|line| line.split(' ').skip(1));
        let folder = mounts.find_map(|mut parts| {
            let (folder, kind, options) = (parts.next()?, parts.next()?, parts.next()?);
            let fits = match version {
                1 => kind == "cgroup" && is_cpu(options),
                _ => kind == "cgroup2",
            };
            fits.then(|| format!("{folder}{}", path.trim_end_matches('/')))
        });
        let file = |name: &str| {
            let text = read(&format!("{}/{name}", folder.as_ref()?));
            let text = text.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        // The root of the first version has these files too, with values that mean nothing.
        let is_root = version == 1 && path == "/";
        let (cpu_max, cpu_weight) = match version {
            1 => {
                let quota = file("cpu.cfs_quota_us").filter(|quota| quota != "-1");
                let period = file("cpu.cfs_period_us");
                let both = quota
                    .zip(period)
                    .map(|(quota, period)| format!("{quota} {period}"));
                (both, file("cpu.shares"))
            }
            _ => (file("cpu.max"), file("cpu.weight")),
        };
        Some(Cgroup {
            version,
            path,
            cpu_max: cpu_max.filter(|_| !is_root),
            cpu_weight: cpu_weight.filter(|_| !is_root),
        })
    }

    fn words(&self) -> String {
        let or_none = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
        let (max, weight) = (or_none(&self.cpu_max), or_none(&self.cpu_weight));
        let Cgroup { version, path, .. } = self;
        let names = match version {
            1 => ["quota", "cpu.shares"],
            _ => ["cpu.max", "cpu.weight"],
        };
        format!(
            "v{version} {path} ({} {max}, {} {weight})",
            names[0], names[1]
        )
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

    fn check(groups: &str, mounts: &str, files: &[(&str, &str)], expected: &str) {
        let read = |path: &str| {
            let found = files.iter().find(|(name, _)| *name == path);
            found.map_or_else(String::new, |(_, text)| (*text).to_owned())
        };
        let found = Cgroup::of(groups, mounts, read);
        let shown = found.map_or_else(|| "none".to_owned(), |group| group.words());
        assert_eq!(shown, expected);
    }

    const SECOND: &str = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";
    const FIRST: &str = "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\n";

    #[test]
    fn cgroup_of_the_second_version_has_its_limit_and_weight() {
        let files = [
            ("/sys/fs/cgroup/a.slice/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/a.slice/cpu.weight", "100\n"),
        ];
        let expected = "v2 /a.slice (cpu.max max 100000, cpu.weight 100)";
        check("0::/a.slice\n", SECOND, &files, expected);
        check(
            "0::/\n",
            SECOND,
            &files,
            "v2 / (cpu.max none, cpu.weight none)",
        );
    }

    #[test]
    fn controller_of_the_first_version_comes_before_the_second() {
        let groups = "4:memory:/b\n1:cpu,cpuacct:/a\n0::/c\n";
        let files = [
            ("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n"),
            ("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/cpu/a/cpu.shares", "1024\n"),
            ("/sys/fs/cgroup/cpu/cpu.shares", "1024\n"),
        ];
        let mounts = format!("{SECOND}{FIRST}");
        let expected = "v1 /a (quota 50000 100000, cpu.shares 1024)";
        check(groups, &mounts, &files, expected);
        let root = "1:cpu,cpuacct:/\n0::/c\n";
        check(root, &mounts, &files, "v1 / (quota none, cpu.shares none)");
        check("", &mounts, &files, "none");
    }

    #[test]
    fn sessions_have_shares_unless_a_cgroup_has_one() {
        let machine = |autogroup, cpu_weight: Option<&str>| Machine {
            autogroup,
            cgroup: Some(Cgroup {
                cpu_weight: cpu_weight.map(str::to_owned),
                ..Cgroup::default()
            }),
            ..Machine::default()
        };
        assert!(machine(Some(true), None).shares_by_session());
        assert!(!machine(Some(true), Some("100")).shares_by_session());
        assert!(!machine(Some(false), None).shares_by_session());
        assert!(!machine(None, None).shares_by_session());
    }

    #[test]
    fn a_field_is_found_by_its_name() {
        let text = "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n";
        assert_eq!(field(text, "PRETTY_NAME", '='), "Debian GNU/Linux 12");
        assert_eq!(field(text, "VERSION", '='), "");
    }
}
