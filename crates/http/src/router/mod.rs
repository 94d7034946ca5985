//! Finds the route of a path. A tree with one level for each segment; pure, no request in sight.
//! The first segment that differs decides: literal before integer, float, uuid, string, rest of the path; a route further down that
//! list is still found when the better one does not match to its end. Every node is visited at most once in a search.
//!
//! An ordinary radix tree gives one answer for a path and cannot be asked for the next best when a typed capture refuses its segment;
//! hence a tree of its own, in which captures of different types are siblings.
//!
//! Paths are split at `/` first and decoded afterwards, so `%2F` never separates. Nothing is normalised: `/a` and `/a/` are different
//! paths, and `..` is a segment like any other.

mod capture;
mod pattern;

use std::{borrow::Cow, sync::Arc};

use http::{HeaderValue, Method};
use smallvec::SmallVec;

pub use self::capture::{CaptureKind, CaptureValues, Value};
use self::pattern::Segment;
use crate::{
    error::{Error, Result},
    percent::{Plus, decode},
};

/// Routes with a value each.
#[derive(Clone, Debug)]
pub struct RouteTable<T> {
    nodes: Vec<Node>,
    routes: Vec<Route<T>>,
}

#[derive(Clone, Debug)]
struct Route<T> {
    pattern: Arc<str>,
    names: Box<[Box<str>]>,
    value: T,
}

/// Where a path has come to. Indices are into `RouteTable::nodes` and `RouteTable::routes`.
#[derive(Clone, Debug, Default)]
struct Node {
    /// Sorted by length, then by text: most comparisons of a search are then of two numbers.
    literals: Vec<(Box<str>, usize)>,
    /// Sorted by type, which is the order to try them in. The rest of the path comes last.
    captures: Vec<(CaptureKind, usize)>,
    /// The routes that end here.
    ends: Vec<(Method, usize)>,
}

/// What a search found.
#[derive(Debug)]
pub enum Match<'r, 'p, T> {
    /// A route.
    Found(RouteMatch<'r, 'p, T>),
    /// The method is OPTIONS, which no route of this path answers itself: answer 204 with this `Allow`.
    Options(Allow),
    /// The path has routes, but none for this method: answer 405 with this `Allow`.
    MethodNotAllowed(Allow),
    /// The path holds a broken escape or is not UTF-8 where a route would capture it: answer 400.
    Malformed,
    /// No route: answer 404.
    NotFound,
}

/// A route that matches, and what it captured.
#[derive(Debug)]
pub struct RouteMatch<'r, 'p, T> {
    /// The route's value.
    pub value: &'r T,
    /// The pattern it was inserted with.
    pub pattern: &'r Arc<str>,
    /// The names of the pattern's captures, in order.
    pub names: &'r [Box<str>],
    /// The captured parts of the path, in the order of `names`.
    pub captures: CaptureValues<'p>,
}

/// The methods a path answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allow(Vec<Method>);

impl Allow {
    /// The methods, in the order in which the routes were inserted; HEAD follows GET, OPTIONS is last.
    pub fn methods(&self) -> &[Method] {
        &self.0
    }

    /// The value of an `Allow` header.
    pub fn header(&self) -> HeaderValue {
        let names: Vec<&str> = self.0.iter().map(Method::as_str).collect();
        // Methods are tokens, so this is always a header.
        HeaderValue::try_from(names.join(", "))
            .unwrap_or_else(|_| HeaderValue::from_static("OPTIONS"))
    }
}

impl<T> Default for RouteTable<T> {
    fn default() -> RouteTable<T> {
        RouteTable {
            nodes: vec![Node::default()],
            routes: Vec::new(),
        }
    }
}

impl<T> RouteTable<T> {
    /// A router without routes.
    pub fn new() -> RouteTable<T> {
        RouteTable::default()
    }

    /// Adds a route. `types` gives the types of captures by name; the others are strings.
    pub fn insert(
        &mut self,
        method: Method,
        pattern: &str,
        types: &[(&str, CaptureKind)],
        value: T,
    ) -> Result<()> {
        let parsed = pattern::parse(pattern, types)?;
        let mut at = 0;
        for segment in parsed.segments {
            at = self.child(at, segment);
        }
        let Some(node) = self.nodes.get_mut(at) else {
            return Ok(());
        };
        if let Some((_, known)) = node.ends.iter().find(|(known, _)| *known == method) {
            let first = self
                .routes
                .get(*known)
                .map_or_else(String::new, |route| route.pattern.to_string());
            return Err(Error::DuplicateRoute {
                method,
                first,
                second: pattern.to_owned(),
            });
        }
        node.ends.push((method, self.routes.len()));
        self.routes.push(Route {
            pattern: pattern.into(),
            names: parsed.names,
            value,
        });
        Ok(())
    }

