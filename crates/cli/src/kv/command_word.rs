//! The first word of `tsumugi kv` where it is no command: a database, or a command that was mistyped. Opens nothing.
//! Rule: a word that is almost a command makes no folder, unless something of that name is there.

use std::path::Path;

use clap::Subcommand as _;
use clap::error::ErrorKind;

use super::call::KvCall;

/// Refuses a first database whose name is almost that of a command.
pub fn check(databases: &[String]) -> Result<(), clap::Error> {
    let Some(word) = databases.first().filter(|word| reads_as_command(word)) else {
        return Ok(());
    };
    if Path::new(word).exists() {
        return Ok(());
    }
    let Some(command) = nearest(word) else {
        return Ok(());
    };
    let why = format!(
        "`{word}` is no command of `tsumugi kv`, and no database is there: did you mean `{command}`?\n\n  tip: to serve a new database in a folder of that name, write ./{word}\n"
    );
    Err(clap::Error::raw(ErrorKind::InvalidSubcommand, why))
}

fn reads_as_command(word: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
    !word.is_empty() && word.bytes().all(is_part)
}

/// The command of which this word is the beginning, or one or two slips away. Words that are merely alike are names of databases.
fn nearest(word: &str) -> Option<String> {
    let commands = KvCall::augment_subcommands(clap::Command::new("kv"));
    let slips_max = if word.len() < 6 { 1 } else { 2 };
    let names = commands
        .get_subcommands()
        .flat_map(|command| command.get_all_aliases().chain([command.get_name()]));
    let distances = names.filter_map(|name| {
        let is_beginning = word.len() >= 3 && name.starts_with(word);
        let slips = match is_beginning {
            true => 0,
            false => strsim::osa_distance(word, name),
        };
        (slips <= slips_max && slips < word.len()).then(|| (slips, name.to_owned()))
    });
    let (_, name) = distances.min()?;
    Some(name)
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
            ("delet", "did you mean `delete`?"),
        ] {
            let text = refused(word).unwrap_or_else(|| panic!("{word} is taken"));
            assert!(text.contains(expected), "{word}: {text}");
        }
    }

    #[test]
    fn database_is_a_word_that_does_not_read_as_a_command_or_is_there() {
        for word in [
            "",
            "data",
            "cache",
            "store",
            "sessions",
            "my-db",
            "a",
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
