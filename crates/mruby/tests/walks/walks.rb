# Random changes of a container while something walks over it, with a collection and new objects in every place that a collected
# one left. Knows no Rust: who runs it may add walks. A walk may answer anything or raise; what is forbidden is a stale object.

# Raised when something that was collected is still reached.
class Stale < StandardError; end

# Everything random, by a seed.
class Chance
  def initialize(seed) = @random = Random.new(seed)
  def below(limit) = @random.rand(limit)
  def one(list) = list[below(list.size)]
  def once_in?(number) = below(number) == 0
end

# Collects, and takes the place of everything that was collected; or makes objects only, so that a collection goes on in steps.
module Churn
  def self.in_steps
    GC.interval_ratio = 100 # the next begins when one has ended
    @turn = 0
  end

  def self.stir
    if @turn && (@turn += 1) % 4 != 0
      $stepped = Array.new(400) { |i| "churned #{i}" }
      return
    end
    $churned = nil
    GC.start
    free = ObjectSpace.count_objects[:FREE] || 0
    $churned = Array.new(free + 8)
    i = 0
    while i < free
      $churned[i] = i % 3 == 0 ? ["churned"] : "churned #{i}"
      i += 1
    end
    nil
  end
end

# A value that changes the container whenever it is asked for something.
class Spoiler
  attr_reader :name

  def initialize(walk, name)
    @walk = walk
    @name = name
  end

  def spoil = @walk.spoil
  def to_s = (spoil; "s#{@name}")
  def inspect = (spoil; "s#{@name}")
  def to_str = (spoil; "s#{@name}")
  def to_json(*) = (spoil; "\"s#{@name}\"")
  def to_h = (spoil; { name: "v#{@name}" })
  def to_a = (spoil; ["v#{@name}", self])
  def to_i = (spoil; @name)
  def to_proc = (spoil; ->(x) { spoil; x })
  def call(*) = (spoil; @name)
  def hash = (spoil; @name % 3)
  def eql?(other) = (spoil; Spoiler === other && other.name == @name)
  def ==(other) = (spoil; Spoiler === other && other.name == @name)
  def <=>(other) = (spoil; Spoiler === other ? @name <=> other.name : -1)
  def <(other) = (self <=> other) < 0
  def >(other) = (self <=> other) > 0
  def coerce(other) = (spoil; [other, @name])
  def +(other) = (spoil; @name)
  def succ = (spoil; Spoiler.new(@walk, @name + 1))
  def ===(other) = (spoil; equal?(other))
end

Pair = Struct.new(:left, :right)

