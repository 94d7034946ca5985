//! What a load does: which calls, of which records, by how many callers. Refuses what cannot be; calls nothing.

use std::time::Duration;

use bytes::Bytes;
use tsumugi_bench::KvOperation;
use tsumugi_rpc::CALL_BYTES_MAX;

use super::limits::{LOAD_BYTES_MAX, LOAD_KEY_BYTES, LOAD_KEYS_MAX, LOAD_SECONDS_MAX};

/// How records are called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallForm {
    /// A call for each.
    Unary,
    /// Messages of one stream.
    Stream,
    /// A call for each batch of so many records.
    Batches(usize),
}

impl CallForm {
    /// What a figure counts in a second. A call for many records is not a query: others count queries of one record.
    pub fn unit(self) -> &'static str {
        match self {
            CallForm::Unary | CallForm::Stream => "queries/s",
            CallForm::Batches(_) => "records/s",
        }
    }

    /// Records of one call.
    pub fn records(self) -> usize {
        match self {
            CallForm::Unary | CallForm::Stream => 1,
            CallForm::Batches(records) => records,
        }
    }
}

/// When an operation ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadExtent {
    /// After this number of records for each caller.
    Records(u64),
    /// After this time.
    Time(Duration),
}

/// The callers of a row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerGroup {
    /// Callers at a time.
    pub callers: u64,
    /// Connections, each on a thread of its own: one, or as many as there are callers.
    pub connections: u64,
}

/// The records of a load: keys of eight digits, each with a value that is computed from it, so that no record is held in memory.
#[derive(Clone, Debug)]
pub struct LoadRecords {
    /// How many there are.
    pub count: u64,
    /// Bytes of a value.
    pub size: usize,
    step: u64,
    noise: Bytes,
}

/// Primes far from any divisor of a round number: a step of one that does not divide the number of keys leads to each of them once, without order.
const STEPS: [u64; 2] = [7_368_787, 15_485_863];
/// Different values of one size; a prime, so that neighbours in any order differ.
const VALUES: u64 = 65_521;

/// In which order keys come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOrder {
    /// From the lowest to the highest, as `tkrzw_dbm_remote_perf` calls for them.
    Sequential,
    /// Each once and without order.
    Scattered,
}

impl LoadRecords {
    /// Records with keys of `0..count`.
    pub fn new(count: u64, size: usize, order: KeyOrder) -> LoadRecords {
        let step = match order {
            KeyOrder::Sequential => 1,
            KeyOrder::Scattered => {
                let fits = STEPS.into_iter().find(|step| !count.is_multiple_of(*step));
                fits.unwrap_or(1)
            }
        };
        LoadRecords {
            count,
            size,
            step,
            noise: noise(size + VALUES as usize),
        }
    }

    fn number(&self, at: u64) -> u64 {
        at.wrapping_mul(self.step) % self.count.max(1)
    }

    /// The key at a place of the order; after the last the first comes again.
    pub fn key(&self, at: u64) -> Bytes {
        format!("{:08}", self.number(at)).into()
    }

    /// The value of that record: a slice, so that large values cost the load nothing.
    pub fn value(&self, at: u64) -> Bytes {
        let from = (self.number(at) % VALUES) as usize;
        self.noise.slice(from..from + self.size)
    }
}

/// Bytes without a pattern, the same in every process, since one may read what another wrote (xorshift).
fn noise(bytes: usize) -> Bytes {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut all = Vec::with_capacity(bytes + 8);
    while all.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        all.extend_from_slice(&state.to_le_bytes());
    }
    all.truncate(bytes);
    all.into()
}

/// A load as it was asked for.
#[derive(Clone, Debug)]
pub struct KvLoadPlan {
    /// In the order of the table.
    pub operations: Vec<KvOperation>,
    /// Rows of the table.
    pub groups: Vec<CallerGroup>,
    /// How records are called for.
    pub form: CallForm,
    /// Calls that each caller has under way.
    pub depth: usize,
    /// When each operation ends.
    pub extent: LoadExtent,
    /// Different keys, if not as many as there are calls.
    pub records: Option<u64>,
    /// Bytes of a value.
    pub size: usize,
    /// How keys follow each other.
    pub order: KeyOrder,
}

