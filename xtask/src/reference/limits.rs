//! The page of limits: those that `--limit` sets, with their defaults, and those that are built in, from the `limits.rs` of each crate. It reads
//! declarations, not behaviour.
//! Rule: a number stands here as the source has it, computed; a constant that cannot be computed is left out, and so are those of tests and benchmarks.

use std::collections::BTreeMap;

use syn::{Expr, Item, ItemConst, ItemImpl, ItemStruct, Stmt, Type};

use super::{cell, grouped};
use crate::tree::Tree;

const INTRODUCTION: &str = "# Limits\n\n\
    Every bound has a name, a default and a unit, and the error or the line of the log that comes of it has the name. `_max` is the most, `_min` the least;\n\
    sizes are in bytes, times in what the end of the name says (`_ms`, `_us`, `_seconds`). `cargo xtask reference` writes this page from the sources.\n";

/// What `--limit` sets, in the order of the page: the heading, the crate, the type, and what stands before the name.
const SETTABLE: &[(&str, &str, &str, &str)] = &[
    ("Workers", "worker", "WorkerLimits", ""),
    ("Ruby", "ruby", "Limits", ""),
    ("Calls to other servers", "client", "CallLimits", "client."),
    ("Mail", "mail", "MailLimits", "mail."),
    ("HTTP and WebSockets", "http", "HttpLimits", ""),
    ("Handing over", "server", "ServerLimits", ""),
];

/// The same of `tsumugi kv`, which has those of workers, too.
const SERVICE: (&str, &str) = ("rpc", "RpcLimits");

/// The same of a program in Rust, where they differ from Ruby's.
const RUST: (&str, &str) = ("tsumugi", "Limits");

/// The constants of a crate, by the heading of its part.
const BUILT_IN: &[(&str, &str)] = &[
    ("Starting, reloading, the dashboard", "server"),
    ("Workers", "worker"),
    ("HTTP", "http"),
    ("Shapes of what clients send", "shapes"),
    ("Ruby", "ruby"),
    ("Programs in Rust", "tsumugi"),
    ("The VM", "mruby"),
    ("Values", "values"),
    ("Calls to other servers", "client"),
    ("Certificates by ACME", "acme"),
    ("Mail", "mail"),
    ("Traces", "trace"),
    ("Databases", "db"),
    ("The query builder", "sql"),
    ("The PostgreSQL driver", "pg"),
    ("PostgreSQL's protocol", "pg-proto"),
    ("The Firebird driver", "firebird"),
    ("Firebird's protocol", "firebird-proto"),
    ("Connections of both drivers", "wire"),
    ("Jobs", "jobs"),
    ("Clusters", "cluster"),
    ("The key-value store", "kv"),
    ("Stores behind a service, in etcd, in Redis", "stores"),
    ("The key-value service", "rpc"),
    ("Commands", "cli"),
];

/// Crates with limits that no reader of the page can meet: those of measuring and of tests.
const LEFT_OUT: &[&str] = &["bench", "testkit"];

/// What a constant is worth.
#[derive(Clone, Debug, PartialEq)]
enum Worth {
    Number(f64),
    Seconds(f64),
    Several(Vec<Worth>),
}

/// The declarations of one `limits.rs`.
#[derive(Default)]
struct Declarations {
    constants: Vec<ItemConst>,
    structs: Vec<ItemStruct>,
    defaults: BTreeMap<String, Vec<(String, Expr)>>,
}

/// Those of all crates, by the crate.
struct Crates(BTreeMap<String, Declarations>);

pub fn page(tree: &Tree) -> String {
    let crates = Crates::read(tree);
    let mut page = INTRODUCTION.to_owned();
    page.push_str(
        "\n## Set by an operator\n\n`tsumugi serve --limit NAME=VALUE`, as often as needed; `_` may stand between digits.\n",
    );
    for (heading, name, of, prefix) in SETTABLE {
        let rows = crates.settable(name, of, prefix);
        push_table(&mut page, 3, heading, "default", &rows);
    }
    page.push_str(
        "\n## Set by an operator of a key-value service\n\n`tsumugi kv --limit NAME=VALUE`, and `--kv-limit` of `tsumugi serve`. Those of workers are the same as above.\n",
    );
    let rows = crates.settable(SERVICE.0, SERVICE.1, "");
    push_table(&mut page, 3, "The service", "default", &rows);
    page.push_str(
        "\n## Set in a program in Rust\n\nThe same `--limit`; where there is no Ruby, these stand in place of its part.\n",
    );
    let rows = crates.settable(RUST.0, RUST.1, "");
    push_table(&mut page, 3, "Rust", "default", &rows);
    page.push_str("\n## Built in\n\nThey can be read, not set: what they bound costs nothing that would make another value worth while, or a protocol has it.\n");
    for (heading, name) in BUILT_IN {
        let rows = crates.built_in(name);
        push_table(&mut page, 3, heading, "value", &rows);
    }
    page
}

