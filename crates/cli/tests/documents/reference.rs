//! The pages of `docs/reference`: that of commands is made here of what the program says of itself, those of limits and metrics are compared with it.
//! Rule: with `TSUMUGI_WRITE_REFERENCE=1` the page of commands is written, else it has to be what it would be.

use std::collections::BTreeSet;

use crate::rig::{get, start, until};
use crate::{document, printed};

const COMMANDS: &str = "docs/reference/commands.md";

const INTRODUCTION: &str = "# Commands and options\n\n\
    Every command with its options, as `--help` has them. Options may stand in any order, also behind arguments; exit codes are 0 for success, 1 for failure, 2 for wrong usage.\n\
    The packages and `make release` leave `tsumugi bench` out; `cargo install --locked --path crates/cli` has it. What `make run` builds has neither that nor the options `--acme…`, which it refuses by name.\n\
    A test of the project writes this page from the program (`TSUMUGI_WRITE_REFERENCE=1 cargo test -p tsumugi-cli --test documents reference`).\n";

/// A command's help, in parts.
#[derive(Default)]
struct Help {
    about: String,
    usage: Vec<String>,
    /// The part, what is typed, and what it does.
    entries: Vec<(String, String, String)>,
    rest: String,
}

impl Help {
    fn of(words: &[&str]) -> Help {
        let text = printed(&[words, &["--help"]].concat());
        let mut help = Help::default();
        let mut part = String::new();
        for line in text.lines() {
            let is_head = line.ends_with(':') && !line.starts_with([' ', '-']);
            if !help.rest.is_empty() || is_head && help.is_past(line) {
                help.rest.push_str(line);
                help.rest.push('\n');
            } else if is_head {
                part = line.trim_end_matches(':').to_owned();
            } else if let Some(usage) = line.strip_prefix("Usage:") {
                part = "Usage".to_owned();
                help.usage.push(usage.trim().to_owned());
            } else if !line.trim().is_empty() {
                help.take(&part, line);
            }
        }
        help
    }

    /// Whether this head begins what the command has behind its options.
    fn is_past(&self, head: &str) -> bool {
        !self.usage.is_empty() && !["Arguments:", "Options:", "Commands:"].contains(&head)
    }

    fn take(&mut self, part: &str, line: &str) {
        let indentation = line.len() - line.trim_start().len();
        match part {
            "" => self.about.push_str(line),
            "Usage" => self.usage.push(line.trim().to_owned()),
            // What follows the options without a head of its own.
            _ if indentation == 0 => self.rest = format!("{line}\n"),
            _ if indentation < 8 => {
                let line = line.trim();
                let (typed, does) = line.split_once("  ").unwrap_or((line, ""));
                let entry = (part.to_owned(), typed.to_owned(), does.trim().to_owned());
                self.entries.push(entry);
            }
            _ => {
                let (_, _, does) = self.entries.last_mut().unwrap();
                if !does.is_empty() {
                    does.push(' ');
                }
                match line
                    .trim()
                    .strip_prefix("- ")
                    .and_then(|it| it.split_once(':'))
                {
                    Some((value, text)) => does.push_str(&format!("`{value}`: {};", text.trim())),
                    None => does.push_str(line.trim()),
                }
            }
        }
    }

    fn commands(&self) -> Vec<String> {
        let commands = self.entries.iter().filter(|(part, ..)| part == "Commands");
        let names = commands.map(|(_, name, _)| name.clone());
        names.filter(|name| name != "help").collect()
    }

    fn write(&self, words: &[&str], page: &mut String) {
        let level = "#".repeat(words.len() + 1);
        let name = [&["tsumugi"], words].concat().join(" ");
        page.push_str(&format!(
            "\n{level} `{name}`\n\n{}.\n\n",
            prose(&self.about)
        ));
        let usage = self.usage.join("\n");
        page.push_str(&format!("```text\n{usage}\n```\n"));
        let rows = self.entries.iter().filter(|(part, typed, _)| {
            part != "Commands" && !typed.contains("--help") && !typed.contains("--version")
        });
        let mut rows = rows.peekable();
        if rows.peek().is_some() {
            page.push_str("\n| | default | |\n| --- | --- | --- |\n");
        }
        for (_, typed, does) in rows {
            let (does, default) = match does.split_once("[default: ") {
                Some((does, rest)) => {
                    let (default, more) = rest.split_once(']').unwrap();
                    (format!("{}{more}", does.trim_end()), format!("`{default}`"))
                }
                None => (does.clone(), String::new()),
            };
            let typed = typed.replace('|', "\\|");
            page.push_str(&format!("| `{typed}` | {default} | {} |\n", prose(&does)));
        }
        if !self.rest.is_empty() {
            page.push_str(&format!("\n```text\n{}\n```\n", self.rest.trim_end()));
        }
    }
}