impl KvLoadPlan {
    /// What was asked for, if it can be; or what is wrong with it, for the user.
    pub fn checked(mut self, only: &[KvOperation]) -> Result<KvLoadPlan, String> {
        let is_batch = matches!(self.form, CallForm::Batches(_));
        self.operations = match (only, is_batch) {
            ([], false) => KvOperation::ALL.to_vec(),
            ([], true) => KvOperation::ALL
                .into_iter()
                .filter(|one| one.has_batches())
                .collect(),
            (only, _) => only.to_vec(),
        };
        self.operations.sort();
        self.operations.dedup();
        let alone = self.operations.iter().find(|one| !one.has_batches());
        if let (true, Some(alone)) = (is_batch, alone) {
            return Err(format!(
                "{} has no call for many records: leave it out of --only, or leave --batch out",
                alone.heading()
            ));
        }
        if let LoadExtent::Time(time) = self.extent
            && !(time > Duration::ZERO && time.as_secs_f64() <= LOAD_SECONDS_MAX)
        {
            return Err(format!(
                "--seconds is more than 0, and at most {LOAD_SECONDS_MAX}"
            ));
        }
        self.check_batch()?;
        let has_values = self.operations.iter().any(|one| one.has_values());
        for group in &self.groups {
            let keys = self.keys(*group);
            if keys > LOAD_KEYS_MAX {
                return Err(format!(
                    "{} callers with {} records each are {keys} keys, and keys have eight digits: lower --iter or --threads to at most {LOAD_KEYS_MAX} keys together",
                    group.callers,
                    keys / group.callers.max(1)
                ));
            }
            let each = self.form.records().saturating_mul(self.depth);
            let callers = usize::try_from(group.callers).unwrap_or(usize::MAX);
            let bytes = each.saturating_mul(callers).saturating_mul(self.size);
            if has_values && bytes > LOAD_BYTES_MAX {
                return Err(format!(
                    "{} callers with {each} values of {} bytes under way are {bytes} bytes, and the load takes {LOAD_BYTES_MAX}: lower --size, --depth, --batch or --threads",
                    group.callers, self.size
                ));
            }
        }
        Ok(self)
    }

    /// A batch is one call: the client would split a larger one and have several of its calls under way.
    fn check_batch(&self) -> Result<(), String> {
        let records = self.form.records();
        let bytes = records.saturating_mul(self.size + LOAD_KEY_BYTES);
        let stores = self.operations.contains(&KvOperation::Set);
        if stores && records > 1 && bytes > CALL_BYTES_MAX {
            return Err(format!(
                "--batch {records} with --size {} is {bytes} bytes of keys and values, and one SetMulti takes {CALL_BYTES_MAX}: lower --batch to {}, or --size",
                self.size,
                (CALL_BYTES_MAX / (self.size + LOAD_KEY_BYTES)).max(1)
            ));
        }
        Ok(())
    }

    /// Keys of a row.
    pub fn keys(&self, group: CallerGroup) -> u64 {
        let calls = match self.extent {
            LoadExtent::Records(each) => each.saturating_mul(group.callers),
            LoadExtent::Time(_) => RECORDS_DEFAULT,
        };
        self.records.unwrap_or(calls)
    }

    /// Whether what an operation had no time for is done after it, without a figure: records that were stored are there when they are read,
    /// and a load that stores and removes leaves none.
    pub fn is_completed(&self, operation: KvOperation) -> bool {
        let stores = self.operations.contains(&KvOperation::Set);
        let has_more = |later: &KvOperation| *later > operation;
        let is_followed = self.operations.iter().any(has_more);
        let is_cut_short = matches!(self.extent, LoadExtent::Time(_));
        is_cut_short
            && match operation {
                KvOperation::Set => is_followed,
                KvOperation::Remove => stores,
                KvOperation::Echo | KvOperation::Get | KvOperation::Iterate => false,
            }
    }

    /// The name of a row, in the author's words as far as he had them.
    pub fn label(&self, group: CallerGroup) -> String {
        let CallerGroup {
            callers,
            connections,
        } = group;
        let mut label = match callers {
            1 => "1 thread".to_owned(),
            _ if connections == 1 => format!("{callers} threads, same connection"),
            _ => format!("{callers} threads, separate"),
        };
        match self.form {
            CallForm::Unary => {}
            CallForm::Stream => label += ", stream",
            CallForm::Batches(records) => label += &format!(", batches of {records}"),
        }
        if self.depth > 1 {
            label += &format!(", {} in flight", self.depth);
        }
        label
    }
}

