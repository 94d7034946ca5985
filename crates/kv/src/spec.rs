//! What a database is called and how it is kept: `PATH#name=value,name=value`, the form that Tkrzw's tools take. Opens nothing.
//! Rule: parsing what `Display` writes gives the same specification.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::limits::{
    CACHE_BYTES_DEFAULT, CACHE_BYTES_MIN, CAPACITY_BYTES_DEFAULT, CAPACITY_BYTES_MIN,
    SPEC_BYTES_MAX, VALUE_BYTES_DEFAULT, VALUE_BYTES_MAX,
};

/// What an acknowledged write outlives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Durability {
    /// Nothing: the database is in memory, and gone with its last user.
    Memory,
    /// The end of the process, also by `kill -9`. A crash of the machine loses what the system had not written.
    Process,
    /// A crash of the machine: the disk has confirmed it.
    Disk,
}

/// What a database in memory does with a record it has no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WhenFull {
    /// Removes the records that were not used for the longest time.
    Evict,
    /// Refuses the write with [`Error::Full`].
    Refuse,
}

/// A setting that tunes a structure of Tkrzw's, which this store has not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IgnoredSetting {
    /// Its name, such as `num_buckets`.
    pub name: String,
    /// The setting's value, as written.
    pub value: String,
}

/// One database: where it is and how it is kept.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spec {
    /// The folder of a database on disk; the name of one in memory, empty for one that is not shared.
    pub path: PathBuf,
    /// What an acknowledged write outlives; [`Durability::Memory`] also decides for the engine in memory.
    pub durability: Durability,
    /// Bytes that a database in memory may hold: keys, values and
    /// [`RECORD_OVERHEAD_BYTES`](crate::limits::RECORD_OVERHEAD_BYTES) for each record.
    pub capacity: u64,
    /// What a database in memory does when it is full.
    pub when_full: WhenFull,
    /// Bytes of the block cache of a database on disk.
    pub cache: u64,
    /// Longest value in bytes.
    pub value_max: usize,
    /// Whether writes are refused, with [`Error::ReadOnly`]. A database on disk must be there then.
    pub read_only: bool,
    /// Settings without a meaning here, to be named in a warning.
    pub ignored: Vec<IgnoredSetting>,
}

/// What names databases in memory.
const MEMORY_PREFIXES: [&str; 2] = [":memory:", "memory:"];
/// Endings of Tkrzw's databases in memory.
const MEMORY_ENDINGS: [&str; 4] = [".tkmt", ".tkmb", ".tkmc", ".tkmh"];
/// The one among them that is a cache.
const CACHE_ENDING: &str = ".tkmc";
/// Settings of Tkrzw's that tune structures this store does not have, and change nothing that a caller could see.
const TUNING: [&str; 24] = [
    "align_pow",
    "block_size",
    "cache_buckets",
    "fbp_capacity",
    "insert_in_order",
    "lock_mem_buckets",
    "max_branches",
    "max_cached_pages",
    "max_cached_records",
    "max_level",
    "max_page_size",
    "min_read_size",
    "no_lock",
    "no_wait",
    "num_buckets",
    "num_shards",
    "offset_width",
    "page_update_mode",
    "record_crc_mode",
    "sort_mem_size",
    "step_unit",
    "ulog_cache_size",
    "update_mode",
    "wait",
];

/// Settings of Tkrzw's that would change what is stored, or how: the values that mean what this store does anyway, and what to do instead
/// of the others.
const MEANT: [(&str, &[&str], &str); 15] = [
    (
        "access_options",
        &["direct", "padding", "pagecache"],
        "say durability=disk for what `sync` means",
    ),
    ("cap_rec_num", &[], "bound its bytes by capacity"),
    (
        "cipher_key",
        &[],
        "nothing is encrypted here: use a disk that is",
    ),
    (
        "file",
        &[
            "std",
            "stdfile",
            "mmap-para",
            "memorymapparallelfile",
            "mmap-atom",
            "memorymapatomicfile",
            "pos-para",
            "positionalparallelfile",
            "pos-atom",
            "positionalatomicfile",
        ],
        "it is no class of files",
    ),
    (
        "key_comparator",
        &["lexical", "lexicalkeycomparator"],
        "keys are ordered byte by byte",
    ),
    (
        "no_create",
        &["false"],
        "a database that is missing is made, but for read_only",
    ),
    (
        "record_comp_mode",
        &["none"],
        "records are neither compressed nor encrypted: use a disk that is",
    ),
    (
        "restore_mode",
        &["default"],
        "what was acknowledged is restored, or the database does not open",
    ),
    ("sync_hard", &["false"], "say durability=disk"),
    ("truncate", &["false"], "clear it once it is open"),
    ("ulog_dbm_index", &[], NO_LOG),
    ("ulog_max_file_size", &[], NO_LOG),
    ("ulog_prefix", &[], NO_LOG),
    ("ulog_server_id", &[], NO_LOG),
    ("writable", &["true"], "say read_only=true"),
];
const NO_LOG: &str = "no log of updates is kept";

