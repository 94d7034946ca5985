//! Figures of runs in turn and what they say: medians, and the median of ratios with its range. Knows no server.
//! A ratio is of two runs next to each other, so that whatever else the machine does falls on both.

use std::fmt;

/// Several runs of the same thing.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Adds a run.
    pub fn push(&mut self, figure: f64) {
        self.0.push(figure);
    }

    /// The middle one; of an even number, the mean of the two in the middle. 0 without runs.
    pub fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match (sorted.get(middle), sorted.len() % 2) {
            (None, _) => 0.0,
            (Some(&upper), 1) => upper,
            (Some(&upper), _) => (sorted[middle - 1] + upper) / 2.0,
        }
    }

    /// The lowest; 0 without runs.
    pub fn min(&self) -> f64 {
        self.0.iter().copied().reduce(f64::min).unwrap_or_default()
    }

    /// The highest; 0 without runs.
    pub fn max(&self) -> f64 {
        self.0.iter().copied().reduce(f64::max).unwrap_or_default()
    }

    /// This over `peer`, run by run.
    pub fn ratios(&self, peer: &Samples) -> Vec<f64> {
        let pairs = self.0.iter().zip(&peer.0);
        pairs.map(|(ours, peer)| ours / peer).collect()
    }
}

impl From<&[f64]> for Samples {
    fn from(runs: &[f64]) -> Samples {
        Samples(runs.to_vec())
    }
}

/// A ratio of two programs, `0.98 (0.95-1.02)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The middle of the ratios.
    pub median: f64,
    /// The lowest.
    pub min: f64,
    /// The highest.
    pub max: f64,
}

impl Ratio {
    /// The middle of several ratios, and their range.
    pub fn of(ratios: &[f64]) -> Ratio {
        let ratios = Samples::from(ratios);
        Ratio {
            median: ratios.median(),
            min: ratios.min(),
            max: ratios.max(),
        }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} ({:.2}-{:.2})", self.median, self.min, self.max)
    }
}

/// A whole number with its thousands apart: `133 012`.
pub fn thousands(figure: f64) -> String {
    let digits = format!("{figure:.0}");
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(' ');
        }
        shown.push(digit);
    }
    shown
}

/// In which order `count` programs run in a round: there and back again, so that a drift falls on all.
pub fn order(count: usize, round: usize) -> Vec<usize> {
    if round.is_multiple_of(2) {
        (0..count).collect()
    } else {
        (0..count).rev().collect()
    }
}

/// Figures below this are shown with digits behind the point.
const FINE_BELOW: f64 = 100.0;
/// Below this two digits say too little: seconds of something quick.
const FINER_BELOW: f64 = 0.1;

/// A figure with as many digits as say something.
pub fn figure(figure: f64) -> String {
    if figure > 0.0 && figure < FINER_BELOW {
        format!("{figure:.4}")
    } else if figure < 10.0 {
        format!("{figure:.2}")
    } else if figure < FINE_BELOW {
        format!("{figure:.1}")
    } else {
        thousands(figure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ours: &[f64], peer: &[f64], expected: &str) {
        let ratio = Ratio::of(&Samples(ours.to_vec()).ratios(&Samples(peer.to_vec())));
        assert_eq!(ratio.to_string(), expected);
    }

    #[test]
    fn a_ratio_is_the_middle_of_the_pairs() {
        check(
            &[100.0, 120.0, 90.0],
            &[100.0, 100.0, 100.0],
            "1.00 (0.90-1.20)",
        );
        check(&[100.0, 120.0], &[100.0, 100.0], "1.10 (1.00-1.20)");
    }

    #[test]
    fn number_is_written_in_groups_of_three_digits() {
        assert_eq!(thousands(7.0), "7");
        assert_eq!(thousands(133_012.4), "133 012");
        assert_eq!(thousands(1_000_000.0), "1 000 000");
    }

    #[test]
    fn order_of_runs_alternates_between_rounds() {
        assert_eq!([order(2, 0), order(2, 1)].concat(), [0, 1, 1, 0]);
    }
}
