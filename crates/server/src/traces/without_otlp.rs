//! Stands in for what sends traces where the feature `otlp` is off: there is no collector. Knows no protocol.
//! Rule: an environment that names a collector is refused, and not passed over.

use std::convert::Infallible;
use std::time::Duration;

use anyhow::{Result, bail};
use tsumugi_trace::Tracer;

use super::endpoint::{Lookup, endpoint};
use super::figures::ExporterFigures;

/// A collector of traces. Never made: the feature `otlp` is off.
pub(crate) struct CollectorSettings(Infallible);

/// What sends traces to a collector. Never made: the feature `otlp` is off.
#[derive(Clone, Debug)]
pub struct TraceExporter(Infallible);

impl CollectorSettings {
    /// Refuses the collector that the environment names, if it does.
    pub fn from_environment() -> Result<Option<CollectorSettings>> {
        CollectorSettings::read(&|name| std::env::var(name).ok())
    }

    fn read(lookup: Lookup<'_>) -> Result<Option<CollectorSettings>> {
        let Some((name, _)) = endpoint(lookup) else {
            return Ok(None);
        };
        bail!(
            "{name}: OTLP is not in this program: it was built without the feature `otlp`; OTEL_SDK_DISABLED=true starts it without a collector"
        )
    }
}

impl TraceExporter {
    pub(crate) fn start(_: &Tracer, settings: CollectorSettings) -> Result<TraceExporter> {
        match settings.0 {}
    }

    pub(crate) fn endpoint(&self) -> String {
        match self.0 {}
    }

    pub(crate) fn figures(&self) -> ExporterFigures {
        match self.0 {}
    }

    pub(crate) fn close(&self, _: Duration) {
        match self.0 {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collector_of_the_environment_is_refused_by_the_name_of_the_feature() {
        let read = |named: &'static str| {
            CollectorSettings::read(&|name| (name == named).then(|| "http://a:4318".to_owned()))
        };
        for named in [
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        ] {
            let error = read(named).err().expect("it is refused").to_string();
            assert!(error.contains(named) && error.contains("`otlp`"), "{error}");
        }
        assert!(read("OTEL_SERVICE_NAME").unwrap().is_none());
    }
}
