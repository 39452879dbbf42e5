// The ndcg@5 of each list of `podium explain --lists lists.json`.
const fs = require("fs");
const { lists } = JSON.parse(fs.readFileSync("lists.json"));
const dcg = (gains) => gains.reduce((sum, gain, i) => sum + gain / Math.log2(i + 2), 0);
const values = {};
for (const { id, items, scores, judgements } of lists) {
  const order = items.map((_, i) => i).sort((a, b) => scores[b] - scores[a]);
  const gains = order.slice(0, 5).map((i) => judgements[items[i]] ?? 0);
  const best = Object.values(judgements).sort((a, b) => b - a);
  values[id] = dcg(best) ? dcg(gains) / dcg(best) : 0;
}
fs.writeFileSync("values.json", JSON.stringify({ "ndcg@5": values }));
