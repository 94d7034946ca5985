//! What a report says of ours beside its peers: who is ahead, and by how much at least. Everything that is said in words or at a glance, on
//! the page, in the terminal, in documents, is taken from here.
//! Rule: a claim holds in every condition in which it was measured, own sessions and one session, and in every pair of runs; it names the
//! conditions. Where two conditions differ, nothing is claimed.

use super::print::figure;
use super::{BenchReport, Better, Cost, RatioRuns, ReportTable, Row, SessionScope, Suite};
use crate::samples::{Ratio, Samples};

/// Who is ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Ours, in every pair of runs of every condition.
    Ahead,
    /// The peer, in every pair of runs of every condition.
    Behind,
    /// Neither, in any condition: some pairs say this, some that.
    Even,
    /// One condition says another thing than the other: nothing is claimed.
    Disputed,
}

/// Ours beside a peer in one case.
#[derive(Clone, Debug)]
pub struct ReportClaim<'a> {
    /// Where it was measured.
    pub suite: &'a Suite,
    /// In which table.
    pub table: &'a ReportTable,
    /// What was asked.
    pub case: &'a str,
    /// Ours: with which option it ran, where that is not the usual one.
    pub program: &'a str,
    /// The peer.
    pub peer: &'a str,
    /// The peer's row of the grid, where it has several.
    pub place: Option<&'a str>,
    /// Ratios of ours to the peer, for each condition.
    pub ratios: Vec<(SessionScope, Ratio)>,
    /// What they say together.
    pub standing: Standing,
}

/// Of every case in which ours was measured beside a peer, in the order of the report.
pub fn claims(report: &BenchReport) -> Vec<ReportClaim<'_>> {
    let mut claims: Vec<ReportClaim<'_>> = Vec::new();
    for suite in &report.suites {
        let first = claims.len();
        for table in &suite.tables {
            for row in table.rows.iter().filter(|row| row.ours) {
                for over in row.over.iter().filter(|over| is_of_peer(table, over)) {
                    add(&mut claims, first, (suite, table), row, over);
                }
            }
        }
        for claim in &mut claims[first..] {
            claim.standing = together(&claim.ratios, claim.table.better);
        }
    }
    claims
}

/// Whether a ratio is to a program that is not ours.
fn is_of_peer(table: &ReportTable, over: &RatioRuns) -> bool {
    let mut rows = table.rows.iter();
    !over.runs.is_empty() && rows.any(|row| !row.ours && row.program == over.program)
}

/// Puts a ratio where the other condition of the same case is, if that is among the claims from `first` on: in the same table, or in another
/// of the same title.
fn add<'a>(
    claims: &mut Vec<ReportClaim<'a>>,
    first: usize,
    (suite, table): (&'a Suite, &'a ReportTable),
    row: &'a Row,
    over: &'a RatioRuns,
) {
    let measured = (row.sessions, Ratio::of(&over.runs));
    let is_same = |claim: &&mut ReportClaim<'_>| {
        let asked = (claim.table.title.as_str(), claim.case);
        asked == (table.title.as_str(), row.case.as_str())
            && (claim.program, claim.peer) == (row.program.as_str(), over.program.as_str())
            && claim.place == over.place.as_deref()
            && claim
                .ratios
                .iter()
                .all(|(sessions, _)| *sessions != row.sessions)
    };
    match claims[first..].iter_mut().find(is_same) {
        Some(claim) => claim.ratios.push(measured),
        None => claims.push(ReportClaim {
            suite,
            table,
            case: &row.case,
            program: &row.program,
            peer: &over.program,
            place: over.place.as_deref(),
            ratios: vec![measured],
            standing: Standing::Even,
        }),
    }
}

/// What a ratio says alone.
fn alone(ratio: Ratio, better: Better) -> Standing {
    let (is_above, is_below) = (ratio.min > 1.0, ratio.max < 1.0);
    match (is_above, is_below, better) {
        (true, _, Better::More) | (_, true, Better::Less) => Standing::Ahead,
        (_, true, Better::More) | (true, _, Better::Less) => Standing::Behind,
        _ => Standing::Even,
    }
}

/// What the ratios of all conditions say: the same, or nothing.
fn together(ratios: &[(SessionScope, Ratio)], better: Better) -> Standing {
    let mut standings = ratios.iter().map(|(_, ratio)| alone(*ratio, better));
    let Some(first) = standings.next() else {
        return Standing::Even;
    };
    if standings.all(|other| other == first) {
        first
    } else {
        Standing::Disputed
    }
}

