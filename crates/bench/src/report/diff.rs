//! Two reports beside each other: which figures differ by more than chance, ours and those of the peers. Judges no machine.
//! Two runs of a busy machine differ in all figures; the ratios to peers, measured in turn with ours, differ less. So both are shown.

use super::print::figure;
use super::statistics::{SIGNIFICANT, by_chance, lowest};
use super::{BenchReport, Better, RatioRuns, ReportTable, Row};
use crate::samples::Samples;

/// What a comparison says of one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The second is better.
    Better,
    /// The second is worse.
    Worse,
    /// No more than chance.
    Same,
    /// So few runs cannot differ by more than chance.
    TooFew,
}

/// A figure of both.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Suite, table, case, program, and the program it is divided by when it is a ratio.
    pub what: String,
    /// The middle of the first.
    pub before: f64,
    /// The middle of the second.
    pub after: f64,
    /// The probability that chance did it.
    pub chance: f64,
    /// What that says.
    pub judgement: Judgement,
}

/// All that is in both.
pub fn compare(before: &BenchReport, after: &BenchReport) -> Vec<Difference> {
    let mut differences = Vec::new();
    for (name, table) in tables(after) {
        let found = tables(before).find(|(other, old)| *other == name && old.name == table.name);
        let Some((_, old)) = found else {
            continue;
        };
        for row in table.rows.iter().filter(|row| !row.is_published_only()) {
            // What ran in one session is no measure of what ran in its own.
            let same = |old: &&Row| {
                (&old.case, &old.program, old.sessions) == (&row.case, &row.program, row.sessions)
                    && old.cell == row.cell
            };
            let Some(old) = old.rows.iter().find(same) else {
                continue;
            };
            let what = format!("{name} {}: {} {}", table.name, table.case(row), row.program);
            differences.push(judge(what.clone(), table.better, &old.runs, &row.runs));
            for over in &row.over {
                let is_same =
                    |old: &&RatioRuns| (&old.program, &old.place) == (&over.program, &over.place);
                let was = old.over.iter().find(is_same);
                if let Some(was) = was {
                    let what = format!("{what}, over {}", over.other());
                    differences.push(judge(what, table.better, &was.runs, &over.runs));
                }
            }
        }
    }
    differences
}

fn tables(report: &BenchReport) -> impl Iterator<Item = (&str, &ReportTable)> {
    report.suites.iter().flat_map(|suite| {
        suite
            .tables
            .iter()
            .map(|table| (suite.name.as_str(), table))
    })
}

fn judge(what: String, better: Better, before: &[f64], after: &[f64]) -> Difference {
    let middle = |runs: &[f64]| Samples::from(runs).median();
    let chance = by_chance(before, after);
    let (was, is) = (middle(before), middle(after));
    let judgement = if lowest(before.len(), after.len()) >= SIGNIFICANT {
        Judgement::TooFew
    } else if chance >= SIGNIFICANT {
        Judgement::Same
    } else if (is > was) == (better == Better::More) {
        Judgement::Better
    } else {
        Judgement::Worse
    };
    Difference {
        what,
        before: was,
        after: is,
        chance,
        judgement,
    }
}

/// A line for each figure, and what to make of them.
pub fn text(before: &BenchReport, after: &BenchReport) -> String {
    let differences = compare(before, after);
    let mut text = String::new();
    if before.machine.processor != after.machine.processor
        || before.machine.cores != after.machine.cores
    {
        text += "# these are two machines: ratios to peers say more than figures\n";
    }
    let width = differences.iter().map(|one| one.what.chars().count());
    let width = width.max().unwrap_or_default();
    for one in &differences {
        let verdict = match one.judgement {
            Judgement::Better => "better",
            Judgement::Worse => "WORSE",
            Judgement::Same => "no more than chance",
            Judgement::TooFew => "too few runs to tell",
        };
        text += &format!(
            "{:<width$}  {:>9} -> {:>9}  x {:.3}  p {:.3}  {verdict}\n",
            one.what,
            figure(one.before),
            figure(one.after),
            one.after / one.before,
            one.chance,
        );
    }
    let count = |judgement| {
        let of_it = differences.iter().filter(|one| one.judgement == judgement);
        of_it.count()
    };
    let compared = differences.len() - count(Judgement::TooFew);
    text += &format!(
        "{} figures are in both: {} better, {} worse, {} no more than chance, {} of too few runs; by chance alone about {:.0} would seem to differ\n",
        differences.len(),
        count(Judgement::Better),
        count(Judgement::Worse),
        count(Judgement::Same),
        count(Judgement::TooFew),
        compared as f64 * SIGNIFICANT,
    );
    text
}

#[cfg(test)]
mod tests {
    use super::super::{Length, Machine, RatioRuns, SCHEMA, SessionScope, Suite};
    use super::*;

    fn report(runs: &[f64], over: &[f64]) -> BenchReport {
        let row = Row {
            case: "2 workers".to_owned(),
            program: "tsumugi".to_owned(),
            runs: runs.to_vec(),
            over: vec![RatioRuns {
                program: "nginx".to_owned(),
                place: None,
                runs: over.to_vec(),
            }],
            ..Row::default()
        };
        let table = ReportTable {
            name: "string".to_owned(),
            rows: vec![row],
            ..ReportTable::default()
        };
        let suite = Suite {
            name: "http".to_owned(),
            tables: vec![table],
            ..Suite::default()
        };
        BenchReport {
            schema: SCHEMA,
            version: String::new(),
            command: String::new(),
            began: String::new(),
            took_s: 0.0,
            length: Length {
                rounds: 6,
                seconds: 5,
            },
            machine: Machine::default(),
            suites: vec![suite],
        }
    }

    fn check(before: (&[f64], &[f64]), after: (&[f64], &[f64]), expected: [Judgement; 2]) {
        let found = compare(&report(before.0, before.1), &report(after.0, after.1));
        let found: Vec<Judgement> = found.iter().map(|one| one.judgement).collect();
        assert_eq!(found, expected);
    }

    const LOW: &[f64] = &[1.0, 1.1, 1.2, 1.05];
    const HIGH: &[f64] = &[2.0, 2.1, 2.2, 2.05];

    #[test]
    fn figures_and_ratios_are_judged_apart() {
        check(
            (LOW, LOW),
            (HIGH, LOW),
            [Judgement::Better, Judgement::Same],
        );
        check(
            (HIGH, LOW),
            (LOW, HIGH),
            [Judgement::Worse, Judgement::Better],
        );
    }

    #[test]
    fn ratio_of_three_runs_is_judged_too_few() {
        check(
            (&LOW[..3], LOW),
            (&HIGH[..3], LOW),
            [Judgement::TooFew, Judgement::Same],
        );
    }

    #[test]
    fn figures_of_other_sessions_are_not_compared() {
        let mut other = report(LOW, LOW);
        other.suites[0].tables[0].rows[0].sessions = SessionScope::One;
        assert_eq!(compare(&report(LOW, LOW), &other), []);
    }

    #[test]
    fn row_of_one_report_only_is_left_out() {
        let mut other = report(LOW, LOW);
        other.suites[0].tables[0].name = "other".to_owned();
        assert_eq!(compare(&report(LOW, LOW), &other), []);
    }
}
