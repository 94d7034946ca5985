//! What CRuby has and this Ruby has not, and what to use in its place: tables of names, and what the parser stumbles over. Knows no program.

use tsumugi_mruby::SyntaxError;

const FILES: &str = "read_file for files of the application, public for files that clients may read, require_relative for Ruby, a store (KV.open) or a database for data";
const THREADS: &str = "parallel, or an operation that waits: each request has a fibre, and handlers of a worker never run at once";
const PROCESSES: &str =
    "a service of its own that http asks: a process would hold up all requests of a worker";
const EXIT: &str = "halt to end a request; the server ends by SIGTERM";
const RENDER: &str = "render, with views near the top of the file";
const SETTINGS: &str = "a constant or ENV, and the options of tsumugi serve (--listen)";

/// Constants of CRuby and its standard library.
const CONSTANTS: &[(&str, &str)] = &[
    ("ARGF", "ENV, a request's body or a store"),
    ("ARGV", "ENV for settings"),
    ("BasicSocket", "http, or a database"),
    (
        "Benchmark",
        "Process.clock_gettime(Process::CLOCK_MONOTONIC)",
    ),
    ("BigDecimal", "DB::Decimal"),
    ("CSV", "String#split, or csv of a query for responses"),
    ("Complex", "two Floats"),
    ("ConditionVariable", "Tsumugi::Channel"),
    ("DATA", "a String, or a view for texts"),
    ("Date", "Time, or DB::Date for days of a database"),
    ("DateTime", "Time"),
    ("Delegator", "methods that call the other object"),
    ("Dir", FILES),
    (
        "Errno",
        "rescue => e: what waits raises errors of its own (DB::Error, HTTP::Error, KV::Error)",
    ),
    ("Etc", "worker.count"),
    ("File", FILES),
    ("FileTest", FILES),
    ("FileUtils", "a store (KV.open) or a database"),
    ("Find", FILES),
    ("Forwardable", "methods that call the other object"),
    ("IO", FILES),
    ("Int", "Integer"),
    ("Interrupt", EXIT),
    ("Logger", "log"),
    ("Marshal", "JSON"),
    ("Monitor", THREADS),
    ("Mutex", THREADS),
    ("Net", "http"),
    (
        "Observable",
        "Tsumugi::Channel, or channel for other workers and processes",
    ),
    ("Open3", PROCESSES),
    ("OpenStruct", "Struct, Data or a Hash"),
    ("OptionParser", "ENV for settings"),
    ("Pathname", "String"),
    (
        "Queue",
        "Tsumugi::Channel, or jobs for work that must not be lost",
    ),
    ("Ractor", "parallel; workers share nothing already"),
    ("RubyVM", "GC.count and the metrics of the server"),
    ("SDBM", "KV.open"),
    ("STDIN", "a request's body"),
    ("ScanError", "Regexp and String#index"),
    ("Shellwords", "String#split"),
    ("Signal", EXIT),
    ("SignalException", EXIT),
    ("SimpleDelegator", "methods that call the other object"),
    (
        "Singleton",
        "a module with `extend self`, or plugin for what each worker has one of",
    ),
    ("SizedQueue", "Tsumugi::Channel.new(capacity)"),
    ("Socket", "http, or a database"),
    ("SortedSet", "Set and sort"),
    ("StringIO", "String and <<"),
    ("StringScanner", "Regexp and String#index"),
    (
        "SystemCallError",
        "rescue => e: what waits raises errors of its own (DB::Error, HTTP::Error, KV::Error)",
    ),
    ("SystemExit", EXIT),
    (
        "TCPServer",
        "get, post and their siblings: the server listens",
    ),
    ("TCPSocket", "http, or a database"),
    ("Tempfile", "a store (KV.open) or a database"),
    ("Thread", THREADS),
    ("ThreadGroup", THREADS),
    (
        "Timeout",
        "timeout: of http, of a query and of a job; a request has its limit (request_ms_max)",
    ),
    ("TracePoint", "traces"),
    ("UDPSocket", "http, or a database"),
    ("UNIXSocket", "http, or a database"),
    ("WeakRef", "a store with ttl:"),
    ("YAML", "JSON"),
    ("Zlib", "compress for responses"),
];