/// The crates with a `limits.rs` that the page does not have.
pub fn missing(tree: &Tree) -> Vec<String> {
    let crates = Crates::read(tree).0.into_keys();
    let is_there =
        |name: &str| LEFT_OUT.contains(&name) || BUILT_IN.iter().any(|(_, of)| *of == name);
    crates.filter(|name| !is_there(name)).collect()
}

/// A table of names, values and sentences; nothing without rows.
fn push_table(
    page: &mut String,
    level: usize,
    heading: &str,
    value: &str,
    rows: &[(String, String, String)],
) {
    if rows.is_empty() {
        return;
    }
    let marks = "#".repeat(level);
    page.push_str(&format!(
        "\n{marks} {heading}\n\n| name | {value} | |\n| --- | --- | --- |\n"
    ));
    for (name, value, text) in rows {
        page.push_str(&format!("| `{name}` | {value} | {} |\n", cell(text)));
    }
}

impl Crates {
    fn read(tree: &Tree) -> Crates {
        let mut crates = BTreeMap::new();
        for file in tree.rust_below("crates/") {
            let name = file.path.strip_prefix("crates/");
            let name = name.and_then(|path| path.strip_suffix("/src/limits.rs"));
            if let Some(name) = name.filter(|name| !name.contains('/')) {
                crates.insert(name.to_owned(), Declarations::read(file.text));
            }
        }
        Crates(crates)
    }

    /// The fields of a type with their defaults. A field that has fields of its own is another row of [`SETTABLE`].
    fn settable(&self, name: &str, of: &str, prefix: &str) -> Vec<(String, String, String)> {
        let Some(declarations) = self.0.get(name) else {
            return Vec::new();
        };
        let Some(item) = declarations.structs.iter().find(|item| item.ident == of) else {
            return Vec::new();
        };
        let defaults = declarations.defaults.get(of);
        let row = |field: &syn::Field| {
            let ident = field.ident.as_ref()?.to_string();
            let default = defaults?.iter().find(|(name, _)| *name == ident);
            let worth = self.worth(name, &default?.1)?;
            let value = written(&ident, &worth, true);
            Some((
                format!("{prefix}{ident}"),
                value,
                documentation(&field.attrs),
            ))
        };
        item.fields.iter().filter_map(row).collect()
    }

    fn built_in(&self, name: &str) -> Vec<(String, String, String)> {
        let constants = self.0.get(name).map(|it| &*it.constants);
        let row = |constant: &ItemConst| {
            let ident = constant.ident.to_string();
            let worth = self.worth(name, &constant.expr)?;
            let value = written(&ident.to_lowercase(), &worth, false);
            Some((ident, value, documentation(&constant.attrs)))
        };
        constants
            .unwrap_or_default()
            .iter()
            .filter_map(row)
            .collect()
    }

    /// What an expression in a crate's file is worth.
    fn worth(&self, of: &str, expression: &Expr) -> Option<Worth> {
        let number = |expression: &Expr| match self.worth(of, expression)? {
            Worth::Number(number) => Some(number),
            Worth::Seconds(_) | Worth::Several(_) => None,
        };
        Some(match expression {
            Expr::Lit(literal) => Worth::Number(match &literal.lit {
                syn::Lit::Int(digits) => digits.base10_parse().ok()?,
                syn::Lit::Float(digits) => digits.base10_parse().ok()?,
                _ => return None,
            }),
            Expr::Paren(inner) => self.worth(of, &inner.expr)?,
            Expr::Cast(cast) => self.worth(of, &cast.expr)?,
            Expr::Path(path) => self.named(of, &path.path)?,
            Expr::Array(array) => Worth::Several(
                array
                    .elems
                    .iter()
                    .map(|it| self.worth(of, it))
                    .collect::<Option<_>>()?,
            ),
            Expr::Range(range) => Worth::Several(vec![
                self.worth(of, range.start.as_deref()?)?,
                self.worth(of, range.end.as_deref()?)?,
            ]),
            Expr::Call(call) => {
                let amount = number(call.args.first()?)?;
                let Expr::Path(function) = &*call.func else {
                    return None;
                };
                let unit = function.path.segments.last()?.ident.to_string();
                Worth::Seconds(match &*unit {
                    "from_secs" | "from_secs_f64" => amount,
                    "from_millis" => amount / 1e3,
                    "from_micros" => amount / 1e6,
                    _ => return None,
                })
            }
            Expr::Binary(binary) => {
                let (left, right) = (number(&binary.left)?, number(&binary.right)?);
                Worth::Number(match binary.op {
                    syn::BinOp::Add(_) => left + right,
                    syn::BinOp::Sub(_) => left - right,
                    syn::BinOp::Mul(_) => left * right,
                    syn::BinOp::Div(_) => left / right,
                    syn::BinOp::Shl(_) => left * right.exp2(),
                    _ => return None,
                })
            }
            _ => return None,
        })
    }

