//! Jobs through the language: what is pushed and when it is run, what a block gets, what is refused.

use std::time::{Duration, Instant};

use tsumugi_testkit::pause;

use crate::rig::Rig;
use crate::{ALL, Engine, Served, check_on};

const SETUP: &str = "
  jobs db, run: false
  job(:thumbnail, retries: 1) { |id:, size: 3| db.execute 'insert into made (id, size) values (?, ?)', id, size }
  job(:failing, retries: 0) { raise 'no such picture' }
  job(:once, retries: 9) { |id:|
    jobs.once { db.execute 'insert into made (id, size) values (?, ?)', id, job.attempt }
    raise 'after it' if job.attempt < 3
  }
  job(:twice, retries: 0) { 2.times { jobs.once { 1 } } }
  $counted = []
  job(:counted, retries: 4) { $counted << [job.attempt, job.failures, job.retries]; raise 'again' if job.attempt == 1 }
  db.create(:made) { integer :id; integer :size }
  helpers { def made = db.query('select id, size from made order by id').map { |row| [row[:id], row[:size]] } }
";

#[test]
fn job_is_run_with_what_was_pushed() {
    for engine in ALL {
        check_on(
            engine,
            SETUP,
            &[
                ("jobs.push(:thumbnail, id: 7).is_a?(Integer)", "true"),
                (
                    "jobs.push(:thumbnail, id: 8, size: 1); jobs.counts[:ready]",
                    "2",
                ),
                ("[jobs.run_ready, made]", "[2,[[7,3],[8,1]]]"),
                (
                    "jobs.counts",
                    r#"{"scheduled":0,"ready":0,"running":0,"failed":0,"dead":0}"#,
                ),
                (
                    "begin; db.transaction { jobs.push :thumbnail, id: 9; raise 'undone' }; rescue; end; [jobs.run_ready, jobs.counts[:ready]]",
                    "[0,0]",
                ),
                (
                    "db.transaction { jobs.push :thumbnail, id: 9 }; [jobs.run_ready, made.last]",
                    "[1,[9,3]]",
                ),
                (
                    "[jobs.push(:thumbnail, unique: 'k', id: 1).is_a?(Integer), jobs.push(:thumbnail, unique: 'k', id: 1), jobs.run_ready]",
                    "[true,null,1]",
                ),
                (
                    "jobs.push(:thumbnail, priority: -1, id: 11); jobs.push(:thumbnail, after: 0, priority: 1, id: 12); \
                     [jobs.list.map { |job| job[:priority] }, jobs.run_ready, made.size]",
                    "[[-1,1],2,6]",
                ),
                (
                    "jobs.push(:thumbnail, at: Time.now + 3600, id: 1); jobs.push(:thumbnail, after: 60, id: 1); [jobs.run_ready, jobs.counts[:scheduled]]",
                    "[0,2]",
                ),
            ],
        );
    }
}

#[test]
fn job_that_fails_is_kept_and_can_be_tried_again_or_dropped() {
    check_on(
        Engine::Sqlite,
        SETUP,
        &[
            (
                "jobs.push :failing; [jobs.run_ready, jobs.counts[:dead]]",
                "[1,1]",
            ),
            (
                "jobs.list(state: :dead).map { |job| [job[:name], job[:attempts], job[:error].include?('no such picture'), job[:arguments]] }",
                r#"[["failing",1,true,{}]]"#,
            ),
            (
                "id = jobs.list[0][:id]; [jobs.retry(id), jobs.retry(id), jobs.run_ready, jobs.drop(id), jobs.drop(id), jobs.list.size]",
                "[true,false,1,true,false,0]",
            ),
            (
                "2.times { jobs.push :failing }; jobs.run_ready; [jobs.retry_dead(:thumbnail), jobs.retry_dead(:failing), jobs.counts[:ready]]",
                "[0,2,2]",
            ),
            ("jobs.list.map { |job| jobs.drop(job[:id]) }", "[true,true]"),
            (
                "jobs.push :counted; jobs.run_ready; jobs.list.each { |job| jobs.retry(job[:id]) }; jobs.run_ready; $counted",
                "[[1,0,4],[2,0,4]]",
            ),
            // Past the pauses between attempts.
            (
                "jobs.push :once, id: 5; 4.times { jobs.run_ready; jobs.list.each { |job| jobs.retry(job[:id]) } }; [made, jobs.list.size]",
                "[[[5,1]],0]",
            ),
            (
                "2.times.map { jobs.once('k') { db.execute 'insert into made (id, size) values (1, 1)' } }",
                "[true,false]",
            ),
            (
                "jobs.push :twice; jobs.run_ready; jobs.list(state: :dead).map { |job| [job[:error].include?('keys of their own'), job[:losses]] }.last",
                "[true,0]",
            ),
        ],
    );
}

