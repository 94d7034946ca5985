//! Which channels have subscribers in this process, for operators. Receives nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::hub::listed_hubs;
use crate::process::PROCESS_HUB;

/// A channel that has subscribers in this process.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelFigures {
    /// Its name.
    pub name: String,
    /// Whether its messages reach other processes.
    pub is_of_cluster: bool,
    /// How many receive them here.
    pub subscribers: usize,
    /// How many messages have come here since its first subscriber. Where each worker receives them by itself, of the worker that has most.
    pub messages: u64,
}

/// The channels that have subscribers in this process, in the order of their names.
#[must_use]
pub fn channel_figures() -> Vec<ChannelFigures> {
    let mut all: BTreeMap<(String, bool), ChannelFigures> = BTreeMap::new();
    for hub in listed_hubs() {
        let is_of_cluster = !Arc::ptr_eq(&hub, &PROCESS_HUB);
        for (name, subscribers, messages) in hub.figures() {
            let entry = all.entry((name.clone(), is_of_cluster));
            let figures = entry.or_insert(ChannelFigures {
                name,
                is_of_cluster,
                subscribers: 0,
                messages: 0,
            });
            figures.subscribers += subscribers;
            figures.messages = figures.messages.max(messages);
        }
    }
    all.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::Hub;

    #[test]
    fn channel_is_listed_while_it_has_subscribers() {
        let name = "channel of the figures";
        let hubs: [Arc<Hub>; 2] = Default::default();
        let of = || channel_figures().into_iter().find(|one| one.name == name);
        assert_eq!(of(), None);
        let subscriptions: Vec<_> = [0, 0, 1]
            .into_iter()
            .map(|hub: usize| hubs[hub].subscribe(name).unwrap())
            .collect();
        for hub in &hubs {
            hub.deliver(name, "a");
        }
        hubs[0].deliver(name, "b");
        let seen = of().unwrap();
        assert_eq!(
            (seen.subscribers, seen.messages, seen.is_of_cluster),
            (3, 2, true)
        );
        drop(subscriptions);
        assert_eq!(of(), None);
    }
}
