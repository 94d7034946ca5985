//! Ends a server and removes its directory when the test process is gone, however it went. Starts no server.
//! It is a shell that reads a pipe only this process holds: the pipe's end is the sign. That is also how a server is dropped,
//! so the two ways cannot differ.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Reads process numbers, the last one counts; at the end of the pipe ends that process and removes the directory. Before that, programs of the
/// names in `$3` that have the directory on their command lines are ended with their children: see `ProcessTree`.
const SCRIPT: &str = r#"
trap '' INT HUP TERM
pid=''
while read -r line; do pid=$line; done
if [ -n "$pid" ]; then
    kill -CONT "$pid" 2>/dev/null
    kill -"$2" "$pid" 2>/dev/null
    tries=0
    while kill -0 "$pid" 2>/dev/null && [ "$tries" -lt 100 ]; do tries=$((tries + 1)); sleep 0.05; done
    kill -KILL "$pid" 2>/dev/null
fi
tries=0
while [ -n "$3" ] && [ "$tries" -lt 100 ]; do
    tries=$((tries + 1)) found=''
    for file in $(grep -slaF -- "$1/" /proc/[0-9]*/cmdline); do
        process=${file%/cmdline} process=${process#/proc/}
        read -r name 2>/dev/null <"/proc/$process/comm" || continue
        case " $3 " in *" $name "*) found="$found $process" ;; esac
    done
    [ -n "$found" ] || break
    for process in $found; do
        kill -STOP "$process" 2>/dev/null
        children=$(grep -ls "^PPid:[[:space:]]*$process\$" /proc/[0-9]*/status | tr -dc '0-9\n')
        kill -KILL $process $children 2>/dev/null
    done
    sleep 0.05
done
rm -rf -- "$1" || { sleep 1; rm -rf -- "$1"; }
"#;

/// Watches over one directory and one process at a time.
pub struct Guard {
    shell: Child,
}

impl Guard {
    /// Begins to watch. The directory goes when the guard goes; a process is ended by `signal` first, named as kill(1) does,
    /// and after five seconds by KILL.
    pub fn over(directory: &Path, signal: &str) -> Guard {
        Guard::over_programs(directory, signal, &[])
    }

    /// The same where a server starts processes that outlive it: those of these names that have the directory on their command lines are killed
    /// after it, with their children.
    pub fn over_programs(directory: &Path, signal: &str, programs: &[&str]) -> Guard {
        let shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "guard"])
            .arg(directory)
            .arg(signal)
            .arg(programs.join(" "))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Not in the terminal's group: an interrupt of the tests must not take the guard along.
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start /bin/sh: {error}"));
        Guard { shell }
    }

    /// From now on this process is the one to end.
    pub fn watch(&mut self, process: &Child) {
        self.tell(&process.id().to_string());
    }

    /// The process has ended; its number may be another's.
    pub fn forget(&mut self) {
        self.tell("");
    }

    fn tell(&mut self, line: &str) {
        let pipe = self.shell.stdin.as_mut().expect("the pipe is kept");
        writeln!(pipe, "{line}").unwrap_or_else(|error| panic!("the guard is gone: {error}"));
    }

    /// Ends what is watched and waits for it. `process` is waited for too: as our child it stays a zombie until then.
    pub fn end(&mut self, process: Option<Child>) {
        drop(self.shell.stdin.take());
        if let Some(mut process) = process {
            let _ = process.wait();
        }
        let _ = self.shell.wait();
    }
}