#[test]
fn push_of_what_no_job_can_be_is_refused_at_once() {
    check_on(
        Engine::Sqlite,
        SETUP,
        &[
            (
                "said { jobs.push :other }",
                "there is no job other: `job(:other) { … }` declares it",
            ),
            (
                "said { jobs.push :thumbnail, id: :a }",
                "a job takes nil, true, false, numbers, Strings, Arrays and Hashes of these, not Symbol",
            ),
            (
                "said { jobs.push :thumbnail, id: [Time.now] }",
                "a job takes nil, true, false, numbers, Strings, Arrays and Hashes of these, not Time",
            ),
            (
                "said { jobs.push :thumbnail, id: { a: 1 } }",
                "a Hash for a job has Strings as keys, not :a",
            ),
            (
                "said { jobs.push :thumbnail, id: 0.0 / 0 }",
                "a job takes finite numbers, not NaN",
            ),
            (
                "failed { jobs.push :thumbnail, id: 'x' * 65536 }",
                "Tsumugi::Jobs::LimitExceeded",
            ),
            (
                "failed { jobs.push :thumbnail, unique: 'x' * 129, id: 1 }",
                "Tsumugi::Jobs::LimitExceeded",
            ),
            (
                "said { jobs.push :thumbnail, at: 3, id: 1 }",
                "push takes a Time as at:, not 3",
            ),
            (
                "said { jobs.push :thumbnail, at: Time.now, after: 1, id: 1 }",
                "a job is due at a time or after one, not both",
            ),
            (
                "failed { jobs.push :thumbnail, after: -1, id: 1 }",
                "ArgumentError",
            ),
            (
                "said { jobs.push :thumbnail, after: -1, id: 1 }",
                "after: is a number of seconds, 0 or more, not -1",
            ),
            (
                "said { jobs.push :thumbnail, id: 'x' * 65536 }",
                "the JSON of a job's arguments has 65545 bytes; JOB_ARGUMENTS_BYTES_MAX is 65536",
            ),
            (
                "failed { jobs.push :thumbnail, priority: 1001, id: 1 }",
                "Tsumugi::Jobs::UsageError",
            ),
            (
                "said { jobs.list(state: :lost) }",
                "a job is scheduled, ready, running or dead, not lost",
            ),
            (
                "said { jobs.once { 1 } }",
                "outside of a job, an effect that happens once needs a key",
            ),
            ("jobs.counts[:ready]", "0"),
        ],
    );
}

#[test]
fn push_of_what_the_block_does_not_take_is_refused_at_once() {
    let setup = format!("{SETUP}\njob(:open) {{ |id:, **rest| 1 }}");
    check_on(
        Engine::Sqlite,
        &setup,
        &[
            (
                "error_text { jobs.push :thumbnail, id: 1, seconds: 1 }",
                "Tsumugi::Jobs::UsageError: the job thumbnail takes no seconds:; known are id:, size:",
            ),
            (
                "said { jobs.push :thumbnail, size: 1 }",
                "the job thumbnail needs id:",
            ),
            (
                "said { jobs.push :failing, id: 1 }",
                "the job failing takes no id:; its block has no keywords",
            ),
            ("said { jobs.push :open, a: 1 }", "the job open needs id:"),
            ("jobs.push(:open, id: 1, a: 2).is_a?(Integer)", "true"),
            ("jobs.counts[:ready]", "1"),
        ],
    );
}

#[test]
fn bytes_that_are_no_text_are_refused_as_arguments_and_as_keys() {
    check_on(
        Engine::Sqlite,
        SETUP,
        &[
            (
                "[\"a\\xff\", [{ \"\\xff\" => 1 }], [\"\\xff\"]].map { |id| said { jobs.push :thumbnail, id: id } }.uniq",
                r#"["a job takes Strings of UTF-8, not bytes: encode them, as base64 for instance"]"#,
            ),
            (
                "[said { jobs.push :thumbnail, id: 1, unique: \"\\xff\" }, said { jobs.once(\"\\xff\") { 1 } }].uniq",
                r#"["a key is a text of UTF-8, not bytes: encode them, as base64 for instance"]"#,
            ),
            (
                "jobs.push :thumbnail, id: \"a\\0é\"; id = jobs.list[0]; jobs.drop(id[:id]); id[:arguments]",
                r#"{"id":"a\u0000é"}"#,
            ),
        ],
    );
}

