//! What every engine of a cluster does, as tests that are run over each of them: `crates/cluster` has those over databases, `crates/stores` those over
//! stores. Where they run is the including test's `Place`. Rule: names are the test's own, for a place may be shared by all of them.

mod channels;
mod locks;
mod timers;
