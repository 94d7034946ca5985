//! Which traces are recorded: an option, or the variable that OpenTelemetry names for it. Records nothing.

use anyhow::{Result, anyhow};
use tsumugi_trace::Sampling;

/// Who takes traces.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TraceDestination {
    /// A collector, and the dashboard beside it.
    Collector,
    /// The dashboard alone.
    Dashboard,
}

/// Which traces are recorded. `given` is the option; where there is none, OpenTelemetry's variable counts; else all for a collector, and a few each
/// second for the dashboard alone.
pub(crate) fn sampling(given: Option<f64>, destination: TraceDestination) -> Result<Sampling> {
    let variable = std::env::var("OTEL_TRACES_SAMPLER_ARG").ok();
    choose(given, variable.as_deref(), destination)
}

fn choose(
    given: Option<f64>,
    variable: Option<&str>,
    destination: TraceDestination,
) -> Result<Sampling> {
    if let Some(ratio) = given {
        return Ok(Sampling::Ratio(ratio));
    }
    match variable.map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => ratio(text)
            .map(Sampling::Ratio)
            .map_err(|expected| anyhow!("OTEL_TRACES_SAMPLER_ARG: {expected}")),
        None => Ok(match destination {
            TraceDestination::Collector => Sampling::Ratio(1.0),
            TraceDestination::Dashboard => Sampling::Rate,
        }),
    }
}

/// A part of all traces.
pub(crate) fn ratio(text: &str) -> Result<f64, String> {
    let ratio = text
        .parse()
        .ok()
        .filter(|ratio| (0.0..=1.0).contains(ratio));
    ratio.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_counts_before_the_variable_and_both_before_the_destination() {
        use TraceDestination::{Collector, Dashboard};

        let check = |given, variable, destination, expected| {
            assert_eq!(choose(given, variable, destination).unwrap(), expected);
        };
        check(Some(0.5), Some("0.1"), Collector, Sampling::Ratio(0.5));
        check(None, Some("0.1"), Collector, Sampling::Ratio(0.1));
        check(None, None, Collector, Sampling::Ratio(1.0));
        check(None, None, Dashboard, Sampling::Rate);
        assert!(choose(None, Some("2"), Collector).is_err());
        assert!(ratio("1.01").is_err() && ratio("NaN").is_err() && ratio("-1").is_err());
    }
}
