// Show the causes and rows that contain all words of the filter, and the causes of a severity.
"use strict";
const filter = document.getElementById("filter");
const severity = document.getElementById("severity");
// A row that leads to a cause has the words of the cause.
const cause = (row) => document.getElementById(row.querySelector("a[href^='#']")?.hash.slice(1))?.closest("article");
const rows = [...document.querySelectorAll("article, tbody.rows > tr")].map((row) => ({
  row,
  text: (row.textContent + (cause(row)?.textContent ?? "")).toLowerCase(),
}));
function show() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const { row, text } of rows) {
    const fits = !severity.value || !row.dataset.severity || row.dataset.severity === severity.value;
    row.hidden = !fits || !words.every((word) => text.includes(word));
  }
}
filter.addEventListener("input", show);
severity.addEventListener("change", show);
document.getElementById("filters").hidden = false;
