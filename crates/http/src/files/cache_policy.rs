//! How long clients may keep files without asking again. Knows no file.

use http::HeaderValue;

/// What `cache-control` says of the files of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CachePolicy {
    /// Clients keep files and ask each time whether they have changed.
    #[default]
    Revalidate,
    /// Clients may keep files for so many seconds without asking.
    Seconds(u64),
    /// These words.
    Header(HeaderValue),
}

impl CachePolicy {
    /// The header's value.
    pub(super) fn header(&self) -> HeaderValue {
        match self {
            CachePolicy::Revalidate => HeaderValue::from_static("no-cache"),
            CachePolicy::Seconds(seconds) => {
                let text = format!("public, max-age={seconds}");
                HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("no-cache"))
            }
            CachePolicy::Header(value) => value.clone(),
        }
    }
}
