//! Events of the log as JSON, one object on a line, for what reads logs by program; `docs/log.schema.json` describes them. Not the access log.
//! Rule: a line is whole JSON however long a text of it was; what did not fit is cut or counted, and names of the request stand apart from fields.

use std::fmt::{self, Debug, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;
use tsumugi_http::access_log::write_time;
use tsumugi_worker::LogFormat;

use crate::event_length::cut_middle;
use crate::limits::LOG_EVENT_BYTES_MAX;

/// Writes each event as a JSON object.
pub(crate) struct JsonEvents;

impl<S, N> FormatEvent<S, N> for JsonEvents
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut content = EventContent::default();
        event.record(&mut content);
        let metadata = event.metadata();
        let mut object = Map::new();
        object.insert("time".into(), now().into());
        object.insert("level".into(), metadata.level().as_str().into());
        object.insert("target".into(), metadata.target().into());
        let ids = tsumugi_trace::log_ids();
        if let Some(ids) = ids {
            object.insert("request_id".into(), ids.request_id.to_string().into());
            object.insert("trace_id".into(), ids.trace_id.to_string().into());
        }
        content.write_to(&mut object);
        writeln!(writer, "{}", Value::Object(object))
    }
}

/// As the access log writes it.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut text = Vec::with_capacity(24);
    write_time(&mut text, since.unwrap_or_default());
    String::from_utf8_lossy(&text).into_owned()
}

/// What an event says: its message, and its fields in order.
#[derive(Default)]
struct EventContent {
    message: String,
    fields: Map<String, Value>,
}

impl EventContent {
    fn add(&mut self, name: &str, value: Value) {
        self.fields.insert(name.to_owned(), value);
    }

    /// Fields whose names were not known when the program was compiled.
    fn add_object(&mut self, text: &str) {
        match serde_json::from_str(text) {
            Ok(Value::Object(fields)) => self.fields.extend(fields),
            _ => self.add(LogFormat::FIELDS, text.into()),
        }
    }

    /// The message may have half of what an event may have, the fields the other half; each as long as it is written.
    fn write_to(self, object: &mut Map<String, Value>) {
        object.insert("message".into(), cut_to_half(self.message).into());
        let mut room = LOG_EVENT_BYTES_MAX / 2;
        let mut fields = Map::new();
        let mut left_out = 0_usize;
        for (name, value) in self.fields {
            let bytes = written_bytes(&name) + written_bytes(&value);
            match room.checked_sub(bytes) {
                Some(rest) => {
                    room = rest;
                    fields.insert(name, value);
                }
                None => left_out += 1,
            }
        }
        if !fields.is_empty() {
            object.insert("fields".into(), fields.into());
        }
        if left_out > 0 {
            object.insert("fields_left_out".into(), left_out.into());
        }
    }
}

impl Visit for EventContent {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            // Writing into a String cannot fail; a value's own failure leaves what it wrote.
            let _ = write!(self.message, "{value:?}");
            return;
        }
        match field.name() {
            LogFormat::FIELDS => self.add_object(&format!("{value:?}")),
            name => self.add(name, format!("{value:?}").into()),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message.push_str(value),
            LogFormat::FIELDS => self.add_object(value),
            name => self.add(name, value.into()),
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field.name(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field.name(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        // NaN and the infinities become null, as in JSON that is answered.
        self.add(field.name(), json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field.name(), value.into());
    }
}

/// How many bytes a value takes in a line.
fn written_bytes(value: &(impl serde::Serialize + ?Sized)) -> usize {
    serde_json::to_string(value).map_or(usize::MAX, |text| text.len())
}

/// A text that takes at most half of what an event may have, with its middle left out when it is longer.
fn cut_to_half(text: String) -> String {
    let most = LOG_EVENT_BYTES_MAX / 2;
    let written = written_bytes(&text);
    if written <= most {
        return text;
    }
    // A character may take six bytes where it is escaped: as much is kept as fits at the rate of this text.
    let keep = text.len().saturating_mul(most) / written;
    let kept = cut_middle(text.as_bytes(), keep.saturating_sub(128));
    let kept = String::from_utf8_lossy(&kept).into_owned();
    match written_bytes(&kept) <= most {
        true => kept,
        // What was kept is escaped more often than the rest: at the worst every byte is.
        false => String::from_utf8_lossy(&cut_middle(text.as_bytes(), most / 6 - 128)).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The one line that `log` writes.
    fn logged(log: impl FnOnce()) -> Value {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .event_format(JsonEvents)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, log);
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert!(
            text.len() <= LOG_EVENT_BYTES_MAX + 1_024,
            "{} bytes",
            text.len()
        );
        assert_eq!(text.matches('\n').count(), 1);
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn event_is_an_object_with_its_fields_as_they_are() {
        let line = logged(|| {
            tracing::warn!(target: "app", n = 7, ratio = 0.5, odd = f64::NAN, ok = true, text = "a\nb", "two\n\"lines\"");
        });
        assert_eq!(line["level"], "WARN");
        assert_eq!(line["target"], "app");
        assert_eq!(line["message"], "two\n\"lines\"");
        let fields = json!({"n": 7, "ratio": 0.5, "odd": null, "ok": true, "text": "a\nb"});
        assert_eq!(line["fields"], fields);
        assert!(line.get("request_id").is_none());
    }

    #[test]
    fn fields_of_unknown_names_are_taken_from_an_object_and_other_text_stays_text() {
        let line = logged(|| tracing::info!(fields.json = r#"{"id":7,"names":["a"]}"#, "asked"));
        assert_eq!(line["fields"], json!({"id": 7, "names": ["a"]}));
        let line = logged(|| tracing::info!(fields.json = "[", "asked"));
        assert_eq!(line["fields"], json!({"fields.json": "["}));
    }

    #[test]
    fn event_beyond_its_limit_is_whole_json_and_says_what_is_left_out() {
        for (letter, tail) in [("x", ""), ("\u{1}", ""), ("日", ""), ("x", "\u{1}")] {
            let text = letter.repeat(LOG_EVENT_BYTES_MAX) + &tail.repeat(LOG_EVENT_BYTES_MAX);
            let line = logged(|| tracing::info!(text, n = 1, "{text}"));
            assert_eq!(line["fields"], json!({"n": 1}));
            assert_eq!(line["fields_left_out"], 1);
            let message = line["message"].as_str().unwrap();
            assert!(message.contains(" bytes left out "), "{message}");
        }
        let fits = "x".repeat(LOG_EVENT_BYTES_MAX / 2 - 2);
        assert_eq!(logged(|| tracing::info!("{fits}"))["message"], *fits);
        let longer = fits + "x";
        assert_ne!(logged(|| tracing::info!("{longer}"))["message"], *longer);
    }
}
