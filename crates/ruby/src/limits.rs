//! The limits of running Ruby. Each has a default, a test at limit + 1 and an error that names it.

use std::time::Duration;

use tsumugi_server::{LimitSet, Row, limited};

/// Waits that are cancelled at once after `cancel_ms_max`, before the fibre is given up.
pub(crate) const CANCELS_MAX: usize = 16;

/// Bytes of one JSON text, give or take its last value.
pub(crate) const JSON_BYTES_MAX: usize = 64 << 20;

/// Bytes of a String: what mruby is built with (`MRB_STR_LENGTH_MAX`). Natives that multiply a text stop there too.
pub(crate) const STRING_BYTES_MAX: usize = 64 << 20;

/// Frames of one backtrace in the log and on an error page.
pub(crate) const FRAMES_SHOWN_MAX: usize = 40;

/// Blocks that one request leaves for after its response.
pub(crate) const AFTER_RESPONSE_MAX: usize = 16;

/// Fibres that run beside the block of one WebSocket, those of `forward` among them.
pub(crate) const WEBSOCKET_FIBRES_MAX: usize = 16;

/// Cookies that one response sets; browsers keep fewer of a site.
pub(crate) const COOKIES_SET_MAX: usize = 200;

/// The longest `sleep`, in seconds: beyond it a timer would overflow.
pub(crate) const SLEEP_SECONDS_MAX: f64 = 1e9;

/// Width of one field of `Time#strftime`; a wider one is cut to it.
pub(crate) const TIME_WIDTH_MAX: usize = 1_024;

/// Bytes that one call of SecureRandom makes.
pub(crate) const RANDOM_BYTES_MAX: usize = 1 << 20;

/// Bytes of a password; hashing more is a way to keep a server busy.
pub(crate) const PASSWORD_BYTES_MAX: usize = 1_024;

/// Nesting of an Array that is bound to a statement.
pub(crate) const BIND_DEPTH_MAX: usize = 6;

/// A String that is longer is copied out of the VM only while the watchdog asks nothing: many may follow.
pub(crate) const COPIED_UNCHECKED_BYTES_MAX: usize = 64 << 10;

/// Instructions of one handler, of its filters and of the helpers that it calls, that are read to describe its route.
pub(crate) const HANDLER_STEPS_MAX: usize = 50_000;

/// Registers of a handler of which it is known what is in them, when its route is described.
pub(crate) const HANDLER_REGISTERS_MAX: usize = 256;

/// Helpers that call helpers, which are read to describe a route.
pub(crate) const HELPER_DEPTH_MAX: usize = 4;

/// Parts of an Array or a Hash in a handler, those of its parts included, up to which it is looked at when its route is described.
pub(crate) const KNOWN_PARTS_MAX: usize = 1_000;

/// Statements of one `db.pipeline`.
pub(crate) const PIPELINE_MAX: usize = 10_000;

/// Characters and ranges of a set that `tr`, `count`, `delete` or `squeeze` is given.
pub(crate) const CHARACTER_SET_PARTS_MAX: usize = 65_536;

/// Bytes that a search for a pattern with look-around or backreferences may read before the watchdog can end it, unless 64 steps back read more.
pub(crate) const REGEXP_PIECE_BYTES: usize = 64 << 20;

/// References and pieces of text in a replacement that `sub` and `gsub` are given.
pub(crate) const REPLACEMENT_PARTS_MAX: usize = 65_536;

/// Elements that are sorted at one go; more are sorted in Ruby, where a deadline can interrupt.
pub(crate) const SORTED_MAX: usize = 100_000;

/// Bytes of strings that are sorted at one go.
pub(crate) const SORTED_BYTES_MAX: usize = 64 << 20;

/// Records that one call reads or writes of `get_multi`, `set_multi`, `delete_multi` or `cas_multi`.
pub(crate) const KV_MULTI_MAX: usize = 10_000;

/// Records that `kv.scan` asks a store for at a time.
pub(crate) const KV_PAGE_RECORDS: usize = 256;

/// Keys that one `kv.search` answers.
pub(crate) const KV_SEARCH_MAX: usize = 10_000;

/// The part of what an application leaves free of `vm_bytes_max` that requests which were let in end with: one in so many.
pub(crate) const ROOM_TO_END_SHARE: usize = 8;

/// The VM is collected for room at most one in so many parts of the time…
pub(crate) const COLLECTION_SHARE: u32 = 20;

/// … and not again before this.
pub(crate) const COLLECTION_PAUSE_MIN: Duration = Duration::from_millis(20);

/// Where there is no room, one more request is let in when the last one of these is over, or after this.
pub(crate) const TURN_MAX: Duration = Duration::from_secs(1);

