//! The first word of `tsumugi kv` where it is no command: a database, or a command that was mistyped. Opens nothing.
//! Rule: a word that reads as a command makes no folder, unless something of that name is there.

use std::path::Path;

use clap::Subcommand as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::call::KvCall;

/// Refuses a first database that reads as a command.
pub fn check(databases: &[String]) -> Result<(), clap::Error> {
    let Some(word) = databases.first().filter(|word| reads_as_command(word)) else {
        return Ok(());
    };
    if Path::new(word).exists() {
        return Ok(());
    }
    let commands = KvCall::augment_subcommands(clap::Command::new("kv"));
    let advice = match nearest(&commands, word) {
        Some(command) => format!("did you mean `{command}`?"),
        None => {
            let names: Vec<_> = commands
                .get_subcommands()
                .map(clap::Command::get_name)
                .collect();
            format!("the commands are {}", names.join(", "))
        }
    };
    let why = format!(
        "`{word}` is no command of `tsumugi kv`, and no database is there: {advice}\n\n  tip: to serve a new database in a folder of that name, write ./{word}; `tsumugi kv` alone serves one in memory"
    );
    Err(clap::Error::raw(ErrorKind::InvalidSubcommand, why))
}

fn reads_as_command(word: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
    !word.is_empty() && word.bytes().all(is_part)
}

/// The command whose name is most like this word, if one is.
fn nearest(commands: &clap::Command, word: &str) -> Option<String> {
    let outcome = commands.clone().try_get_matches_from(["kv", word]);
    let unknown = outcome.err()?;
    match unknown.get(ContextKind::SuggestedSubcommand)? {
        ContextValue::String(name) => Some(name.clone()),
        // The best of them is the last.
        ContextValue::Strings(names) => names.last().cloned(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(word: &str) -> Option<String> {
        let refused = check(&[word.to_owned()]).err();
        refused.map(|error| error.to_string())
    }

    #[test]
    fn word_that_is_almost_a_command_is_refused_with_the_nearest() {
        for (word, expected) in [
            ("gett", "did you mean `get`?"),
            ("lst", "did you mean `list`?"),
            ("incr", "did you mean `increment`?"),
            ("improt", "did you mean `import`?"),
            ("serve", "`tsumugi kv` alone serves"),
            ("zzz", "the commands are get, set, remove"),
        ] {
            let text = refused(word).unwrap_or_else(|| panic!("{word} is taken"));
            assert!(text.contains(expected), "{word}: {text}");
        }
    }

    #[test]
    fn database_is_a_word_that_does_not_read_as_a_command_or_is_there() {
        for word in [
            "",
            "casket.tkt",
            "./gett",
            "memory:gett",
            "gett#durability=memory",
            "etcd://a/b",
            // The folder that this test runs in has one.
            "src",
        ] {
            assert_eq!(refused(word), None, "{word}");
        }
        assert!(check(&[]).is_ok());
    }
}
