//! What developers are told of a request without a route: the routes that its path has, or those that look like it. Only for development;
//! everybody else gets the bare refusal. Rule: a pattern costs as much to compare as it is long, so paths are cut.

use http::header::ALLOW;
use http::{Method, StatusCode};
use tsumugi_http::{Allow, HttpResponse, Match, Request, RouteTable};

use crate::error_page::{ErrorPage, PagePart};
use crate::limits::{ROUTES_NEAR_MAX, SEGMENT_COMPARED_BYTES_MAX};
use crate::table;

/// The answer to a request whose path has no route, or with `allow` routes of other methods.
pub(super) fn explained<R>(
    router: &RouteTable<R>,
    request: &Request,
    allow: Option<&Allow>,
) -> HttpResponse {
    let (method, path) = (&request.method, request.uri.path());
    let page = match allow {
        Some(_) => method_not_allowed(router, method, path),
        None => not_found(router, method, path),
    };
    let response = page.response(&request.headers);
    match allow {
        Some(allow) => response.with(ALLOW, allow.header()),
        None => response,
    }
}

fn method_not_allowed<R>(router: &RouteTable<R>, method: &Method, path: &str) -> ErrorPage {
    let has = |(method, pattern): &(&Method, &str)| {
        let found = router.find(method, path);
        matches!(found, Match::Found(found) if &**found.pattern == *pattern)
    };
    let routes = routes(router).filter(has);
    ErrorPage {
        status: StatusCode::METHOD_NOT_ALLOWED,
        title: "method not allowed".to_owned(),
        message: format!("{method} {path}"),
        source: None,
        parts: vec![listed("Routes of this path", routes)],
    }
}

fn not_found<R>(router: &RouteTable<R>, method: &Method, path: &str) -> ErrorPage {
    let mut near: Vec<(&Method, &str)> = routes(router).collect();
    let all = near.len();
    near.sort_by_cached_key(|(_, pattern)| distance(path, pattern));
    near.truncate(ROUTES_NEAR_MAX);
    let parts = match all {
        0 => vec![PagePart {
            heading: "There are no routes yet",
            lines: Vec::new(),
        }],
        _ => {
            let mut part = listed("Routes that are like it", near.into_iter());
            if all > ROUTES_NEAR_MAX {
                part.lines.push(format!("`routes` lists all {all}"));
            }
            vec![part]
        }
    };
    ErrorPage {
        status: StatusCode::NOT_FOUND,
        title: "not found".to_owned(),
        message: format!("{method} {path}"),
        source: None,
        parts,
    }
}

fn routes<R>(router: &RouteTable<R>) -> impl Iterator<Item = (&Method, &str)> {
    router.iter().map(|(method, pattern, _)| (method, pattern))
}

fn listed<'r>(
    heading: &'static str,
    routes: impl Iterator<Item = (&'r Method, &'r str)>,
) -> PagePart {
    let rows: Vec<[&str; 2]> = routes
        .map(|(method, pattern)| [method.as_str(), pattern])
        .collect();
    let lines = table::aligned(&rows).lines().map(str::to_owned).collect();
    PagePart { heading, lines }
}

/// The edits from `path` to the nearest path of `pattern`, segment by segment. A segment that one of them lacks costs its bytes and its slash, an empty
/// capture one character and its slash.
fn distance(path: &str, pattern: &str) -> usize {
    let mut path = path.split('/');
    let mut edits = 0;
    for segment in pattern.split('/') {
        if segment.starts_with('*') {
            return edits;
        }
        let is_capture = segment.starts_with(':');
        edits += match path.next() {
            Some("") | None if is_capture => 2,
            Some(_) if is_capture => 0,
            Some(text) => strsim::osa_distance(cut(text), segment),
            None => segment.len() + 1,
        };
    }
    edits + path.map(|segment| segment.len() + 1).sum::<usize>()
}

fn cut(segment: &str) -> &str {
    let end = segment.floor_char_boundary(SEGMENT_COMPARED_BYTES_MAX);
    segment.get(..end).unwrap_or(segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> RouteTable<()> {
        let mut table = RouteTable::new();
        for (method, pattern) in [
            (Method::GET, "/"),
            (Method::GET, "/notes"),
            (Method::POST, "/notes"),
            (Method::GET, "/notes/:id"),
            (Method::DELETE, "/notes/:id"),
            (Method::GET, "/about"),
            (Method::GET, "/files/*path"),
        ] {
            table.insert(method, pattern, &[], ()).unwrap();
        }
        table
    }

    /// The lines of the first part, with one space between columns.
    fn lines(page: &ErrorPage) -> Vec<String> {
        let words = |line: &String| line.split_whitespace().collect::<Vec<_>>().join(" ");
        page.parts[0].lines.iter().map(words).collect()
    }

    #[test]
    fn path_without_a_route_is_answered_with_the_nearest_ones() {
        let check = |path: &str, expected: &[&str]| {
            let page = not_found(&table(), &Method::GET, path);
            assert_eq!(lines(&page)[..expected.len()], *expected, "{path}");
            assert_eq!(lines(&page)[ROUTES_NEAR_MAX..], ["`routes` lists all 7"]);
        };
        check("/note", &["GET /notes", "POST /notes"]);
        check("/notes/7/", &["GET /notes/:id", "DELETE /notes/:id"]);
        check("/abuot", &["GET /about"]);
        check("/file/a/b", &["GET /files/*path"]);
    }

    #[test]
    fn path_with_other_methods_is_answered_with_their_routes_alone() {
        let page = method_not_allowed(&table(), &Method::PUT, "/notes/7");
        assert_eq!(lines(&page), ["GET /notes/:id", "DELETE /notes/:id"]);
        assert_eq!(page.message, "PUT /notes/7");
    }

    #[test]
    fn application_without_routes_says_so() {
        let page = not_found(&RouteTable::<()>::new(), &Method::GET, "/");
        assert_eq!(page.parts[0].heading, "There are no routes yet");
    }
}
