//! Natives that take many values while the VM's memory is full to the last byte: they answer or raise NoMemoryError, and the
//! process goes on. That no destructor is skipped on the way is tested where it can be counted, in the binding.

use crate::rig::Rig;

const APP: &str = r#"
plugin(:db) do
  db = DB.connect "sqlite::memory:"
  db.execute "create table if not exists things (id integer primary key, name text)"
  db
end
plugin(:kv) { KV.open }

module Full
  # Pieces that become smaller and smaller, in Strings that exist before, so that nothing bigger is needed on the way.
  def self.fill
    places = Array.new(6_000) { "" }
    pieces = [1 << 20, 1 << 16, 1 << 12, 1 << 9, 100, 30].map { |size| "x" * size }
    $full = [places, pieces]
    i = 0
    pieces.each do |piece|
      begin
        while i < places.size
          places[i] << piece
          i += 1
        end
      rescue NoMemoryError
        i += 1
      end
    end
  end

  def self.with
    fill
    yield
  rescue NoMemoryError
    "NoMemoryError"
  ensure
    $full = nil
  end
end

def names = Array.new(20_000) { |i| "element number #{i} of many" }
get("/sort") { list = names; Full.with { list.sort.size }.to_s }
get("/sort_by") { list = names; Full.with { list.sort_by { |s| s }.size }.to_s }
get("/where_in") { list = names.first(900); context = self; Full.with { context.db.from(:things).where_in(:name, list).all.size }.to_s }
get("/insert") { list = names.first(2_000).map { |n| { name: n } }; context = self; Full.with { context.db.from(:things).insert(list).class }.to_s }
get("/get_multi") { list = names; context = self; Full.with { context.kv.get_multi(*list).size }.to_s }
get("/json") { list = names; Full.with { JSON.generate(list).size }.to_s }
get("/nested") do
  deep = (0...2_000).to_h { |i| ["key #{i}", "value #{i}"] }
  97.times { deep = [deep, "beside"] }
  Full.fill
  deep
end
get("/free") { $full = nil; GC.start; "free" }
"#;

#[test]
fn natives_at_the_limit_of_memory_leave_the_process_and_the_vm_whole() {
    let rig = Rig::with(APP, |settings| settings.limits.vm_bytes_max = 48 << 20);
    let paths = [
        "/sort",
        "/sort_by",
        "/where_in",
        "/insert",
        "/get_multi",
        "/json",
        "/nested",
    ];
    for path in paths {
        let mut refused = 0;
        for round in 0..4 {
            let answer = rig.get(path);
            assert!(
                matches!(answer.status, 200 | 500 | 503),
                "{path} in round {round}: {}",
                answer.status
            );
            refused += u32::from(answer.text().contains("NoMemoryError"));
            // Whatever it was answered, the next request finds a VM that works.
            let free = rig.get("/free");
            assert_eq!((free.status, free.text().as_str()), (200, "free"), "{path}");
        }
        assert!(refused > 0, "{path} never met the limit of memory");
    }
}
