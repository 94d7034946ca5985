//! The page of Ruby: every method that authors call, by class, with its signature and what it does, from `sig/tsumugi.rbs`. It reads lines of RBS as
//! that file has them, not RBS.
//! Rule: each method of the signatures is on the page once; aliases that say the same share an entry.

use crate::tree::Tree;

const SIGNATURES: &str = "crates/ruby/sig/tsumugi.rbs";

const INTRODUCTION: &str = "# Ruby, method by method\n\n\
    What an application in Ruby calls beyond Ruby itself, by class. `name:` is a keyword, `?` stands before what may be left out, `{ … }` is a block, `->` says\n\
    what comes back where that is always of one class; where nothing else is said the arguments are those of the page that explains the class. What is\n\
    different from CRuby is on [a page of its own](../mruby.md). Editors have all of this from `sig/tsumugi.rbs`, which `tsumugi new` puts beside an\n\
    application. `cargo xtask reference` writes this page from the signatures, which a test compares with the methods that there are.\n";

/// What Ruby itself has: the words of an application file are methods of every object.
const WORDS: &str = "Object";

/// Where a class is explained: the longest beginning of its name counts.
const EXPLAINED: &[(&str, &str)] = &[
    ("Object", "[the guide](../guide.md)"),
    ("DB", "[databases](../databases.md)"),
    ("DB::Expression", "[queries](../queries.md)"),
    ("DB::Query", "[queries](../queries.md)"),
    ("DB::Schema", "[tables and migrations](../schema.md)"),
    ("DB::TableDiffers", "[tables and migrations](../schema.md)"),
    (
        "DB::MigrationFailed",
        "[tables and migrations](../schema.md)",
    ),
    (
        "KV",
        "[the guide](../guide.md#key-value-stores) and [stores](../stores.md)",
    ),
    ("HTTP", "[the guide](../guide.md#other-servers)"),
    ("Upload", "[the guide](../guide.md#reading-the-request)"),
    ("Password", "[the guide](../guide.md#ruby)"),
    (
        "Tsumugi::Body",
        "[the guide](../guide.md#reading-the-request)",
    ),
    (
        "Tsumugi::Cancelled",
        "[cancellation](../explanation/cancellation.md)",
    ),
    (
        "Tsumugi::Overrun",
        "[cancellation](../explanation/cancellation.md)",
    ),
    ("Tsumugi::Context", "[the guide](../guide.md#answering)"),
    (
        "Tsumugi::Cookies",
        "[the guide](../guide.md#cookies-and-sessions)",
    ),
    (
        "Tsumugi::Session",
        "[the guide](../guide.md#cookies-and-sessions)",
    ),
    (
        "Tsumugi::Invalid",
        "[the guide](../guide.md#checking-what-clients-send)",
    ),
    ("Tsumugi::Jobs", "[jobs](../jobs.md)"),
    ("Tsumugi::KeptChannel", "[clusters](../cluster.md)"),
    ("Tsumugi::Lock", "[clusters](../cluster.md)"),
    ("Tsumugi::MessageChannel", "[clusters](../cluster.md)"),
    ("Tsumugi::WebSocket", "[the guide](../guide.md#websockets)"),
];

/// A class or module.
struct Class<'t> {
    name: &'t str,
    above: &'t str,
    comment: String,
    methods: Vec<Method<'t>>,
}

/// Methods that have one comment and take the same.
struct Method<'t> {
    names: Vec<&'t str>,
    signature: &'t str,
    comment: String,
}

pub fn page(tree: &Tree) -> String {
    let classes = read(tree.text(SIGNATURES));
    let mut page = INTRODUCTION.to_owned();
    let (errors, others): (Vec<_>, Vec<_>) = classes.iter().partition(|class| is_error(class));
    for class in others.iter().filter(|class| has_entry(class)) {
        push_class(&mut page, class);
    }
    page.push_str("\n## Errors\n\nEach is a class of those behind it; what it has beyond an exception's own stands below it.\n\n");
    for class in errors {
        let explained = explained(class.name).map_or(String::new(), |it| format!(": {it}"));
        page.push_str(&format!(
            "- `{}` < `{}`{explained}\n",
            class.name, class.above
        ));
        for method in &class.methods {
            page.push_str(&format!(
                "  {}",
                entry(class, method).replace('\n', "\n  ").trim_end()
            ));
            page.push('\n');
        }
    }
    page
}

fn is_error(class: &Class) -> bool {
    !class.above.is_empty()
        && !matches!(
            class.above,
            "KV" | "KV::Embedded" | "Tsumugi::MessageChannel"
        )
}

fn has_entry(class: &Class) -> bool {
    !class.methods.is_empty()
}

fn push_class(page: &mut String, class: &Class) {
    let heading = match class.name {
        WORDS => "Words of an application file".to_owned(),
        name => format!("`{name}`"),
    };
    page.push_str(&format!("\n## {heading}\n\n"));
    if !class.comment.is_empty() {
        page.push_str(&format!("{}\n", class.comment));
    }
    if !class.above.is_empty() {
        page.push_str(&format!("A `{}`, with its methods. ", class.above));
    }
    if let Some(explained) = explained(class.name) {
        page.push_str(&format!("Explained in {explained}.\n"));
    }
    page.push('\n');
    for method in &class.methods {
        page.push_str(&entry(class, method));
    }
}