#[test]
fn arguments_that_cannot_be_read_do_not_keep_others_from_being_listed() {
    const INSERT: &str = "insert into tsumugi_jobs (name, queue, arguments, state, sort_order, attempt, failures, retries, due_at, pushed_at)";
    let line = format!(
        "['[' * 300 + ']' * 300, 'x'].each {{ |text| db.execute \"{INSERT} values ('thumbnail', 'default', ?, 3, 0, 0, 0, 0, 0, 0)\", text }}; \
         jobs.list.map {{ |job| job[:arguments].is_a?(Hash) ? job[:arguments] : job[:arguments].size }}"
    );
    check_on(
        Engine::Sqlite,
        SETUP,
        &[
            ("jobs.push(:thumbnail, id: 1).is_a?(Integer)", "true"),
            (&line, r#"[{"id":1},600,1]"#),
        ],
    );
}

#[test]
fn declaration_past_a_limit_does_not_load() {
    let refused = |line: &str| Rig::refused(line, |_| {});
    assert!(refused("job('n' * 65) { 1 }").contains("JOB_NAME_BYTES_MAX is 64"));
    assert!(refused("job(:a, retries: 1001) { 1 }").contains("JOB_RETRIES_MAX"));
    assert!(refused("job(:a) { 1 }\njob(:a) { 2 }").contains("two jobs named a"));
    assert!(refused("job(:a) { |id| 1 }").contains("takes keywords, as in `{ |id:| … }`"));
    assert!(refused("job(:a) { |id:, at: 1| 1 }").contains("cannot take at:, which `jobs.push`"));
    assert!(refused("jobs nil").contains("a database of DB.connect, not NilClass"));
    assert!(
        refused("jobs DB.connect('sqlite::memory:'), running: 1001").contains("JOBS_RUNNING_MAX")
    );
    assert!(refused("jobs DB.connect('sqlite::memory:'), poll: 3601").contains("JOB_POLL_MAX"));
    let every = |line: &str| {
        refused(&format!(
            "jobs DB.connect('sqlite::memory:')\nevery({line}) {{ 1 }}"
        ))
    };
    assert!(every("'61 * * * *'").contains("is no line of cron"));
    assert!(every("'0 3 * * *', zone: 'Asia/Nowhere'").contains("no such zone"));
    assert!(every("'0 3 * * *', name: 'n' * 59").contains("JOB_NAME_BYTES_MAX"));
    assert!(every("'0 3 * * *', workers: :one").contains("without workers:"));
    assert!(every("60, zone: 'UTC'").contains("with a line of cron"));
    let without_jobs = refused("every('0 3 * * *') { 1 }");
    assert!(without_jobs.contains("`jobs db` says"), "{without_jobs}");
    assert!(refused("every('@daily') { 1 }").contains("`jobs db` says"));
    assert!(refused("every('@dayly') { 1 }").contains("is no line of cron"));
    // What no place for jobs would mend comes first.
    let interval = refused("every('5 minutes') { 1 }");
    for part in ["is no line of cron", "a number of seconds: every(300)"] {
        assert!(interval.contains(part), "{interval}");
    }
    assert!(!refused("every('61 * * * *') { 1 }").contains("every(300)"));
    assert!(refused("jobs.push :a").contains("`jobs db` says"));
}

#[test]
fn worker_runs_jobs_beside_requests() {
    for engine in ALL {
        let served = Served::new(
            engine,
            "",
            "jobs db, running: 2
             DONE = []
             job(:note) { |n:| sleep 0.01; DONE << n }
             post('/') { 5.times { |n| jobs.push :note, n: n }; status 202 }
             get('/done') { DONE.sort }",
        );
        assert_eq!(served.rig.post("/", "text/plain", b"").status, 202);
        eventually(&served, "/done", "[0,1,2,3,4]");
    }
}

#[test]
fn job_goes_on_with_the_trace_of_the_request_that_has_pushed_it() {
    let served = Served::new(
        Engine::Sqlite,
        "",
        "jobs db
         job(:later) { nil }
         job(:note) { jobs.push :later, after: 3600 }
         post('/') { jobs.push :note; request.trace_id }
         get('/traces') { db.query(\"select trace from tsumugi_jobs where name = 'later'\").map { |row| row[:trace].split('-')[1] } }",
    );
    let pushed = served.rig.post("/", "text/plain", b"").text();
    assert_eq!(pushed.len(), 32, "{pushed}");
    eventually(&served, "/traces", &format!("[{pushed:?}]"));
}

#[test]
fn line_of_cron_is_a_job_that_waits_for_its_time() {
    let served = Served::new(
        Engine::Sqlite,
        "",
        "jobs db
         every('0 3 1 1 *', zone: 'Asia/Tokyo', name: 'report') { 1 }
         get('/') { jobs.list.map { |job| [job[:name], job[:due_at].utc.hour] } }",
    );
    eventually(&served, "/", r#"[["every report",18]]"#);
}

/// Waits until a page has this text.
#[track_caller]
fn eventually(served: &Served, path: &str, text: &str) {
    let begun = Instant::now();
    loop {
        let shown = served.rig.get(path).text();
        if shown == text {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{path}: {shown}");
        pause();
    }
}
