//! Several servers that share a database: timers that run on one of them, locks, messages. They are killed and stopped in the middle.
//! `TSUMUGI_CLUSTER_ROUNDS` says how often, which is a few times without it.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tsumugi_testkit::any_length;
use tsumugi_testkit::etcd::EtcdCluster;
use tsumugi_testkit::postgres::{PostgresDatabase, Server};

use crate::rig::{PATIENCE, Site, pause};

/// Starts a server under a name that the application finds in its environment.
fn start(app: &str, database: &PostgresDatabase<'_>, name: &str) -> Site {
    start_over("db", app, database, name)
}

/// The same over what this expression gives to `cluster`.
fn start_over(cluster: &str, app: &str, database: &PostgresDatabase<'_>, name: &str) -> Site {
    let app = format!(
        "NAME = ENV['NAME']
         db = DB.connect ENV['CLUSTER_URL'], log: false
         plugin(:db) {{ db }}
         cluster {cluster}
         error(Tsumugi::Lock::Lost) {{ |e| status 409; e.message }}
         {app}"
    );
    let variables = [("CLUSTER_URL", &*database.url()), ("NAME", name)];
    let site = Site::bind_within(&app, &[], &variables);
    site.expect_log("serving");
    site
}

/// Asks the database until it says this.
#[track_caller]
fn until(database: &PostgresDatabase<'_>, sql: &str, expected: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = database.psql(sql);
        if found == expected {
            return;
        }
        assert!(Instant::now() < deadline, "{sql}: {found}, not {expected}");
        pause(10);
    }
}

/// A tick takes 0.4 of its period and leaves a mark every tenth of it.
fn beats(period: f64) -> String {
    let tenth = period / 10.0;
    format!(
        "every({period}, cluster: :one, name: 'beat') do
           tick = db.insert('insert into ticks (name, began) values (?, clock_timestamp())', NAME)
           4.times do
             sleep {tenth}
             db.execute('insert into marks (tick, at) values (?, clock_timestamp())', tick)
           end
           db.execute('update ticks set ended = clock_timestamp() where id = ?', tick)
         end"
    )
}

/// Waits for a tick that has just begun on one of these servers, and says on which.
fn ticking(database: &PostgresDatabase<'_>, sites: &[(String, Site)], period: f64) -> usize {
    let deadline = Instant::now() + PATIENCE.max(Duration::from_secs_f64(period * 4.0));
    let sql = format!(
        "select name from ticks where id = (select max(id) from ticks) and ended is null \
         and began > clock_timestamp() - interval '{} s'",
        period * 0.3
    );
    loop {
        let leader = database.psql(&sql);
        if let Some(place) = sites.iter().position(|(name, _)| *name == leader) {
            return place;
        }
        assert!(Instant::now() < deadline, "nobody ticks");
        pause(10);
    }
}

/// Kills and stops whoever ticks, in turn, and looks afterwards at what was ticked. `cluster` is what the servers find each other by. Whether no
/// two periods passed without a tick.
fn check_timer(cluster: &str, period: f64, rounds: usize) -> bool {
    let database = Server::shared().database();
    database.psql(
        "create table ticks (id bigserial, name text, began timestamptz, ended timestamptz); \
         create table marks (tick bigint, at timestamptz)",
    );
    let mut number = 0;
    let mut another = || {
        number += 1;
        let name = format!("server {number}");
        let site = start_over(cluster, &beats(period), &database, &name);
        (name, site)
    };
    let mut sites = vec![another(), another(), another()];
    for round in 0..rounds {
        let place = ticking(&database, &sites, period);
        if round % 2 == 0 {
            sites[place].1.signal(Signal::SIGKILL);
            sites[place] = another();
        } else {
            sites[place].1.signal(Signal::SIGSTOP);
            pause((period * 1_500.0) as u64);
            sites[place].1.signal(Signal::SIGCONT);
        }
    }
    ticking(&database, &sites, period);
    drop(sites);
    let both = database.psql(
        "select count(*) from ticks t join ticks later on later.id > t.id join marks m on m.tick = t.id \
         where m.at > later.began",
    );
    assert_eq!(both, "0", "marks of a tick after another one had begun");
    let silence = database.psql(
        "select max(extract(epoch from began - before)) from \
         (select began, lag(began) over (order by id) as before from ticks) as pairs",
    );
    let silence: f64 = silence.parse().unwrap();
    let (ticks, ended) = (
        database.psql("select count(*) from ticks"),
        database.psql("select count(*) from ticks where ended is null"),
    );
    println!(
        "{rounds} rounds: {ticks} ticks, {ended} of them cut short, at most {silence:.2} s apart, of a timer of {period} s"
    );
    silence <= period * 2.0
}

