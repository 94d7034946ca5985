//! Which traces are recorded: an option, or the variable that OpenTelemetry names for it. Records nothing.

use anyhow::{Result, anyhow};
use tsumugi_trace::Sampling;

/// Which traces are recorded. `given` is the option; where there is none, OpenTelemetry's variable counts, else `otherwise`.
pub(crate) fn sampling(given: Option<f64>, otherwise: Sampling) -> Result<Sampling> {
    let variable = std::env::var("OTEL_TRACES_SAMPLER_ARG").ok();
    choose(given, variable.as_deref(), otherwise)
}

fn choose(given: Option<f64>, variable: Option<&str>, otherwise: Sampling) -> Result<Sampling> {
    if let Some(ratio) = given {
        return Ok(Sampling::Ratio(ratio));
    }
    match variable.map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => ratio(text)
            .map(Sampling::Ratio)
            .map_err(|expected| anyhow!("OTEL_TRACES_SAMPLER_ARG: {expected}")),
        None => Ok(otherwise),
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
    fn option_counts_before_the_variable() {
        let check = |given, variable, expected| {
            assert_eq!(choose(given, variable, Sampling::Rate).unwrap(), expected);
        };
        check(Some(0.5), Some("0.1"), Sampling::Ratio(0.5));
        check(None, Some("0.1"), Sampling::Ratio(0.1));
        check(None, None, Sampling::Rate);
        assert!(choose(None, Some("2"), Sampling::Rate).is_err());
        assert!(ratio("1.01").is_err() && ratio("NaN").is_err() && ratio("-1").is_err());
    }
}
