// Finds words of Japanese, which mdBook's index does not have: it knows a word by the spaces around it. Words in ASCII are still the index's.
// Rule: what is found has every word of the question, somewhere in its section; sections whose titles have them come first.

(() => {
  const EXCERPT_CHARACTERS = 60;
  const TITLE_SCORE = 20;

  if (typeof elasticlunr === "undefined") return;
  const load = elasticlunr.Index.load;
  elasticlunr.Index.load = (data) => {
    const index = load.call(elasticlunr.Index, data);
    const search = index.search;
    index.search = (question, options) =>
      /[^\x00-\x7f]/.test(question) ? find(index, question) : search.call(index, question, options);
    return index;
  };

  function find(index, question) {
    const words = question.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const found = [];
    for (const [ref, doc] of Object.entries(index.documentStore.docs)) {
      const title = doc.title.toLowerCase();
      const body = doc.body.toLowerCase();
      const scores = words.map((word) => (title.includes(word) ? TITLE_SCORE : 0) + body.split(word).length - 1);
      if (scores.every((score) => score > 0)) {
        const score = scores.reduce((sum, it) => sum + it, 0);
        found.push({ ref, score, doc: { ...doc, body: excerpt(doc.body, words) } });
      }
    }
    return found.sort((one, other) => other.score - one.score);
  }

  // The text around the first of the words. Each has spaces around it: what shows it knows a word by them.
  function excerpt(body, words) {
    const first = Math.max(0, Math.min(...words.map((word) => body.toLowerCase().indexOf(word)).filter((at) => at >= 0), body.length));
    const from = Math.max(0, first - EXCERPT_CHARACTERS / 2);
    let text = body.slice(from, first + EXCERPT_CHARACTERS);
    for (const word of words) {
      text = text.replace(new RegExp(word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "gi"), " $& ");
    }
    return `${from > 0 ? "…" : ""}${text}…`;
  }
})();