/// Methods of CRuby that are called without a receiver.
const OWN_METHODS: &[(&str, &str)] = &[
    ("`", PROCESSES),
    ("Complex", "two Floats"),
    ("BigDecimal", "DB::Decimal"),
    ("abort", EXIT),
    ("at_exit", "stop: of plugin"),
    ("autoload", "require_relative"),
    ("callcc", "catch and throw, or Fiber"),
    ("caller_locations", "caller"),
    (
        "defined?",
        "respond_to?, Object.const_defined?, instance_variable_defined? or block_given?",
    ),
    ("exec", PROCESSES),
    ("exit", EXIT),
    ("exit!", EXIT),
    ("fork", PROCESSES),
    ("gets", "a request's body"),
    ("open", FILES),
    ("putc", "print"),
    ("readline", "a request's body"),
    ("readlines", "a request's body"),
    (
        "refine",
        "a method of a module of its own: refinements are no part of it",
    ),
    ("select", THREADS),
    ("set_trace_func", "traces"),
    ("spawn", PROCESSES),
    ("syscall", PROCESSES),
    ("system", PROCESSES),
    ("trap", EXIT),
    (
        "using",
        "a method of a module of its own: refinements are no part of it",
    ),
];

/// Methods of objects, as `Class#method`; `#method` for those of any object.
const METHODS: &[(&str, &str)] = &[
    (
        "#backtrace_locations",
        "backtrace, whose texts begin with file:line",
    ),
    ("#cause", "a field of your exception for what you rescued"),
    ("#detailed_message", "message and full_message"),
    ("#irb", "tsumugi console"),
    ("Class#const_source_location", "caller where it is defined"),
    ("Class#refine", "a method of a module of its own"),
    (
        "Class#schedule",
        "parallel: fibres of handlers are scheduled by what they wait for",
    ),
    (
        "Class#scheduler",
        "parallel: fibres of handlers are scheduled by what they wait for",
    ),
    (
        "Class#strptime",
        "Time.iso8601, or a Regexp and Time.utc or Time.local",
    ),
    ("Class#timeout=", "the limit regexp_backtracks_max"),
    ("Hash#compare_by_identity", "object_id as the key"),
    ("KeyError#key", "message"),
    ("KeyError#receiver", "message"),
    ("Module#define_finalizer", "ensure, or stop: of plugin"),
    (
        "Module#kill",
        "a service of its own for other processes; the server ends by SIGTERM",
    ),
    ("Module#refine", "a method of a module of its own"),
    ("Module#spawn", PROCESSES),
    ("Module#stat", "GC.count and the metrics of the server"),
    ("NoMethodError#receiver", "message"),
    ("String#b", "bytes, getbyte and unpack: strings are UTF-8"),
    ("String#each_grapheme_cluster", "chars"),
    ("String#grapheme_clusters", "chars"),
    ("String#to_c", "two Floats"),
    (
        "String#unicode_normalize",
        "downcase and casecmp? for comparing",
    ),
];

/// Words of Sinatra in handlers and at the top of the file.
const SINATRA: &[(&str, &str)] = &[
    ("configure", SETTINGS),
    (
        "content_type",
        "json, html or text(value, type: \"text/csv\"), or header \"content-type\", \"text/csv\"",
    ),
    ("disable", SETTINGS),
    (
        "enable",
        "sessions near the top of the file, and the options of tsumugi serve for the rest",
    ),
    ("erb", RENDER),
    ("haml", RENDER),
    ("logger", "log"),
    (
        "params",
        "query[:name], body[:name] or body.require(name: String), captures[:name]",
    ),
    ("set", SETTINGS),
    ("settings", SETTINGS),
    ("slim", RENDER),
];

/// Names that documents and examples give to plugins, with what makes them.
const PLUGINS: &[(&str, &str)] = &[
    ("cache", "KV.open \"memory:cache\""),
    ("db", "DB.connect"),
    ("kv", "KV.open \"#{Tsumugi.data_dir}/kv\""),
    ("store", "KV.open \"#{Tsumugi.data_dir}/store\""),
];

/// A span of time as this Ruby writes it.
const SPAN: &str = "a number of seconds, as in 5 * 60";
/// A moment, some time from now.
const MOMENT: &str = "Time.now + 5 * 60, or - for one that has been";
/// What replaces ActiveSupport's conversions of a Hash's keys.
const KEYS: &str = "transform_keys";

