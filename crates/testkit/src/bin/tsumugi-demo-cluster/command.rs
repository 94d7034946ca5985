//! The words of a command line: what is to be served, or what is to become of a part. Does nothing about it.
//! Rule: a command prints as the words that it is read from.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::ServeOptions;

/// How many there are of each.
pub const COUNT: usize = 3;

/// What this program was called for.
pub enum Request {
    Help,
    Serve(ServeOptions),
    Tell {
        at: Option<PathBuf>,
        command: Command,
    },
}

/// What a running cluster is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Status,
    To(Verb, Part),
}

/// What becomes of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Kill,
    Start,
    Freeze,
    Thaw,
    Cut,
    Heal,
}

/// A part, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Primary,
    Postgres(usize),
    Web(usize),
    Etcd(usize),
}

/// What is shown first.
pub const KILLS: [Command; 3] = [
    Command::To(Verb::Kill, Part::Primary),
    Command::To(Verb::Kill, Part::Web(0)),
    Command::To(Verb::Kill, Part::Etcd(0)),
];

/// What is shown then.
pub const OTHERS: [Command; 6] = [
    Command::To(Verb::Start, Part::Postgres(0)),
    Command::To(Verb::Start, Part::Web(0)),
    Command::To(Verb::Start, Part::Etcd(0)),
    Command::To(Verb::Freeze, Part::Primary),
    Command::To(Verb::Thaw, Part::Postgres(1)),
    Command::To(Verb::Freeze, Part::Web(1)),
];

const VERBS: [(&str, Verb); 6] = [
    ("kill", Verb::Kill),
    ("start", Verb::Start),
    ("freeze", Verb::Freeze),
    ("thaw", Verb::Thaw),
    ("cut", Verb::Cut),
    ("heal", Verb::Heal),
];

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Status => f.write_str("status"),
            Command::To(verb, part) => {
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
pub fn parse(words: &[&str]) -> Result<Command, String> {
    let (verb, part) = match words {
        ["status"] => return Ok(Command::Status),
        [verb, part @ ..] => (verb, part),
        [] => return Err("a command is missing".to_owned()),
    };
    let known = VERBS.iter().find(|(word, _)| word == verb);
    let (_, verb) = known.ok_or_else(|| format!("there is no command {verb}"))?;
    Ok(Command::To(*verb, self::part(part)?))
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

/// A command line.
pub fn read(words: &[String]) -> Result<Request, String> {
    let mut words = words.iter().map(String::as_str);
    let mut listen = SocketAddr::from(([127, 0, 0, 1], 8080));
    let (mut program, mut app, mut at) = (None, PathBuf::from("examples/demo/app.rb"), None);
    while let Some(word) = words.next() {
        if matches!(word, "-h" | "--help") {
            return Ok(Request::Help);
        }
        if !word.starts_with('-') {
            let command: Vec<&str> = std::iter::once(word).chain(words).collect();
            let command = parse(&command)?;
            return Ok(Request::Tell { at, command });
        }
        let value = words
            .next()
            .ok_or_else(|| format!("{word} takes a value"))?;
        match word {
            "--listen" => {
                listen = value
                    .parse()
                    .map_err(|_| format!("--listen takes an address and a port, not {value}"))?;
            }
            "--program" => program = Some(PathBuf::from(value)),
            "--app" => app = PathBuf::from(value),
            "--at" => at = Some(PathBuf::from(value)),
            _ => return Err(format!("there is no option {word}")),
        }
    }
    Ok(Request::Serve(ServeOptions {
        listen,
        program,
        app,
        at,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_is_read_from_the_words_that_it_prints() {
        let more = [
            Command::Status,
            Command::To(Verb::Cut, Part::Postgres(2)),
            Command::To(Verb::Heal, Part::Primary),
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