    /// The child of a node for a segment, made when it is missing.
    fn child(&mut self, at: usize, segment: Segment) -> usize {
        let made = self.nodes.len();
        let Some(node) = self.nodes.get_mut(at) else {
            return at;
        };
        let known = match segment {
            Segment::Literal(text) => match node.literal(&text) {
                Ok(place) => node.literals.get(place).map(|(_, child)| *child),
                Err(place) => {
                    node.literals.insert(place, (text, made));
                    None
                }
            },
            Segment::Capture(capture) => match node
                .captures
                .binary_search_by(|(known, _)| known.cmp(&capture))
            {
                Ok(place) => node.captures.get(place).map(|(_, child)| *child),
                Err(place) => {
                    node.captures.insert(place, (capture, made));
                    None
                }
            },
        };
        known.unwrap_or_else(|| {
            self.nodes.push(Node::default());
            made
        })
    }

    /// The route for a method and the path of a request, still percent-encoded. A HEAD without a route of its own gets that of GET.
    pub fn find<'p>(&self, method: &Method, path: &'p str) -> Match<'_, 'p, T> {
        let Some(rest) = path.strip_prefix('/') else {
            return Match::NotFound;
        };
        let mut search = Search {
            nodes: &self.nodes,
            method,
            captures: CaptureValues::new(),
            passed: SmallVec::new(),
            malformed: MalformedPath::No,
        };
        if let Some(route) = search
            .walk(0, Some(rest))
            .and_then(|found| self.routes.get(found))
        {
            let captures = search.captures;
            return Match::Found(RouteMatch {
                value: &route.value,
                pattern: &route.pattern,
                names: &route.names,
                captures,
            });
        }
        match (search.malformed, search.passed.is_empty()) {
            (MalformedPath::Yes, _) => Match::Malformed,
            (MalformedPath::No, true) => Match::NotFound,
            (MalformedPath::No, false) if *method == Method::OPTIONS => {
                Match::Options(search.allow())
            }
            (MalformedPath::No, false) => Match::MethodNotAllowed(search.allow()),
        }
    }

    /// Every route with its value, in the order of insertion.
    pub fn iter(&self) -> impl Iterator<Item = (&Method, &str, &T)> {
        let mut methods: Vec<(usize, &Method)> = self
            .nodes
            .iter()
            .flat_map(|node| node.ends.iter().map(|(method, route)| (*route, method)))
            .collect();
        methods.sort_unstable_by_key(|(route, _)| *route);
        methods
            .into_iter()
            .zip(&self.routes)
            .map(|((_, method), route)| (method, &*route.pattern, &route.value))
    }
}