impl Spec {
    /// A database in memory that only its own clones share, with the default capacity.
    #[must_use]
    pub fn memory() -> Self {
        Self {
            path: PathBuf::new(),
            durability: Durability::Memory,
            capacity: CAPACITY_BYTES_DEFAULT,
            when_full: WhenFull::Refuse,
            cache: CACHE_BYTES_DEFAULT,
            value_max: VALUE_BYTES_DEFAULT,
            read_only: false,
            ignored: Vec::new(),
        }
    }

    /// A database on disk in the folder `path`. Opening it needs the feature `disk`.
    #[must_use]
    pub fn disk(path: impl Into<PathBuf>, durability: Durability) -> Self {
        Self {
            path: path.into(),
            durability,
            ..Self::memory()
        }
    }

    /// A place as applications name it: a specification with a name, in which `memory:NAME` is a database in memory whatever its ending.
    pub fn of_place(place: &str) -> Result<Self> {
        let in_memory = MEMORY_PREFIXES
            .iter()
            .any(|prefix| place.starts_with(prefix));
        if !in_memory {
            let spec: Self = place.parse()?;
            return match spec.is_private() {
                true => Err(refused(
                    "a store has a place: a folder, or \"memory:NAME\", so that all workers open the same one",
                )),
                false => Ok(spec),
            };
        }
        let spec: Self = match (place.contains("durability="), place.contains('#')) {
            (true, _) => place.parse()?,
            (false, true) => format!("{place},durability=memory").parse()?,
            (false, false) => format!("{place}#durability=memory").parse()?,
        };
        match spec.is_in_memory() {
            true => Ok(spec),
            false => Err(refused(format!(
                "{}: a store in memory outlives nothing (durability)",
                Self::without_settings(place)
            ))),
        }
    }

    /// The scheme of a place that is a URL, `etcd` of `etcd://host` and `tkrzw+unix` of `tkrzw+unix:/path`; a folder has none, and neither has
    /// `memory:NAME`.
    #[must_use]
    pub fn scheme(place: &str) -> Option<&str> {
        let (scheme, rest) = place.split_once(':')?;
        let mut bytes = scheme.bytes();
        let is_scheme = bytes
            .next()
            .is_some_and(|first| first.is_ascii_alphabetic())
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        let is_url = rest.starts_with("//") || scheme.ends_with("+unix");
        (is_scheme && is_url && scheme != "memory").then_some(scheme)
    }

    /// What may be shown of a specification that could not be read: a setting may be a secret that is refused.
    #[must_use]
    pub fn without_settings(text: &str) -> &str {
        text.split_once('#').map_or(text, |(path, _)| path)
    }

