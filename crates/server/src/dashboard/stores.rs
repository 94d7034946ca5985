//! The key-value stores and their records, for the dashboard. Opens none and changes none.
//! Rule: what may be a secret is not shown: records of sessions, and those whose key or value names a password, a token or the like.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::time::timeout;
use tsumugi_kv::{KeyRange, KvSnapshot, Lifetime};
use tsumugi_stores::{Capability, Store};

use super::Dashboard;
use super::api::{ApiFuture, ApiQuery, list};
use super::parts::{RECORDS, STORES, text};
use super::question::{AdminQuestion, QuestionAnswer as Answer, QuestionError};
use crate::limits::{
    DASHBOARD_CURSORS_MAX, DASHBOARD_ENGINE_MS_MAX, DASHBOARD_KEY_BYTES_MAX, DASHBOARD_RECORDS_MAX,
    DASHBOARD_STORES_MAX, DASHBOARD_VALUE_BYTES_MAX,
};
use crate::unix_time::unix_ms;

/// `GET stores`.
pub(super) fn view(dashboard: &Dashboard, _: ApiQuery) -> ApiFuture<'_> {
    Box::pin(async move {
        let question = AdminQuestion::Named {
            name: STORES,
            parameters: Value::Null,
        };
        if let Ok(answer) = dashboard.ask_any(question).await {
            return Ok(answer);
        }
        // No worker answers: what they have left is of stores of this process.
        let columns = dashboard.registry.columns().clone();
        let seen = crate::stores::rows(columns.iter().map(|column| &column.stores));
        let rows = seen
            .iter()
            .map(|seen| local(&seen.place, "process", &seen.figures));
        Ok(list("stores", rows.collect(), DASHBOARD_STORES_MAX))
    })
}

/// `GET records`.
pub(super) fn view_records(dashboard: &Dashboard, query: ApiQuery) -> ApiFuture<'_> {
    Box::pin(async move {
        let value = |name| query.value(name).unwrap_or_default();
        let question = AdminQuestion::Named {
            name: RECORDS,
            parameters: json!({
                "store": value("store"),
                "prefix": value("prefix"),
                "after": value("after"),
            }),
        };
        dashboard.ask_any(question).await
    })
}

/// The stores that an application has.
pub(super) async fn shown(stores: Vec<Store>) -> Value {
    let mut rows: Vec<Value> = Vec::new();
    let mut places: Vec<std::sync::Arc<str>> = Vec::new();
    for store in stores {
        let place = store.place();
        if places.contains(&place) {
            continue;
        }
        rows.push(match store.database() {
            Some(database) => {
                let kind = match database.spec().is_in_memory() {
                    true => "memory",
                    false => "disk",
                };
                local(&place, kind, &database.metrics())
            }
            None => remote(&store).await,
        });
        places.push(place);
        if places.len() > DASHBOARD_STORES_MAX {
            break;
        }
    }
    list("stores", rows, DASHBOARD_STORES_MAX)
}

fn local(place: &str, kind: &str, figures: &KvSnapshot) -> Value {
    let hit_rate = (figures.reads > 0).then(|| figures.hits as f64 / figures.reads as f64);
    json!({
        "store": place,
        "kind": kind,
        "records": figures.records,
        "bytes": figures.bytes,
        "capacity": figures.capacity,
        "reads": figures.reads,
        "hits": figures.hits,
        "misses": figures.reads.saturating_sub(figures.hits),
        "hit_rate": hit_rate,
        "writes": figures.writes,
        "expired": figures.expired,
        "evicted": figures.evicted,
        "queued": figures.queued,
        "engine": null,
    })
}

/// A store of other servers, which say of themselves what costs them little.
async fn remote(store: &Store) -> Value {
    let limit = Duration::from_millis(DASHBOARD_ENGINE_MS_MAX);
    let told = match timeout(limit, store.inspect()).await {
        Ok(Ok(told)) => told,
        Ok(Err(_)) | Err(_) => Vec::new(),
    };
    let number = |names: &[&str]| {
        let mut entries = told.iter();
        let entry = entries.find(|(name, _)| names.contains(&&**name));
        entry.and_then(|(_, value)| value.trim().parse::<u64>().ok())
    };
    let engine: serde_json::Map<String, Value> = told
        .iter()
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    // `a store in etcd`.
    let kind = store.capabilities().engine;
    let kind = kind.rsplit(' ').next().unwrap_or(kind);
    json!({
        "store": &*store.place(),
        "kind": kind,
        "records": number(&["records", "num_records"]),
        "bytes": number(&["bytes", "database_bytes", "used_memory", "file_size"]),
        "capacity": null,
        "reads": null,
        "hits": null,
        "misses": null,
        "hit_rate": null,
        "writes": null,
        "expired": null,
        "evicted": null,
        "queued": null,
        "engine": (!engine.is_empty()).then_some(engine),
    })
}