    /// A constant of the same file, of another crate's limits, or of the standard library.
    fn named(&self, of: &str, path: &syn::Path) -> Option<Worth> {
        let words: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        let (of, name) = match &*words {
            [name] => (of.to_owned(), name),
            [kind, name] if kind == "Duration" && name == "ZERO" => {
                return Some(Worth::Seconds(0.0));
            }
            [kind, name] if name == "MAX" => {
                let bits: i32 = kind.get(1..)?.parse().ok()?;
                let bits = bits - i32::from(kind.starts_with('i'));
                return Some(Worth::Number(f64::from(bits).exp2() - 1.0));
            }
            [.., name] => {
                let of = words.first()?.strip_prefix("tsumugi_")?;
                (of.replace('_', "-"), name)
            }
            [] => return None,
        };
        let constants = &self.0.get(&of)?.constants;
        let constant = constants.iter().find(|it| it.ident == name)?;
        self.worth(&of, &constant.expr)
    }
}

impl Declarations {
    fn read(text: &str) -> Declarations {
        let mut found = Declarations::default();
        // What cannot be parsed is a finding of another rule.
        let items = syn::parse_file(text).map_or_else(|_| Vec::new(), |file| file.items);
        for item in items {
            match item {
                Item::Const(constant) => found.constants.push(constant),
                Item::Struct(item) => found.structs.push(item),
                Item::Impl(item) => found.defaults.extend(defaults(item)),
                _ => {}
            }
        }
        found
    }
}

/// The fields that an `impl Default` sets, under the name of the type.
fn defaults(item: ItemImpl) -> Option<(String, Vec<(String, Expr)>)> {
    let (_, of, _) = item.trait_.as_ref()?;
    if of.segments.last()?.ident != "Default" {
        return None;
    }
    let Type::Path(name) = &*item.self_ty else {
        return None;
    };
    let name = name.path.segments.last()?.ident.to_string();
    let function = item.items.into_iter().find_map(|item| match item {
        syn::ImplItem::Fn(function) => Some(function),
        _ => None,
    });
    let Stmt::Expr(Expr::Struct(value), _) = function?.block.stmts.pop()? else {
        return None;
    };
    let field = |field: syn::FieldValue| match field.member {
        syn::Member::Named(name) => Some((name.to_string(), field.expr)),
        syn::Member::Unnamed(_) => None,
    };
    Some((name, value.fields.into_iter().filter_map(field).collect()))
}

