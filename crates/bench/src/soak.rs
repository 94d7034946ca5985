//! The long form.
use crate::{Verdict, servers::Ours};
use anyhow::Result;
use std::path::Path;
/// Runs.
pub fn run(_ours: &Ours, _folder: &Path, _seconds: u64) -> Result<Verdict> {
    Ok(Verdict::Passed)
}
