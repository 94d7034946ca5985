//! The calls of the service by number, for figures and for paths made once. Knows names, not what they do.
//! A path that is none of them is the last, so that clients cannot make names.

/// The calls, and what is none of them.
pub(crate) const METHODS: [&str; 28] = [
    "Get",
    "Set",
    "Echo",
    "Remove",
    "Append",
    "Increment",
    "CompareExchange",
    "Stream",
    "Iterate",
    "GetMulti",
    "SetMulti",
    "RemoveMulti",
    "AppendMulti",
    "CompareExchangeMulti",
    "Rekey",
    "PopFirst",
    "PushLast",
    "Inspect",
    "Count",
    "GetFileSize",
    "Clear",
    "Rebuild",
    "ShouldBeRebuilt",
    "Synchronize",
    "Search",
    "Replicate",
    "ChangeMaster",
    "other",
];

/// Where the calls are.
pub(crate) const SERVICE: &str = "/tkrzw_rpc.DBMService/";

/// One of the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Method(usize);

impl Method {
    /// The call at a path.
    pub(crate) fn of_path(path: &str) -> Method {
        Method::named(path.strip_prefix(SERVICE).unwrap_or_default())
    }

    /// The call with this name. Names are ours; one that is none is the last.
    pub(crate) fn named(name: &str) -> Method {
        let known = METHODS.iter().position(|known| *known == name);
        Method(known.unwrap_or(METHODS.len() - 1))
    }

    /// Its name in the service, or "other".
    pub(crate) fn name(self) -> &'static str {
        METHODS.get(self.0).copied().unwrap_or("other")
    }

    pub(crate) fn index(self) -> usize {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: &str) {
        assert_eq!(METHODS[Method::of_path(path).index()], expected, "{path}");
    }

    #[test]
    fn methods_are_those_of_the_protocol() {
        let proto = include_str!("../proto/tkrzw_rpc.proto");
        let mut named: Vec<&str> = proto
            .lines()
            .filter_map(|line| Some(line.trim().strip_prefix("rpc ")?.split_once('(')?.0))
            .chain(["other"])
            .collect();
        let mut methods = METHODS.to_vec();
        named.sort_unstable();
        methods.sort_unstable();
        assert_eq!(methods, named);
    }

    #[test]
    fn unknown_path_is_other() {
        check("/tkrzw_rpc.DBMService/Get", "Get");
        check("/tkrzw_rpc.DBMService/ChangeMaster", "ChangeMaster");
        check("/tkrzw_rpc.DBMService/get", "other");
        check("/grpc.health.v1.Health/Check", "other");
    }
}
