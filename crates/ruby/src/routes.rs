//! The routes that an application file declared, read from the VM into the router.

use std::rc::Rc;

use http::Method;
use tsumugi_http::{CaptureKind, RouteTable};
use tsumugi_mruby::{Root, Scope, Value};
use tsumugi_server::commands::RouteLine;

use crate::error::Error;

/// What the router finds.
pub struct Route {
    /// The class of context whose `__run` is the handler.
    pub class: Rc<Root>,
    pub names: Rc<[Box<str>]>,
    /// `file:line` of its declaration.
    pub location: Rc<str>,
}

pub(crate) struct Routes {
    pub router: RouteTable<Route>,
    pub lines: Vec<RouteLine>,
    /// Answers what no route matches.
    pub not_found: Option<Rc<Root>>,
}

/// Reads `Tsumugi::ROUTES` and `Tsumugi::NOT_FOUND`.
pub(crate) fn read(scope: &Scope<'_>) -> Result<Routes, Error> {
    let raised = |raised| Error::raised(scope, raised);
    let mut routes = Routes {
        router: RouteTable::new(),
        lines: Vec::new(),
        not_found: None,
    };
    let declared = scope.constant("Tsumugi::ROUTES").map_err(raised)?;
    for i in 0..scope.array_len(declared) {
        scope.nested(|scope| insert(scope, scope.array_at(declared, i), &mut routes))?;
    }
    let not_found = scope.constant("Tsumugi::NOT_FOUND").map_err(raised)?;
    if let Some(class) = scope.elements(not_found).next_back() {
        routes.not_found = Some(Rc::new(scope.root(class).map_err(raised)?));
    }
    Ok(routes)
}

fn insert(scope: &Scope<'_>, route: Value<'_>, routes: &mut Routes) -> Result<(), Error> {
    let text = |name: &str| {
        scope
            .text(scope.ivar(route, scope.intern(name)))
            .unwrap_or_default()
    };
    let location = text("@location");
    let pattern = text("@pattern");
    let method = text("@verb").parse::<Method>().unwrap_or(Method::GET);
    let types = scope.ivar(route, scope.intern("@types"));
    let types = self::types(scope, types, &pattern, &location)?;
    let borrowed: Vec<(&str, CaptureKind)> = types
        .iter()
        .map(|(name, capture)| (name.as_str(), *capture))
        .collect();
    let names: Rc<[Box<str>]> = captures(&pattern).map(Box::from).collect();
    let class = scope.root(scope.ivar(route, scope.intern("@handler")));
    let class = Rc::new(class.map_err(|raised| Error::raised(scope, raised))?);
    let value = Route {
        class,
        names,
        location: Rc::from(location.as_str()),
    };
    routes
        .router
        .insert(method.clone(), &pattern, &borrowed, value)
        .map_err(|source| Error::Route {
            location: location.clone(),
            source: with_place(source, &routes.lines),
        })?;
    routes.lines.push(RouteLine {
        method,
        pattern,
        types,
        location,
    });
    Ok(())
}

/// The error with the place of the route that was there first.
fn with_place(error: tsumugi_http::Error, lines: &[RouteLine]) -> tsumugi_http::Error {
    match error {
        tsumugi_http::Error::DuplicateRoute {
            method,
            first,
            second,
        } => {
            let mut lines = lines.iter();
            let known = lines.find(|line| line.method == method && line.pattern == first);
            let first = match known {
                Some(line) => format!("{first} at {}", line.location),
                None => first,
            };
            tsumugi_http::Error::DuplicateRoute {
                method,
                first,
                second,
            }
        }
        other => other,
    }
}

/// The names of a pattern's captures.
fn captures(pattern: &str) -> impl Iterator<Item = &str> {
    let segments = pattern.split('/');
    segments.filter_map(|segment| segment.strip_prefix([':', '*']))
}

/// `{id: Integer}` as the router's types. A type for a name that the pattern lacks is an error when it is the route's
/// own; a scope's types reach only the routes that have the name.
fn types(
    scope: &Scope<'_>,
    declared: Value<'_>,
    pattern: &str,
    location: &str,
) -> Result<Vec<(String, CaptureKind)>, Error> {
    let raised = |raised| Error::raised(scope, raised);
    let refused = |reason| Error::Route {
        location: location.to_owned(),
        source: tsumugi_http::Error::Pattern {
            pattern: pattern.to_owned(),
            reason,
        },
    };
    let mut types = Vec::new();
    for (name, class) in scope.entries(declared).map_err(raised)? {
        let name = scope.text(name).unwrap_or_default();
        let class = scope.text_by(class, "to_s").map_err(raised)?;
        if captures(pattern).all(|capture| capture != name) {
            return Err(refused(format!("has no capture named {name}")));
        }
        let capture = match class.as_str() {
            "Integer" => CaptureKind::Integer,
            "Float" => CaptureKind::Float,
            "String" => CaptureKind::String,
            "uuid" => CaptureKind::Uuid,
            other => {
                return Err(refused(format!(
                    "has the type {other} for {name}; there are Integer, Float, String and :uuid"
                )));
            }
        };
        types.push((name, capture));
    }
    Ok(types)
}
