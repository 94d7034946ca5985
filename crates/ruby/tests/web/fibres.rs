//! Fibres of the application's own beside those that handlers run in: none of them takes a handler away from its worker.

use crate::rig::Rig;

const APP: &str = r#"
get("/now") { "now" }
get("/transfer") { Fiber.new { 1 }.transfer }
get("/after") { sleep 0.01; Fiber.new { 2 }.transfer }
get("/nested") { Fiber.new { Fiber.new { 3 }.transfer; 4 }.resume }
get("/parallel") { parallel(-> { Fiber.new { 1 }.transfer }, -> { 2 }).inspect }
get("/rescued") { begin; Fiber.new { 1 }.transfer; rescue FiberError => e; e.message; end }
get("/ensured") { begin; Fiber.new { 1 }.transfer; ensure; $ensured = "ensured"; end }
get("/to_itself") { Fiber.current.transfer("itself") }
get("/stream") { stream("text/plain") { |out| out << "a"; Fiber.new { 1 }.transfer } }
get("/write") { Store.transaction { Store.execute("insert into t values (1)"); Fiber.new { 3 }.transfer } }
get("/written") { Store.transaction { Store.execute("insert into t values (2)") }; Store.query("select n from t").map { |row| row[:n] }.inspect }
every(0.05) { $ticks = ($ticks || 0) + 1; Fiber.new { 1 }.transfer }
get("/ticks") { $ticks.to_s }
get("/lend") { $lent = Fiber.current; sleep 5; "lent" }
get("/leave") { $lent = Fiber.current; "left" }
get("/take") { begin; $lent.resume(1); rescue FiberError => e; e.message; end }
Store = DB.connect("sqlite:#{Tsumugi.data_dir}/t.db")
Store.execute "create table t (n int)"
"#;

const REFUSED: &str = "a handler's fibre cannot be left: Fiber#transfer is refused, use resume";

#[test]
fn transfer_raises_and_the_handler_goes_on() {
    let rig = Rig::serve(APP);
    for path in ["/transfer", "/after", "/nested", "/parallel", "/ensured"] {
        let answer = rig.get(path);
        assert_eq!(answer.status, 500, "{path}");
        assert!(
            answer.text().contains("FiberError"),
            "{path}: {}",
            answer.text()
        );
        assert_eq!(rig.get("/now").text(), "now", "{path}");
    }
    assert_eq!(rig.get("/rescued").text(), REFUSED);
    assert_eq!(rig.get("/to_itself").text(), "itself");
}

#[test]
fn transfer_in_a_stream_a_transaction_and_a_timer_ends_them() {
    let rig = Rig::serve(APP);
    let begin = std::time::Instant::now();
    assert_eq!(rig.get("/stream").status, 200);
    assert!(begin.elapsed().as_secs() < 60, "the stream ends");
    assert_eq!(rig.get("/write").status, 500);
    assert_eq!(rig.get("/written").text(), "[2]");
    let ticks = || rig.get("/ticks").text().parse::<u32>().unwrap_or(0);
    let begin = std::time::Instant::now();
    while ticks() < 3 && begin.elapsed().as_secs() < 60 {}
    assert!(ticks() >= 3, "the timer goes on");
}

#[test]
fn fibre_of_another_request_cannot_be_resumed() {
    let rig = Rig::serve(APP);
    std::thread::scope(|scope| {
        let lent = scope.spawn(|| rig.get("/lend").text());
        let begin = std::time::Instant::now();
        while rig.get("/take").text().contains("nil") && begin.elapsed().as_secs() < 60 {}
        let refused = "the fibre of a handler is resumed by what it waits for";
        assert_eq!(rig.get("/take").text(), refused);
        assert_eq!(lent.join().unwrap(), "lent");
        assert_eq!(rig.get("/leave").text(), "left");
        let refused = rig.get("/take").text();
        assert!(refused.contains("resume"), "{refused}");
    });
    for _ in 0..3 {
        assert_eq!(rig.get("/now").text(), "now");
    }
}

#[test]
fn timer_with_a_period_no_clock_can_keep_is_refused_where_it_is_declared() {
    let rig = Rig::serve(
        r#"
REFUSALS = [0, -1, 1e-10, 1e30, 10**400, 0.0/0, "1"].map { |seconds| begin; every(seconds) { }; rescue ArgumentError => e; e.message; end }
get("/") { REFUSALS.join("\n") }
every(0.001) { $ticks = ($ticks || 0) + 1 }
get("/ticks") { $ticks.to_s }
"#,
    );
    let refusals = rig.get("/").text();
    let range = "every takes from 0.001 to timer_seconds_max (1000000000) seconds, not ";
    for (refusal, shown) in refusals
        .lines()
        .zip(["0.0", "-1.0", "1e-10", "1e30", "inf", "NaN"])
    {
        assert_eq!(refusal, format!("{range}{shown}"));
    }
    assert!(
        refusals.ends_with("every takes a number of seconds or a line of cron, not \"1\""),
        "{refusals}"
    );
    let begin = std::time::Instant::now();
    while rig.get("/ticks").text().is_empty() && begin.elapsed().as_secs() < 60 {}
    assert_ne!(rig.get("/ticks").text(), "");
}