impl ReportClaim<'_> {
    /// The ratio that may be quoted: the least favourable median. None where nothing is claimed.
    pub fn figure(&self) -> Option<f64> {
        if self.standing == Standing::Disputed {
            return None;
        }
        let medians = self.ratios.iter().map(|(_, ratio)| ratio.median);
        match self.table.better {
            Better::More => medians.reduce(f64::min),
            Better::Less => medians.reduce(f64::max),
        }
    }

    /// Why the peer is ahead, where it is: what the suite says of it, or what a request costs, where that is more of ours.
    pub fn reason(&self) -> Option<String> {
        if self.standing != Standing::Behind {
            return None;
        }
        self.table.reason.clone().or_else(|| {
            let rows = || self.table.rows.iter().filter(|row| !row.runs.is_empty());
            let is_own = |row: &&Row| row.ours && row.program == self.program;
            let own = rows().filter(is_own).find(|row| row.case == self.case)?;
            let place = |row: &Row| (row.cell.as_ref().map(|cell| cell.column.clone()), row.x);
            let is_there = |row: &Row| match self.place {
                Some(head) => row.cell.as_ref().is_some_and(|cell| cell.row == head),
                None => true,
            };
            let peers = || {
                let peers = rows().filter(|row| !row.ours && row.program == self.peer);
                peers.filter(|row| row.sessions == own.sessions && is_there(row))
            };
            let of_case = peers().find(|row| row.case == own.case);
            let mut beside = peers().filter(|row| row.cell.is_some() && place(row) == place(own));
            let peer = of_case.or_else(|| beside.next())?;
            let server = |cost: &Cost| cost.server_us.clone();
            let client = |cost: &Cost| cost.client_us.clone();
            let (program, ours, theirs) = match (cost_us(own, server), cost_us(peer, server)) {
                (Some(ours), Some(theirs)) => ("server", ours, theirs),
                // Of a driver the program that asks is what is compared.
                _ => ("client", cost_us(own, client)?, cost_us(peer, client)?),
            };
            (ours > theirs).then(|| {
                format!(
                    "a request takes {} µs of processor time of our {program}, {} µs of the peer's",
                    figure(ours),
                    figure(theirs)
                )
            })
        })
    }

    /// The request and the program it went to: `World and Fortune: /db, beside axum`.
    pub fn subject(&self) -> String {
        let program = match self.program {
            "tsumugi" => String::new(),
            other => format!(" by {other}"),
        };
        let (suite, table) = (&self.suite.title, &self.table.title);
        let case = if *table == self.case {
            self.case.to_owned()
        } else {
            format!("{table}, {}", self.case)
        };
        let place = self.place.map(|place| format!(" ({place})"));
        format!(
            "{suite}: {case}{program}, beside {}{}",
            self.peer,
            place.unwrap_or_default()
        )
    }

    /// The conditions, each with its ratio: `own sessions 1.10 (1.05-1.20), one session …`.
    pub fn conditions(&self) -> String {
        let shown = self.ratios.iter().map(|(sessions, ratio)| {
            let words = sessions.words();
            format!("{words} {ratio}")
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    /// Who is ahead, with the ratio that may be quoted: `ahead (1.20 x)`.
    pub fn verdict(&self) -> String {
        let words = match self.standing {
            Standing::Ahead => "ahead",
            Standing::Behind => "the peer is ahead",
            Standing::Even => "no difference",
            Standing::Disputed => "nothing is claimed: the conditions differ",
        };
        let quoted = self.figure().map(|figure| format!(" ({figure:.2} x)"));
        format!("{words}{}", quoted.unwrap_or_default())
    }
}

/// The processor time of the server for each request, where it was measured.
fn cost_us(row: &Row, figures: impl Fn(&Cost) -> Vec<f64>) -> Option<f64> {
    let us = figures(row.cost.as_ref()?);
    (!us.is_empty()).then(|| Samples::from(us.as_slice()).median())
}

/// A line for each claim, for a terminal.
pub fn text(report: &BenchReport) -> String {
    let lines = claims(report).into_iter().map(|claim| {
        let reason = claim.reason().map(|reason| format!("; {reason}"));
        format!(
            "claim: {}: {}; {}{}\n",
            claim.subject(),
            claim.verdict(),
            claim.conditions(),
            reason.unwrap_or_default()
        )
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::super::Cost;
    use super::super::tests::report;
    use super::*;

    /// A report of `/db` with these ratios in own sessions and in one, as far as there are any.
    fn beside(better: Better, own: &[f64], one: &[f64]) -> BenchReport {
        let mut rows = Vec::new();
        for (sessions, runs) in [(SessionScope::Own, own), (SessionScope::One, one)] {
            let row = Row {
                case: "/db".to_owned(),
                sessions,
                runs: vec![1.0; runs.len()],
                ..Row::default()
            };
            let over = RatioRuns {
                program: "axum".to_owned(),
                place: None,
                runs: runs.to_vec(),
            };
            rows.push(Row {
                program: "tsumugi".to_owned(),
                ours: true,
                over: vec![over],
                ..row.clone()
            });
            rows.push(Row {
                program: "axum".to_owned(),
                ..row
            });
        }
        let mut report = report();
        let suite = &mut report.suites[0];
        suite.title = "World".to_owned();
        suite.tables[0] = ReportTable {
            title: "/db".to_owned(),
            better,
            rows,
            ..ReportTable::default()
        };
        report
    }

    fn check(better: Better, own: &[f64], one: &[f64], expected: (Standing, Option<f64>)) {
        let report = beside(better, own, one);
        let found = claims(&report);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].standing, found[0].figure()), expected);
    }

    const LOW: &[f64] = &[0.7, 0.8, 0.9];
    const HIGH: &[f64] = &[1.1, 1.3, 1.2];
    const HIGHER: &[f64] = &[2.0, 2.5, 3.0];
    const BOTH: &[f64] = &[0.9, 1.0, 1.2];

    #[test]
    fn conditions_that_disagree_make_no_claim() {
        check(Better::More, LOW, HIGH, (Standing::Disputed, None));
        check(Better::More, HIGH, LOW, (Standing::Disputed, None));
        check(Better::More, BOTH, HIGH, (Standing::Disputed, None));
        let said = text(&beside(Better::More, LOW, HIGH));
        assert_eq!(
            said,
            "claim: World: /db, beside axum: nothing is claimed: the conditions differ; \
             own sessions 0.80 (0.70-0.90), one session 1.20 (1.10-1.30)\n"
        );
    }

    #[test]
    fn claim_has_the_least_favourable_ratio_of_both_conditions() {
        check(Better::More, HIGHER, HIGH, (Standing::Ahead, Some(1.2)));
        check(Better::More, HIGH, HIGHER, (Standing::Ahead, Some(1.2)));
        check(Better::More, LOW, LOW, (Standing::Behind, Some(0.8)));
        check(Better::More, BOTH, BOTH, (Standing::Even, Some(1.0)));
    }

    /// What is said of why the peer of `/db` is ahead.
    fn reason(report: &BenchReport) -> Option<String> {
        claims(report)[0].reason()
    }

    #[test]
    fn claim_of_a_peer_that_is_ahead_says_what_a_request_costs() {
        let mut report = beside(Better::More, LOW, &[]);
        assert_eq!(reason(&report), None);
        let rows = &mut report.suites[0].tables[0].rows;
        for (row, us) in rows.iter_mut().zip([12.0, 7.25, 0.0, 0.0]) {
            row.cost = Some(Cost {
                server_us: vec![us],
                ..Cost::default()
            });
        }
        let said = "a request takes 12.0 µs of processor time of our server, 7.25 µs of the peer's";
        assert_eq!(reason(&report).as_deref(), Some(said));
        report.suites[0].tables[0].reason = Some("it parses twice".to_owned());
        assert_eq!(reason(&report).as_deref(), Some("it parses twice"));
        let ahead = beside(Better::More, HIGH, &[]);
        assert_eq!(reason(&ahead), None);
    }

    #[test]
    fn claim_of_one_condition_names_it() {
        check(Better::More, HIGH, &[], (Standing::Ahead, Some(1.2)));
        assert_eq!(
            text(&beside(Better::More, HIGH, &[])),
            "claim: World: /db, beside axum: ahead (1.20 x); own sessions 1.20 (1.10-1.30)\n"
        );
    }

    #[test]
    fn conditions_in_two_tables_of_a_title_make_one_claim() {
        let mut report = beside(Better::More, HIGH, LOW);
        let tables = &mut report.suites[0].tables;
        let mut other = tables[0].clone();
        let is_own = |row: &Row| row.sessions == SessionScope::Own;
        tables[0].rows.retain(is_own);
        other.rows.retain(|row| !is_own(row));
        tables.push(other);
        let found = claims(&report);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].standing, Standing::Disputed);
    }

    #[test]
    fn of_times_the_lower_is_ahead() {
        check(Better::Less, LOW, LOW, (Standing::Ahead, Some(0.8)));
        check(Better::Less, HIGH, HIGHER, (Standing::Behind, Some(2.5)));
    }

    #[test]
    fn ratios_to_ours_are_no_claims() {
        let mut report = beside(Better::More, HIGH, HIGH);
        for row in &mut report.suites[0].tables[0].rows {
            row.ours = true;
        }
        assert_eq!(text(&report), "");
    }

    #[test]
    fn claims_of_an_option_name_it() {
        let mut report = beside(Better::More, HIGH, HIGH);
        for row in report.suites[0].tables[0].rows.iter_mut().step_by(2) {
            row.program = "tsumugi, inherited".to_owned();
        }
        let subject = claims(&report)[0].subject();
        assert_eq!(subject, "World: /db by tsumugi, inherited, beside axum");
    }
}