/// A page of records.
pub(super) async fn records(stores: Vec<Store>, parameters: &Value) -> Answer {
    let place = text(parameters, "store");
    let store = stores.into_iter().find(|store| *store.place() == *place)?;
    let (prefix, after) = (text(parameters, "prefix"), text(parameters, "after"));
    let found = page(&store, prefix, after).await;
    Some(found.map_err(QuestionError::Refused))
}

async fn page(store: &Store, prefix: &str, after: &str) -> Result<Value, String> {
    let mut range = match prefix {
        "" => KeyRange::all(),
        prefix => KeyRange::prefix(Bytes::copy_from_slice(prefix.as_bytes())),
    };
    if !after.is_empty() {
        range = range.after(
            cursor_key(after).ok_or("the page after this one is not known any more: begin anew")?,
        );
    }
    let found = store.page(&range, DASHBOARD_RECORDS_MAX).await;
    let found = found.map_err(|error| error.to_string())?;
    let mut records = Vec::with_capacity(found.len());
    for (key, value) in &found {
        records.push(record(store, key, value).await);
    }
    // A page may have fewer where records are large: there are no more only behind an empty one.
    let after = found
        .last()
        .map(|(key, value)| cursor(key, is_hidden(key, value)));
    Ok(json!({ "records": records, "after": after }))
}

async fn record(store: &Store, key: &Bytes, value: &Bytes) -> Value {
    // Other servers would have to be asked once for each.
    let is_local = store.database().is_some();
    let expires_at = match is_local && store.capabilities().check(Capability::TimeToLive).is_ok() {
        true => match store.lifetime(key.clone()).await {
            Ok(Some(Lifetime::Left(left))) => Some(unix_ms(SystemTime::now() + left)),
            Ok(_) | Err(_) => None,
        },
        false => None,
    };
    let hidden = is_hidden(key, value);
    let (preview, binary) = match hidden {
        true => (None, false),
        false => {
            let (preview, binary) = preview(value, DASHBOARD_VALUE_BYTES_MAX);
            (Some(preview), binary)
        }
    };
    json!({
        "key": (!hidden).then(|| hex(key)),
        "key_text": match hidden {
            true => hidden_key(key),
            false => preview_of_key(key),
        },
        "size": value.len(),
        "preview": preview,
        "binary": binary,
        "expires_at": expires_at,
        "hidden": hidden,
    })
}

/// Words that name what nobody should read on a screen.
const SECRETS: &[&str] = &[
    "password",
    "passwd",
    "secret",
    "token",
    "session",
    "credential",
    "apikey",
    "api_key",
    "api-key",
    "private",
    "cookie",
    "csrf",
    "bearer",
    "authoriz",
    "\"auth\"",
    "otp",
    "refresh",
    "passphrase",
    "pwd",
    "jwt",
    // Hashes of passwords, keys and tokens say by their beginnings what they are.
    "eyj",
    "$argon2",
    "$2a$",
    "$2b$",
    "$2y$",
    "-----begin",
];

/// Whether a record is of a session, or its key or the beginning of its value names something secret.
fn is_hidden(key: &[u8], value: &[u8]) -> bool {
    let names_secret = |bytes: &[u8]| {
        let lower = String::from_utf8_lossy(bytes).to_lowercase();
        SECRETS.iter().any(|word| lower.contains(word))
    };
    let beginning = value.get(..DASHBOARD_VALUE_BYTES_MAX).unwrap_or(value);
    names_secret(key) || names_secret(beginning)
}

/// The part of a key that says what it is about: a key may be a secret by itself.
fn hidden_key(key: &[u8]) -> String {
    let end = key
        .iter()
        .position(|byte| matches!(byte, b':' | b'/' | b'.' | b'|'));
    let shown = end.and_then(|end| std::str::from_utf8(key.get(..=end)?).ok());
    let shown = shown.filter(|shown| shown.len() <= 32);
    format!("{}…", shown.unwrap_or_default())
}

fn preview_of_key(key: &[u8]) -> String {
    preview(key, DASHBOARD_KEY_BYTES_MAX).0
}

