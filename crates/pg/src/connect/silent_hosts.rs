//! Which hosts of a configuration have not answered lately. It asks none of them.
//! Rule: what is remembered of a host ends by itself, so that one that only is slow gets its whole time again.

use std::cell::RefCell;

use tokio::time::Instant;

use crate::limits::SILENT_HOST_MEMORY;

/// When hosts were given up, by their places in the configuration.
#[derive(Debug, Default)]
pub struct SilentHosts(RefCell<Vec<(usize, Instant)>>);

impl SilentHosts {
    /// Whether a host was given up a short time ago.
    pub fn has(&self, host: usize) -> bool {
        let mut hosts = self.0.borrow_mut();
        hosts.retain(|(_, since)| since.elapsed() < SILENT_HOST_MEMORY);
        hosts.iter().any(|(silent, _)| *silent == host)
    }

    /// It did not answer in time. One that is silent already is so for no longer.
    pub fn add(&self, host: usize) {
        if !self.has(host) {
            self.0.borrow_mut().push((host, Instant::now()));
        }
    }

    /// It has answered, whatever it said.
    pub fn remove(&self, host: usize) {
        self.0.borrow_mut().retain(|(silent, _)| *silent != host);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn host_is_silent_for_its_time_however_often_it_is_given_up() {
        let hosts = SilentHosts::default();
        assert!(!hosts.has(1));
        hosts.add(1);
        tokio::time::advance(SILENT_HOST_MEMORY - Duration::from_millis(1)).await;
        assert!(hosts.has(1) && !hosts.has(0));
        hosts.add(1);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!hosts.has(1));
        hosts.add(1);
        hosts.remove(1);
        assert!(!hosts.has(1));
    }
}
