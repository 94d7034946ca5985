# What the suite jobs asks: empty jobs on PostgreSQL, pushed one by one while they are run, or stored before. One worker: counters are of this process.
database = DB.connect(pool: 16)
# What another run has left.
database.execute "drop table if exists tsumugi_jobs, tsumugi_job_keys"
database.make_job_tables
jobs database, running: 100
plugin(:db) { database }

DONE = { count: 0, sum: 0 }
PUSHES = 64

job(:empty) do |n:|
  DONE[:count] += 1
  DONE[:sum] += n
end

helpers do
  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def push(count)
    pushed = -1
    lane = -> { jobs.push :empty, n: pushed while (pushed += 1) < count }
    parallel(*Array.new(PUSHES) { lane })
  end

  # The last of them is pushed, which wakes the worker.
  def store(count)
    db.execute <<~SQL, count - 2
      insert into tsumugi_jobs (name, queue, arguments, state, sort_order, attempt, failures, retries, due_at, pushed_at)
      select 'empty', 'default', '{"n":' || n || '}', 1, 0, 0, 0, 5, 0, 0 from generate_series(0, ?::int) as g(n)
    SQL
  end
end

get "/run/:how/:count" do |how, count|
  count = count.to_i
  store(count) if how == "stored"
  begun = now
  how == "stored" ? jobs.push(:empty, n: count - 1) : push(count)
  sleep 0.002 while DONE[:count] < count
  sleep 0.002 until db.query("select count(*) as waiting from tsumugi_jobs").first[:waiting].zero?
  { seconds: now - begun, sum: DONE[:sum] }
end