/// What one worker's VM may use.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Requests of one worker that wait in Ruby for something. While there are so many, another one is answered 503, and nothing of it runs.
    pub requests_max: usize,
    /// From the end of the request's header to the response, in milliseconds. Then the handler is cancelled: 504.
    pub request_ms_max: u64,
    /// How long `ensure` may go on waiting after a cancellation, in milliseconds.
    pub cancel_ms_max: u64,
    /// Bytes one VM may allocate; beyond it Ruby gets NoMemoryError. Seven eighths of what the application leaves free of it are for
    /// requests to begin with: then they take turns, and who has none is answered 503.
    pub vm_bytes_max: usize,
    /// Idle fibres kept for reuse on one worker.
    pub idle_fibres_max: usize,
    /// Nesting of what becomes JSON; deeper (or cyclic) is an error.
    pub json_depth_max: usize,
    /// Distinct Symbols that `JSON.parse(…, symbolize_names: true)` may make in one VM: they are never freed.
    pub json_symbols_max: usize,
    /// Compiled patterns that one VM keeps; the one used longest ago makes room.
    pub regexps_max: usize,
    /// Steps back of one match of a pattern with look-around or backreferences; in a long text, of each place where it may begin.
    pub regexp_backtracks_max: usize,
    /// Bytes of a compiled pattern.
    pub regexp_bytes_max: usize,
    /// Bytes of a file of Ruby or of a template.
    pub source_bytes_max: usize,
    /// Bytes of a text that `eval`, `instance_eval`, `class_eval` or `Binding#eval` compiles: nothing interrupts it.
    pub eval_bytes_max: usize,
    /// Depth of templates that render templates.
    pub render_depth_max: usize,
    /// Branches of one `parallel`. Each is a fibre that takes memory of the VM until the last is over.
    pub parallel_max: usize,
    /// Values that wait in one channel.
    pub channel_max: usize,
    /// What handlers may use of other servers.
    pub client: tsumugi_client::CallLimits,
    /// What handlers may use of a mail server.
    pub mail: tsumugi_mail::MailLimits,
}

/// Bytes of a piece of a template's text: a Symbol takes less than 64 KiB.
pub(crate) const TEMPLATE_PIECE_BYTES_MAX: usize = 32 << 10;

/// Most values of a template that one call writes: with the page and the text around them they are as many arguments as mruby
/// passes without an Array of them. The native keeps more than six in a Vec, which costs less than a second call.
pub(crate) const TEMPLATE_VALUES_MAX: usize = 6;

/// Bytes that a page has room for when it begins; it grows.
pub(crate) const PAGE_BYTES: usize = 2 << 10;

impl Default for Limits {
    fn default() -> Self {
        Limits {
            requests_max: 16_384,
            request_ms_max: 30_000,
            cancel_ms_max: 5_000,
            vm_bytes_max: 256 << 20,
            idle_fibres_max: 1_024,
            json_depth_max: 100,
            json_symbols_max: 10_000,
            regexps_max: 1_024,
            regexp_backtracks_max: 1_000_000,
            regexp_bytes_max: 10 << 20,
            source_bytes_max: 4 << 20,
            eval_bytes_max: 16 << 10,
            render_depth_max: 64,
            parallel_max: 16_384,
            channel_max: 65_536,
            client: tsumugi_client::CallLimits::default(),
            mail: tsumugi_mail::MailLimits::default(),
        }
    }
}

// The names of limits of clients are those of the server's, too; they have their client's name before them.
impl LimitSet for Limits {
    const DEV: &'static str = "Development: reload when a file of Ruby changes, show errors in the page, make up a session secret";

    const LIMITS: &'static [Row<Limits>] = limited!(
        requests_max request_ms_max cancel_ms_max vm_bytes_max idle_fibres_max json_depth_max parallel_max
        channel_max json_symbols_max regexps_max regexp_backtracks_max regexp_bytes_max source_bytes_max
        eval_bytes_max render_depth_max;
        client: connect_ms_max call_ms_max addresses_max connections_per_host_max connections_max idle_per_host_max idle_max
        idle_ms_max header_bytes_max response_bytes_max;
        mail: send_ms_max connections_max idle_max idle_ms_max message_bytes_max recipients_max
    );

    /// Every body that is read becomes a String of the VM: half of its memory is for them.
    fn settle(&self, http: &mut tsumugi_http::HttpLimits, is_given: impl Fn(&str) -> bool) {
        if !is_given("bodies_bytes_max") {
            http.bodies_bytes_max = self.vm_bytes_max as u64 / 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use tsumugi_server::Limit;
    use tsumugi_testkit::field_names;

    use super::*;

    fn check(given: &[&str], bodies_bytes_max: u64) {
        let given: Vec<Limit<Limits>> = given.iter().map(|text| text.parse().unwrap()).collect();
        let limits = Limit::settle(&given, tsumugi_worker::WorkerLimits::default()).unwrap();
        assert_eq!(limits.http.bodies_bytes_max, bodies_bytes_max);
    }

    #[test]
    fn bodies_may_take_half_of_the_vm_unless_their_limit_is_given() {
        check(&[], 128 << 20);
        check(&["vm_bytes_max=8_000_000"], 4_000_000);
        check(&["bodies_bytes_max=5", "vm_bytes_max=8000000"], 5);
    }

    #[test]
    fn every_limit_of_ruby_has_its_name_here() {
        let shown = format!("{:?}", Limits::default());
        let fields = field_names(&shown);
        assert!(fields.len() > 20, "{shown}");
        for field in fields
            .into_iter()
            .filter(|field| !matches!(*field, "client" | "mail"))
        {
            let inner = ["client", "mail"].map(|of| format!("{of}.{field}"));
            let known = |(name, ..): &Row<Limits>| {
                *name == field || inner.iter().any(|inner| inner == name)
            };
            assert!(
                Limits::LIMITS.iter().any(known),
                "{field} is not in the list"
            );
        }
    }
}
