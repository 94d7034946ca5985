//! Keys as they are kept: of jobs that are unique, of effects that happen once, of the times of schedules. Reads and writes none.
//! Rule: two keys that differ are kept as texts that differ for each database.

use tsumugi_db::Family;

use crate::kind::JobPush;

/// Behind a key that ends with a space, or with this, on Firebird, which takes texts for equal that differ by spaces at their ends.
const KEY_END: char = '\u{1}';

/// The key of a unique job in its row, which is that of its kind. Where the kind has a colon, its length says where it ends: no other key begins with a colon.
pub(crate) fn row_key(family: Family, push: &JobPush) -> Option<String> {
    let (kind, key) = (&push.kind.name, push.unique.as_ref()?);
    let key = match kind.contains(':') {
        true => format!(":{}:{kind}:{key}", kind.len()),
        false => format!("{kind}:{key}"),
    };
    Some(distinct(family, key))
}

/// The key of a job's own effects.
pub(crate) fn own_key(id: i64) -> String {
    format!("job {id}")
}

/// An effect with a key of the caller's.
pub(crate) fn named_key(family: Family, key: &str) -> String {
    distinct(family, format!("key {key}"))
}

/// How the keys of a schedule's times begin and end: in the order of their texts, since all have 13 digits.
pub(crate) fn schedule_key(name: &str, at_ms: i64) -> String {
    format!("key {name} {at_ms:013}")
}

/// The time in such a key; nothing where it is another schedule's.
pub(crate) fn schedule_time(key: &str, name: &str) -> Option<i64> {
    let key = key.strip_prefix("key ")?;
    let time = key.strip_prefix(name)?.strip_prefix(' ')?;
    let is_time = time.len() == 13 && time.bytes().all(|byte| byte.is_ascii_digit());
    time.parse().ok().filter(|_| is_time)
}

fn distinct(family: Family, mut key: String) -> String {
    if family == Family::Firebird && key.ends_with([' ', KEY_END]) {
        key.push(KEY_END);
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_differ_by_spaces_at_their_ends_differ_without_these() {
        let keys = ["k", "k ", "k  ", "k \u{1}", "k\u{1}", "k \u{1}\u{1}"];
        let kept = keys.map(|key| named_key(Family::Firebird, key));
        let mut bare: Vec<_> = kept.iter().map(|key| key.trim_end_matches(' ')).collect();
        bare.sort_unstable();
        bare.dedup();
        assert_eq!(bare.len(), keys.len());
        assert_eq!(named_key(Family::Postgres, "k "), "key k ");
    }

    #[test]
    fn time_is_read_of_keys_of_its_schedule_alone() {
        let key = schedule_key("every a b", 1_790_000_000_000);
        assert_eq!(key, "key every a b 1790000000000");
        assert_eq!(schedule_time(&key, "every a b"), Some(1_790_000_000_000));
        assert_eq!(schedule_time(&key, "every a"), None);
        assert_eq!(schedule_time("key every a 17", "every a"), None);
    }
}
