//! Traces on their way out of the process: what is recorded, as options and environment say it, and where it is sent. Begins no activity.
//! Rule: no worker waits for a collector; what it does not take in time is dropped and counted, and its headers are never shown.

mod exporter;
mod messages;
mod settings;
mod transport;

pub use exporter::TraceExporter;
pub(crate) use exporter::write_figures;
pub(crate) use settings::{CollectorSettings, ratio, sampling};
