//! The socket by which a running cluster takes commands: a line of words each way. Knows no command's effect.
//! Rule: only who may enter the folder reaches it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::command::{self, PartCommand};

/// Bytes of a command. The longest is far shorter.
const COMMAND_BYTES_MAX: u64 = 256;

fn path(folder: &Path) -> PathBuf {
    folder.join("control")
}

/// Listens in the folder, in place of a cluster that is gone.
///
/// # Errors
/// When one runs there, or the folder is not ours.
pub fn bind(folder: &Path) -> Result<UnixListener, String> {
    let path = path(folder);
    if UnixStream::connect(&path).is_ok() {
        return Err(format!("a cluster runs in {}", folder.display()));
    }
    let _ = std::fs::remove_file(&path);
    UnixListener::bind(&path).map_err(|error| {
        let shown = path.display();
        format!("cannot make {shown}: {error}; is there such a folder, and is it yours?")
    })
}

/// Answers one command after the other.
pub fn listen(socket: &UnixListener, run: impl Fn(PartCommand) -> Result<String, String>) {
    for stream in socket.incoming().flatten() {
        let Ok(reading) = stream.try_clone() else {
            continue;
        };
        let mut line = String::new();
        let mut reader = BufReader::new(reading.take(COMMAND_BYTES_MAX));
        if reader.read_line(&mut line).is_err() {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let (word, text) = match command::parse(&words).and_then(&run) {
            Ok(text) => ("ok", text),
            Err(text) => ("no", text),
        };
        // Who does not wait for the answer has none.
        let _ = write!(&stream, "{word}\n{text}\n");
    }
}

/// Sends a command, and prints what became of it.
pub fn send(folder: &Path, command: PartCommand) -> ExitCode {
    let mut answer = String::new();
    let asked = UnixStream::connect(path(folder)).and_then(|mut stream| {
        writeln!(stream, "{command}")?;
        stream.read_to_string(&mut answer)
    });
    if let Err(error) = asked {
        eprintln!("no cluster answers in {}: {error}", folder.display());
        return ExitCode::FAILURE;
    }
    match answer.split_once('\n') {
        Some(("ok", text)) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Some((_, text)) => {
            eprint!("{text}");
            ExitCode::FAILURE
        }
        None => ExitCode::FAILURE,
    }
}
