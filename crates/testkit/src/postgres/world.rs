//! The tables of the public framework benchmarks: `world` with 10,000 numbers and `fortune` with 12 sayings. Not a benchmark.
//! Rule: the same every time, so that two runs read the same.

/// Rows of `world`; keys are 1 to this.
const ROWS: u32 = 10_000;

/// Ours: one is markup, one is not ASCII, and one sorts before the one that is added at request time.
const FORTUNES: [&str; 12] = [
    "A thread that is never cut is never finished.",
    "Measure twice, cut once, measure again.",
    "Who hurries the loom mends the cloth.",
    "<script>alert(\"A page that runs this does not escape.\");</script>",
    "There are two hard things, and this is neither & both.",
    "'Tomorrow' is the busiest day of the week.",
    "Any tangle looks simple to the cat.",
    "The shortest program has the fewest readers.",
    "One spindle, many threads.",
    "What was not tested works by courtesy.",
    "A needle has one eye and sees enough.",
    "糸を紡ぐ者は夢も紡ぐ。",
];

/// What is left to do when the tables are made; no transaction may hold it.
pub const AFTERWARDS: &str = "vacuum analyze world, fortune";

/// The statements that make both tables.
pub fn tables() -> String {
    let fortunes: Vec<String> = FORTUNES
        .iter()
        .zip(1..)
        .map(|(text, id)| format!("({id}, '{}')", text.replace('\'', "''")))
        .collect();
    format!(
        "create table world (id integer primary key, randomnumber integer not null);
         insert into world select id, id::bigint * 7919 % {ROWS} + 1 from generate_series(1, {ROWS}) as id;
         create table fortune (id integer primary key, message text not null);
         insert into fortune values {}",
        fortunes.join(", ")
    )
}