    /// Whether the database is in memory.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        self.durability == Durability::Memory
    }

    /// Whether the name says that it is in memory.
    fn has_memory_name(&self) -> bool {
        let name = self.path.as_os_str().as_encoded_bytes();
        let mut prefixes = MEMORY_PREFIXES.iter();
        prefixes.any(|prefix| name.starts_with(prefix.as_bytes()))
    }

    /// Whether no other handle can be opened by its name.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.path.as_os_str().is_empty()
    }

    /// Refuses what this program has no engine for.
    ///
    /// # Errors
    /// [`Error::NotBuiltIn`] of a database on disk, without the feature `disk`.
    pub fn require_engine(&self) -> Result<()> {
        match cfg!(feature = "disk") || self.is_in_memory() {
            true => Ok(()),
            false => Err(Error::no_disk()),
        }
    }

    /// Whether what is not ignored is within its limits.
    pub(crate) fn validate(&self) -> Result<()> {
        if self.is_private() && !self.is_in_memory() {
            return Err(refused("a database on disk needs a path"));
        }
        if self.capacity < CAPACITY_BYTES_MIN {
            return Err(refused(format!(
                "capacity is at least {CAPACITY_BYTES_MIN} bytes (CAPACITY_BYTES_MIN)"
            )));
        }
        if self.cache < CACHE_BYTES_MIN {
            return Err(refused(format!(
                "cache is at least {CACHE_BYTES_MIN} bytes (CACHE_BYTES_MIN)"
            )));
        }
        if self.value_max > VALUE_BYTES_MAX {
            return Err(refused(format!(
                "value_max is at most {VALUE_BYTES_MAX} bytes (VALUE_BYTES_MAX)"
            )));
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str, chosen: &mut EngineSettings) -> Result<()> {
        match name {
            "durability" => chosen.durability = Some(durability(value)?),
            "dbm" => chosen.engine = Some(engine(value)?),
            "when_full" => chosen.when_full = Some(when_full(value)?),
            "capacity" | "cap_mem_size" => self.capacity = bytes(name, value)?,
            "cache" => self.cache = bytes(name, value)?,
            "value_max" => {
                self.value_max = usize::try_from(bytes(name, value)?)
                    .map_err(|_| refused("value_max is out of range"))?;
            }
            "read_only" => self.read_only = truth(name, value)?,
            _ if TUNING.contains(&name) => self.ignored.push(IgnoredSetting {
                name: name.to_owned(),
                value: value.to_owned(),
            }),
            _ => same(name, value)?,
        }
        Ok(())
    }

    fn decide(&mut self, chosen: &EngineSettings) -> Result<()> {
        let ending = ending(&self.path);
        let engine = chosen.engine.unwrap_or_else(|| match ending.as_deref() {
            Some(CACHE_ENDING) => Engine::Cache,
            Some(ending) if MEMORY_ENDINGS.contains(&ending) => Engine::Memory,
            _ if self.is_private() || self.has_memory_name() => Engine::Memory,
            _ => Engine::Disk,
        });
        if self.has_memory_name() && matches!(engine, Engine::Disk) {
            return Err(refused(
                "its name begins with memory:, and dbm is a class on disk",
            ));
        }
        self.durability = match (chosen.durability, engine) {
            (None, Engine::Disk) => Durability::Process,
            (None | Some(Durability::Memory), _) => Durability::Memory,
            (Some(durability), Engine::Disk) => durability,
            (Some(durability), _) => {
                return Err(refused(format!(
                    "durability={durability} needs a database on disk, and this one is in memory"
                )));
            }
        };
        self.when_full = chosen.when_full.unwrap_or(match engine {
            Engine::Cache => WhenFull::Evict,
            Engine::Memory | Engine::Disk => WhenFull::Refuse,
        });
        Ok(())
    }
}

/// What was said about the engine, before the path has its say.
#[derive(Default)]
struct EngineSettings {
    durability: Option<Durability>,
    engine: Option<Engine>,
    when_full: Option<WhenFull>,
}

#[derive(Clone, Copy)]
enum Engine {
    Disk,
    Memory,
    Cache,
}