/// The beginning as text, or else in hex; and whether it is no text.
fn preview(bytes: &[u8], max: usize) -> (String, bool) {
    let is_cut = bytes.len() > max;
    let beginning = bytes.get(..max).unwrap_or(bytes);
    let text = match std::str::from_utf8(beginning) {
        Ok(text) => Some(text),
        // A character that was cut is no reason to take it for binary.
        Err(error) if is_cut && error.error_len().is_none() => {
            std::str::from_utf8(beginning.get(..error.valid_up_to()).unwrap_or_default()).ok()
        }
        Err(_) => None,
    };
    let is_shown = |c: char| !c.is_control() || matches!(c, '\n' | '\t' | '\r');
    let text = text.filter(|text| text.chars().all(is_shown));
    let (shown, binary) = match text {
        Some(text) => (text.to_owned(), false),
        None => (hex(beginning), true),
    };
    match is_cut {
        true => (format!("{shown}…"), binary),
        false => (shown, binary),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Bytes> {
    let digits = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair)
            .ok()
            .filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    };
    digits.map(byte).collect()
}

/// Keys behind which a page goes on and which are not to be shown, by a number that is given for them.
static CURSORS: Mutex<(u64, VecDeque<(u64, Bytes)>)> = Mutex::new((0, VecDeque::new()));

/// What the next page is asked for with.
fn cursor(key: &Bytes, is_hidden: bool) -> String {
    if !is_hidden {
        return hex(key);
    }
    let mut cursors = CURSORS.lock().unwrap_or_else(PoisonError::into_inner);
    let (last, keys) = &mut *cursors;
    *last += 1;
    keys.push_back((*last, key.clone()));
    if keys.len() > DASHBOARD_CURSORS_MAX {
        keys.pop_front();
    }
    format!("#{last}")
}

fn cursor_key(cursor: &str) -> Option<Bytes> {
    let Some(number) = cursor.strip_prefix('#') else {
        return unhex(cursor);
    };
    let number: u64 = number.parse().ok()?;
    let cursors = CURSORS.lock().unwrap_or_else(PoisonError::into_inner);
    let found = cursors.1.iter().find(|(known, _)| *known == number);
    found.map(|(_, key)| key.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_of_one_byte_more_than_the_limit_is_cut_at_a_character() {
        let fits = "x".repeat(DASHBOARD_VALUE_BYTES_MAX);
        let of = |value: &str| preview(value.as_bytes(), DASHBOARD_VALUE_BYTES_MAX);
        assert_eq!(of(&fits), (fits.clone(), false));
        assert_eq!(of(&format!("{fits}x")), (format!("{fits}…"), false));
        let mut wide = "x".repeat(DASHBOARD_VALUE_BYTES_MAX - 1);
        let shown = format!("{wide}…");
        wide.push('紡');
        assert_eq!(of(&wide), (shown, false));
        assert_eq!(preview(&[0xff, 0], 9), ("ff00".to_owned(), true));
        assert_eq!(preview(b"a\0b", 2), ("6100…".to_owned(), true));
    }

    #[test]
    fn records_of_sessions_and_of_secret_names_are_hidden() {
        for (key, value, hidden) in [
            ("user:1", "{\"name\":\"a\"}", false),
            ("session:abc", "{}", true),
            ("reset-Token/abc", "1", true),
            ("user:1", "{\"Password\":\"x\"}", true),
        ] {
            assert_eq!(is_hidden(key.as_bytes(), value.as_bytes()), hidden, "{key}");
        }
        assert_eq!(hidden_key(b"session:abc"), "session:…");
        assert_eq!(hidden_key(b"abc-token"), "…");
        assert_eq!(hidden_key(&[b'a'; 100]), "…");
    }

    #[test]
    fn cursor_of_a_hidden_key_does_not_show_it_and_is_forgotten_beyond_the_limit() {
        let key = |number: usize| Bytes::from(format!("token:{number}"));
        assert_eq!(cursor(&Bytes::from("ab"), false), "6162");
        assert_eq!(cursor_key("6162"), Some(Bytes::from("ab")));
        let first = cursor(&key(0), true);
        assert_eq!(cursor_key(&first), Some(key(0)));
        for number in 1..=DASHBOARD_CURSORS_MAX {
            let one = cursor(&key(number), true);
            assert_eq!(cursor_key(&one), Some(key(number)));
        }
        assert_eq!(cursor_key(&first), None);
        for wrong in ["#", "#x", "6", "zz", "日本"] {
            assert_eq!(cursor_key(wrong), None, "{wrong}");
        }
    }
}
