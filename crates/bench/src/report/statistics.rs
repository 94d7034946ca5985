//! Whether two sets of runs differ by more than chance: the test of Mann and Whitney, exact, with ties, and its level of significance. Knows no reports.
//! It asks only which runs were better than which, so that one run that a busy machine spoiled does not decide.

/// Below this probability a difference is taken for one.
pub const SIGNIFICANT: f64 = 0.05;

/// The probability that runs of the same thing fall as far apart as these two sets, in either direction. 1 without runs.
pub fn by_chance(one: &[f64], other: &[f64]) -> f64 {
    let ranks = doubled_ranks(one, other);
    let total: usize = ranks.iter().sum();
    let ways = sums(&ranks, one.len());
    let all: f64 = ways.iter().sum();
    if one.is_empty() || other.is_empty() || all == 0.0 {
        return 1.0;
    }
    // Ranks of `one` come first. Times the number of runs, so that the expected sum is whole.
    let distance = |sum: usize| (sum * ranks.len()).abs_diff(total * one.len());
    let seen = distance(ranks.iter().take(one.len()).sum());
    let as_far = ways.iter().enumerate();
    let as_far: f64 = as_far
        .filter(|(sum, _)| distance(*sum) >= seen)
        .map(|(_, ways)| ways)
        .sum();
    as_far / all
}

/// The lowest probability that so many runs of each can give.
pub fn lowest(one: usize, other: usize) -> f64 {
    let first: Vec<f64> = (0..one).map(|at| at as f64).collect();
    let last: Vec<f64> = (one..one + other).map(|at| at as f64).collect();
    by_chance(&first, &last)
}

/// Twice the rank of each run among all: those that are equal share theirs.
fn doubled_ranks(one: &[f64], other: &[f64]) -> Vec<usize> {
    let all: Vec<f64> = one.iter().chain(other).copied().collect();
    let rank = |run: &f64| {
        let below = all.iter().filter(|than| *than < run).count();
        let same = all.iter().filter(|than| *than == run).count();
        2 * below + same + 1
    };
    all.iter().map(rank).collect()
}

/// In how many ways `count` of the ranks add up to each sum.
fn sums(ranks: &[usize], count: usize) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0; most + 1]; count + 1];
    ways[0][0] = 1.0;
    for &rank in ranks {
        for chosen in (1..=count).rev() {
            for sum in (rank..=most).rev() {
                ways[chosen][sum] += ways[chosen - 1][sum - rank];
            }
        }
    }
    ways.swap_remove(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(one: &[f64], other: &[f64], expected: f64) {
        let found = by_chance(one, other);
        assert!((found - expected).abs() < 1e-9, "{found}");
        let mirrored = by_chance(other, one);
        assert!((mirrored - expected).abs() < 1e-9, "{mirrored}");
    }

    #[test]
    fn disjoint_samples_have_the_probability_of_two_arrangements() {
        check(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], 2.0 / 20.0);
        let six = |from: i32| (from..from + 6).map(f64::from).collect::<Vec<_>>();
        check(&six(0), &six(10), 2.0 / 924.0);
    }

    #[test]
    fn equal_or_empty_samples_have_probability_one() {
        check(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0], 1.0);
        check(&[5.0; 4], &[5.0; 4], 1.0);
        check(&[], &[1.0], 1.0);
    }

    #[test]
    fn tables_of_the_test_agree() {
        // Two pairs of sixteen the other way round: so many arrangements of seventy are at least as uneven.
        check(&[1.0, 2.0, 3.0, 6.0], &[4.0, 5.0, 7.0, 8.0], 8.0 / 70.0);
    }

    #[test]
    fn three_runs_each_cannot_be_significant_and_four_can() {
        assert!(lowest(3, 3) > SIGNIFICANT);
        assert!(lowest(4, 4) < SIGNIFICANT);
    }
}
