//! What this program was built without: what `--version` says of it, and what errors about it advise. Switches nothing on or off.
//! Rule: an error that names a feature says in this program what has it; a program in Rust is built by who reads its errors.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Features of what is shipped, and whether they are here.
const SHIPPED: [(&str, bool); 4] = [
    ("acme", cfg!(feature = "acme")),
    ("brotli", cfg!(feature = "brotli")),
    ("firebird", cfg!(feature = "firebird")),
    ("redis", cfg!(feature = "redis")),
];

/// How every crate says that something was left out (`tsumugi_stores::Error::NotBuiltIn` and its like); a feature's name and a grave accent follow.
const LEFT_OUT: &str = "is not in this program: it was built without the feature `";

/// What has what was left out.
const ADVICE: &str = "; the packages and `make release` have it";

/// What is said of `tsumugi bench` where it was left out.
const NO_BENCH: &str = "`bench` is not in this program: it was built without the feature `bench`, which packages leave out, too; `make bench-build` builds one with it";

/// What `--version` says behind the name.
pub fn version() -> String {
    let allocator = match cfg!(feature = "mimalloc") {
        true => "mimalloc",
        false => "system allocator",
    };
    let version = format!("{} (mruby 3.2, {allocator})", env!("CARGO_PKG_VERSION"));
    version + &left_out(&SHIPPED)
}

/// A line that names the features which are not here; nothing where all are.
fn left_out(features: &[(&str, bool)]) -> String {
    let missing = features.iter().filter(|(_, is_here)| !is_here);
    let names: Vec<_> = missing.map(|(name, _)| *name).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("\nbuilt without: {}", names.join(", ")),
    }
}

/// The text of an error, with what to do behind each feature that it says was left out.
pub fn with_advice(text: &str) -> String {
    let mut pieces = text.split(LEFT_OUT);
    let mut advised = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        advised.push_str(LEFT_OUT);
        match piece.split_once('`') {
            Some((feature, rest)) => {
                let advice = advice(feature);
                advised.push_str(&format!("{feature}`{advice}{rest}"));
            }
            None => advised.push_str(piece),
        }
    }
    advised
}

/// Where to get this feature; nothing for one that the packages lack, too.
fn advice(feature: &str) -> &'static str {
    match SHIPPED.iter().any(|(name, _)| *name == feature) {
        true => ADVICE,
        false => "",
    }
}

/// What is printed in place of wrong usage, if that asks for what was left out.
pub fn refusal(usage: &clap::Error) -> Option<clap::Error> {
    let is_bench = usage.kind() == ErrorKind::InvalidSubcommand
        && usage.get(ContextKind::InvalidSubcommand)
            == Some(&ContextValue::String("bench".to_owned()));
    let why = match !cfg!(feature = "bench") && is_bench {
        true => NO_BENCH.to_owned(),
        false => with_advice(tsumugi_server::absent_option(usage)?),
    };
    Some(clap::Error::raw(usage.kind(), why + "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_names_what_was_left_out_in_one_line_and_nothing_where_all_is_here() {
        assert_eq!(left_out(&[("acme", true), ("redis", true)]), "");
        let some = [("acme", false), ("brotli", true), ("redis", false)];
        assert_eq!(left_out(&some), "\nbuilt without: acme, redis");
    }

    #[test]
    fn error_about_a_feature_says_what_has_it_wherever_it_stands_in_the_text() {
        let of = |feature| {
            let engine = "Redis";
            tsumugi_stores::Error::NotBuiltIn { engine, feature }.to_string()
        };
        assert_eq!(with_advice("no such file"), "no such file");
        let (redis, acme) = (of("redis"), of("acme"));
        let expected = format!("app.rb:1: {redis}{ADVICE} (KV::Unsupported)\n{acme}{ADVICE}");
        let text = format!("app.rb:1: {redis} (KV::Unsupported)\n{acme}");
        assert_eq!(with_advice(&text), expected);
        let other = of("cron");
        assert_eq!(with_advice(&other), other);
    }

    #[test]
    #[cfg(not(feature = "bench"))]
    fn command_that_was_left_out_is_not_called_unknown() {
        assert!(refused("tsumugi bench").is_some_and(|text| text.contains(NO_BENCH)));
        assert_eq!(refused("tsumugi benches"), None);
    }

    #[test]
    #[cfg(not(feature = "acme"))]
    fn option_that_was_left_out_is_refused_with_what_has_it() {
        assert!(refused("tsumugi serve --acme a").is_some_and(|text| text.contains(ADVICE)));
        assert_eq!(refused("tsumugi serve --acmes a"), None);
    }

    #[cfg(not(all(feature = "acme", feature = "bench")))]
    fn refused(words: &str) -> Option<String> {
        let command = clap::Command::new("tsumugi").subcommand(clap::Command::new("serve"));
        let usage = command.try_get_matches_from(words.split(' ')).unwrap_err();
        refusal(&usage).map(|error| error.to_string())
    }
}