/// Different keys of an operation that goes on for a time, as in the author's table.
pub const RECORDS_DEFAULT: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn plan(form: CallForm, callers: u64, each: u64) -> KvLoadPlan {
        KvLoadPlan {
            operations: Vec::new(),
            groups: vec![CallerGroup {
                callers,
                connections: 1,
            }],
            form,
            depth: 1,
            extent: LoadExtent::Records(each),
            records: None,
            size: 8,
            order: KeyOrder::Sequential,
        }
    }

    fn check(plan: KvLoadPlan, only: &[KvOperation], expected: &str) {
        let outcome = match plan.checked(only) {
            Ok(plan) => format!("{:?}", plan.operations),
            Err(error) => error,
        };
        assert!(outcome.contains(expected), "{outcome}");
    }

    #[test]
    fn operations_are_in_the_order_of_the_table() {
        use KvOperation::{Echo, Get, Set};
        let unary = || plan(CallForm::Unary, 1, 1);
        check(unary(), &[], "[Echo, Set, Get, Iterate, Remove]");
        check(unary(), &[Get, Echo, Get], "[Echo, Get]");
        let batches = || plan(CallForm::Batches(10), 1, 1);
        check(batches(), &[], "[Set, Get, Remove]");
        check(batches(), &[Set, Echo], "Echo has no call for many records");
    }

    #[test]
    fn plan_beyond_a_limit_is_refused_with_what_to_lower() {
        check(plan(CallForm::Unary, 4, LOAD_KEYS_MAX / 4), &[], "[Echo");
        check(
            plan(CallForm::Unary, 4, LOAD_KEYS_MAX / 4 + 1),
            &[],
            "lower --iter",
        );
        let sized = |size| KvLoadPlan {
            size,
            depth: 4,
            ..plan(CallForm::Unary, 2, 1)
        };
        check(sized(LOAD_BYTES_MAX / 8), &[], "[Echo");
        check(sized(LOAD_BYTES_MAX / 8 + 1), &[], "lower --size");
        let timed = |seconds| KvLoadPlan {
            extent: LoadExtent::Time(Duration::from_secs_f64(seconds)),
            ..plan(CallForm::Unary, 1, 1)
        };
        check(timed(LOAD_SECONDS_MAX), &[], "[Echo");
        check(
            timed(LOAD_SECONDS_MAX + 1.0),
            &[],
            "--seconds is more than 0",
        );
        check(timed(0.0), &[], "--seconds is more than 0");
    }

    #[test]
    fn batch_larger_than_one_call_is_refused_where_it_stores() {
        use KvOperation::{Get, Remove};
        let batch = |records, size| KvLoadPlan {
            size,
            ..plan(CallForm::Batches(records), 1, 1)
        };
        // 1,024 bytes a record with its key.
        check(batch(1_024, 1_016), &[], "[Set, Get, Remove]");
        check(
            batch(1_025, 1_016),
            &[],
            "--batch 1025 with --size 1016 is 1049600 bytes of keys and values, and one SetMulti takes 1048576: lower --batch to 1024, or --size",
        );
        check(batch(1_024, 1_017), &[], "lower --batch to 1023");
        check(batch(1, CALL_BYTES_MAX), &[], "[Set, Get, Remove]");
        check(batch(2, CALL_BYTES_MAX), &[], "lower --batch to 1,");
        // Their calls hold keys alone.
        check(batch(1_025, 1_016), &[Get, Remove], "[Get, Remove]");
    }

    #[test]
    fn operations_without_values_have_no_limit_of_their_bytes() {
        use KvOperation::{Echo, Get, Remove};
        let large = || KvLoadPlan {
            size: LOAD_BYTES_MAX / 8 + 1,
            depth: 8,
            ..plan(CallForm::Unary, 1, 1)
        };
        check(large(), &[Echo, Remove], "[Echo, Remove]");
        check(large(), &[Echo, Get], "lower --size");
    }

    #[test]
    fn scattered_order_has_each_key_once() {
        for count in [1, 10, 1_000, 65_536] {
            let records = LoadRecords::new(count, 8, KeyOrder::Scattered);
            let keys: HashSet<Bytes> = (0..count).map(|at| records.key(at)).collect();
            assert_eq!(keys.len() as u64, count);
        }
        let records = LoadRecords::new(STEPS[0], 8, KeyOrder::Scattered);
        assert_ne!(records.key(0), records.key(1));
    }

    #[test]
    fn value_belongs_to_its_key_in_either_order() {
        let ordered = LoadRecords::new(1_000, 8, KeyOrder::Sequential);
        let scattered = LoadRecords::new(1_000, 8, KeyOrder::Scattered);
        let number: u64 = std::str::from_utf8(&scattered.key(7))
            .unwrap()
            .parse()
            .unwrap();
        assert_eq!(scattered.value(7), ordered.value(number));
        assert_ne!(ordered.value(1), ordered.value(2));
        assert_eq!(ordered.key(0), ordered.key(1_000));
    }

    #[test]
    fn rows_are_named_as_the_author_named_them() {
        let label = |plan: &KvLoadPlan, callers, connections| {
            plan.label(CallerGroup {
                callers,
                connections,
            })
        };
        let unary = plan(CallForm::Unary, 1, 1);
        assert_eq!(label(&unary, 1, 1), "1 thread");
        assert_eq!(label(&unary, 2, 1), "2 threads, same connection");
        assert_eq!(label(&unary, 4, 4), "4 threads, separate");
        let flights = KvLoadPlan {
            depth: 64,
            ..plan(CallForm::Stream, 1, 1)
        };
        assert_eq!(label(&flights, 1, 1), "1 thread, stream, 64 in flight");
        let batches = plan(CallForm::Batches(10), 1, 1);
        assert_eq!(label(&batches, 1, 1), "1 thread, batches of 10");
    }
}
