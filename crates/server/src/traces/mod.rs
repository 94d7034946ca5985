//! Traces on their way out of the process: what is recorded, as options and environment say it, and where it is sent. Begins no activity.
//! Rule: no worker waits for a collector; what it does not take in time is dropped and counted, and its headers are never shown.

mod endpoint;
#[cfg(feature = "otlp")]
mod exporter;
mod figures;
#[cfg(feature = "otlp")]
mod messages;
mod sampling;
#[cfg(feature = "otlp")]
mod settings;
#[cfg(feature = "otlp")]
mod transport;
#[cfg(not(feature = "otlp"))]
mod without_otlp;

#[cfg(feature = "otlp")]
pub use exporter::TraceExporter;
pub(crate) use figures::write_figures;
pub(crate) use sampling::{TraceDestination, ratio, sampling};
#[cfg(feature = "otlp")]
pub(crate) use settings::CollectorSettings;
#[cfg(not(feature = "otlp"))]
pub(crate) use without_otlp::CollectorSettings;
#[cfg(not(feature = "otlp"))]
pub use without_otlp::TraceExporter;
