//! Going on with a report that an earlier run of the command wrote: whether this run may, and what is kept of it. Measures nothing.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use super::{BenchReport, SuiteOutcome};
use crate::suites::SuiteName;

impl BenchReport {
    /// This report with what `earlier` measured in suites that passed; one that was only looked at (`--check`) measured nothing. Refused where
    /// the two are of another version, length or machine.
    pub fn resuming(mut self, earlier: BenchReport) -> Result<BenchReport> {
        let (here, there) = (&self.machine, &earlier.machine);
        let places = [&here, &there].map(|machine| {
            format!(
                "{}, {} cores, {} bytes of memory, {}",
                machine.processor, machine.cores, machine.memory_bytes, machine.kernel
            )
        });
        let lengths = [&self, &earlier].map(|report| {
            format!(
                "{} runs of {} s",
                report.length.rounds, report.length.seconds
            )
        });
        let versions = [&self, &earlier].map(|report| report.version.clone());
        for (what, [ours, theirs]) in [
            ("machine", places),
            ("length", lengths),
            ("version", versions),
        ] {
            ensure!(
                ours == theirs,
                "--resume: the report is of another {what} ({theirs}) than this run ({ours}): write to another file"
            );
        }
        self.began = earlier.began;
        self.took_s = earlier.took_s;
        let ended = earlier.suites.into_iter();
        self.suites = ended
            .filter(|suite| suite.outcome == SuiteOutcome::Passed && !suite.tables.is_empty())
            .collect();
        Ok(self)
    }

    /// Refuses to go on with a report that is older than the server that it would be about.
    pub fn check_age(file: &Path, server: &Path) -> Result<()> {
        let changed = |path: &Path| {
            let changed = fs::metadata(path).and_then(|metadata| metadata.modified());
            changed.with_context(|| format!("cannot read {}", path.display()))
        };
        ensure!(
            changed(server)? <= changed(file)?,
            "--resume: {} was built after {} was written: its suites measured another program; write to another file",
            server.display(),
            file.display()
        );
        Ok(())
    }

    /// Adds a suite, or puts it in place of the one with its name. They stand in the order of `all`.
    pub fn put(&mut self, suite: super::Suite) {
        self.suites.retain(|other| other.name != suite.name);
        self.suites.push(suite);
        self.suites
            .sort_by_key(|suite| SuiteName::place(&suite.name));
    }

    /// Whether it has a suite of this name.
    pub fn has(&self, name: &str) -> bool {
        self.suites.iter().any(|suite| suite.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Length, ReportTable, Suite};

    fn empty() -> BenchReport {
        BenchReport {
            suites: Vec::new(),
            ..crate::report::tests::report()
        }
    }

    fn suite(name: &str, outcome: SuiteOutcome) -> Suite {
        Suite {
            name: name.to_owned(),
            outcome,
            tables: vec![ReportTable::default()],
            ..Suite::default()
        }
    }

    #[test]
    fn report_is_written_through_a_link_and_whole_over_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["report.json", "link"].map(|name| folder.path().join(name));
        fs::write(&file, "before").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for path in [&link, &file] {
            empty().write(path).unwrap();
            assert_eq!(BenchReport::read(&file).unwrap(), empty());
        }
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 2, "nothing else is left beside them");
    }

    #[test]
    fn resumed_report_keeps_what_passed_and_the_time_it_took() {
        let mut earlier = empty();
        earlier.took_s = 7.0;
        earlier.began = "2026-01-01T00:00:00Z".to_owned();
        earlier.put(suite("kv", SuiteOutcome::Interrupted));
        earlier.put(suite("http", SuiteOutcome::Passed));
        earlier.put(suite("world", SuiteOutcome::Failed));
        earlier.put(Suite {
            tables: Vec::new(),
            ..suite("arena", SuiteOutcome::Passed)
        });
        let now = BenchReport {
            began: "2026-01-02T00:00:00Z".to_owned(),
            took_s: 0.0,
            ..empty()
        };
        let report = now.resuming(earlier).unwrap();
        assert_eq!(
            (report.took_s, report.began.as_str()),
            (7.0, "2026-01-01T00:00:00Z")
        );
        assert!(
            report.has("http") && !["kv", "world", "arena"].iter().any(|name| report.has(name))
        );
    }

    #[test]
    fn report_of_another_machine_length_or_version_is_refused_by_name() {
        let refused = |change: fn(&mut BenchReport)| {
            let mut earlier = empty();
            change(&mut earlier);
            let error = empty().resuming(earlier).unwrap_err();
            format!("{error:#}")
        };
        assert!(refused(|report| report.machine.cores += 1).contains("another machine"));
        assert!(refused(|report| report.length = Length::QUICK).contains("another length"));
        assert!(refused(|report| report.version.push('x')).contains("another version"));
        let busier = |report: &mut BenchReport| report.machine.load_before += 1.0;
        let mut earlier = empty();
        busier(&mut earlier);
        assert!(empty().resuming(earlier).is_ok());
    }

    #[test]
    fn suites_of_a_report_stand_in_the_order_of_all_whenever_they_were_measured() {
        let mut report = empty();
        for name in ["builder", "http", "world", "soak", "http"] {
            report.put(suite(name, SuiteOutcome::Passed));
        }
        let names: Vec<&str> = report
            .suites
            .iter()
            .map(|suite| suite.name.as_str())
            .collect();
        assert_eq!(names, ["world", "http", "builder", "soak"]);
    }

    #[test]
    fn report_older_than_the_server_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let [report, server] = ["report", "server"].map(|name| folder.path().join(name));
        fs::write(&report, "").unwrap();
        fs::write(&server, "").unwrap();
        let file = fs::File::options().write(true).open(&server).unwrap();
        let now = std::time::SystemTime::now();
        let hour = std::time::Duration::from_secs(3600);
        file.set_modified(now + hour).unwrap();
        let error = BenchReport::check_age(&report, &server).unwrap_err();
        assert!(error.to_string().contains("was built after"), "{error}");
        file.set_modified(now - hour).unwrap();
        BenchReport::check_age(&report, &server).unwrap();
    }
}