impl FromStr for Spec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.len() > SPEC_BYTES_MAX {
            return Err(refused(format!(
                "it has {} bytes, at most {SPEC_BYTES_MAX} (SPEC_BYTES_MAX)",
                text.len()
            )));
        }
        if text.contains('\0') {
            return Err(refused("it contains a zero byte"));
        }
        if let Some(scheme) = Self::scheme(text) {
            return Err(refused(format!(
                "`{scheme}` is the scheme of no database of this process; a folder of such a name is written ./{scheme}:…"
            )));
        }
        let (path, settings) = text.rsplit_once('#').unwrap_or((text, ""));
        // The last one is within a value, such as a secret, which shall be no part of a name.
        if path.split('#').skip(1).any(|part| part.contains('=')) {
            return Err(refused("there is a `#` behind its settings"));
        }
        let mut spec = Self::memory();
        spec.path = PathBuf::from(path);
        let mut chosen = EngineSettings::default();
        for (at, setting) in settings.split(',').map(str::trim).enumerate() {
            if setting.is_empty() {
                continue;
            }
            // It may be the end of a secret that holds a comma: not shown.
            let Some((name, value)) = setting.split_once('=') else {
                return Err(refused(format!(
                    "setting {} is not of the form name=value",
                    at + 1
                )));
            };
            spec.set(name.trim(), value.trim(), &mut chosen)?;
        }
        spec.decide(&chosen)?;
        spec.validate()?;
        Ok(spec)
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#durability={}", self.path.display(), self.durability)?;
        if self.is_in_memory() {
            write!(f, ",when_full={}", self.when_full)?;
        } else if ending(&self.path).is_some_and(|ending| MEMORY_ENDINGS.contains(&&*ending)) {
            f.write_str(",dbm=tree")?;
        }
        if !self.is_in_memory() && self.when_full == WhenFull::Evict {
            f.write_str(",when_full=evict")?;
        }
        for (name, value, default) in [
            ("capacity", self.capacity, CAPACITY_BYTES_DEFAULT),
            ("cache", self.cache, CACHE_BYTES_DEFAULT),
            (
                "value_max",
                self.value_max as u64,
                VALUE_BYTES_DEFAULT as u64,
            ),
        ] {
            if value != default {
                write!(f, ",{name}={}", Amount(value))?;
            }
        }
        if self.read_only {
            f.write_str(",read_only=true")?;
        }
        for IgnoredSetting { name, .. } in &self.ignored {
            write!(f, ",{name}=…")?;
        }
        Ok(())
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory",
            Self::Process => "process",
            Self::Disk => "disk",
        })
    }
}

impl fmt::Display for WhenFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Evict => "evict",
            Self::Refuse => "refuse",
        })
    }
}

/// A number of bytes as it is written in a specification, with the largest unit that divides it.
struct Amount(u64);

const UNITS: [(char, u32); 4] = [('t', 40), ('g', 30), ('m', 20), ('k', 10)];

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = UNITS
            .iter()
            .find(|(_, shift)| self.0 != 0 && self.0.is_multiple_of(1 << shift));
        match unit {
            Some((unit, shift)) => write!(f, "{}{unit}", self.0 >> shift),
            None => write!(f, "{}", self.0),
        }
    }
}