/// What a declaration's comment says, in one line.
fn documentation(attributes: &[syn::Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes {
        if let syn::Meta::NameValue(pair) = &attribute.meta
            && pair.path.is_ident("doc")
            && let Expr::Lit(literal) = &pair.value
            && let syn::Lit::Str(line) = &literal.lit
        {
            let line = line.value();
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(line.trim());
        }
    }
    // A link of rustdoc leads nowhere here.
    text.replace("[`", "`").replace("`]", "`")
}

/// A value with its unit. What is set is written as `--limit` takes it, and what that is behind it.
fn written(name: &str, worth: &Worth, is_set: bool) -> String {
    let number = match worth {
        Worth::Number(number) => *number,
        Worth::Seconds(seconds) => return duration(*seconds),
        Worth::Several(several) => {
            let each = several.iter().map(|worth| written(name, worth, false));
            return each.collect::<Vec<_>>().join(", ");
        }
    };
    let has = |unit: &str| name.split('_').any(|word| word == unit);
    let human = if has("ms") {
        duration(number / 1e3)
    } else if has("us") {
        duration(number / 1e6)
    } else if has("seconds") {
        duration(number)
    } else if has("bytes") || name == "upload_memory_max" {
        size(number)
    } else {
        String::new()
    };
    let plain = || plain(number);
    match (is_set, human.is_empty()) {
        (_, true) => plain(),
        (true, false) if !human.starts_with(&format!("{} ", plain())) => {
            format!("{} ({human})", plain())
        }
        (true, false) => plain(),
        (false, false) => human,
    }
}

fn plain(number: f64) -> String {
    if number.fract() == 0.0 && number >= 0.0 {
        // Whole, and below the 53 bits in which it was computed.
        return grouped(number as u128);
    }
    number.to_string()
}

fn size(bytes: f64) -> String {
    let units = [("GiB", 30.0_f64), ("MiB", 20.0), ("KiB", 10.0)];
    let unit = units
        .iter()
        .find(|(_, power)| bytes > 0.0 && bytes % power.exp2() == 0.0);
    match unit {
        Some((unit, power)) => format!("{} {unit}", plain(bytes / power.exp2())),
        None => format!("{} bytes", plain(bytes)),
    }
}

fn duration(seconds: f64) -> String {
    let units = [
        ("days", 86_400.0),
        ("h", 3_600.0),
        ("min", 60.0),
        ("s", 1.0),
    ];
    // Two of a unit and more, so that 60 s are no minute.
    let unit = units
        .iter()
        .find(|(_, of)| seconds >= of * if *of > 1.0 { 2.0 } else { 1.0 } && seconds % of == 0.0);
    match unit {
        Some((unit, of)) => format!("{} {unit}", plain(seconds / of)),
        None if seconds == 0.0 => "0 s".to_owned(),
        None if seconds >= 0.001 => format!("{} ms", (seconds * 1e6).round() / 1e3),
        None => format!("{} µs", (seconds * 1e9).round() / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKER: &str = "//! Limits.\n\
        /// What it takes.\n\
        pub struct WorkerLimits {\n\
            /// Connections, `a | b`,\n\
            /// of [`BASE`].\n\
            pub connections_max: usize,\n\
            /// How long.\n\
            pub drain_ms_max: u64,\n\
        }\n\
        impl Default for WorkerLimits {\n\
            fn default() -> Self { Self { connections_max: BASE * 2, drain_ms_max: 30_000 } }\n\
        }\n\
        /// The base.\n\
        pub(crate) const BASE: usize = 8 << 10;\n\
        /// A look.\n\
        pub const LOOK: Duration = Duration::from_millis(1_500);\n\
        /// Bytes.\n\
        pub const PIECE_BYTES_MAX: usize = 2 * tsumugi_kv::limits::VALUE_BYTES_MAX;\n";

    #[test]
    fn limits_have_their_names_values_and_sentences() {
        let files = [
            ("crates/worker/src/limits.rs", WORKER),
            (
                "crates/kv/src/limits.rs",
                "/// A value.\npub const VALUE_BYTES_MAX: usize = 1024 * 1024;\npub const OF: &str = \"x\";",
            ),
        ];
        let page = page(&Tree::new(files));
        let has = |text: &str| assert!(page.contains(text), "{text} in {page}");
        has("| `connections_max` | 16,384 | Connections, `a \\| b`, of `BASE`. |");
        has("| `drain_ms_max` | 30,000 (30 s) | How long. |");
        has("| `BASE` | 8,192 | The base. |");
        has("| `LOOK` | 1500 ms | A look. |");
        has("| `PIECE_BYTES_MAX` | 2 MiB | Bytes. |");
        has("| `VALUE_BYTES_MAX` | 1 MiB | A value. |");
        assert!(!page.contains("`OF`"), "{page}");
    }

    #[test]
    fn crate_whose_limits_are_not_on_the_page_is_named() {
        let files = ["worker", "bench", "new"].map(|name| format!("crates/{name}/src/limits.rs"));
        let tree = Tree::new(files.iter().map(|path| (&**path, WORKER)));
        assert_eq!(missing(&tree), ["new"]);
    }

    #[test]
    fn durations_and_sizes_are_written_in_the_largest_unit_that_is_whole() {
        let check = |seconds, expected| assert_eq!(duration(seconds), expected);
        check(0.0, "0 s");
        check(0.000_25, "250 µs");
        check(0.05, "50 ms");
        check(60.0, "60 s");
        check(300.0, "5 min");
        check(86_400.0, "24 h");
        check(604_800.0, "7 days");
        let check = |bytes, expected| assert_eq!(size(bytes), expected);
        check(107.0, "107 bytes");
        check(65_536.0, "64 KiB");
        check(4_294_967_296.0, "4 GiB");
    }
}
