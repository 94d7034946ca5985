//! All processes of a server that starts others, which become children of init: found by its directory on their command lines, and by their
//! parents. It starts none and waits for none as a parent.
//! Rule: they are stopped before they are ended, so that none begins another one meanwhile; one that is gone was ended.

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::limits::STOP_S_MAX;
use crate::pause;

/// The server's processes.
pub struct ProcessTree<'a> {
    /// It stands on the command line of each process that has no parent among the others.
    pub directory: &'a Path,
    /// What such processes are called: others, such as a pager on the log, are not of the server.
    pub programs: &'a [&'a str],
}

struct Process {
    number: i32,
    parent: i32,
    name: String,
    state: char,
}

impl ProcessTree<'_> {
    /// Stops all of them.
    #[track_caller]
    pub fn freeze(&self) {
        let until = Instant::now() + Duration::from_secs(STOP_S_MAX);
        loop {
            let running: Vec<Process> = self
                .processes()
                .into_iter()
                .filter(|process| process.state != 'T')
                .collect();
            if running.is_empty() {
                return;
            }
            assert!(Instant::now() < until, "processes of the server go on");
            for process in running {
                send(process.number, Signal::SIGSTOP);
            }
        }
    }

    /// Lets all of them go on.
    pub fn thaw(&self) {
        for process in self.processes() {
            send(process.number, Signal::SIGCONT);
        }
    }

    /// Ends all of them at once, as when a machine loses its power.
    #[track_caller]
    pub fn kill(&self) {
        self.freeze();
        let until = Instant::now() + Duration::from_secs(STOP_S_MAX);
        // A child whose parent has ended is not found by it any more, and may still be there.
        let mut killed = HashSet::new();
        loop {
            for process in self.processes() {
                send(process.number, Signal::SIGKILL);
                killed.insert(process.number);
            }
            if killed.iter().all(|number| process(*number).is_none()) {
                return;
            }
            assert!(Instant::now() < until, "processes of the server stay");
            pause();
        }
    }

    /// Those that are there and have not ended.
    fn processes(&self) -> Vec<Process> {
        let all: Vec<Process> = std::fs::read_dir("/proc")
            .expect("there is /proc")
            .filter_map(|entry| {
                let number = entry.ok()?.file_name().to_str()?.parse().ok()?;
                process(number)
            })
            .collect();
        let mut of_server: Vec<i32> = all
            .iter()
            .filter(|process| self.names(process))
            .map(|process| process.number)
            .collect();
        loop {
            let children: Vec<i32> = all
                .iter()
                .filter(|process| of_server.contains(&process.parent))
                .map(|process| process.number)
                .filter(|number| !of_server.contains(number))
                .collect();
            if children.is_empty() {
                break;
            }
            of_server.extend(children);
        }
        all.into_iter()
            .filter(|process| of_server.contains(&process.number))
            .collect()
    }

    fn names(&self, process: &Process) -> bool {
        if !self.programs.contains(&process.name.as_str()) {
            return false;
        }
        let line = std::fs::read(format!("/proc/{}/cmdline", process.number));
        let directory = self.directory.as_os_str().as_encoded_bytes();
        line.is_ok_and(|line| {
            line.windows(directory.len())
                .any(|window| window == directory)
        })
    }
}

/// `None` for one that is gone, or ended and not waited for.
fn process(number: i32) -> Option<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // "12 (name) S 1 …", and the name may hold anything.
    let (head, rest) = stat.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let mut words = rest.split_whitespace();
    let state = words.next()?.chars().next()?;
    let parent = words.next()?.parse().ok()?;
    let process = Process {
        number,
        parent,
        name: name.to_owned(),
        state,
    };
    (!matches!(state, 'Z' | 'X')).then_some(process)
}

fn send(process: i32, signal: Signal) {
    let _ = kill(Pid::from_raw(process), signal);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Command;

    #[test]
    fn tree_is_killed_with_its_children_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let run = |directory: &Path| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", "sleep 600 & echo $! > \"$0\"/child; wait"]);
            command.arg(directory).spawn().unwrap()
        };
        let other = tempfile::tempdir().unwrap();
        let (mut ours, mut others) = (run(folder.path()), run(other.path()));
        let child = |directory: &Path| loop {
            let text = std::fs::read_to_string(directory.join("child")).unwrap_or_default();
            if let Ok(number) = text.trim().parse::<i32>() {
                return number;
            }
            pause();
        };
        let (our_child, other_child) = (child(folder.path()), child(other.path()));
        let name = process(i32::try_from(ours.id()).unwrap()).unwrap().name;
        let tree = ProcessTree {
            directory: folder.path(),
            programs: &[&name],
        };
        tree.freeze();
        assert_eq!(process(our_child).unwrap().state, 'T');
        tree.thaw();
        tree.kill();
        assert_eq!(ours.wait().unwrap().signal(), Some(9));
        assert!(process(our_child).is_none());
        assert!(process(other_child).is_some());
        others.kill().unwrap();
        others.wait().unwrap();
        send(other_child, Signal::SIGKILL);
    }
}
