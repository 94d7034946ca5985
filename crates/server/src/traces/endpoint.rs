//! Whether the environment names a collector of traces, and by which variable. Does not read the address.

/// The address of what takes traces, as it is.
pub(super) const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
/// The address of what takes traces and more, each below a path of its own.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// Looks up a variable of the environment.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The text of a variable; one that is empty is as one that is not set.
pub(super) fn value(lookup: Lookup<'_>, name: &str) -> Option<String> {
    lookup(name).filter(|value| !value.trim().is_empty())
}

/// The variable that names a collector, and its text; none where sending is turned off.
pub(super) fn endpoint(lookup: Lookup<'_>) -> Option<(&'static str, String)> {
    let value = |name: &str| value(lookup, name);
    let is = |name: &str, wanted: &str| {
        value(name).is_some_and(|value| value.eq_ignore_ascii_case(wanted))
    };
    if is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
        return None;
    }
    let mut names = [TRACES_ENDPOINT, ENDPOINT].into_iter();
    names.find_map(|name| Some((name, value(name)?)))
}
