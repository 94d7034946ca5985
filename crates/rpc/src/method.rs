//! The calls of both services by number, for figures and for paths made once. Knows names, not what they do.
//! A path that is none of them is the last, so that clients cannot make names.

/// The calls of the protocol, those of our own, and what is neither.
pub(crate) const METHODS: [&str; 37] = [
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
    "SetWithTtl",
    "SetMultiWithTtl",
    "CompareExchangeWithTtl",
    "CompareExchangeMultiWithTtl",
    "Touch",
    "Lifetime",
    "Push",
    "Pop",
    "Watch",
    "other",
];

/// Where the first of our own calls is among them.
const OWN: usize = 27;
const OTHER: Method = Method(METHODS.len() - 1);

/// Where the calls of the protocol are.
pub(crate) const SERVICE: &str = "/tkrzw_rpc.DBMService/";

/// Where our own are.
pub(crate) const OWN_SERVICE: &str = "/tsumugi_kv.StoreService/";

/// One of the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Method(usize);

impl Method {
    /// The call at a path.
    #[cfg(feature = "service")]
    pub(crate) fn of_path(path: &str) -> Method {
        if let Some(name) = path.strip_prefix(SERVICE) {
            let method = Method::named(name);
            return if method.is_own() { OTHER } else { method };
        }
        let own = path.strip_prefix(OWN_SERVICE).map(Method::named);
        own.filter(|method| method.is_own()).unwrap_or(OTHER)
    }

    /// The call with this name. Names are ours; one that is none is the last.
    pub(crate) fn named(name: &str) -> Method {
        let known = METHODS.iter().position(|known| *known == name);
        known.map_or(OTHER, Method)
    }

    /// All of them, in the order of [`METHODS`].
    pub(crate) fn all() -> impl Iterator<Item = Method> {
        (0..METHODS.len()).map(Method)
    }

    /// Its name in its service, or "other".
    pub(crate) fn name(self) -> &'static str {
        METHODS.get(self.0).copied().unwrap_or("other")
    }

    /// Whether it is one of our own.
    pub(crate) fn is_own(self) -> bool {
        (OWN..OTHER.0).contains(&self.0)
    }

    /// Where it is.
    pub(crate) fn path(self) -> String {
        let service = if self.is_own() { OWN_SERVICE } else { SERVICE };
        format!("{service}{}", self.name())
    }

    pub(crate) fn index(self) -> usize {
        self.0
    }
}

#[cfg(all(test, feature = "service"))]
mod tests {
    use super::*;

    fn check(path: &str, expected: &str) {
        assert_eq!(METHODS[Method::of_path(path).index()], expected, "{path}");
    }

    /// The names of the calls of a file.
    fn calls(proto: &str) -> Vec<&str> {
        proto
            .lines()
            .filter_map(|line| Some(line.trim().strip_prefix("rpc ")?.split_once('(')?.0))
            .collect()
    }

    #[test]
    fn methods_are_those_of_both_services() {
        let protocol = calls(include_str!("../proto/tkrzw_rpc.proto"));
        let own = calls(include_str!("../proto/tsumugi_kv.proto"));
        let mut methods = METHODS.to_vec();
        methods.sort_unstable();
        let mut named = [&protocol[..], &own[..], &["other"]].concat();
        named.sort_unstable();
        assert_eq!(methods, named);
        for name in protocol {
            check(&format!("{SERVICE}{name}"), name);
            check(&format!("{OWN_SERVICE}{name}"), "other");
            assert_eq!(Method::named(name).path(), format!("{SERVICE}{name}"));
        }
        for name in own {
            check(&format!("{OWN_SERVICE}{name}"), name);
            check(&format!("{SERVICE}{name}"), "other");
            assert_eq!(Method::named(name).path(), format!("{OWN_SERVICE}{name}"));
        }
    }

    #[test]
    fn unknown_path_is_other() {
        check("/tkrzw_rpc.DBMService/Get", "Get");
        check("/tkrzw_rpc.DBMService/ChangeMaster", "ChangeMaster");
        check("/tkrzw_rpc.DBMService/get", "other");
        check("/tkrzw_rpc.DBMService/other", "other");
        check("/tsumugi_kv.StoreService/other", "other");
        check("/grpc.health.v1.Health/Check", "other");
    }
}