/// A text of the help in a table: `<` and `|` are no marks outside of code.
fn prose(text: &str) -> String {
    let spans = text.split('`').enumerate();
    let spans = spans.map(|(at, span)| match at % 2 {
        0 => span.replace('<', "\\<").replace('*', "\\*"),
        _ => span.to_owned(),
    });
    spans.collect::<Vec<_>>().join("`").replace('|', "\\|")
}

fn push(words: &[&str], page: &mut String) {
    let help = Help::of(words);
    if !words.is_empty() {
        help.write(words, page);
    }
    for command in help.commands() {
        push(&[words, &[&*command]].concat(), page);
    }
}

#[test]
fn reference_of_commands_is_what_the_program_says() {
    let mut page = INTRODUCTION.to_owned();
    push(&[], &mut page);
    let options = printed(&["serve", "--help"]);
    let options = options
        .split_whitespace()
        .filter(|word| word.starts_with("--"));
    for option in options.filter(|word| word.len() > 4 && *word != "--help") {
        let name = option.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        assert!(page.contains(name), "{option}");
    }
    if std::env::var_os("TSUMUGI_WRITE_REFERENCE").is_some() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        std::fs::write(root.join(COMMANDS), &page).unwrap();
    }
    let found = document(COMMANDS);
    let same = found
        .lines()
        .zip(page.lines())
        .take_while(|(one, other)| one == other);
    let line = same.count() + 1;
    assert!(
        found == page,
        "{COMMANDS}:{line} differs: TSUMUGI_WRITE_REFERENCE=1 cargo test -p tsumugi-cli --test documents reference"
    );
}

#[test]
fn reference_of_limits_has_every_limit_that_can_be_set() {
    let page = document("docs/reference/limits.md");
    for command in ["serve", "kv"] {
        let said = printed(&[command, "--limit", "x=1"]);
        let (_, names) = said.split_once("the names are ").unwrap();
        let names = names.lines().next().unwrap().split(", ");
        for name in names {
            assert!(
                page.contains(&format!("\n| `{name}` |")),
                "{command}: {name}"
            );
        }
    }
}

/// Every family that a server shows is on the page, with its kind, its help and its labels.
fn check_metrics(page: &str, metrics: &str) -> usize {
    let mut seen = 0;
    let mut row = "";
    for line in metrics.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            let begin = format!("| `{name}` |");
            let found = page.lines().find(|row| row.starts_with(&begin));
            row = found.unwrap_or_else(|| panic!("{name} is not on the page"));
            assert!(
                row.ends_with(&format!("| {} |", help.replace('|', "\\|"))),
                "{row}: {help}"
            );
            seen += 1;
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (_, kind) = rest.split_once(' ').unwrap();
            assert!(row.contains(&format!("| {kind} |")), "{row}: {kind}");
        } else if let Some((_, labels)) = line.split_once('{') {
            let labels = labels
                .split("\",")
                .filter_map(|label| label.split('=').next());
            let unknown: BTreeSet<_> = labels
                .filter(|label| *label != "le" && !row.contains(&format!("`{label}`")))
                .collect();
            assert!(unknown.is_empty(), "{row}: {unknown:?}");
        }
    }
    seen
}

#[test]
fn reference_of_metrics_has_every_family_that_a_server_shows() {
    let page = document("docs/reference/metrics.md");
    assert!(
        !page.contains("no help") && !page.contains("unknown labels"),
        "{page}"
    );
    let app = "plugin(:db) { DB.connect }\nplugin(:kv) { KV.open \"#{Tsumugi.data_dir}/store\" }\njobs db\njob(:a) { }\n\
        get(\"/\") { kv[\"a\"] = \"1\"; jobs.push :a, after: 3600; kv[\"a\"] }";
    let options = ["--admin", "127.0.0.1:0", "--access-log", "access.log"];
    let (mut served, address) = start(app, &[], &options);
    let admin = served.word_after("admin pages on http://");
    assert_eq!(get(&address, "/").status(), 200);
    until("jobs are counted", || {
        get(&admin, "/metrics").text().contains("\ntsumugi_jobs{")
    });
    let seen = check_metrics(&page, &get(&admin, "/metrics").text());
    assert!(seen > 30, "{seen}");
}