# One walk over one container, made from a seed.
class Walk
  # A method that one of these has not may be missed within a walk; any other is the walk's own name, misspelt.
  ELEMENTS = %w[nil true Integer Float Symbol Spoiler Pair]

  def initialize(seed, walks)
    @chance = Chance.new(seed)
    @left = 0
    @made = 0
    @kind = @chance.one(walks.keys)
    @name = @chance.one(walks[@kind].keys)
    @walk = walks[@kind][@name]
  end

  def to_s = "#{@kind} #{@name}"

  def run
    @container = send("make_#{@kind}")
    @other = @chance.once_in?(2) ? send("make_#{@kind}") : @container.dup
    @left = 3
    result = begin
      @walk.call(@container, @other, self)
    rescue Stale
      raise
    rescue NoMethodError => e
      raise unless @name == :no_method || ELEMENTS.any? { |name| e.message.end_with?(name) }
      e.message
    rescue StandardError, SystemStackError => e
      e.message
    end
    @left = 0
    Churn.stir
    look(result, 0)
    look(@container, 0)
    look(@other, 0)
    nil
  end

  # A container that is walked over by who asked for it, after this.
  def container
    @other = @container = send("make_#{@kind}")
    @left = 3
    @container
  end

  # A value that the walk asks about, or makes.
  def value = make_value(0)
  def spoiler = Spoiler.new(self, @made += 1)
  def key = @chance.one([spoiler, "k#{@made += 1}", [spoiler], :symbol, @made])

  # Called by whatever the walk calls: changes the container some times, then only collects.
  def spoil
    return if @left <= 0 || @chance.once_in?(3)
    @left -= 1
    begin
      change(@chance.once_in?(4) ? @other : @container)
    rescue StandardError
      nil
    end
    Churn.stir
  end

  private

  def make_value(depth)
    case @chance.below(depth > 2 ? 6 : 9)
    when 0, 1, 2 then spoiler
    when 3 then "v#{@made += 1}"
    when 4 then "v#{@made += 1} which is too long to stand in the object itself"
    when 5 then @chance.one([nil, true, 1, 2.5, :symbol, 1 << 80])
    when 6 then Array.new(@chance.below(4)) { make_value(depth + 1) }
    when 7 then { "k#{@made += 1}" => make_value(depth + 1), spoiler => make_value(depth + 1) }
    else Pair.new(make_value(depth + 1), make_value(depth + 1))
    end
  end

  def size = @chance.one([0, 1, 2, 3, 5, 16, 17, 18, 24, 40])

  def make_array
    array = []
    size.times { array << make_value(0) }
    @chance.once_in?(5) ? array.first(array.size - array.size / 3) : array
  end

  def make_hash
    hash = {}
    size.times do
      hash[@chance.one([spoiler, "k#{@made += 1}", [spoiler, @made], @made])] = make_value(0)
    end
    (@chance.below(3)).times { hash.shift }
    hash
  end

  def make_string = @chance.one(["v1,v2,v3", "v äöü 漢字, " * 9, "v" * 40, "%s %p %d %-5s v", "v1\nv2\nv3\n"]).dup

  def make_object
    object = Object.new
    @chance.below(12).times { |i| object.instance_variable_set("@v#{i}", make_value(1)) }
    object
  end

  def change(container)
    case container
    when Array then change_array(container)
    when Hash then change_hash(container)
    when String then change_string(container)
    else
      20.times { |i| container.instance_variable_set("@w#{@made += 1}", "v#{i}") }
      container.remove_instance_variable(container.instance_variables.first)
    end
  end

  def change_array(array)
    case @chance.below(14)
    when 0 then array.clear
    when 1 then array.pop
    when 2 then array.shift
    when 3 then array.replace([make_value(2)])
    when 4 then 40.times { |i| array << "v#{i}" }
    when 5 then array.delete_at(@chance.below(array.size + 1))
    when 6 then array.insert(0, *Array.new(30) { |i| "v#{i}" })
    when 7 then array.concat(array)
    when 8 then array.compact!
    when 9 then array.slice!(0, array.size / 2)
    when 10 then array.reverse!
    when 11 then array.freeze
    when 12 then array[array.size + 60] = "v"
    else array.fill("v filled")
    end
  end

  def change_hash(hash)
    keys = hash.keys
    case @chance.below(11)
    when 0 then hash.clear
    when 1 then hash.shift
    when 2 then hash.delete(@chance.one(keys))
    when 3 then hash[@chance.one(keys)] = "v replaced"
    when 4 then 40.times { |i| hash["k#{@made += 1}"] = "v#{i}" }
    when 5 then hash.replace({ "k" => "v" })
    when 6 then hash.rehash
    when 7 then hash.freeze
    when 8 then (hash.shift; hash["k#{@made += 1}"] = "v in its place")
    when 9 then keys.each { |key| hash.delete(key) if @chance.once_in?(2) }
    else hash.merge!({ "k#{@made += 1}" => "v", "k#{@made += 1}" => "v" })
    end
  end

  def change_string(string)
    case @chance.below(6)
    when 0 then string.clear
    when 1 then string << "v" * 100
    when 2 then string.replace("v")
    when 3 then string.replace("v other " * 30)
    when 4 then string[0] = ""
    else string.freeze
    end
  end

  # Everything that is reached is what it was made as.
  def look(value, depth)
    return if depth > 6
    case value
    when nil, true, false, Integer, Float, Symbol, Range, Proc, Rational then nil
    when String then raise Stale, value[0, 60] if value.include?("churned")
    when Array then value.each { |element| look(element, depth + 1) }
    when Hash then value.each { |key, element| look(key, depth + 1); look(element, depth + 1) }
    when Pair then look(value.to_a, depth + 1)
    when Spoiler then raise Stale, value.name.class.to_s unless Integer === value.name
    else
      return unless value.class == Object
      value.instance_variables.each { |name| look(value.instance_variable_get(name), depth + 1) }
    end
  end