/// Methods that ActiveSupport adds to those of Ruby, as [`METHODS`]; `Numeric` stands for all numbers. `Class.method` is one of that class itself and of
/// no other: applications have a `User.current` of their own.
const ACTIVE_SUPPORT: &[(&str, &str)] = &[
    ("Numeric#second", SPAN),
    ("Numeric#seconds", SPAN),
    ("Numeric#minute", SPAN),
    ("Numeric#minutes", SPAN),
    ("Numeric#hour", SPAN),
    ("Numeric#hours", SPAN),
    ("Numeric#day", SPAN),
    ("Numeric#days", SPAN),
    ("Numeric#week", SPAN),
    ("Numeric#weeks", SPAN),
    ("Numeric#fortnight", SPAN),
    ("Numeric#fortnights", SPAN),
    ("Numeric#month", SPAN),
    ("Numeric#months", SPAN),
    ("Numeric#year", SPAN),
    ("Numeric#years", SPAN),
    ("Numeric#ago", MOMENT),
    ("Numeric#from_now", MOMENT),
    ("Numeric#megabytes", "1024 * 1024"),
    ("Numeric#kilobytes", "1024"),
    ("Time.current", "Time.now"),
    ("Time.zone", "Time.now, and zone: of every"),
    ("#blank?", "nil? and empty?"),
    ("#presence", "&. and ||"),
    ("#present?", "a value itself as a condition, and empty?"),
    ("#try", "&. in front of the name"),
    ("Array#second", "[1]"),
    ("Array#third", "[2]"),
    (
        "Hash#deep_symbolize_keys",
        "JSON.parse with symbolize_names: true, or transform_keys",
    ),
    ("Hash#stringify_keys", KEYS),
    ("Hash#symbolize_keys", KEYS),
    ("Hash#with_indifferent_access", KEYS),
    ("String#constantize", "Object.const_get"),
    ("String#html_safe", "raw"),
    ("String#squish", "split.join(\" \")"),
];

/// Globals that CRuby sets and nothing sets here.
const GLOBALS: &[(&str, &str)] = &[
    ("$!", "rescue => e"),
    ("$@", "rescue => e and e.backtrace"),
    ("$`", "$~.pre_match"),
    ("$'", "$~.post_match"),
    ("$+", "$~.captures.last"),
    ("$?", "nothing: there are no processes"),
    ("$$", "Process.pid"),
    ("$<", "a request's body"),
    ("$>", "puts or log"),
    ("$_", "a variable"),
    ("$.", "each_with_index"),
    ("$*", "ENV for settings"),
    ("$:", "require_relative"),
    ("$\"", "require_relative"),
    ("$LOAD_PATH", "require_relative"),
    ("$LOADED_FEATURES", "require_relative"),
    ("$stdin", "a request's body"),
    ("$FILENAME", "__FILE__"),
];

fn find(table: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    let row = table.iter().find(|(absent, _)| *absent == name);
    row.map(|(_, other)| *other)
}

fn sentence(name: &str, other: &str) -> String {
    let name = match name {
        "`" => "commands in backquotes",
        name => name,
    };
    format!("mruby has no {name}; use {other}")
}

fn active_support_sentence(name: &str, other: &str) -> String {
    format!("{name} is a method of ActiveSupport, which is not here; use {other}")
}

/// What to write in place of a method of ActiveSupport.
fn active_support_method(class: &str, name: &str) -> Option<String> {
    let class = match class {
        "Integer" | "Float" => "Numeric",
        class => class,
    };
    let other = find(ACTIVE_SUPPORT, &format!("{class}#{name}"))
        .or_else(|| find(ACTIVE_SUPPORT, &format!("#{name}")))?;
    Some(active_support_sentence(name, other))
}

fn plugin_sentence(name: &str) -> Option<String> {
    let make = find(PLUGINS, name)?;
    Some(format!(
        "a plugin makes it: `plugin(:{name}) {{ {make} }}` near the top of the file"
    ))
}

fn sinatra_sentence(name: &str) -> Option<String> {
    find(SINATRA, name).map(|other| format!("Tsumugi has no {name}; use {other}"))
}

/// What to use in place of a constant of CRuby.
pub(crate) fn constant(name: &str) -> Option<String> {
    find(CONSTANTS, name).map(|other| sentence(name, other))
}

