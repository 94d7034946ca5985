//! How a command of either kind of application ends when it has failed: what it prints, and its exit code. Prints nothing itself.
//! Rule: wrong usage is an error of clap wherever it is found, so that it has clap's words and exit code.

use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Wrong usage that clap itself cannot find: variables stand for options, and addresses are settled later.
pub(crate) fn wrong_usage(kind: ErrorKind, message: &str) -> anyhow::Error {
    clap::Error::raw(kind, message).into()
}

/// An error about a file, with the options in front of it that name this file.
pub fn with_options(
    error: anyhow::Error,
    file: &Path,
    options: &[(&'static str, &Path)],
) -> anyhow::Error {
    let naming = options.iter().filter(|(_, path)| *path == file);
    let naming: Vec<&str> = naming.map(|(option, _)| *option).collect();
    match naming.is_empty() {
        true => error,
        false => error.context(naming.join(", ")),
    }
}

/// The same of a certificate or key of a server.
pub fn with_tls_options(
    error: tsumugi_http::Error,
    options: &[(&'static str, &Path)],
) -> anyhow::Error {
    match &error {
        tsumugi_http::Error::Certificate { path, .. } => {
            let path = path.clone();
            with_options(error.into(), &path, options)
        }
        _ => error.into(),
    }
}

/// What a failed command prints, with its line break, and its exit code: 2 for wrong usage, else 1. `program` begins the line of a failure and may be
/// empty; `command` gives the usage that is printed below wrong usage.
pub fn failure(
    error: anyhow::Error,
    program: &str,
    mut command: clap::Command,
) -> (String, ExitCode) {
    match error.downcast::<clap::Error>() {
        Ok(usage) => {
            let usage = without_value_tip(usage).format(&mut command);
            (usage.render().to_string(), usage_exit_code(&usage))
        }
        Err(error) => {
            let story = crate::story(error.as_ref());
            (format!("{program}{story}\n"), ExitCode::FAILURE)
        }
    }
}

/// Options that other servers have, and which option of a server of ours does the same.
const FOREIGN_OPTIONS: [(&[&str], &str); 2] = [
    (
        &["--port", "-p", "--host", "--bind", "-b", "-H"],
        "a server listens where --listen says: serve --listen 127.0.0.1:3000",
    ),
    (
        &["--reload", "--watch"],
        "serve --dev loads the application again when one of its files changes",
    ),
];

/// What is said of an option that other servers have.
fn advice(usage: &clap::Error) -> Option<clap::Error> {
    let Some(ContextValue::String(option)) = usage.get(ContextKind::InvalidArg) else {
        return None;
    };
    let mut known = FOREIGN_OPTIONS.iter();
    let (_, advice) = known.find(|(options, _)| options.contains(&option.as_str()))?;
    let is_unknown = usage.kind() == ErrorKind::UnknownArgument;
    is_unknown.then(|| {
        let why = format!("unexpected argument '{option}' found\n\n  tip: {advice}\n");
        clap::Error::raw(ErrorKind::UnknownArgument, why)
    })
}

/// The same error without the tip to take a mistyped option for a file or an id, by `--` in front of it. It stays for a number below zero, which may be a
/// value.
fn without_value_tip(mut usage: clap::Error) -> clap::Error {
    let Some(ContextValue::String(argument)) = usage.get(ContextKind::InvalidArg) else {
        return usage;
    };
    let is_number = argument
        .strip_prefix('-')
        .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
    if is_number {
        return usage;
    }
    if let Some(ContextValue::StyledStrs(mut tips)) = usage.remove(ContextKind::Suggested) {
        tips.retain(|tip| !tip.to_string().contains(" as a value, use "));
        if !tips.is_empty() {
            usage.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
    usage
}

/// Prints wrong usage, or the help that was asked for; its exit code. The process goes on, so that what it has unpacked is removed.
pub fn print_usage(usage: clap::Error) -> ExitCode {
    let absent = crate::acme::absent_option(&usage);
    let absent = absent.map(|why| clap::Error::raw(usage.kind(), format!("{why}\n")));
    let clearer = absent.or_else(|| advice(&usage));
    let usage = clearer.unwrap_or_else(|| without_value_tip(usage));
    // There is no reader when it cannot be written.
    let _ = usage.print();
    usage_exit_code(&usage)
}

fn usage_exit_code(usage: &clap::Error) -> ExitCode {
    u8::try_from(usage.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_usage_has_the_words_of_clap_and_exit_code_two() {
        let error = wrong_usage(ErrorKind::ArgumentConflict, "one or the other");
        let (text, code) = failure(error, "shop: ", clap::Command::new("shop"));
        assert!(text.starts_with("error: one or the other\n"), "{text}");
        assert!(text.contains("Usage: shop"), "{text}");
        assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::from(2)));
    }

    #[test]
    fn option_of_other_servers_is_answered_with_the_one_to_write() {
        let said = |words: &str| {
            let command = clap::Command::new("serve");
            let usage = command.try_get_matches_from(words.split(' ')).unwrap_err();
            advice(&usage).unwrap_or(usage).to_string()
        };
        for words in ["serve --port 3000", "serve -p 3000", "serve --host=0.0.0.0"] {
            let text = said(words);
            assert!(text.contains("serve --listen"), "{text}");
        }
        assert!(said("serve --reload").contains("tip: serve --dev"));
        assert!(said("serve --ports").contains("unexpected argument"));
    }

    #[test]
    fn mistyped_option_is_never_advised_as_a_value_and_the_nearest_option_is() {
        let said = |words: &str| {
            let command = clap::Command::new("serve")
                .arg(clap::arg!([app] "a file"))
                .arg(clap::arg!(--listen <ADDR> "where"));
            let usage = command.try_get_matches_from(words.split(' ')).unwrap_err();
            without_value_tip(usage).to_string()
        };
        for words in ["serve --prot 3", "serve -x", "serve a --nothing=1"] {
            let text = said(words);
            assert!(text.contains("unexpected argument"), "{text}");
            assert!(!text.contains("tip:"), "{text}");
        }
        let near = said("serve --lisen 3");
        assert!(near.contains("exists: '--listen'"), "{near}");
        // A value may be a number.
        assert!(said("serve -5").contains("use '-- -5'"));
    }

    #[test]
    fn file_that_cannot_be_used_is_named_by_the_options_that_named_it() {
        let (one, other) = (Path::new("a.pem"), Path::new("b.pem"));
        let said = |options: &[(&'static str, &Path)]| {
            let error = anyhow::anyhow!("cannot use a.pem");
            crate::story(with_options(error, one, options).as_ref())
        };
        let check =
            |options: &[(&'static str, &Path)], expected: &str| assert_eq!(said(options), expected);
        check(
            &[("--tls-cert", one), ("--tls-key", other)],
            "--tls-cert: cannot use a.pem",
        );
        check(
            &[("--tls-cert", one), ("--tls-key", one)],
            "--tls-cert, --tls-key: cannot use a.pem",
        );
        check(&[("--tls-cert", other)], "cannot use a.pem");
    }

    #[test]
    fn failure_with_a_cause_is_one_line_behind_the_program_and_exit_code_one() {
        let error = anyhow::anyhow!("no such file").context("cannot read app.rb");
        let (text, code) = failure(error, "shop: ", clap::Command::new("shop"));
        assert_eq!(text, "shop: cannot read app.rb: no such file\n");
        assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::FAILURE));
    }
}
