//! sig/tsumugi.rbs against the VM, both ways: each method that authors call has a signature with its parameters, and each signature a method.
//! The program `rbs` is not needed: what stands there is read here, a method on a line.

use std::collections::BTreeMap;

use tsumugi_ruby::SIGNATURES;

use crate::rig::output;

/// Methods by their names (`DB#query`, `DB.connect`, `main.get`), with their parameters, or `?` where natives take what they take; and modules with
/// their superclasses.
type Face = BTreeMap<String, String>;

/// What there is: a line each, as signatures.rb prints it.
fn printed() -> String {
    output(&format!("\n{}", include_str!("signatures.rb")))
}

fn methods(printed: &str) -> Face {
    let lines = printed.lines();
    let entries = lines.map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        match words[0] {
            "class" | "module" => (words[1].to_owned(), words[2].replace("Object", "")),
            name => (name.to_owned(), words[1].to_owned()),
        }
    });
    entries.collect()
}

/// What is declared.
fn signatures() -> Face {
    let mut face = Face::new();
    let mut module = String::new();
    for line in SIGNATURES.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["class" | "module", "Object" | "Tsumugi"] => module = "main".to_owned(),
            ["class" | "module", name, parent @ ..] => {
                module = (*name).to_owned();
                let parent = parent.get(1).copied().unwrap_or_default();
                face.insert(module.clone(), parent.to_owned());
            }
            ["def", name, ..] => {
                let at = line.find(": ").expect("a signature follows the name");
                let name = name.trim_end_matches(':').replace('`', "");
                let name = match name.strip_prefix("self.") {
                    Some(name) => format!("{module}.{name}"),
                    None if module == "main" => format!("main.{name}"),
                    None => format!("{module}#{name}"),
                };
                face.insert(name, parameters(&line[at + 2..]));
            }
            _ => {}
        }
    }
    face
}

/// `(String sql, *untyped values, ?limit: Integer) ?{ … } -> untyped` as `req:sql,rest:values,key:limit`; what any arguments fit is `?`.
fn parameters(signature: &str) -> String {
    let end = signature.find(')').expect("parameters are in parentheses");
    let inner = &signature[1..end];
    if inner == "*untyped, **untyped" {
        return "?".to_owned();
    }
    let parts = inner.split(", ").filter(|part| !part.is_empty());
    let known: Vec<String> = parts.map(parameter).collect();
    known.join(",")
}

fn parameter(text: &str) -> String {
    let name = |text: &str| match text.rsplit_once(' ') {
        Some((_, name)) => format!(":{name}"),
        None => String::new(),
    };
    if let Some(rest) = text.strip_prefix("**") {
        return format!("keyrest{}", name(rest));
    }
    if let Some(rest) = text.strip_prefix('*') {
        return format!("rest{}", name(rest));
    }
    let (optional, text) = match text.strip_prefix('?') {
        Some(text) => (true, text),
        None => (false, text),
    };
    match (text.split_once(": "), optional) {
        (Some((name, _)), true) => format!("key:{name}"),
        (Some((name, _)), false) => format!("keyreq:{name}"),
        (None, true) => format!("opt{}", name(text)),
        (None, false) => format!("req{}", name(text)),
    }
}

/// Without blocks, which a signature may have where the method takes them by `yield`, and without names of what has none in a signature.
fn comparable(parameters: &str) -> Vec<String> {
    let parts = parameters.split(',').filter(|part| !part.is_empty());
    let parts = parts.filter(|part| !part.starts_with("block"));
    let named = parts.map(|part| match part.split_once(':') {
        Some((kind @ ("key" | "keyreq"), name)) => format!("{kind}:{name}"),
        Some((kind, _)) => kind.to_owned(),
        None => part.to_owned(),
    });
    let mut sorted: Vec<String> = named.collect();
    // Keywords may stand in any order.
    sorted.sort();
    sorted
}

#[test]
fn signatures_are_those_of_the_methods_that_there_are() {
    let printed = printed();
    let (methods, signatures) = (methods(&printed), signatures());
    assert!(methods.len() > 500, "{printed}");
    assert!(signatures.len() > 500, "{printed}");
    let mut faults = Vec::new();
    for (name, parameters) in &methods {
        match signatures.get(name) {
            None => faults.push(format!("{name} ({parameters}) has no signature")),
            Some(declared) if name.contains(['#', '.']) => {
                if comparable(declared) != comparable(parameters) {
                    faults.push(format!(
                        "{name} is declared with {declared}, it has {parameters}"
                    ));
                }
            }
            Some(parent) if parent != parameters => {
                faults.push(format!(
                    "{name} is declared below {parent:?}, it is below {parameters:?}"
                ));
            }
            Some(_) => {}
        }
    }
    for name in signatures
        .keys()
        .filter(|name| !methods.contains_key(*name))
    {
        faults.push(format!("{name} has a signature, and is not there"));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn parameters_of_a_signature_are_read() {
    for (signature, expected) in [
        ("() -> untyped", ""),
        (
            "(String sql, *untyped values) -> untyped",
            "req:sql,rest:values",
        ),
        (
            "(?String path, **untyped types) ?{ (*untyped) -> untyped } -> untyped",
            "opt:path,keyrest:types",
        ),
        (
            "(untyped, ttl: Numeric?, ?wait: untyped) -> bool",
            "req,keyreq:ttl,key:wait",
        ),
        ("(*untyped, **untyped) -> untyped", "?"),
    ] {
        assert_eq!(parameters(signature), expected, "{signature}");
    }
}
