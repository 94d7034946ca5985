//! Figures of the key-value stores that applications opened, for the admin pages. Opens none and keeps none open.
//! Rule: a worker looks at its own by the clock and leaves them here; a store that several workers have is written once.

use std::sync::{Arc, Mutex, PoisonError};

use tsumugi_http::exposition::Exposition;
use tsumugi_kv::{DURATIONS, FIGURES, KvSnapshot};

/// What one worker sees of its stores.
#[derive(Debug, Default)]
pub(crate) struct Stores(Mutex<Vec<StoreSample>>);

#[derive(Clone, Debug)]
pub(crate) struct StoreSample {
    pub place: Arc<str>,
    pub figures: KvSnapshot,
}

impl Stores {
    /// Keeps the figures of a worker's stores. Does not wait: while another worker reads, the last figures stay.
    pub(crate) fn look(&self, stores: impl Iterator<Item = (Arc<str>, KvSnapshot)>) {
        let Ok(mut shown) = self.0.try_lock() else {
            return;
        };
        shown.clear();
        for (place, figures) in stores {
            if !shown.iter().any(|seen| seen.place == place) {
                shown.push(StoreSample { place, figures });
            }
        }
    }
}

/// What all workers saw.
pub(crate) fn rows<'a>(workers: impl Iterator<Item = &'a Stores>) -> Vec<StoreSample> {
    let mut rows: Vec<StoreSample> = Vec::new();
    for stores in workers {
        let seen = stores.0.lock().unwrap_or_else(PoisonError::into_inner);
        for seen in seen.iter() {
            let newer = |row: &StoreSample| {
                row.figures.reads + row.figures.writes < seen.figures.reads + seen.figures.writes
            };
            match rows.iter_mut().find(|row| row.place == seen.place) {
                // The worker that looked last has counted most.
                Some(row) if newer(row) => *row = seen.clone(),
                Some(_) => {}
                None => rows.push(seen.clone()),
            }
        }
    }
    rows
}

/// Writes what all workers saw.
pub(crate) fn write<'a>(workers: impl Iterator<Item = &'a Stores>, text: &mut Exposition) {
    let rows = rows(workers);
    if rows.is_empty() {
        return;
    }
    for figure in FIGURES {
        let rows = rows
            .iter()
            .map(|row| (&*row.place, (figure.of)(&row.figures)));
        text.rows((figure.name, figure.help), "store", rows);
    }
    for (name, help, of) in DURATIONS {
        let rows = rows.iter().map(|row| (&*row.place, of(&row.figures)));
        let measured: Vec<_> = rows
            .filter(|(_, durations)| durations.count() > 0)
            .collect();
        if !measured.is_empty() {
            text.histograms(name, help);
        }
        for (place, durations) in measured {
            let sum_seconds = durations.sum.as_secs_f64();
            text.histogram(
                name,
                &[("store", place)],
                durations.by_seconds(),
                sum_seconds,
            );
        }
    }
}
