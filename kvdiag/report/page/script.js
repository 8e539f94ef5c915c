"use strict";
// What makes the page handier: search, links, copy buttons, keys, and the picture. All of it can be read without.
(() => {
  const byId = (id) => document.getElementById(id);
  const make = (tag, text = "", props = {}) => Object.assign(document.createElement(tag), { textContent: text }, props);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
  const root = document.documentElement;
  root.classList.add("js");

  // ---- the address: #TARGET?q=…&t=FROM-TO

  const address = { target: "", q: "", t: "" };
  let written = 0;

  function readAddress() {
    const [target, rest] = location.hash.slice(1).split(/\?(.*)/s);
    const said = new URLSearchParams(rest || "");
    address.target = target;
    if (rest !== undefined) {
      address.q = said.get("q") || "";
      address.t = said.get("t") || "";
    }
  }

  function writeAddress() {
    clearTimeout(written);
    written = setTimeout(() => {
      const said = new URLSearchParams();
      for (const name of ["q", "t"]) if (address[name]) said.set(name, address[name]);
      const hash = address.target + (String(said) && "?" + said);
      history.replaceState(null, "", hash ? "#" + hash : location.href.split("#")[0]);
    }, 120);
  }

  // ---- search: sev:high,critical kind:volume node:worker rule:name "some words" -word

  const TOKEN = /(-?)(?:(sev|kind|node|rule):)?("[^"]*"?|\S+)/gi;
  let terms = [];

  function parse(query) {
    return [...query.matchAll(TOKEN)].map(([, not, key, said]) => {
      const text = said.replaceAll('"', "").toLowerCase();
      return { not: not === "-", key: (key || "").toLowerCase(), text, any: text.split(",").filter(Boolean) };
    }).filter((term) => term.text);
  }

  const begins = (term, value) => term.any.some((word) => value.toLowerCase().startsWith(word));

  function isMeant(row, text) {
    return terms.every((term) =>
      term.not !== (term.key ? begins(term, row.dataset[term.key]) : text().includes(term.text)));
  }

  function filterFindings() {
    const articles = all("article");
    let left = 0;
    for (const one of articles) {
      const isOn = isMeant(one, () => one.textContent.toLowerCase());
      one.toggleAttribute("data-off", !isOn);
      left += isOn;
      for (const link of all(`.causes a[href="#${one.id}"]`)) link.closest("tr").toggleAttribute("data-off", !isOn);
    }
    for (const row of all(".causes tr[data-sev]"))
      if (!row.querySelector("a")) row.toggleAttribute("data-off", !isMeant(row, () => row.textContent.toLowerCase()));
    all("details.folded").forEach(unfold);
    for (const table of all(".causes")) table.toggleAttribute("data-off", !table.querySelector("tbody tr:not([data-off])"));
    for (const row of all(".story tbody tr")) {
      const words = terms.filter((term) => !term.key);
      const text = words.length ? row.textContent.toLowerCase() : "";
      row.toggleAttribute("data-off", !words.every((term) => term.not !== text.includes(term.text)));
    }
    return `${left} of ${articles.length} findings`;
  }

  /** Opens folded rows while a search finds some of them; its summary says how many. */
  function unfold(details) {
    const summary = details.querySelector("summary");
    details.dataset.says ??= summary.textContent;
    const left = all("tbody tr:not([data-off])", details).length;
    if (terms.length && details.dataset.was === undefined) details.dataset.was = details.open;
    if (terms.length) details.open = left > 0;
    else if (details.dataset.was !== undefined) {
      details.open = details.dataset.was === "true";
      delete details.dataset.was;
    }
    summary.textContent = terms.length ? `${left} of ${details.dataset.says}` : details.dataset.says;
  }

  // ---- filters: buttons that put tokens into the search

  const MOST_CHIPS = 12; // of a group, the most frequent first

  /** The values of a token in a query, in lower case. */
  function chosen(query, key) {
    return parse(query).filter((term) => term.key === key && !term.not).flatMap((term) => term.any);
  }

  /** The query with the value added to the token, or without it if it is there. */
  function toggled(query, key, value) {
    const before = chosen(query, key);
    const values = before.includes(value) ? before.filter((one) => one !== value) : [...before, value];
    const rest = [...query.matchAll(TOKEN)].filter(([, not, name]) => not || (name || "").toLowerCase() !== key);
    const token = values.length ? [`${key}:${values.some((one) => /\s/.test(one)) ? `"${values}"` : values}`] : [];
    return [...rest.map(([text]) => text), ...token].join(" ");
  }

  function addChips() {
    const rows = all(".causes tr[data-sev]");
    for (const [key, name] of [["sev", "Severity"], ["node", "Node"], ["kind", "Kind"], ["rule", "Rule"]]) {
      const counts = new Map();
      for (const row of rows) {
        const value = row.dataset[key];
        if (value) counts.set(value, (counts.get(value) || 0) + 1);
      }
      if (counts.size < 2) continue;
      const useful = [...counts].filter(([, count]) => key !== "rule" || count > 1); // a row is a link to its one finding
      const most = useful.sort((one, other) => other[1] - one[1]).slice(0, MOST_CHIPS);
      if (!most.length) continue;
      const buttons = most.map(([value, count]) => {
        const button = make("button", `${value} ${count}`, { type: "button" });
        Object.assign(button.dataset, { key, value: value.toLowerCase() });
        button.onclick = () => search(byId("q").value = toggled(byId("q").value, key, button.dataset.value));
        return button;
      });
      const group = make("span", "", { className: "chips" });
      group.append(make("span", name, { className: "dim" }), ...buttons);
      byId("chips").append(group);
    }
  }

  function showChips(query) {
    for (const one of all("#chips button"))
      one.setAttribute("aria-pressed", chosen(query, one.dataset.key).includes(one.dataset.value));
  }

  let searched = 0;

  function search(query) {
    terms = parse(query);
    address.q = query;
    const said = [filterFindings()];
    showChips(query);
    if (picture) said.push(picture.filter());
    byId("hits").textContent = terms.length ? said.join(", ") : "";
    writeAddress();
  }

  // ---- the picture

  const AROUND = 20; // lines before and after an event
  const ROW = 26, BAR = 14, HEAD = 72, HISTOGRAM = 46, PAD = 7; // in points
  const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5,
    36e5, 72e5, 108e5, 216e5, 432e5, 864e5, 1728e5, 6048e5, 2592e6, 7776e6, 31536e6];
  let picture = null;

  async function inflated(text) {
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let at = 0; at < bytes.length; at++) bytes[at] = binary.charCodeAt(at);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  /** The columns as columns.py writes them: differences, the lowest byte of each number first. */
  function unpacked(bytes) {
    const size = new DataView(bytes.buffer).getUint32(4, true);
    const data = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + size)));
    let at = 8 + size;
    const column = (count) => {
      const numbers = new Int32Array(count);
      let sum = 0;
      for (let i = 0; i < count; i++) {
        const j = at + i;
        sum = (sum + (bytes[j] | bytes[j + count] << 8 | bytes[j + 2 * count] << 16 | bytes[j + 3 * count] << 24)) | 0;
        numbers[i] = sum;
      }
      at += 4 * count;
      return numbers;
    };
    const { bars, marks } = data;
    data.bar = { at: column(bars), wide: column(bars), state: column(bars) };
    data.mark = { at: column(marks), wide: column(marks), label: column(marks), source: column(marks),
      line: column(marks), text: column(marks), proves: column(marks) };
    let bar = 0, mark = 0;
    data.lanes = data.lanes.map(([kind, name, node, bars, marks, faults]) => {
      const lane = { kind, name, node, bar, bars: bar + bars, mark, marks: mark + marks, faults };
      bar += bars;
      mark += marks;
      return lane;
    });
    return data;
  }

  /** The first of numbers[from…to] that is at least `value`. */
  function first(numbers, value, from, to) {
    while (from < to) {
      const middle = (from + to) >> 1;
      if (numbers[middle] < value) from = middle + 1; else to = middle;
    }
    return from;
  }

  class Picture {
    constructor(data) {
      this.data = data;
      this.length = Math.max(1, this.extent());
      this.from = 0;
      this.to = this.length;
      this.on = new Uint8Array(data.marks).fill(1);
      this.laneOf = new Int32Array(data.marks);
      data.lanes.forEach((lane, number) => this.laneOf.fill(number, lane.mark, lane.marks));
      this.places = new Map();
      for (let i = data.marks - 1; i >= 0; i--) this.places.set(`${data.mark.source[i]}.${data.mark.line[i]}`, i);
      this.selected = -1;
      this.rows = [];
      this.meant = [];
      this.inView = false;
      this.box = byId("lanes");
      this.canvas = byId("canvas");
      this.map = byId("map");
      this.pool = [];
      this.listen();
      this.colours();
    }

    extent() {
      const { bar, mark } = this.data;
      let most = 0;
      for (let i = 0; i < bar.at.length; i++) most = Math.max(most, bar.at[i] + bar.wide[i]);
      for (let i = 0; i < mark.at.length; i++) most = Math.max(most, mark.at[i]);
      return most;
    }

    colours() {
      const style = getComputedStyle(root);
      const names = ["bg", "fg", "dim", "line", "grid", "good", "change", "over", "trouble", "event", "link", "bad", "warn", "on"];
      this.colour = Object.fromEntries(names.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
      const c = this.colour;
      this.tones = { good: c.good, change: c.change, over: c.over, bad: c.trouble };
      this.severity = { critical: c.bad, high: c.bad, medium: c.warn, low: c.link, info: c.dim };
      this.draw();
    }

    listen() {
      const { box, map } = this;
      box.addEventListener("scroll", () => this.draw());
      box.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
      box.addEventListener("keydown", (event) => this.key(event));
      box.addEventListener("pointerdown", (event) => this.grab(event));
      box.addEventListener("pointermove", (event) => this.hover(event));
      map.addEventListener("pointerdown", (event) => this.grabMap(event));
      new ResizeObserver(() => this.draw()).observe(box);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.colours());
      byId("in").onclick = () => this.zoom(0.5);
      byId("out").onclick = () => this.zoom(2);
      byId("view").onclick = () => this.toggle();
      byId("fit").onclick = () => this.show(0, this.length);
    }

    // -- which rows there are

    filter() {
      const { data, on } = this;
      const ofLane = terms.filter((term) => term.key === "kind" || term.key === "node");
      const words = terms.filter((term) => !ofLane.includes(term));
      const texts = words.map((term) => term.key ? null : this.texts(term.text));
      let lanes = 0, marks = 0;
      this.meant = [];
      data.lanes.forEach((lane, number) => {
        const isOfLane = ofLane.every((term) => term.not !== begins(term, lane[term.key]));
        const name = `${lane.kind} ${lane.name} ${lane.node}`.toLowerCase();
        let left = 0;
        for (let i = lane.mark; i < lane.marks; i++) {
          on[i] = isOfLane && words.every((term, k) => term.not !== this.says(i, term, texts[k], name)) ? 1 : 0;
          left += on[i];
        }
        const isNamed = words.every((term) => !term.key && term.not !== name.includes(term.text));
        if (!isOfLane || (words.length && !left && !isNamed)) return;
        this.meant.push({ lane, number });
        lanes++;
        marks += left;
      });
      this.arrange();
      return `${marks} of ${data.marks} events on ${lanes} lanes`;
    }

    /** The rows: lanes that match, or those of them that show something now, below their nodes; with findings first. */
    arrange() {
      this.rows = [];
      let above = null;
      for (const row of this.meant) {
        const { node, faults } = row.lane;
        if (this.inView && !this.isInView(row.lane)) continue;
        const head = `${node || "(node not named)"}${faults.length ? ", with findings" : ""}`;
        if (head !== above) this.rows.push({ head: above = head });
        this.rows.push(row);
      }
      byId("room").style.height = `${HEAD + this.rows.length * ROW + 8}px`;
      this.draw();
    }

    isInView(lane) {
      const { bar, mark } = this.data;
      const last = first(bar.at, this.to + 1e-6, lane.bar, lane.bars) - 1;
      if (last >= lane.bar && bar.at[last] + bar.wide[last] >= this.from) return true;
      const next = first(mark.at, this.from, lane.mark, lane.marks);
      return next < lane.marks && mark.at[next] <= this.to;
    }

    toggle() {
      this.inView = !this.inView;
      byId("view").setAttribute("aria-pressed", this.inView);
      this.arrange();
    }

    /** By number of a text whether it has the word. */
    texts(word) {
      const has = (list) => Uint8Array.from(list, (text) => text.toLowerCase().includes(word) ? 1 : 0);
      return { texts: has(this.data.texts), labels: has(this.data.labels), sources: has(this.data.sources) };
    }

    says(i, term, found, name) {
      const { mark, findings } = this.data;
      if (found) return name.includes(term.text) || !!(found.texts[mark.text[i]] || found.labels[mark.label[i]] || found.sources[mark.source[i]]);
      const finding = findings[(mark.proves[i] >> 1) - 1];
      return !!finding && begins(term, finding[term.key === "sev" ? 1 : 3]);
    }

    // -- where one looks

    show(from, to) {
      const wide = clamp(to - from, Math.min(5, this.length), this.length);
      const exact = (time) => Math.round(time * 100) / 100; // so that an address shows just this again
      this.from = exact(clamp(from, 0, this.length - wide));
      this.to = exact(this.from + wide);
      address.t = wide < this.length ? `${this.from}-${this.to}` : "";
      writeAddress();
      if (this.inView) this.arrange(); else this.draw();
    }

    zoom(factor, at = (this.from + this.to) / 2) {
      this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
    }

    pan(part) {
      const by = part * (this.to - this.from);
      this.show(this.from + by, this.to + by);
    }

    time(x) {
      return this.from + (x - this.left) / (this.width - this.left) * (this.to - this.from);
    }

    x(time) {
      return this.left + (time - this.from) / (this.to - this.from) * (this.width - this.left);
    }

    stamp(time, from = 0, to = 23) {
      return new Date(this.data.begins + time * this.data.unit).toISOString().slice(from, to).replace("T", " ");
    }

    /** The mark that `e-SOURCE.LINE` or `e-SOURCE.LINE.LANE` calls; -1 for none. */
    called(target) {
      const [, place, number] = /^e-(\d+\.\d+)(?:\.(\d+))?$/.exec(target) || [];
      const lane = this.data.lanes[number];
      for (let i = lane ? lane.mark : 0; lane && i < lane.marks; i++)
        if (`${this.data.mark.source[i]}.${this.data.mark.line[i]}` === place) return i;
      return this.places.get(place) ?? -1;
    }

    // -- drawing

    draw() {
      if (this.asked) return;
      this.asked = requestAnimationFrame(() => {
        this.asked = 0;
        const began = performance.now();
        this.paint();
        root.dataset.painted = (performance.now() - began).toFixed(1);
      });
    }

    sized(canvas) {
      const { width, height } = canvas.getBoundingClientRect();
      const ratio = devicePixelRatio || 1;
      const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
      if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
      const context = canvas.getContext("2d");
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, width, height);
      return [context, width, height];
    }

    paint() {
      const [g, width, height] = this.sized(this.canvas);
      if (!width) return;
      this.width = width;
      this.left = byId("names").offsetWidth + PAD;
      g.font = "11px system-ui, sans-serif";
      g.textBaseline = "middle";
      const top = this.box.scrollTop;
      const begin = Math.max(0, Math.floor(top / ROW));
      const end = Math.min(this.rows.length, Math.ceil((top + height - HEAD) / ROW) + 1);
      g.save();
      g.beginPath();
      g.rect(0, HEAD, width, height - HEAD);
      g.clip();
      this.ruler((x) => {
        g.fillStyle = this.colour.grid;
        g.fillRect(x, HEAD, 1, height);
      });
      for (let row = begin; row < end; row++) this.paintRow(g, this.rows[row], HEAD + row * ROW - top);
      g.restore();
      this.paintHead(g);
      this.names(begin, end, top, height);
      this.paintMap();
      byId("span").textContent = `${this.stamp(this.from)} to ${this.stamp(this.to)} UTC`;
    }

    paintRow(g, row, y) {
      const { colour, left, width } = this;
      g.fillStyle = colour.grid;
      if (!row.lane) return g.fillRect(0, y, width, ROW);
      g.fillRect(0, y + ROW - 1, width, 1);
      g.save();
      g.beginPath();
      g.rect(left - PAD, y, width - left + PAD, ROW);
      g.clip();
      this.paintFaults(g, row.lane, y);
      this.paintBars(g, row.lane, y);
      this.paintMarks(g, row.lane, y);
      g.restore();
    }

    /** A band behind the lane from the begin of each finding to its end, in the colour of its severity. */
    paintFaults(g, lane, y) {
      for (const [number, begins, ends] of lane.faults) {
        const x = this.x(begins) - 2;
        g.fillStyle = this.severity[this.data.findings[number][1]];
        g.globalAlpha = 0.22;
        g.fillRect(x, y, Math.max(4, this.x(ends) + 2 - x), ROW - 1);
        g.globalAlpha = 1;
        g.fillRect(x, y + ROW - 3, Math.max(4, this.x(ends) + 2 - x), 2);
      }
    }

    paintBars(g, lane, y) {
      const { at, wide, state } = this.data.bar;
      const from = this.time(this.left - PAD);
      let i = first(at, from, lane.bar, lane.bars);
      while (i > lane.bar && at[i - 1] + wide[i - 1] >= from) i--;
      let last = -1;
      for (; i < lane.bars && at[i] <= this.to; i++) {
        const x = Math.max(this.left - PAD, this.x(at[i]));
        const end = Math.min(this.width + 2, this.x(at[i] + wide[i]));
        if (end <= last) continue; // within a point that is drawn
        const [name, tone] = this.data.states[state[i]];
        const shown = Math.max(1, end - x);
        g.fillStyle = this.tones[tone];
        g.fillRect(x, y + 2, shown, BAR);
        if (shown > 1.5) {
          g.fillStyle = this.colour.bg;
          g.fillRect(x, y + 2, 1, BAR);
        }
        if (shown > 7 * name.length + 12) {
          g.fillStyle = this.colour.on;
          g.fillText(name, Math.max(x, this.left) + 6, y + 3 + BAR / 2);
        }
        last = Math.ceil(x + shown) - 0.5;
      }
    }

    paintMarks(g, lane, y) {
      const { at, proves } = this.data.mark;
      const middle = y + ROW - 6;
      let last = -9, lastFound = -9;
      for (let i = first(at, this.time(this.left - PAD), lane.mark, lane.marks); i < lane.marks && at[i] <= this.to; i++) {
        if (!this.on[i]) continue;
        const x = this.x(at[i]);
        if (proves[i]) {
          if (x - lastFound < 2) continue;
          const finding = this.data.findings[(proves[i] >> 1) - 1];
          g.fillStyle = finding ? this.severity[finding[1]] : this.colour.bad;
          this.diamond(g, x, middle, 5);
          lastFound = x;
        } else {
          if (x - last < 1) continue;
          g.fillStyle = this.colour.event;
          g.fillRect(x - 0.75, y + BAR + 3, 1.5, ROW - BAR - 5);
          last = x;
        }
      }
      const i = this.selected;
      if (i >= lane.mark && i < lane.marks) {
        g.strokeStyle = this.colour.link;
        g.lineWidth = 2;
        g.strokeRect(this.x(at[i]) - 6, y + BAR, 12, ROW - BAR - 1);
      }
    }

    diamond(g, x, y, r) {
      g.beginPath();
      g.moveTo(x, y - r);
      g.lineTo(x + r, y);
      g.lineTo(x, y + r);
      g.lineTo(x - r, y);
      g.fill();
    }

    counted(from, to, bins) {
      const { at, proves } = this.data.mark;
      const [events, found] = [new Float64Array(bins), new Float64Array(bins)];
      const scale = bins / (to - from || 1);
      for (let i = 0; i < at.length; i++) {
        if (!this.on[i] || at[i] < from || at[i] > to) continue;
        const bin = Math.min(bins - 1, (at[i] - from) * scale | 0);
        events[bin]++;
        if (proves[i]) found[bin]++;
      }
      return [events, found];
    }

    histogram(g, from, to, x, wide, bottom, high) {
      const bins = Math.max(1, wide >> 2);
      const [events, found] = this.counted(from, to, bins);
      const most = Math.max(1, ...events);
      const share = (count) => count && Math.max(2, high * Math.log1p(count) / Math.log1p(most));
      for (let bin = 0; bin < bins; bin++) {
        const at = x + bin * wide / bins;
        const tall = share(events[bin]);
        g.fillStyle = this.colour.dim;
        g.fillRect(at, bottom - tall, wide / bins - 1, tall);
        if (!found[bin]) continue;
        g.fillStyle = this.colour.bad;
        g.fillRect(at, bottom - share(found[bin]), wide / bins - 1, share(found[bin]));
      }
    }

    paintHead(g) {
      const { colour, left, width } = this;
      g.fillStyle = colour.bg;
      g.fillRect(0, 0, width, HEAD);
      this.histogram(g, this.from, this.to, left, width - left, HISTOGRAM, HISTOGRAM - 4);
      g.fillStyle = colour.line;
      g.fillRect(0, HISTOGRAM, width, 1);
      g.fillRect(0, HEAD - 1, width, 1);
      g.fillStyle = colour.dim;
      this.ruler((x, said) => {
        g.fillRect(x, HISTOGRAM, 1, HEAD - HISTOGRAM);
        g.fillText(said, x + 3, HISTOGRAM + 13);
      });
    }

    /** Calls `each` with the place of each round time and what to call it. */
    ruler(each) {
      const { left, width } = this;
      const span = (this.to - this.from) * this.data.unit;
      const step = STEPS.find((one) => one * (width - left) / span >= 90) || STEPS.at(-1);
      const begins = this.data.begins + this.from * this.data.unit;
      for (let time = Math.ceil(begins / step) * step; time <= begins + span; time += step) {
        const said = new Date(time).toISOString();
        const part = step < 1e3 ? said.slice(11, 23) : step < 864e5 ? said.slice(11, 19) : said.slice(0, 10);
        each(left + (time - begins) / span * (width - left), part);
      }
    }

    paintMap() {
      const [g, width, height] = this.sized(this.map);
      this.histogram(g, 0, this.length, 0, width, height - 2, height - 4);
      g.strokeStyle = this.colour.link;
      g.lineWidth = 2;
      const [x, end] = [this.from, this.to].map((time) => time / this.length * width);
      g.strokeRect(clamp(x, 1, width - 4), 1, Math.max(3, end - x - 2), height - 2);
    }

    /** The names are text beside the canvas: they can be found and read aloud. */
    names(begin, end, top, height) {
      const box = byId("names");
      while (this.pool.length < end - begin) this.pool.push(box.appendChild(make("div")));
      this.pool.forEach((div, k) => {
        const row = this.rows[begin + k];
        const y = HEAD + (begin + k) * ROW - top;
        div.hidden = k >= end - begin || y < HEAD - 4 || y > height;
        if (div.hidden) return;
        div.style.top = `${y}px`;
        if (div.row === row) return;
        div.row = row;
        div.title = row.lane ? row.lane.name : row.head;
        if (row.lane) div.replaceChildren(make("i", row.lane.kind + " "), row.lane.name);
        else div.replaceChildren(make("b", row.head));
      });
    }

    // -- pointing

    point(event) {
      const box = this.canvas.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      const row = y > HEAD ? this.rows[Math.floor((y - HEAD + this.box.scrollTop) / ROW)] : undefined;
      return { x, y, row };
    }

    wheel(event) {
      const { x, y } = this.point(event);
      if (event.ctrlKey || event.metaKey || y < HEAD) {
        event.preventDefault();
        this.zoom(Math.exp(clamp(event.deltaY, -200, 200) / 250), this.time(Math.max(x, this.left)));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        this.pan((event.deltaX || event.deltaY) / this.width);
      }
    }

    drag(event, move, up = () => {}) {
      const target = event.currentTarget;
      target.setPointerCapture(event.pointerId);
      const stop = (last) => {
        target.removeEventListener("pointermove", move);
        target.removeEventListener("pointerup", stop);
        target.removeEventListener("pointercancel", stop);
        up(last);
      };
      target.addEventListener("pointermove", move);
      target.addEventListener("pointerup", stop);
      target.addEventListener("pointercancel", stop);
    }

    grab(event) {
      const from = this.point(event);
      if (event.button || event.offsetX > this.box.clientWidth || from.x < this.left) return;
      const [begin, end] = [this.from, this.to];
      const scale = (end - begin) / (this.width - this.left);
      let moved = false;
      this.drag(event, (now) => {
        const by = from.x - this.point(now).x;
        moved ||= Math.abs(by) > 4;
        if (moved) this.show(begin + by * scale, end + by * scale);
      }, (last) => moved || last.type !== "pointerup" || this.pick(from));
    }

    grabMap(event) {
      const box = this.map.getBoundingClientRect();
      const go = (now) => {
        const at = (now.clientX - box.left) / box.width * this.length;
        const half = (this.to - this.from) / 2;
        this.show(at - half, at + half);
      };
      go(event);
      this.drag(event, go);
    }

    /** The mark under the pointer: one that a finding rests on, before others. */
    near({ x, row }) {
      if (!row || !row.lane) return -1;
      const { at, proves } = this.data.mark;
      const reach = 7 / (this.width - this.left) * (this.to - this.from);
      const time = this.time(x);
      let best = -1, least = Infinity;
      for (let i = first(at, time - reach, row.lane.mark, row.lane.marks); i < row.lane.marks && at[i] <= time + reach; i++) {
        const away = Math.abs(at[i] - time) - (proves[i] ? reach : 0);
        if (this.on[i] && away < least) [best, least] = [i, away];
      }
      return best;
    }

    barAt({ x, row }) {
      if (!row || !row.lane || x < this.left) return -1;
      const { at, wide } = this.data.bar;
      const time = this.time(x);
      const i = first(at, time + 1e-6, row.lane.bar, row.lane.bars) - 1;
      return i >= row.lane.bar && at[i] + wide[i] >= time ? i : -1;
    }

    hover(event) {
      if (event.buttons) return;
      const at = this.point(event);
      this.canvas.style.cursor = at.x < this.left ? "default" : this.near(at) >= 0 ? "pointer" : "grab";
      const bar = this.barAt(at);
      const mark = this.near(at);
      this.canvas.title = mark >= 0 ? this.event(mark) : bar >= 0 ? this.state(bar) : "";
    }

    event(i) {
      const { data } = this;
      return `${data.labels[data.mark.label[i]]} ${this.stamp(data.mark.at[i])} UTC\n${data.texts[data.mark.text[i]]}`;
    }

    state(i) {
      const { at, wide, state } = this.data.bar;
      return `${this.data.states[state[i]][0]} ${this.stamp(at[i])} to ${this.stamp(at[i] + wide[i])} UTC`;
    }

    pick(at) {
      const mark = this.near(at);
      if (mark >= 0) return this.select(mark);
      const bar = this.barAt(at);
      if (bar >= 0) byId("event").replaceChildren(make("b", `${at.row.lane.kind} ${at.row.lane.name}`), make("br"), this.state(bar));
    }

    // -- one event

    select(i, isMoved = false) {
      const { data } = this;
      const { at, label, source, line, text, proves } = data.mark;
      const lane = data.lanes[this.laneOf[i]];
      const finding = data.findings[(proves[i] >> 1) - 1];
      this.selected = i;
      const place = `${source[i]}.${line[i]}`;
      address.target = `e-${place}` + (this.places.get(place) === i ? "" : `.${this.laneOf[i]}`);
      const link = make("a", `${data.sources[source[i]]}:${line[i]}`, { href: "#" + address.target });
      const parts = [make("b", data.labels[label[i]]), ` · ${this.stamp(at[i])} UTC · ${lane.kind} ${lane.name} · `, link];
      if (proves[i] & 1) parts.push(make("b", " · out of order", { className: "bad" }));
      if (finding) {
        const to = byId(finding[0]) ? make("a", finding[2], { href: "#" + finding[0] }) : make("span", finding[2]);
        parts.push(make("br"), make("span", finding[1], { className: `sev ${finding[1]}` }), " ", to);
      }
      if (text[i]) parts.push(make("br"), make("code", data.texts[text[i]]));
      byId("event").replaceChildren(...parts);
      this.showAround(source[i], line[i]);
      if (isMoved) this.reveal(i);
      writeAddress();
      this.draw();
    }

    /** The lines before and after an event, if the page has them. */
    showAround(source, line) {
      const box = byId("around");
      const found = this.data.excerpts.find(([from, begin, lines]) =>
        from === source && begin <= line && line < begin + lines.length);
      box.hidden = !found;
      if (!found) return;
      const [, begin, lines] = found;
      const parts = [];
      for (let number = Math.max(begin, line - AROUND); number < begin + lines.length && number <= line + AROUND; number++) {
        const text = `${String(number).padStart(8)}  ${lines[number - begin]}\n`;
        parts.push(number === line ? make("mark", text) : text);
      }
      box.querySelector("pre").replaceChildren(...parts);
    }

    reveal(i) {
      const time = this.data.mark.at[i], wide = this.to - this.from;
      if (time < this.from || time > this.to) this.show(time - wide / 2, time + wide / 2);
      const row = this.rows.findIndex((one) => one.number === this.laneOf[i]);
      const y = row * ROW, { box } = this;
      if (row >= 0 && (y < box.scrollTop || y > box.scrollTop + box.clientHeight - HEAD - 2 * ROW)) box.scrollTop = y - 2 * ROW;
    }

    step(by) {
      const { on } = this;
      if (this.selected < 0) {
        const row = this.rows.find((one) => one.lane && one.lane.marks > one.lane.mark);
        if (!row) return;
        const at = first(this.data.mark.at, this.from, row.lane.mark, row.lane.marks);
        return this.select(Math.min(at, row.lane.marks - 1), true);
      }
      const lane = this.data.lanes[this.laneOf[this.selected]];
      let i = this.selected + by;
      while (i >= lane.mark && i < lane.marks && !on[i]) i += by;
      if (i >= lane.mark && i < lane.marks) this.select(i, true);
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const keys = {
        ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2), "+": () => this.zoom(0.5), "=": () => this.zoom(0.5),
        "-": () => this.zoom(2), "0": () => this.show(0, this.length), Home: () => this.pan(-1e9), End: () => this.pan(1e9),
        v: () => this.toggle(), n: () => this.step(1), p: () => this.step(-1), Enter: () => this.enter(),
      };
      if (!Object.hasOwn(keys, event.key)) return;
      event.preventDefault();
      keys[event.key]();
    }

    enter() {
      const finding = this.data.findings[(this.data.mark.proves[this.selected] >> 1) - 1];
      if (finding) location.hash = finding[0];
    }
  }

  // ---- links, buttons, keys

  function go() {
    readAddress();
    const { target } = address;
    for (const one of all(".here")) one.classList.remove("here");
    const place = /^[fr]-[\w-]+$/.test(target) && byId(target);
    if (place) {
      for (let up = place.querySelector("details") || place; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
      place.closest("article")?.removeAttribute("data-off");
      place.classList.add("here");
      place.scrollIntoView();
      if (place.matches("article")) place.focus({ preventScroll: true });
    }
    if (!picture) return;
    const [from, to] = address.t.split("-").map(Number);
    if (from >= 0 && to > from) picture.show(from, to);
    const mark = picture.called(target);
    if (mark >= 0) {
      picture.select(mark, true);
      byId("picture").scrollIntoView();
    }
  }

  function copied(button, text) {
    const name = button.textContent;
    const done = () => {
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = name; }, 1500);
    };
    const byHand = () => {
      const box = document.body.appendChild(make("textarea", text, { className: "off" }));
      box.select();
      if (document.execCommand("copy")) done();
      box.remove();
    };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, byHand); else byHand();
  }

  /** A finding as Markdown, for an issue or a chat: what is read on the page, log lines and commands as code. */
  function markdown(article) {
    const plain = (text) => text.replace(/\s+/g, " ").trim();
    const escaped = (text) => plain(text).replace(/[\\`*_[\]<>#|~]/g, "\\$&");
    const code = (text) => {
      const fence = "`".repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length + 1)));
      return `${fence}\n${text}\n${fence}`;
    };
    const blocks = [`## ${escaped(article.querySelector("h2").textContent)}`];
    for (const one of article.querySelectorAll(":scope > details > :is(p, h3, ol, ul, table)")) {
      if (one.matches("h3")) blocks.push(`### ${escaped(one.textContent)}`);
      else if (one.matches("table")) {
        blocks.push(code(all("tr", one).map((row) => [".at", ".time", ".says"].map((part) =>
          plain(row.querySelector(part)?.textContent || "")).join("  ")).join("\n")));
      } else if (one.matches("ol, ul")) {
        const isNumbered = one.matches("ol");
        for (const [number, item] of [...one.children].entries()) {
          const run = item.querySelector("pre");
          const words = escaped([...item.childNodes].filter((node) => !node.matches?.(".run")).map((node) => node.textContent).join(""));
          blocks.push(`${isNumbered ? `${number + 1}.` : "-"} ${words}` + (run ? `\n\n${code(run.textContent)}` : ""));
        }
      } else blocks.push(escaped(one.textContent));
    }
    return blocks.join("\n\n") + "\n";
  }

  function addButtons() {
    for (const box of all(".run")) {
      const button = make("button", "Copy", { type: "button" });
      button.setAttribute("aria-label", "Copy the command");
      button.onclick = () => copied(button, box.firstElementChild.textContent);
      box.append(button);
    }
    for (const article of all("article")) {
      const button = make("button", "Copy as Markdown", { type: "button", className: "markdown" });
      button.onclick = () => copied(button, markdown(article));
      article.querySelector("details").append(button);
    }
  }

  function addPlaces() {
    for (const cell of all("td[data-at]"))
      if (picture.places.has(cell.dataset.at))
        cell.replaceChildren(make("a", cell.textContent, { href: "#e-" + cell.dataset.at, title: "Show it in the timeline" }));
  }

  function step(by) {
    const shown = all("article:not([data-off])");
    const at = shown.findIndex((one) => one === document.activeElement || one.contains(document.activeElement));
    const next = shown[at < 0 ? (by > 0 ? 0 : shown.length - 1) : at + by];
    if (next) location.hash = next.id;
  }

  function listen() {
    addEventListener("hashchange", () => { go(); writeAddress(); });
    addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input")) return;
      const keys = { "/": () => byId("q") && byId("q").focus(), j: () => step(1), k: () => step(-1) };
      if (!Object.hasOwn(keys, event.key)) return;
      event.preventDefault();
      keys[event.key]();
    });
    addEventListener("beforeprint", () => { for (const one of all("article > details")) one.open = true; });
    const box = byId("q");
    if (!box) return;
    byId("search").hidden = false;
    box.addEventListener("input", () => {
      clearTimeout(searched);
      searched = setTimeout(() => search(box.value), 80);
    });
    box.addEventListener("keydown", (event) => {
      if (event.key === "Escape") search(box.value = "");
      if (event.key === "Enter") search(box.value);
    });
  }

  async function start() {
    readAddress();
    addButtons();
    if (byId("chips")) addChips();
    listen();
    const data = byId("data");
    if (data && "DecompressionStream" in window) {
      byId("picture").hidden = false;
      const shown = unpacked(await inflated(data.textContent));
      data.remove();
      picture = new Picture(shown);
      picture.filter();
      addPlaces();
    }
    if (byId("q")) {
      byId("q").value = address.q;
      search(address.q);
    }
    go();
    root.dataset.ready = Math.round(performance.now());
  }

  start();
})();