end

# What is walked over, by kind and name. Each takes the container, another like it, and the walk, whose `spoil` changes one of them.
WALKS = {
  array: {
    each: ->(c, o, w) { c.each { |e| w.spoil } },
    each_held: ->(c, o, w) { c.each { |e| w.spoil; raise Stale if String === e && e.include?("churned") } },
    map: ->(c, o, w) { c.map { |e| w.spoil; e } },
    map!: ->(c, o, w) { c.map! { |e| w.spoil; e } },
    select: ->(c, o, w) { c.select { |e| w.spoil; true } },
    select!: ->(c, o, w) { c.select! { |e| w.spoil; w.value } },
    reject!: ->(c, o, w) { c.reject! { |e| w.spoil; e.nil? } },
    delete_if: ->(c, o, w) { c.delete_if { |e| w.spoil; e.nil? } },
    keep_if: ->(c, o, w) { c.keep_if { |e| w.spoil; e } },
    sort: ->(c, o, w) { c.sort { |a, b| w.spoil; a.class.to_s <=> b.class.to_s } },
    sort!: ->(c, o, w) { c.sort! { |a, b| w.spoil; a.class.to_s <=> b.class.to_s } },
    sort_plain: ->(c, o, w) { c.select { |e| Spoiler === e }.sort },
    sort_itself!: ->(c, o, w) { c.sort! },
    sort_by_spoiler: ->(c, o, w) { c.sort_by { w.spoiler } },
    uniq: ->(c, o, w) { c.uniq },
    uniq!: ->(c, o, w) { c.uniq! },
    uniq_block: ->(c, o, w) { c.uniq { |e| w.spoil; e.class } },
    flatten: ->(c, o, w) { c.flatten },
    flatten!: ->(c, o, w) { c.flatten! },
    minus: ->(c, o, w) { c - o },
    and: ->(c, o, w) { c & o },
    or: ->(c, o, w) { c | o },
    plus: ->(c, o, w) { c + o },
    difference: ->(c, o, w) { c.difference(o, [w.value]) },
    union: ->(c, o, w) { c.union(o, [w.value]) },
    intersection: ->(c, o, w) { c.intersection(o) },
    intersects: ->(c, o, w) { c.intersect?(o) },
    join: ->(c, o, w) { c.join(",") },
    join_spoiler: ->(c, o, w) { c.join(w.spoiler) },
    inspect: ->(c, o, w) { c.inspect },
    to_s: ->(c, o, w) { c.to_s },
    hash: ->(c, o, w) { c.hash },
    equal: ->(c, o, w) { c == o },
    eql: ->(c, o, w) { c.eql?(o) },
    compare: ->(c, o, w) { c <=> o },
    include: ->(c, o, w) { c.include?(w.spoiler) },
    index: ->(c, o, w) { c.index(w.spoiler) },
    index_block: ->(c, o, w) { c.index { |e| w.spoil; false } },
    rindex: ->(c, o, w) { c.rindex(w.spoiler) },
    count: ->(c, o, w) { c.count(w.spoiler) },
    delete: ->(c, o, w) { c.delete(w.spoiler) },
    max: ->(c, o, w) { c.max },
    min: ->(c, o, w) { c.min { |a, b| w.spoil; 1 } },
    minmax: ->(c, o, w) { c.minmax_by { |e| w.spoil; 1 } },
    sum: ->(c, o, w) { c.sum },
    inject: ->(c, o, w) { c.inject { |a, b| w.spoil; b } },
    pack: ->(c, o, w) { c.pack("A*N*") },
    product: ->(c, o, w) { c.first(5).product(o.first(5)) },
    combination: ->(c, o, w) { c.first(6).combination(2) { w.spoil } },
    combination_whole: ->(c, o, w) { c.combination(2) { |p| w.spoil; break p } },
    permutation: ->(c, o, w) { c.permutation(2) { |p| w.spoil } if c.size < 9 },
    transpose: ->(c, o, w) { [c, o].transpose },
    zip: ->(c, o, w) { c.zip(o) },
    assoc: ->(c, o, w) { c.assoc(w.spoiler) },
    rassoc: ->(c, o, w) { c.rassoc(w.spoiler) },
    bsearch: ->(c, o, w) { c.bsearch { |e| w.spoil; 1 } },
    each_slice: ->(c, o, w) { c.each_slice(3).map { |e| w.spoil; e } },
    each_cons: ->(c, o, w) { c.each_cons(2).map { |e| w.spoil; e } },
    each_index: ->(c, o, w) { c.each_index { |i| w.spoil; c[i] } },
    each_with_index: ->(c, o, w) { c.each_with_index.map { |e, i| w.spoil; [e, i] } },
    reverse_each: ->(c, o, w) { c.reverse_each { |e| w.spoil } },
    cycle: ->(c, o, w) { n = 0; c.cycle { |e| w.spoil; break e if (n += 1) > 60 } },
    fill: ->(c, o, w) { c.fill { |i| w.spoil; "v#{i}" } },
    fill_part: ->(c, o, w) { c.fill(1, 5) { |i| w.spoil; "v#{i}" } },
    insert: ->(c, o, w) { c.insert(1, w.spoiler) },
    values_at: ->(c, o, w) { c.values_at(0, 2, -1, 100) },
    slice: ->(c, o, w) { c[0, 3] = o; c },
    dig: ->(c, o, w) { c.dig(0) },
    group_by: ->(c, o, w) { c.group_by { |e| w.spoil; e.class.to_s } },
    group_by_spoiler: ->(c, o, w) { c.group_by { w.spoiler } },
    partition: ->(c, o, w) { c.partition { |e| w.spoil; e } },
    tally: ->(c, o, w) { c.tally },
    each_with_object: ->(c, o, w) { c.each_with_object([]) { |e, all| w.spoil; all << e } },
    to_h: ->(c, o, w) { c.to_h { |e| w.spoil; [e, e] } },
    take_while: ->(c, o, w) { c.take_while { w.spoil; true } },
    drop_while: ->(c, o, w) { c.drop_while { w.spoil; true } },
    find: ->(c, o, w) { c.find { w.spoil; false } },
    all: ->(c, o, w) { c.all? { w.spoil; true } },
    any_pattern: ->(c, o, w) { c.any?(w.spoiler) },
    flat_map: ->(c, o, w) { c.flat_map { |e| w.spoil; [e, e] } },
    filter_map: ->(c, o, w) { c.filter_map { |e| w.spoil; e } },
    lazy: ->(c, o, w) { c.lazy.map { |e| w.spoil; e }.first(20) },
    external: ->(c, o, w) { e = c.each; Array.new(5) { w.spoil; e.next } },
    splat: ->(c, o, w) { ->(*all) { w.spoil; all }.call(*c) },
    splat_first: ->(c, o, w) { first, *rest = *c; w.spoil; [first, rest] },
    splat_spoiler: ->(c, o, w) { [*w.spoiler, *c] },
    format: ->(c, o, w) { "%s %s %p" % c },
    format_many: ->(c, o, w) { format("%s %p" * 3, *c) },
    concat: ->(c, o, w) { c.concat(o, c) },
    replace: ->(c, o, w) { c.replace(o) },
    set: ->(c, o, w) { Set.new(c).to_a },
    set_ops: ->(c, o, w) { (Set.new(c) | Set.new(o)).to_a },
    hash_from: ->(c, o, w) { Hash[c.map { |e| [e, e] }] },
    times: ->(c, o, w) { c * 2 },
    times_spoiler: ->(c, o, w) { c * w.spoiler },
    in_hash: ->(c, o, w) { h = { c => "v", o => "v" }; w.spoil; h[c]; h.rehash; h.to_a },
    pattern: ->(c, o, w) { case c when Array then w.spoil; c.first end },
    delete_block: ->(c, o, w) { c.delete(w.spoiler) { w.spoil } },
    sum_block: ->(c, o, w) { c.sum { w.spoil; 1 } },
    first_of_sort: ->(c, o, w) { c.min_by { w.spoiler } },
    symbols: ->(c, o, w) { c.map(&w.spoiler) },
    struct: ->(c, o, w) { Pair.new(c, o) == Pair.new(o, c) },
    struct_hash: ->(c, o, w) { [Pair.new(c, o).hash, Pair.new(c, o).eql?(Pair.new(c, o)), Pair.new(c, o).inspect] },
    range: ->(c, o, w) { (w.spoiler..w.spoiler).each { |e| break e } },
    range_include: ->(c, o, w) { (w.spoiler..w.spoiler).include?(w.spoiler) },
    clamp: ->(c, o, w) { 5.clamp(1, 3) + (3 + w.spoiler) },
  },
  hash: {
    each: ->(c, o, w) { c.each { |k, v| w.spoil } },
    each_held: ->(c, o, w) { c.each { |k, v| w.spoil; raise Stale if String === v && v.include?("churned") } },
    each_key: ->(c, o, w) { c.each_key { |k| w.spoil } },
    each_value: ->(c, o, w) { c.each_value { |v| w.spoil } },
    map: ->(c, o, w) { c.map { |k, v| w.spoil; [k, v] } },
    to_a: ->(c, o, w) { c.to_a },
    inspect: ->(c, o, w) { c.inspect },
    to_s: ->(c, o, w) { c.to_s },
    merge: ->(c, o, w) { c.merge(o) },
    merge!: ->(c, o, w) { c.merge!(o) },
    merge_block: ->(c, o, w) { c.merge(o) { |k, a, b| w.spoil; b } },
    update_block: ->(c, o, w) { c.update(o) { |k, a, b| w.spoil; b } },
    select: ->(c, o, w) { c.select { |k, v| w.spoil; true } },
    select!: ->(c, o, w) { c.select! { |k, v| w.spoil; v } },
    reject: ->(c, o, w) { c.reject { |k, v| w.spoil; v.nil? } },
    reject!: ->(c, o, w) { c.reject! { |k, v| w.spoil; v.nil? } },
    delete_if: ->(c, o, w) { c.delete_if { |k, v| w.spoil; v.nil? } },
    keep_if: ->(c, o, w) { c.keep_if { |k, v| w.spoil; v } },
    transform_values: ->(c, o, w) { c.transform_values { |v| w.spoil; v } },
    transform_values!: ->(c, o, w) { c.transform_values! { |v| w.spoil; v } },
    transform_keys: ->(c, o, w) { c.transform_keys { |k| w.spoil; k } },
    transform_keys!: ->(c, o, w) { c.transform_keys! { |k| w.spoil; k } },
    invert: ->(c, o, w) { c.invert },
    key: ->(c, o, w) { c.key(w.spoiler) },
    value: ->(c, o, w) { c.value?(w.spoiler) },
    value_other: ->(c, o, w) { c.has_value?(o.values.first) },
    equal: ->(c, o, w) { c == o },
    eql: ->(c, o, w) { c.eql?(o) },
    hash: ->(c, o, w) { c.hash },
    rehash: ->(c, o, w) { c.rehash },
    get: ->(c, o, w) { c[w.key] },
    get_own: ->(c, o, w) { c.keys.map { |k| c[k] } },
    set: ->(c, o, w) { c[w.key] = w.value },
    set_many: ->(c, o, w) { 30.times { c[w.spoiler] = "v" }; c.to_a },
    fetch: ->(c, o, w) { c.fetch(w.key) { |k| w.spoil; k } },
    delete: ->(c, o, w) { c.delete(w.key) },
    delete_own: ->(c, o, w) { c.keys.map { |k| c.delete(k) } },
    key?: ->(c, o, w) { c.key?(w.key) },
    default_proc: ->(c, o, w) { d = Hash.new { |h, k| w.spoil; h[k] = "v" }; d.merge!(c); [d[w.key], d] },
    values_at: ->(c, o, w) { c.values_at(*o.keys, w.key) },
    fetch_values: ->(c, o, w) { c.fetch_values(*o.keys) { "v" } },
    slice: ->(c, o, w) { c.slice(*o.keys, w.key) },
    except: ->(c, o, w) { c.except(*o.keys.first(3), w.key) },
    dig: ->(c, o, w) { c.dig(w.key) },
    shift: ->(c, o, w) { Array.new(5) { c.shift } },
    replace: ->(c, o, w) { c.replace(o) },
    compact: ->(c, o, w) { c.compact },
    any: ->(c, o, w) { c.any? { |k, v| w.spoil; false } },
    all: ->(c, o, w) { c.all? { |k, v| w.spoil; true } },
    find: ->(c, o, w) { c.find { |k, v| w.spoil; false } },
    count: ->(c, o, w) { c.count { |k, v| w.spoil; true } },
    min_by: ->(c, o, w) { c.min_by { |k, v| w.spoil; 1 } },
    sort: ->(c, o, w) { c.sort { |a, b| w.spoil; 0 } },
    sort_by: ->(c, o, w) { c.sort_by { |k, v| w.spoil; k.class.to_s } },
    group_by: ->(c, o, w) { c.group_by { |k, v| w.spoil; v.class.to_s } },
    partition: ->(c, o, w) { c.partition { |k, v| w.spoil; true } },
    reduce: ->(c, o, w) { c.reduce { |a, b| w.spoil; b } },
    to_h: ->(c, o, w) { c.to_h { |k, v| w.spoil; [v, k] } },
    filter_map: ->(c, o, w) { c.filter_map { |k, v| w.spoil; v } },
    each_with_index: ->(c, o, w) { c.each_with_index.map { |pair, i| w.spoil; pair } },
    zip: ->(c, o, w) { c.zip(o) },
    flat_map: ->(c, o, w) { c.flat_map { |k, v| w.spoil; [k, v] } },
    subset: ->(c, o, w) { [c < o, c >= o] },
    keywords: ->(c, o, w) { ->(**all) { w.spoil; all }.call(**c.to_h { |k, v| [:"k#{v.class}", v] }) },
    splat: ->(c, o, w) { { **c, **o } },
    flatten: ->(c, o, w) { c.flatten },
    dup: ->(c, o, w) { c.dup.merge(o) },
    in_hash: ->(c, o, w) { h = { c => "v", o => "v" }; w.spoil; h[c] },
    lazy: ->(c, o, w) { c.lazy.map { |k, v| w.spoil; v }.first(20) },
    sum: ->(c, o, w) { c.sum { |k, v| w.spoil; 1 } },
    store_string: ->(c, o, w) { k = "k string"; c[k] = w.value; w.spoil; c[k] },
    clear: ->(c, o, w) { c.clear; c },
    set_in: ->(c, o, w) { s = Set.new(c.keys); s.add?(w.key); s.delete(w.key); s.to_a },
    uniq: ->(c, o, w) { (c.keys + o.keys).uniq },
    minus: ->(c, o, w) { c.keys - o.keys },
  },
  string: {
    gsub: ->(c, o, w) { c.gsub("v") { w.spoil; "x" } },
    gsub!: ->(c, o, w) { c.gsub!("v") { w.spoil; "x" } },
    sub: ->(c, o, w) { c.sub("v") { w.spoil; "x" } },
    sub!: ->(c, o, w) { c.sub!("v") { w.spoil; "x" } },
    gsub_spoiler: ->(c, o, w) { c.gsub("v", w.spoiler) },
    each_char: ->(c, o, w) { c.each_char { |e| w.spoil } },
    each_byte: ->(c, o, w) { c.each_byte { |e| w.spoil } },
    each_line: ->(c, o, w) { c.each_line { |e| w.spoil } },
    lines: ->(c, o, w) { c.lines.map { |l| w.spoil; l } },
    format: ->(c, o, w) { c % [w.spoiler, w.spoiler, 3, w.spoiler, w.spoiler] },
    format_call: ->(c, o, w) { format(c, w.spoiler, w.spoiler, 3, w.spoiler) },
    format_width: ->(c, o, w) { format("%s " + c, w.spoiler, w.value, 5, "v") },
    append: ->(c, o, w) { c << w.spoiler },
    concat: ->(c, o, w) { c.concat(w.spoiler, o) },
    plus: ->(c, o, w) { c + w.spoiler },
    interpolate: ->(c, o, w) { "#{c}#{w.spoiler}#{c}#{w.spoiler}" },
    join: ->(c, o, w) { [c, w.spoiler, c].join(c) },
    index: ->(c, o, w) { c.index(w.spoiler) },
    split: ->(c, o, w) { c.split(",") { w.spoil } },
    split_spoiler: ->(c, o, w) { c.split(w.spoiler) },
    tr: ->(c, o, w) { c.tr("v", w.spoiler) },
    insert: ->(c, o, w) { c.insert(2, w.spoiler) },
    set: ->(c, o, w) { c[0, 2] = w.spoiler },
    set_spoiler: ->(c, o, w) { c[w.spoiler] = "v" },
    slice: ->(c, o, w) { c[w.spoiler] },
    start: ->(c, o, w) { c.start_with?(w.spoiler, "v") },
    compare: ->(c, o, w) { [c <=> w.spoiler, c == w.spoiler] },
    center: ->(c, o, w) { c.center(80, w.spoiler) },
    times: ->(c, o, w) { c * 3 },
    unpack: ->(c, o, w) { c.unpack("a2a*") },
    upto: ->(c, o, w) { "va".upto("vc") { w.spoil } },
    each_grapheme: ->(c, o, w) { c.chars.each_slice(3) { w.spoil } },
    partition: ->(c, o, w) { c.partition(w.spoiler) },
    replace: ->(c, o, w) { c.replace(w.spoiler) },
    as_key: ->(c, o, w) { h = { c => "v" }; w.spoil; [h[c], h] },
    to_sym: ->(c, o, w) { w.spoil; c.to_sym.size },
    integer: ->(c, o, w) { Integer(w.spoiler) },
    squeeze: ->(c, o, w) { c.squeeze },
    codepoints: ->(c, o, w) { c.codepoints.each { w.spoil } },
  },
  object: {
    inspect: ->(c, o, w) { c.inspect },
    to_s: ->(c, o, w) { c.to_s },
    variables: ->(c, o, w) { c.instance_variables.map { |name| w.spoil; c.instance_variable_get(name) } },
    dup: ->(c, o, w) { c.dup },
    equal: ->(c, o, w) { c == o },
    array: ->(c, o, w) { [c, o].inspect },
    hash: ->(c, o, w) { { c => o }.inspect },
    exception: ->(c, o, w) { raise ArgumentError, c.inspect },
    no_method: ->(c, o, w) { c.no_such_method },
    evaluate: ->(c, o, w) { c.instance_eval { w.spoil; instance_variables.size } },
  },
}

# Makes a walk from a seed, which says all about it; answers its name.
def prepare(seed) = ($walk = Walk.new(seed, WALKS)).to_s
def walk = Fiber.new { $walk.run }