/// The same with each of these periods until one is short enough: what a crowded machine takes to start and to wake processes is no finding.
fn check_timers(periods: &[f64], cluster: impl Fn(f64) -> String, rounds: usize) {
    let periods = periods.iter().copied().map(Duration::from_secs_f64);
    let is_kept = |period: Duration| {
        let period = period.as_secs_f64();
        check_timer(&cluster(period), period, rounds)
    };
    assert!(
        any_length(periods, is_kept),
        "nobody began to tick for two periods"
    );
}

fn rounds(default: usize) -> usize {
    let rounds = std::env::var("TSUMUGI_CLUSTER_ROUNDS").ok();
    rounds.and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn cluster_timer_never_ticks_twice_at_once_nor_is_silent_for_two_periods_while_leaders_are_killed_and_stopped()
 {
    check_timers(&[1.0, 4.0, 12.0], |_| "db".to_owned(), rounds(4));
}

#[test]
fn cluster_timer_over_etcd_never_ticks_twice_at_once_nor_is_silent_for_two_periods() {
    let place = |period| {
        let place = EtcdCluster::shared().place(&format!("beat{period}"));
        format!("KV.open('{place}')")
    };
    check_timers(&[6.0, 18.0], place, rounds(2));
}

const WORK: &str = "
    get '/work' do
      Tsumugi.lock('job', ttl: 3, wait: 60) do |token|
        note = ->(what) { db.execute 'insert into notes values (?, ?, ?)', NAME, token, what }
        begin
          note.('begins')
          sleep 4
          note.('goes on')
          db.execute 'update account set token = ?, owner = ? where token < ?', token, NAME, token
        ensure
          note.('ends')
        end
        token
      end
    end
    get '/write' do
      db.execute 'update account set token = ?, owner = ? where token < ?', query.int(:token), NAME, query.int(:token)
    end
    get '/fence' do
      db.transaction { db.fence 'job', query.int(:token) }
      'last'
    end
    get '/try' do
      Tsumugi.lock('job', ttl: 1, wait: 0) { 'held' }
    rescue Tsumugi::Lock::Unavailable
      'not held'
    end
    get '/nested' do
      Tsumugi.lock('outer') { |outer| Tsumugi.lock('inner') { |inner| next [outer, inner] } }
    end
    get '/left' do
      3.times { Tsumugi.lock('left', wait: 5) { break } }
      'free'
    end";

fn work_tables(database: &PostgresDatabase<'_>) {
    database.psql(
        "create table notes (name text, token bigint, what text); \
         create table account (token bigint, owner text); insert into account values (0, '')",
    );
}

#[test]
fn process_stopped_for_longer_than_its_lock_lasts_does_not_go_on_and_its_write_is_refused() {
    let database = Server::shared().database();
    work_tables(&database);
    let one = start(WORK, &database, "one");
    let other = start(WORK, &database, "other");
    let mut client = one.connect();
    client.send("GET", "/work", "", "");
    until(&database, "select name, what from notes", "one|begins");
    other.check("/try", "not held");
    one.signal(Signal::SIGSTOP);
    let reply = other.check_status("/work", 200);
    assert_eq!(reply.text(), "2");
    one.signal(Signal::SIGCONT);
    let lost = client.receive();
    assert_eq!(lost.status, 409, "{}\n{}", lost.text(), one.log());
    assert!(lost.text().contains("job"), "{}", lost.text());
    let notes = database.psql("select what from notes where name = 'one' order by what");
    assert_eq!(
        notes, "begins\nends",
        "its block was cut and its `ensure` ran"
    );
    one.check("/write?token=1", "0");
    let refused = one.check_status("/fence?token=1", 409);
    assert!(refused.text().contains("1 is not its last token"));
    one.check("/fence?token=2", "last");
    assert_eq!(database.psql("select token, owner from account"), "2|other");
}

#[test]
fn lock_of_a_killed_process_is_free_when_its_time_is_over() {
    let database = Server::shared().database();
    work_tables(&database);
    let one = start(WORK, &database, "one");
    let other = start(WORK, &database, "other");
    one.connect().send("GET", "/work", "", "");
    until(&database, "select name, what from notes", "one|begins");
    one.signal(Signal::SIGKILL);
    let begun = Instant::now();
    other.check("/work", "2");
    assert!(begun.elapsed() < PATIENCE);
}

#[test]
fn lock_is_free_after_its_block_however_that_is_left() {
    let database = Server::shared().database();
    work_tables(&database);
    let site = start(WORK, &database, "one");
    site.check("/nested", "[1,1]");
    site.check("/left", "free");
    site.check("/try", "held");
    // A client that leaves.
    let mut client = site.connect();
    client.send("GET", "/work", "", "");
    until(&database, "select name, what from notes", "one|begins");
    drop(client);
    site.until("/try", "held");
}

#[test]
fn messages_of_a_cluster_channel_reach_all_processes_in_order() {
    let app = "
        CHAT = channel('chat', cluster: true)
        every(0.05, workers: :one) do
          CHAT.subscribe { |m| db.execute 'insert into messages (name, message) values (?, ?)', NAME, m }
        end
        get('/say') { 20.times { |i| CHAT.publish \"m#{i}\" }; status 204 }
        get('/large') do
          CHAT.publish 'm' * 7801
        rescue Tsumugi::Lock::LimitExceeded => e
          e.message
        end";
    let database = Server::shared().database();
    database.psql("create table messages (id bigserial, name text, message text)");
    let one = start(app, &database, "one");
    let _other = start(app, &database, "other");
    until(
        &database,
        "select count(*) from pg_stat_activity where datname = current_database() and query ilike 'listen%'",
        "2",
    );
    one.check_status("/say", 204);
    until(&database, "select count(*) from messages", "40");
    let expected: Vec<String> = (0..20).map(|number| format!("m{number}")).collect();
    let expected = expected.join(",");
    until(
        &database,
        "select string_agg(message, ',' order by id) from messages group by name",
        &format!("{expected}\n{expected}"),
    );
    let refused = one.get("/large").text();
    assert!(refused.contains("CHANNEL_MESSAGE_BYTES_MAX"), "{refused}");
}

#[test]
fn words_of_a_cluster_work_without_a_database() {
    let app = "
        CHAT = channel('chat')
        STORE = KV.open 'memory:fetch'
        GOT = []
        every(0.01, workers: :one) { CHAT.subscribe { |m| GOT << m } }
        every(1, cluster: :one) { GOT << 'tick' }
        get('/lock') { Tsumugi.lock('a') { |token| token > 0 } }
        get('/say') { CHAT.publish 'hello'; GOT.include?('hello') }
        get('/tick') { GOT.include?('tick') }
        get('/fetch') { [STORE.fetch('k', cluster: true) { 'v' }, STORE.fetch('k', cluster: true) { 'w' }] }";
    let site = Site::start(app);
    site.check("/lock", "true");
    site.until("/say", "true");
    site.until("/tick", "true");
    site.check("/fetch", "[\"v\",\"v\"]");
}

#[test]
fn value_of_a_shared_store_is_computed_by_one_process_of_all() {
    let served = ["--kv-listen", "unix:kv.sock", "--kv-database", "data/store"];
    let service = Site::start_with("get('/') { 'service' }", &served);
    let socket = service.folder().join("kv.sock");
    let app = format!(
        "STORE = KV.open 'tkrzw+unix:{}'
         get('/fetch') do
           STORE.fetch('k', cluster: true) do
             db.execute 'insert into computed values (?)', NAME
             sleep 0.5
             NAME
           end
         end",
        socket.display()
    );
    let database = Server::shared().database();
    database.psql("create table computed (name text)");
    let sites = ["one", "other"].map(|name| start(&app, &database, name));
    let mut clients = sites.each_ref().map(Site::connect);
    for client in &mut clients {
        client.send("GET", "/fetch", "", "");
    }
    let values = clients.each_mut().map(|client| client.receive().text());
    assert_eq!(values[0], values[1]);
    assert_eq!(database.psql("select count(*) from computed"), "1");
    let left = "select count(*) from tsumugi_leases where name like 'fetch %'";
    // Its lock has no row any more.
    until(&database, left, "0");
}
