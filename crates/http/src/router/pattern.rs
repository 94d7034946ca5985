//! Reads the pattern of a route, such as `/users/:id/files/*path`, into segments. Pure.
//! Literal segments are compared decoded, so they may be written either way; `%3A` and `%2A` write a literal colon or star.

use crate::{
    error::{Error, Result},
    limits::SEGMENTS_MAX,
    percent::{Plus, decode},
    router::CaptureKind,
};

/// One place between slashes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Segment {
    Literal(Box<str>),
    Capture(CaptureKind),
}

/// A pattern that has been read: its segments, and the names of its captures in order.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) segments: Vec<Segment>,
    pub(super) names: Box<[Box<str>]>,
}

pub(super) fn parse(pattern: &str, types: &[(&str, CaptureKind)]) -> Result<Pattern> {
    let invalid = |reason: String| Error::Pattern {
        pattern: pattern.to_owned(),
        reason,
    };
    let path = pattern
        .strip_prefix('/')
        .ok_or_else(|| invalid("does not begin with a slash".to_owned()))?;
    let mut segments = Vec::new();
    let mut names: Vec<Box<str>> = Vec::new();
    for text in path.split('/') {
        if matches!(segments.last(), Some(Segment::Capture(CaptureKind::Path))) {
            return Err(invalid("goes on after the rest of the path".to_owned()));
        }
        if segments.len() >= SEGMENTS_MAX {
            return Err(invalid(format!("has more than {SEGMENTS_MAX} segments")));
        }
        let (name, marked) = match (text.strip_prefix(':'), text.strip_prefix('*')) {
            (Some(name), _) => (name, None),
            (_, Some(name)) => (name, Some(CaptureKind::Path)),
            (None, None) => {
                let literal = decode(text, Plus::Plus)
                    .map_err(|error| invalid(format!("holds a {error}")))?;
                segments.push(Segment::Literal(literal.into()));
                continue;
            }
        };
        if !is_name(name) {
            return Err(invalid(format!(
                "has a capture named {name:?}; a name is letters, digits and underscores and takes the whole segment"
            )));
        }
        if names.iter().any(|known| **known == *name) {
            return Err(invalid(format!("has two captures named {name}")));
        }
        let given = types
            .iter()
            .find(|(typed, _)| *typed == name)
            .map(|(_, capture)| *capture);
        segments.push(Segment::Capture(match (marked, given) {
            (None, Some(CaptureKind::Path)) => {
                return Err(invalid(format!(
                    "must write *{name} to capture the rest of the path"
                )));
            }
            (Some(_), Some(CaptureKind::Path)) | (Some(_), None) => CaptureKind::Path,
            (Some(_), Some(_)) => {
                return Err(invalid(format!(
                    "gives *{name} another type than the rest of the path"
                )));
            }
            (None, given) => given.unwrap_or(CaptureKind::String),
        }));
        names.push(name.into());
    }
    match types
        .iter()
        .find(|(typed, _)| !names.iter().any(|name| **name == **typed))
    {
        Some((typed, _)) => Err(invalid(format!(
            "has no capture named {typed}, which is given a type"
        ))),
        None => Ok(Pattern {
            segments,
            names: names.into(),
        }),
    }
}

fn is_name(text: &str) -> bool {
    !text.starts_with(|first: char| first.is_ascii_digit())
        && !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(pattern: &str, types: &[(&str, CaptureKind)]) -> String {
        parse(pattern, types).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn segments_and_names_are_read_in_order() {
        let pattern = parse("/a/:id/:name/*rest", &[("id", CaptureKind::Integer)]).unwrap();
        let literal = |text: &str| Segment::Literal(text.into());
        let expected = [
            literal("a"),
            Segment::Capture(CaptureKind::Integer),
            Segment::Capture(CaptureKind::String),
            Segment::Capture(CaptureKind::Path),
        ];
        assert_eq!(pattern.segments, expected);
        assert_eq!(*pattern.names, ["id".into(), "name".into(), "rest".into()]);
    }

    #[test]
    fn mistakes_are_named() {
        assert!(reason("users", &[]).contains("begin with a slash"));
        assert!(reason("/:id.json", &[]).contains("id.json"));
        assert!(reason("/:", &[]).contains("capture named"));
        assert!(reason("/:1", &[]).contains("capture named"));
        assert!(reason("/:a/:a", &[]).contains("two captures"));
        assert!(reason("/*rest/x", &[]).contains("goes on"));
        assert!(reason("/:rest", &[("rest", CaptureKind::Path)]).contains("*rest"));
        assert!(reason("/*rest", &[("rest", CaptureKind::Integer)]).contains("another type"));
        assert!(reason("/:id", &[("di", CaptureKind::Integer)]).contains("no capture named di"));
        assert!(reason("/%zz", &[]).contains("percent escape"));
    }

    #[test]
    fn one_segment_more_than_the_limit_is_an_error() {
        assert!(parse(&"/a".repeat(SEGMENTS_MAX), &[]).is_ok());
        assert!(reason(&"/a".repeat(SEGMENTS_MAX + 1), &[]).contains("64 segments"));
    }
}