impl Node {
    /// Where a literal is, or belongs.
    fn literal(&self, text: &str) -> Result<usize, usize> {
        self.literals.binary_search_by(|(known, _)| {
            known
                .len()
                .cmp(&text.len())
                .then_with(|| (**known).cmp(text))
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MalformedPath {
    No,
    Yes,
}

struct Search<'r, 'p, 'm> {
    nodes: &'r [Node],
    method: &'m Method,
    captures: CaptureValues<'p>,
    /// Nodes at which the path ended, but without a route for the method.
    passed: SmallVec<[&'r Node; 2]>,
    malformed: MalformedPath,
}

impl<'r, 'p> Search<'r, 'p, '_> {
    /// The route below a node for what is left of the path. Recursion is as deep as the deepest pattern, which is limited.
    fn walk(&mut self, at: usize, rest: Option<&'p str>) -> Option<usize> {
        let node = self.nodes.get(at)?;
        let Some(rest) = rest else {
            return self.end(node);
        };
        // Byte by byte: segments are short.
        let mut has_escape = false;
        let end = rest.bytes().position(|byte| {
            has_escape |= byte == b'%';
            byte == b'/'
        });
        let (segment, tail) = match end.and_then(|slash| rest.split_at_checked(slash)) {
            Some((segment, tail)) => (segment, tail.get(1..)),
            None => (rest, None),
        };
        let decoded = match has_escape {
            false => Ok(Cow::Borrowed(segment)),
            true => decode(segment, Plus::Plus),
        };
        let Ok(decoded) = decoded else {
            if !node.captures.is_empty() {
                self.malformed = MalformedPath::Yes;
            }
            return None;
        };
        if let Ok(place) = node.literal(&decoded)
            && let Some((_, child)) = node.literals.get(place)
            && let Some(found) = self.walk(*child, tail)
        {
            return Some(found);
        }
        for (capture, child) in &node.captures {
            let (value, tail) = match capture {
                CaptureKind::Path => (self.rest(rest), None),
                _ => (capture.value(&decoded), tail),
            };
            let Some(value) = value else { continue };
            self.captures.push(value);
            if let Some(found) = self.walk(*child, tail) {
                return Some(found);
            }
            self.captures.pop();
        }
        None
    }

    /// The value of a capture of the rest of the path, if it has one.
    fn rest(&mut self, rest: &'p str) -> Option<Value<'p>> {
        let Ok(decoded) = decode(rest, Plus::Plus) else {
            self.malformed = MalformedPath::Yes;
            return None;
        };
        CaptureKind::Path.value(&decoded)
    }

    fn end(&mut self, node: &'r Node) -> Option<usize> {
        let route = |method: &Method| {
            node.ends
                .iter()
                .find(|(known, _)| known == method)
                .map(|(_, route)| *route)
        };
        let found = match route(self.method) {
            None if *self.method == Method::HEAD => route(&Method::GET),
            found => found,
        };
        if found.is_none() && !node.ends.is_empty() {
            self.passed.push(node);
        }
        found
    }

    fn allow(&self) -> Allow {
        let mut methods: Vec<Method> = Vec::new();
        let mut add = |method: &Method| {
            if !methods.contains(method) {
                methods.push(method.clone());
            }
        };
        for (method, _) in self.passed.iter().flat_map(|node| &node.ends) {
            add(method);
            if *method == Method::GET {
                add(&Method::HEAD);
            }
        }
        add(&Method::OPTIONS);
        Allow(methods)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn router(routes: &[&str]) -> RouteTable<usize> {
        let types = [
            ("id", CaptureKind::Integer),
            ("price", CaptureKind::Float),
            ("uuid", CaptureKind::Uuid),
        ];
        let mut router = RouteTable::new();
        for (index, route) in routes.iter().enumerate() {
            let (method, pattern) = route.split_once(' ').unwrap_or(("GET", route));
            let types: Vec<_> = types
                .iter()
                .copied()
                .filter(|(name, _)| pattern.contains(&format!(":{name}")))
                .collect();
            router
                .insert(method.parse().unwrap(), pattern, &types, index)
                .unwrap();
        }
        router
    }

    /// `request` is a path or a method and a path; `expected` is the pattern and its captures, or what else came of it.
    fn check(routes: &[&str], request: &str, expected: &str) {
        let (method, path) = request.split_once(' ').unwrap_or(("GET", request));
        let router = router(routes);
        let found = match router.find(&method.parse().unwrap(), path) {
            Match::Found(found) => {
                let mut text = found.pattern.to_string();
                for value in &found.captures {
                    text += &match value {
                        Value::Integer(number) => format!(" {number}"),
                        Value::Float(number) => format!(" {number}f"),
                        Value::Text(string) => format!(" '{string}'"),
                    };
                }
                text
            }
            Match::Options(allow) => format!("204 {}", allow.header().to_str().unwrap()),
            Match::MethodNotAllowed(allow) => format!("405 {}", allow.header().to_str().unwrap()),
            Match::Malformed => "400".to_owned(),
            Match::NotFound => "404".to_owned(),
        };
        assert_eq!(found, expected, "{request} in {routes:?}");
    }

    #[test]
    fn literals_come_before_types_and_types_before_strings() {
        let routes = [
            "/users/:name",
            "/users/:uuid",
            "/users/:price",
            "/users/:id",
            "/users/new",
            "/users/*rest",
        ];
        check(&routes, "/users/new", "/users/new");
        check(&routes, "/users/7", "/users/:id 7");
        check(&routes, "/users/7.5", "/users/:price 7.5f");
        let uuid = "67e55044-10b1-426f-9247-bb680e5fe0c8";
        check(
            &routes,
            &format!("/users/{uuid}"),
            &format!("/users/:uuid '{uuid}'"),
        );
        check(&routes, "/users/anna", "/users/:name 'anna'");
        check(&routes, "/users/anna/x", "/users/*rest 'anna/x'");
    }

    #[test]
    fn a_typed_capture_does_not_match_another_form() {
        check(&["/users/:id"], "/users/abc", "404");
        check(&["/users/:id"], "/users/9223372036854775808", "404");
        check(
            &["/users/:id", "/users/:name"],
            "/users/9223372036854775808",
            "/users/:name '9223372036854775808'",
        );
    }

    #[test]
    fn the_first_difference_decides_even_when_later_segments_are_literal() {
        let routes = ["/:name/edit", "/:id/:action"];
        check(&routes, "/5/edit", "/:id/:action 5 'edit'");
        check(&routes, "/x/edit", "/:name/edit 'x'");
    }

    #[test]
    fn a_search_goes_back_when_the_better_way_ends_nowhere() {
        let routes = [
            "/users/new/:id",
            "/users/:id/posts",
            "/:kind/:name/posts",
            "/*rest",
        ];
        check(&routes, "/users/new/7", "/users/new/:id 7");
        check(
            &routes,
            "/users/new/posts",
            "/:kind/:name/posts 'users' 'new'",
        );
        check(&routes, "/users/7/posts", "/users/:id/posts 7");
        check(
            &routes,
            "/users/abc/posts",
            "/:kind/:name/posts 'users' 'abc'",
        );
        check(&routes, "/users/7/other", "/*rest 'users/7/other'");
    }

    #[test]
    fn names_do_not_make_routes_differ() {
        check(
            &["GET /u/:name", "POST /u/:login"],
            "POST /u/x",
            "/u/:login 'x'",
        );
        let mut router = router(&["/u/:name/x"]);
        let error = router
            .insert(Method::GET, "/u/:login/x", &[], 9)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("/u/:name/x") && error.contains("/u/:login/x"),
            "{error}"
        );
        assert!(
            router
                .insert(
                    Method::GET,
                    "/u/:login/x",
                    &[("login", CaptureKind::Integer)],
                    9
                )
                .is_ok()
        );
        assert!(router.insert(Method::POST, "/u/:login/x", &[], 9).is_ok());
    }

    #[test]
    fn a_trailing_slash_is_another_path() {
        check(&["/a"], "/a/", "404");
        check(&["/a/"], "/a", "404");
        check(&["/a/"], "/a/", "/a/");
        check(&["/"], "/", "/");
        check(&["/"], "//", "404");
        check(&["/a/:x"], "/a/", "404");
        check(&["/:x/b"], "//b", "404");
    }

    #[test]
    fn the_rest_of_the_path_is_not_empty() {
        check(&["/files/*path"], "/files/", "404");
        check(&["/files/*path"], "/files", "404");
        check(&["/files/*path"], "/files/a/b/", "/files/*path 'a/b/'");
        check(&["/files/*path", "/files/"], "/files/", "/files/");
    }

    #[test]
    fn escapes_decode_after_splitting() {
        check(&["/a/:x"], "/a/b%2Fc", "/a/:x 'b/c'");
        check(&["/a/:x/:y"], "/a/b%2Fc", "404");
        check(&["/a/:x"], "/a/caf%C3%A9+x", "/a/:x 'caf\u{e9}+x'");
        check(&["/a/:id"], "/a/%37", "/a/:id 7");
        check(&["/f/*path"], "/f/a%2Fb/c%20d", "/f/*path 'a/b/c d'");
    }

    #[test]
    fn literals_match_their_encoded_forms() {
        check(&["/caf\u{e9}"], "/caf%c3%a9", "/caf\u{e9}");
        check(&["/caf%C3%A9"], "/caf%C3%A9", "/caf%C3%A9");
        check(&["/%3Aid"], "/:id", "/%3Aid");
        check(&["/abc"], "/a%62c", "/abc");
        check(&["/a/b"], "/a%2Fb", "404");
    }

    #[test]
    fn broken_escapes_are_malformed_where_they_would_be_captured() {
        check(&["/a/:x"], "/a/%zz", "400");
        check(&["/a/:x"], "/a/%FF", "400");
        check(&["/f/*path"], "/f/a/%", "400");
        check(&["/a/b"], "/a/%zz", "404");
    }

    #[test]
    fn known_paths_with_another_method_name_the_allowed_ones() {
        let routes = ["GET /a", "POST /a", "DELETE /:x"];
        check(&routes, "PUT /a", "405 GET, HEAD, POST, DELETE, OPTIONS");
        check(&routes, "PUT /b", "405 DELETE, OPTIONS");
        check(&routes, "DELETE /a", "/:x 'a'");
        check(&routes, "PUT /a/b", "404");
    }

    #[test]
    fn head_and_options_answer_without_a_route() {
        let routes = ["GET /a", "HEAD /b", "GET /b", "OPTIONS /c", "POST /d"];
        check(&routes, "HEAD /a", "/a");
        check(&routes, "HEAD /d", "405 POST, OPTIONS");
        check(&routes, "OPTIONS /a", "204 GET, HEAD, OPTIONS");
        check(&routes, "OPTIONS /c", "/c");
        check(&routes, "OPTIONS /x", "404");
        let router = router(&routes);
        let Match::Found(found) = router.find(&Method::HEAD, "/b") else {
            panic!("no route")
        };
        assert_eq!(*found.value, 1);
    }

    #[test]
    fn target_that_is_no_path_is_404() {
        for path in ["", "*", "example.org:443", "a"] {
            check(&["/", "/:x", "/*rest"], path, "404");
        }
    }

    #[test]
    fn routes_are_listed_in_order() {
        let router = router(&["GET /b/:id", "POST /a"]);
        let listed: Vec<_> = router
            .iter()
            .map(|(method, pattern, value)| (method.as_str(), pattern, *value))
            .collect();
        assert_eq!(listed, [("GET", "/b/:id", 0), ("POST", "/a", 1)]);
    }
}