/// A line of the list: the names, each as it is called, and what is said of them.
fn entry(class: &Class, method: &Method) -> String {
    let calls: Vec<String> = method
        .names
        .iter()
        .map(|name| {
            let name = match name.strip_prefix("self.") {
                Some(name) => format!("{}.{name}", class.name),
                None => (*name).to_owned(),
            };
            format!("`{}`", call(&name, method.signature))
        })
        .collect();
    let calls = calls.join(", ");
    match method.comment.is_empty() {
        true => format!("- {calls}\n"),
        false => format!("- {calls}: {}\n", method.comment),
    }
}

fn explained(name: &str) -> Option<&'static str> {
    let fits = EXPLAINED.iter().filter(|(of, _)| {
        let rest = name.strip_prefix(of);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    });
    let longest = fits.max_by_key(|(of, _)| of.len());
    longest.map(|(_, page)| *page)
}

fn read(text: &str) -> Vec<Class<'_>> {
    let mut classes: Vec<Class> = Vec::new();
    let mut comment = String::new();
    for line in text.lines() {
        let line = line.trim();
        if let Some(words) = line.strip_prefix('#') {
            if !comment.is_empty() {
                comment.push(' ');
            }
            comment.push_str(words.trim());
            continue;
        }
        let head = ["class ", "module "];
        if let Some(head) = head.iter().find_map(|word| line.strip_prefix(word)) {
            let (name, above) = head.split_once(" < ").unwrap_or((head, ""));
            let comment = prose(&std::mem::take(&mut comment));
            classes.push(Class {
                name,
                above,
                comment,
                methods: Vec::new(),
            });
        } else if let Some((name, signature)) =
            line.strip_prefix("def ").and_then(|it| it.split_once(": "))
            && let Some(class) = classes.last_mut()
        {
            class.add(name, signature, prose(&comment));
        }
        comment.clear();
    }
    classes
}

impl<'t> Class<'t> {
    fn add(&mut self, name: &'t str, signature: &'t str, comment: String) {
        let name = name.trim_matches('`');
        let is_same = |method: &&mut Method| {
            !comment.is_empty() && method.comment == comment && method.signature == signature
        };
        match self.methods.iter_mut().find(is_same) {
            Some(method) => method.names.push(name),
            None => self.methods.push(Method {
                names: vec![name],
                signature,
                comment,
            }),
        }
    }
}

/// A comment of Ruby's documentation as Markdown: `+name+` is a span of code. An empty comment is no comment.
fn prose(comment: &str) -> String {
    let words = comment.split(' ').filter(|word| !word.is_empty());
    let words = words.map(|word| {
        let end = word
            .rfind('+')
            .filter(|end| *end > 0 && word.starts_with('+'));
        match end {
            Some(end) => format!("`{}`{}", &word[1..end], &word[end + 1..]),
            None => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A signature of RBS as a call: without the types that say nothing, the block as `{ … }`.
fn call(name: &str, signature: &str) -> String {
    let (arguments, result) = signature.rsplit_once(" -> ").unwrap_or((signature, ""));
    let result = result.trim_start_matches("untyped");
    let arguments = without_block_types(arguments);
    // A native: what it takes is not known here.
    let text = match arguments.starts_with("(*untyped, **untyped)") {
        true => format!("{name}(…)"),
        false => format!("{name}{arguments}").replace("()", ""),
    };
    let text = ["?untyped ", "*untyped ", "**untyped ", "untyped "]
        .iter()
        .fold(text, |text, word| {
            text.replace(word, word.trim_end_matches("untyped "))
        });
    // A parameter without a name.
    let text = text.replace(": untyped", ":").replace("untyped)", "…)");
    if result.is_empty() {
        text
    } else {
        format!("{text} -> {result}")
    }
}

/// The block's types are left out: `?{ (*untyped) [self: X] -> untyped }` is `{ … }`.
fn without_block_types(arguments: &str) -> String {
    match arguments.split_once("?{") {
        Some((before, _)) => format!("{before}{{ … }}"),
        None => arguments.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A file.\n\nmodule Tsumugi\nend\n\n# The words.\nclass Object\n  private\n\n\
          # Runs +sql+, and\n  # more.\n  def run: (String sql, ?untyped n, *untyped values, ?mode: untyped) ?{ (*untyped) -> untyped } -> Integer\n\
          def get: (?String path, **untyped types) ?{ (*untyped) [self: Tsumugi::Context] -> untyped } -> untyped\n\
        end\n\nclass DB::Query\n  # Two.\n  def two: () -> untyped\n  def native: (*untyped, **untyped) ?{ (*untyped) -> untyped } -> DB::Query\n\
          # Two.\n  def dos: () -> untyped\n  def `in`: (untyped a, untyped) -> bool\n  def self.open: (?url: String) -> DB\nend\n\nclass DB::Error < StandardError\n  def code: () -> untyped\nend\n";

    fn entries() -> String {
        let page = page(&Tree::new([(SIGNATURES, TEXT)]));
        page[INTRODUCTION.len()..].to_owned()
    }

    #[test]
    fn page_has_classes_with_their_methods_and_errors_at_the_end() {
        assert_eq!(
            entries(),
            "\n## Words of an application file\n\nThe words.\nExplained in [the guide](../guide.md).\n\n\
             - `run(String sql, ?n, *values, ?mode:) { … } -> Integer`: Runs `sql`, and more.\n\
             - `get(?String path, **types) { … }`\n\
             \n## `DB::Query`\n\nExplained in [queries](../queries.md).\n\n\
             - `two`, `dos`: Two.\n- `native(…) -> DB::Query`\n- `in(a, …) -> bool`\n- `DB::Query.open(?url: String) -> DB`\n\
             \n## Errors\n\nEach is a class of those behind it; what it has beyond an exception's own stands below it.\n\n\
             - `DB::Error` < `StandardError`: [databases](../databases.md)\n  - `code`\n"
        );
    }
}
