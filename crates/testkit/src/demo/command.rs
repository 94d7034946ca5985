//! What a running cluster is asked to do, as words. Does nothing about it.
//! Rule: a command prints as the words that it is read from.

use std::fmt;

/// How many there are of each.
pub const COUNT: usize = 3;

/// What a running cluster is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartCommand {
    /// To say what runs.
    Status,
    /// To do something to a part.
    To(Verb, Part),
}

/// What becomes of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// It ends at once, as by a machine's death.
    Kill,
    /// It is started again.
    Start,
    /// It is stopped in its tracks.
    Freeze,
    /// It goes on.
    Thaw,
    /// It is cut off from all others.
    Cut,
    /// It is no longer cut off.
    Heal,
}

/// A part, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The PostgreSQL that writes.
    Primary,
    /// A PostgreSQL.
    Postgres(usize),
    /// A process of the demo.
    Web(usize),
    /// A member of etcd.
    Etcd(usize),
}

/// What is shown first.
pub const KILLS: [PartCommand; 3] = [
    PartCommand::To(Verb::Kill, Part::Primary),
    PartCommand::To(Verb::Kill, Part::Web(0)),
    PartCommand::To(Verb::Kill, Part::Etcd(0)),
];

/// What is shown then.
pub const OTHERS: [PartCommand; 6] = [
    PartCommand::To(Verb::Start, Part::Postgres(0)),
    PartCommand::To(Verb::Start, Part::Web(0)),
    PartCommand::To(Verb::Start, Part::Etcd(0)),
    PartCommand::To(Verb::Freeze, Part::Primary),
    PartCommand::To(Verb::Thaw, Part::Postgres(1)),
    PartCommand::To(Verb::Freeze, Part::Web(1)),
];

const VERBS: [(&str, Verb); 6] = [
    ("kill", Verb::Kill),
    ("start", Verb::Start),
    ("freeze", Verb::Freeze),
    ("thaw", Verb::Thaw),
    ("cut", Verb::Cut),
    ("heal", Verb::Heal),
];

impl fmt::Display for PartCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartCommand::Status => f.write_str("status"),
            PartCommand::To(verb, part) => {
                let word = VERBS.iter().find(|(_, known)| known == verb);
                write!(f, "{} {part}", word.map_or("", |(word, _)| word))
            }
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Primary => f.write_str("primary"),
            Part::Postgres(at) => write!(f, "postgres {}", at + 1),
            Part::Web(at) => write!(f, "web {}", at + 1),
            Part::Etcd(at) => write!(f, "etcd {}", at + 1),
        }
    }
}

/// A command by its words.
///
/// # Errors
/// What is wrong with them.
pub fn parse(words: &[&str]) -> Result<PartCommand, String> {
    let (verb, part) = match words {
        ["status"] => return Ok(PartCommand::Status),
        [verb, part @ ..] => (verb, part),
        [] => return Err("a command is missing".to_owned()),
    };
    let known = VERBS.iter().find(|(word, _)| word == verb);
    let (_, verb) = known.ok_or_else(|| format!("there is no command {verb}"))?;
    Ok(PartCommand::To(*verb, self::part(part)?))
}

fn part(words: &[&str]) -> Result<Part, String> {
    let (kind, number) = match words {
        ["primary"] => return Ok(Part::Primary),
        [kind, number] => (*kind, *number),
        _ => return Err("name one part: primary, postgres N, web N or etcd N".to_owned()),
    };
    let at = number
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_sub(1))
        .filter(|at| *at < COUNT)
        .ok_or_else(|| format!("{kind} has a number from 1 to {COUNT}, not {number}"))?;
    match kind {
        "postgres" => Ok(Part::Postgres(at)),
        "web" => Ok(Part::Web(at)),
        "etcd" => Ok(Part::Etcd(at)),
        _ => Err(format!("there is no {kind}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_is_read_from_the_words_that_it_prints() {
        let more = [
            PartCommand::Status,
            PartCommand::To(Verb::Cut, Part::Postgres(2)),
            PartCommand::To(Verb::Heal, Part::Primary),
        ];
        for command in KILLS.into_iter().chain(OTHERS).chain(more) {
            let text = command.to_string();
            let words: Vec<&str> = text.split(' ').collect();
            assert_eq!(parse(&words), Ok(command), "{text}");
        }
    }

    #[test]
    fn command_of_a_part_that_is_not_there_is_refused() {
        for words in [
            &["kill"][..],
            &["kill", "web"],
            &["kill", "web", "0"],
            &["kill", "web", "4"],
            &["kill", "mail", "1"],
            &["end", "web", "1"],
            &["status", "now"],
            &[],
        ] {
            assert!(parse(words).is_err(), "{words:?}");
        }
    }
}