/// What to use in place of a method of CRuby or of Sinatra, or which plugin has not been made; `class` is the receiver's, or `Class` or `Module` for one of
/// these.
pub(crate) fn method(class: &str, name: &str) -> Option<String> {
    if name == "it" {
        return Some(sentence("it", "_1, or a name: { |value| … }"));
    }
    let word = match class == "Object" || class.starts_with("Tsumugi::") {
        true => sinatra_sentence(name).or_else(|| plugin_sentence(name)),
        false => None,
    };
    if word.is_some() {
        return word;
    }
    let own = find(METHODS, &format!("{class}#{name}"))
        .or_else(|| find(METHODS, &format!("#{name}")))
        .or_else(|| find(OWN_METHODS, name));
    match own {
        Some(own) => Some(sentence(name, own)),
        None => active_support_method(class, name),
    }
}

/// What to use in place of a method that another library adds to the class of this name itself.
pub(crate) fn class_method(class: &str, name: &str) -> Option<String> {
    let other = find(ACTIVE_SUPPORT, &format!("{class}.{name}"))?;
    Some(active_support_sentence(name, other))
}

/// What to use in place of a method of CRuby that is called without a receiver.
pub(crate) fn own_method(name: &str) -> Option<String> {
    find(OWN_METHODS, name).map(|other| sentence(name, other))
}

/// What to use in place of a word of Sinatra. A store has `set`: a class below it may call that without a receiver.
pub(crate) fn sinatra_word(name: &str) -> Option<String> {
    match name {
        "set" => None,
        _ => sinatra_sentence(name),
    }
}

/// What to use in place of a global that CRuby sets.
pub(crate) fn global(name: &str) -> Option<String> {
    find(GLOBALS, name).map(|other| sentence(name, other))
}

/// What to use in place of a variable that a group of a regular expression would set.
pub(crate) fn captured_variable(name: &str) -> String {
    let other = format!("$~[:{name}], or match and its result");
    sentence("named captures as variables", &other)
}

/// Whether one of the tables of what a program names has the name.
pub(crate) fn is_absent(name: &str) -> bool {
    let tables = [CONSTANTS, OWN_METHODS, SINATRA, GLOBALS];
    name == "it" || tables.iter().any(|table| find(table, name).is_some())
}

/// What to write in place of what the parser stumbled over; `line` is the line's text, `source` the file's.
pub(crate) fn syntax(error: &SyntaxError, line: &str, source: &str) -> Option<String> {
    let message = error.message.as_str();
    let pattern = || {
        sentence(
            "pattern matching",
            "case … when, Hash#fetch, dig and values_at, or multiple assignment",
        )
    };
    if message.contains("keyword_in") {
        return Some(pattern());
    }
    let one_line = ["=> {", "=> ["].iter().any(|arrow| line.contains(arrow));
    if one_line
        && (message.contains("tLBRACE") || message.contains("tLBRACK") || message.contains("=>"))
    {
        return Some(pattern());
    }
    if message.contains("BEGIN not supported") {
        return Some(sentence("BEGIN", "the top of the file"));
    }
    if message.contains("END not supported") {
        return Some(sentence("END", "stop: of plugin"));
    }
    if message.contains("constant re-assignment") {
        return Some(sentence(
            "||= for M::NAME",
            "M.const_set unless M.const_defined?",
        ));
    }
    if line.trim_start().starts_with("alias $") {
        return Some(sentence("alias of globals", "a method"));
    }
    if message.contains("too deeply nested") && source.contains("defined?") {
        return method("", "defined?");
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn method_of_active_support_on_time_is_that_of_no_other_class() {
        let hint = class_method("Time", "current").unwrap();
        assert!(hint.contains("ActiveSupport") && hint.ends_with("use Time.now"));
        assert!(class_method("Time", "zone").is_some());
        for name in ["current", "zone"] {
            assert_eq!(class_method("User", name), None);
            assert_eq!(method("Class", name), None);
        }
    }

    #[test]
    fn rows_are_in_order_and_no_name_stands_twice() {
        for table in [
            CONSTANTS,
            OWN_METHODS,
            METHODS,
            ACTIVE_SUPPORT,
            SINATRA,
            PLUGINS,
            GLOBALS,
        ] {
            let mut seen = HashSet::new();
            for (name, other) in table {
                assert!(seen.insert(name), "{name} stands twice");
                assert!(
                    !other.is_empty() && !other.ends_with('.'),
                    "{name}: {other}"
                );
            }
        }
    }
}
