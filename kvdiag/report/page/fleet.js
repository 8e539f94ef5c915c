// Show the causes and rows that contain all words of the filter, and the causes of a severity.
"use strict";
const filter = document.getElementById("filter");
const severity = document.getElementById("severity");
const rows = [...document.querySelectorAll("article, tbody.rows > tr")].map((row) => ({ row, text: row.textContent.toLowerCase() }));
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
