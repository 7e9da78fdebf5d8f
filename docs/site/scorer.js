// How the search of Sphinx ranks pages. Its own scores; then guides come first, pages of calls keep their places, and the contract comes last,
// which is for those who write the library. A call's own page still comes first, because a name in a title counts most.
var Scorer = {
  score: ([page, title, anchor, description, score]) =>
    page.startsWith("contract/") ? score - 100 : page.includes("/") ? score : score + 3,
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