fn bytes(name: &str, text: &str) -> Result<u64> {
    let wrong = || refused(format!("{name} is not a number of bytes, such as 512m"));
    let last = text.chars().last().ok_or_else(wrong)?.to_ascii_lowercase();
    let unit = UNITS.iter().find(|(unit, _)| *unit == last);
    let (digits, shift) = match unit {
        Some((_, shift)) => (&text[..text.len() - 1], *shift),
        None => (text, 0),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

fn durability(value: &str) -> Result<Durability> {
    let all = [Durability::Memory, Durability::Process, Durability::Disk];
    let named = all.into_iter().find(|one| one.to_string() == value);
    named.ok_or_else(|| refused("durability is none of memory, process, disk"))
}

fn when_full(value: &str) -> Result<WhenFull> {
    let all = [WhenFull::Evict, WhenFull::Refuse];
    let named = all.into_iter().find(|one| one.to_string() == value);
    named.ok_or_else(|| refused("when_full is neither evict nor refuse"))
}

fn truth(name: &str, value: &str) -> Result<bool> {
    let wrong = |_| refused(format!("{name} is neither true nor false"));
    value.parse().map_err(wrong)
}

/// Whether a setting means what this store does anyway. Its value may be a secret, and is not shown.
fn same(name: &str, value: &str) -> Result<()> {
    let Some((_, same, advice)) = MEANT.iter().find(|(known, _, _)| *known == name) else {
        let ours = "dbm, durability, capacity, when_full, cache, value_max, read_only";
        return Err(refused(format!(
            "`{name}` is no setting of a database; there are {ours}"
        )));
    };
    // Some of Tkrzw's are lists.
    let mut values = value.split(':').map(str::to_ascii_lowercase);
    match values.all(|value| same.contains(&&*value)) {
        true => Ok(()),
        false => Err(refused(format!(
            "the value of `{name}` cannot be had: {advice}"
        ))),
    }
}

/// Tkrzw's classes, with or without `DBM` after the name.
fn engine(value: &str) -> Result<Engine> {
    let name = value.to_ascii_lowercase();
    match name.strip_suffix("dbm").unwrap_or(&name) {
        "hash" | "tree" | "skip" | "poly" | "shard" => Ok(Engine::Disk),
        "tiny" | "baby" | "stdhash" | "stdtree" | "std" => Ok(Engine::Memory),
        "cache" => Ok(Engine::Cache),
        _ => Err(refused("dbm is no class of databases")),
    }
}

/// The path's ending from its last full stop on, in lower case.
fn ending(path: &Path) -> Option<String> {
    let name = path.extension()?.to_str()?;
    Some(format!(".{}", name.to_ascii_lowercase()))
}

fn refused(reason: impl Into<String>) -> Error {
    Error::Spec {
        reason: reason.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        match (text.parse::<Spec>(), expected) {
            (Ok(spec), Ok(expected)) => {
                assert_eq!(spec.to_string(), expected, "{text}");
                assert_eq!(expected.parse::<Spec>().unwrap(), spec, "{text}");
            }
            (Err(error), Err(expected)) => {
                assert!(error.to_string().contains(expected), "{text}: {error}");
            }
            (parsed, expected) => panic!("{text}: {parsed:?}, not {expected:?}"),
        }
    }

    #[test]
    fn the_path_chooses_the_engine() {
        check("", Ok("#durability=memory,when_full=refuse"));
        for ending in ["tkmt", "tkmb", "TKMH"] {
            let path = format!("a.{ending}");
            check(
                &path,
                Ok(&format!("{path}#durability=memory,when_full=refuse")),
            );
        }
        check("a.tkmc", Ok("a.tkmc#durability=memory,when_full=evict"));
        for path in ["casket.tkh", "casket.tkt", "a.tks", "folder/sub", "紡ぎ"] {
            check(path, Ok(&format!("{path}#durability=process")));
        }
    }

    #[test]
    fn name_that_says_memory_is_no_folder() {
        let expected = "#durability=memory,when_full=refuse";
        for place in ["memory:", "memory:pages", ":memory:x", "memory://x"] {
            check(place, Ok(&format!("{place}{expected}")));
        }
        check("memory:x#durability=disk", Err("this one is in memory"));
        check("memory:x#dbm=tree", Err("dbm is a class on disk"));
        check("./memory:x", Ok("./memory:x#durability=process"));
    }

    #[test]
    fn scheme_is_refused_and_no_folder() {
        for place in [
            "etcd://a,b",
            "http://x/y#cache=2m",
            "a+unix:/x",
            "tkrzw://h:1/0",
        ] {
            check(place, Err("is the scheme of no database of this process"));
        }
        for place in ["./etcd://a", "a:b", "1://x", "://", "é://x", "a b://x"] {
            check(place, Ok(&format!("{place}#durability=process")));
        }
    }

    #[test]
    fn settings_choose_before_the_path() {
        check("a.tkt#durability=disk", Ok("a.tkt#durability=disk"));
        check(
            "a.tkt#durability=memory",
            Ok("a.tkt#durability=memory,when_full=refuse"),
        );
        check("#dbm=cache", Ok("#durability=memory,when_full=evict"));
        check("x#dbm=BabyDBM", Ok("x#durability=memory,when_full=refuse"));
        check("x.tkmb#dbm=tree", Ok("x.tkmb#durability=process,dbm=tree"));
    }

    #[test]
    fn size_is_read_with_its_unit_or_refused_with_the_limit() {
        check(
            "a.tkmb#capacity=512m,when_full=evict,value_max=1000",
            Ok("a.tkmb#durability=memory,when_full=evict,capacity=512m,value_max=1000"),
        );
        check("a#cache=1G", Ok("a#durability=process,cache=1g"));
        check("a#cache=m", Err("not a number of bytes"));
        check("a#cache=", Err("not a number of bytes"));
        check("a#cache=-1m", Err("not a number of bytes"));
        check("a#cache=99999999999999t", Err("not a number of bytes"));
        check("a#cache=1k", Err("CACHE_BYTES_MIN"));
        check("#capacity=65535", Err("CAPACITY_BYTES_MIN"));
        check("a#value_max=1025m", Err("VALUE_BYTES_MAX"));
    }

    #[test]
    fn setting_that_only_tunes_is_listed_for_a_warning() {
        for name in TUNING {
            let spec: Spec = format!("casket.tkh#{name}=2m").parse().unwrap();
            assert_eq!(spec.ignored.len(), 1, "{name}");
            assert_eq!(
                (&*spec.ignored[0].name, &*spec.ignored[0].value),
                (name, "2m")
            );
        }
        // Shown without the values, so the text is not that of the same specification.
        let spec: Spec = "casket.tkh#num_buckets=2m, align_pow=4".parse().unwrap();
        assert_eq!(
            spec.to_string(),
            "casket.tkh#durability=process,num_buckets=…,align_pow=…"
        );
    }

    #[test]
    fn setting_that_has_a_meaning_is_done_or_refused_and_never_shown() {
        for (name, same, advice) in MEANT {
            for value in same {
                check(&format!("a#{name}={value}"), Ok("a#durability=process"));
            }
            let error = format!("a#{name}=s3cret").parse::<Spec>().unwrap_err();
            let text = error.to_string();
            assert!(text.contains(name) && text.contains(advice), "{text}");
            assert!(!text.contains("s3cret"), "{text}");
        }
        check("a#record_comp_mode=aes,cipher_key=s3cret", Err("encrypted"));
        check("a#colour=red", Err("`colour` is no setting"));
        check("a#READ_ONLY=true", Err("no setting"));
        check(
            "a#read_only=true",
            Ok("a#durability=process,read_only=true"),
        );
        check("a#read_only=yes", Err("neither true nor false"));
    }

    #[test]
    fn contradicting_settings_are_refused() {
        check("#durability=disk", Err("needs a database on disk"));
        check("a.tkmb#durability=process", Err("needs a database on disk"));
        check("#dbm=tree", Err("needs a path"));
        check("a#dbm=quantum", Err("no class"));
        check("a#durability=eternal", Err("none of"));
        check("a#when_full=maybe", Err("neither"));
        check("a#oops", Err("name=value"));
        check("a\0b", Err("zero byte"));
        check(&"a".repeat(SPEC_BYTES_MAX + 1), Err("SPEC_BYTES_MAX"));
    }

    #[test]
    fn separator_within_a_value_is_refused_and_nothing_of_it_is_shown() {
        for text in [
            "c#record_comp_mode=aes,cipher_key=s3cret#",
            "c#record_comp_mode=aes,cipher_key=s3cret#more",
            "db#cipher_key=s3cret#cd,x",
            "db#x#cipher_key = s3cret#cache=2m",
            "db#capacity=s3cret",
            "db#durability=s3cret",
            "db#when_full=s3cret",
            "db#dbm=s3cret",
            "db#read_only=s3cret",
            "memory:db#cipher_key=s3cret#",
            "memory:db#dbm=s3cret",
        ] {
            for parsed in [text.parse::<Spec>(), Spec::of_place(text)] {
                let error = parsed.expect_err(text).to_string();
                assert!(!error.contains("s3c"), "{text}: {error}");
            }
        }
        let error = Spec::of_place("memory:db#num_buckets=s3cret,durability=disk").unwrap_err();
        assert!(!error.to_string().contains("s3c"), "{error}");
        check("a=b#cache=2m", Ok("a=b#durability=process,cache=2m"));
    }

    #[test]
    fn setting_of_files_that_says_more_than_how_fast_is_done_or_refused() {
        check(
            "a#access_options=direct:padding",
            Ok("a#durability=process"),
        );
        check("a#access_options=sync", Err("durability=disk"));
        check("a#access_options=direct:sync", Err("durability=disk"));
        check("a#restore_mode=default", Ok("a#durability=process"));
        check("a#restore_mode=read_only", Err("restore_mode"));
        check("a#file=MemoryMapParallelFile", Ok("a#durability=process"));
        check("a#file=zzz", Err("file"));
    }

    #[test]
    fn a_path_may_contain_the_separator() {
        check("a#b#", Ok("a#b#durability=process"));
        check("a#1#cache=2m", Ok("a#1#durability=process,cache=2m"));
    }
}
