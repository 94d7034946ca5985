//! How a value that was computed by `fetch` is kept: its ending says whether it is JSON or text, so that a reader guesses nothing,
//! in whichever language it was computed. Knows no JSON and no record.

/// Ends a value that is JSON. It is white space there, so that a reader of the value reads JSON.
const JSON: &[u8] = b"\n\t\n";
/// Ends a text that would end with one of these two by itself, or could be taken for a string of JSON.
const TEXT: &[u8] = b"\n\t\t";

/// What was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComputedValue<'v> {
    /// Said to be JSON.
    Json(&'v [u8]),
    /// Said to be text.
    Text(&'v [u8]),
    /// Text, or what was stored in another way than by `fetch`.
    Unmarked(&'v [u8]),
}

impl<'v> ComputedValue<'v> {
    /// Reads what is in the store.
    #[must_use]
    pub fn of(stored: &'v [u8]) -> ComputedValue<'v> {
        if let Some(json) = stored.strip_suffix(JSON) {
            return ComputedValue::Json(json);
        }
        match stored.strip_suffix(TEXT) {
            Some(text) => ComputedValue::Text(text),
            None => ComputedValue::Unmarked(stored),
        }
    }
}

/// Makes JSON what is to be stored.
pub fn mark_json(json: &mut Vec<u8>) {
    json.extend_from_slice(JSON);
}

/// Makes text what is to be stored.
pub fn mark_text(text: &mut Vec<u8>) {
    if text.ends_with(JSON) || text.ends_with(TEXT) || text.starts_with(b"\"") {
        text.extend_from_slice(TEXT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_as_it_was_whatever_it_ends_with() {
        for text in [&b"a"[..], b"", b"a\n\t\n", b"a\n\t\t", b"\n\t\t\n\t\n"] {
            let mut stored = text.to_vec();
            mark_text(&mut stored);
            match ComputedValue::of(&stored) {
                ComputedValue::Text(read) | ComputedValue::Unmarked(read) => assert_eq!(read, text),
                ComputedValue::Json(_) => panic!("{text:?}"),
            }
        }
        let mut stored = b"[1]".to_vec();
        mark_json(&mut stored);
        assert_eq!(ComputedValue::of(&stored), ComputedValue::Json(b"[1]"));
    }
}
