//! Media types by the extension of a file's name, and which of them are worth compressing. A small table: what browsers are sent.
//! A name that is not in it is `application/octet-stream`, which browsers save instead of guessing.

/// Sorted by extension.
const TYPES: &[(&str, &str)] = &[
    ("aac", "audio/aac"),
    ("atom", "application/atom+xml"),
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("css", "text/css; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("gif", "image/gif"),
    ("htm", "text/html; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("ico", "image/x-icon"),
    ("ics", "text/calendar; charset=utf-8"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("m4a", "audio/mp4"),
    ("map", "application/json"),
    ("md", "text/markdown; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("oga", "audio/ogg"),
    ("ogg", "audio/ogg"),
    ("ogv", "video/ogg"),
    ("opus", "audio/ogg"),
    ("otf", "font/otf"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("rss", "application/rss+xml"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("ttf", "font/ttf"),
    ("txt", "text/plain; charset=utf-8"),
    ("wasm", "application/wasm"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
    ("webmanifest", "application/manifest+json"),
    ("webp", "image/webp"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("xml", "application/xml"),
    ("zip", "application/zip"),
];

/// The type of a file with this name.
pub(crate) fn media_type(name: &str) -> &'static str {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let known = TYPES
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(extension));
    known.map_or("application/octet-stream", |(_, media_type)| media_type)
}

/// Whether bytes of this type usually shrink. Event streams are left out: each would keep an encoder's memory for hours.
pub(crate) fn shrinks(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    match essence.split_once('/') {
        Some(("text", subtype)) => subtype != "event-stream",
        Some(("application", subtype)) => {
            matches!(
                subtype,
                "json" | "javascript" | "xml" | "x-ndjson" | "wasm" | "graphql" | "x-tar"
            ) || subtype.ends_with("+json")
                || subtype.ends_with("+xml")
        }
        Some(("image", subtype)) => matches!(subtype, "svg+xml" | "bmp" | "x-icon"),
        Some(("font", subtype)) => matches!(subtype, "ttf" | "otf"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The type of `name`, and whether it shrinks.
    fn check(name: &str, expected: (&str, bool)) {
        let media_type = media_type(name);
        assert_eq!((media_type, shrinks(media_type)), expected, "{name}");
    }

    #[test]
    fn types_are_known_by_extension_in_any_case() {
        check("a.html", ("text/html; charset=utf-8", true));
        check("A.PNG", ("image/png", false));
        check("x.tar.json", ("application/json", true));
        check("logo.svg", ("image/svg+xml", true));
        check("unknown", ("application/octet-stream", false));
        check("no.such", ("application/octet-stream", false));
    }

    #[test]
    fn event_streams_stay_as_they_are() {
        assert!(!shrinks("text/event-stream"));
        assert!(shrinks("Application/Problem+JSON; charset=utf-8"));
    }
}
