
// Cursor and zoom for the charts of this page, which are whole without it. It reads the data block
// of each figure, moves the view of its picture, and writes labels; it draws no series. Text goes
// into the page as text only.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const SIDE = 1000;
  const together = new Map();

  // ---- Numbers as the rest of the page writes them: three digits that matter. ----

  const TIMES = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9], ["m", 6e10], ["h", 3.6e12]];
  const BYTES = [["B", 1], ["kB", 1e3], ["MB", 1e6], ["GB", 1e9], ["TB", 1e12]];
  const count = (value) => Math.round(value).toLocaleString("en-US");
  const trimmed = (text) => text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  const inUnits = (value, units) => {
    for (const [name, unit] of units) {
      const scaled = value / unit;
      if (scaled < 999.5 || name === units.at(-1)[0]) {
        const decimals = unit === 1 || scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2;
        return `${trimmed(scaled.toFixed(decimals))} ${name}`;
      }
    }
  };
  const labels = {
    duration: (value) => inUnits(value, TIMES.slice(0, value >= 6e10 ? 6 : 4)),
    time: (value) => value < 1e-9 ? "0 s" : labels.duration(value * 1e9),
    count: (value) => Number.isInteger(value) ? count(value) : value.toFixed(2),
    rate: (value) => `${value >= 999.95 ? count(value) : trimmed(value.toPrecision(4))}/s`,
    bytes: (value) => inUnits(value, BYTES),
    "byte-rate": (value) => `${inUnits(value, BYTES)}/s`,
    share: (value) => `${trimmed((value * 100).toPrecision(3))} %`,
    change: (value) => `${value > 0 ? "+" : ""}${trimmed((value * 100).toPrecision(2))} %`,
    percentile: (odds) => {
      const decimals = Math.min(7, Math.max(0, Math.floor(Math.log10(odds) + 1e-9)));
      return `${trimmed((100 - 100 / odds).toFixed(decimals))} %`;
    },
  };

  // ---- Axes: axis.rs has the same rules. ----

  const label = (axis, value) => axis.names ? axis.names[Math.round(value)] ?? "" : labels[axis.unit](value);

  const at = (axis, value) => axis.log
    ? Math.log(Math.max(value, 1e-300) / axis.low) / Math.log(axis.high / axis.low)
    : (value - axis.low) / (axis.high - axis.low);
  const value = (axis, share) => axis.log
    ? axis.low * (axis.high / axis.low) ** share
    : axis.low + (axis.high - axis.low) * share;
  const step = (length, unit) => {
    const least = length / 6;
    const times = [10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200];
    const time = unit === "time" && least > 5 && times.find((one) => one >= least);
    if (time) return time;
    const power = 10 ** Math.floor(Math.log10(least));
    const round = [1, 2, 5, 10].map((digit) => digit * power).find((one) => one >= least);
    return unit === "count" ? Math.max(1, round) : round;
  };
  const linearTicks = (axis, low, high) => {
    if (axis.names) return axis.names.map((_, n) => [n, false]).filter(([n]) => n >= low && n <= high);
    const each = step(high - low, axis.unit);
    const values = [];
    for (let n = Math.ceil(low / each - 1e-9); n * each <= high + each * 1e-9; n++) {
      values.push([Number((n * each).toPrecision(12)), n % 2 !== 0]);
    }
    return values;
  };
  const logTicks = (axis, low, high) => {
    const decades = Math.log10(high / low);
    const digits = axis.unit === "percentile" ? (decades > 5.5 ? [1] : decades > 1 ? [1, 2] : [1, 2, 4, 8])
      : decades < 2.5 ? [1, 2, 5] : [1];
    const every = Math.max(1, Math.ceil(decades / 7));
    const first = Math.floor(Math.log10(low) + 1e-9);
    const values = [];
    for (let power = first; 10 ** power <= high * (1 + 1e-9); power += every) {
      for (const digit of digits) values.push([digit * 10 ** power, digit !== 1]);
    }
    const inside = values.filter(([one]) => one >= low * (1 - 1e-9) && one <= high * (1 + 1e-9));
    return inside.length > 1 ? inside : linearTicks(axis, low, high);
  };

  const make = (name, attributes, parent) => {
    const element = document.createElementNS(SVG, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    parent.append(element);
    return element;
  };
  const percent = (share) => `${(share * 100).toFixed(2)}%`;

  // ---- One chart. ----

  class Chart {
    constructor(figure) {
      this.data = JSON.parse(figure.querySelector("script").textContent);
      this.figure = figure;
      this.stage = figure.querySelector(".stage");
      this.plot = figure.querySelector(".plot");
      this.picture = figure.querySelector(".picture");
      this.frame = figure.querySelector(".frame");
      this.marks = [...figure.querySelectorAll(".mark")];
      this.boxes = [...figure.querySelectorAll(".legend input")];
      this.group = this.data.together ? together.get(this.data.together) ?? [] : [];
      this.group.push(this);
      if (this.data.together) together.set(this.data.together, this.group);
      this.x = [0, 1];
      this.y = [0, 1];
      this.here = null;
      this.stops = [...new Set(this.data.series.flatMap((one) => one.at))].sort((a, b) => a - b);
      this.prepare();
    }

    prepare() {
      const legend = this.figure.querySelector(".legend");
      this.outputs = this.boxes.map((box) => {
        const output = document.createElement("output");
        box.parentElement.append(output);
        box.addEventListener("change", () => this.look());
        return output;
      });
      this.where = document.createElement("span");
      this.where.className = "here";
      legend.append(this.where);
      this.button = document.createElement("button");
      this.button.type = "button";
      this.button.textContent = "Whole chart";
      this.button.hidden = true;
      this.button.addEventListener("click", () => this.zoom(0, 1));
      legend.append(this.button);
      this.told = document.createElement("p");
      this.told.className = "unseen";
      this.told.setAttribute("role", "status");
      this.stage.append(this.told);
      this.stage.tabIndex = 0;
      this.stage.setAttribute("role", "group");
      this.stage.setAttribute("aria-label", `${this.figure.querySelector("h3").textContent}: arrow keys `
        + "move the cursor, plus and minus zoom, 0 shows the whole chart");
      this.stage.addEventListener("pointermove", (event) => this.moved(event));
      this.stage.addEventListener("pointerleave", () => this.from === undefined && this.point(null));
      this.stage.addEventListener("pointerdown", (event) => this.pressed(event));
      this.stage.addEventListener("pointerup", (event) => this.released(event));
      this.stage.addEventListener("pointercancel", () => this.endRange());
      this.stage.addEventListener("dblclick", () => this.zoom(0, 1));
      this.stage.addEventListener("keydown", (event) => this.key(event));
    }

    shown(n) {
      return this.boxes[n].checked;
    }

    // Where a pointer is, as shares of the whole axes.
    share(event) {
      const box = this.frame.getBoundingClientRect();
      const within = (share) => Math.min(1, Math.max(0, share));
      const x = within((event.clientX - box.left) / box.width);
      const y = within((box.bottom - event.clientY) / box.height);
      return [this.x[0] + x * (this.x[1] - this.x[0]), this.y[0] + y * (this.y[1] - this.y[0])];
    }

    moved(event) {
      const [x, y] = this.share(event);
      if (this.from !== undefined) this.drawRange(x);
      this.point(this.nearest(x), this.cell(x, y));
    }

    pressed(event) {
      if (event.button === 0) {
        [this.from] = this.share(event);
        this.stage.setPointerCapture(event.pointerId);
      }
    }

    released(event) {
      const [to] = this.share(event);
      const [low, high] = [Math.min(this.from ?? to, to), Math.max(this.from ?? to, to)];
      this.endRange();
      if ((high - low) / (this.x[1] - this.x[0]) > 0.02) this.zoom(low, high);
    }

    drawRange(to) {
      this.endRange(this.from);
      const on = (share) => (share - this.x[0]) / (this.x[1] - this.x[0]);
      const [low, high] = [on(Math.min(this.from, to)), on(Math.max(this.from, to))];
      this.range = make("rect", { class: "range", x: percent(low), width: percent(high - low), height: "100%" }, this.plot);
    }

    endRange(from) {
      this.range?.remove();
      this.from = from;
    }

    nearest(share) {
      const far = (stop) => Math.abs(at(this.data.x, stop) - share);
      return this.stops.reduce((best, stop) => best === null || far(stop) < far(best) ? stop : best, null);
    }

    // What the heat map has at a place.
    cell(x, y) {
      const heat = this.data.heat;
      if (!heat) return null;
      const column = heat.columns[Math.floor((value(this.data.x, x) - heat.from) / heat.width)];
      const row = Math.min(heat.rows - 1, Math.floor(y * heat.rows));
      if (!column) return null;
      const [first, ...counts] = column;
      const all = counts.reduce((sum, one) => sum + one, 0);
      const edge = (row) => label(this.data.y, value(this.data.y, row / heat.rows));
      const here = counts[row - first] ?? 0;
      const share = all > 0 ? `, ${labels.share(here / all)}` : "";
      return `${edge(row)} to ${edge(row + 1)}: ${count(here)}${share}`;
    }

    key(event) {
      const [low, high] = this.x;
      const seen = this.stops.filter((stop) => at(this.data.x, stop) >= low - 1e-9 && at(this.data.x, stop) <= high + 1e-9);
      const now = seen.indexOf(this.here);
      const by = event.shiftKey ? 10 : 1;
      const go = (n) => this.point(seen[Math.min(seen.length - 1, Math.max(0, n))] ?? null, null, true);
      const around = this.here === null ? (low + high) / 2 : at(this.data.x, this.here);
      const scale = (factor) => this.zoom(around - (around - low) * factor, around + (high - around) * factor);
      const keys = {
        ArrowRight: () => go(now + by),
        ArrowLeft: () => go(now < 0 ? seen.length - 1 : now - by),
        Home: () => go(0),
        End: () => go(seen.length - 1),
        "+": () => scale(0.5),
        "=": () => scale(0.5),
        "-": () => scale(2),
        0: () => this.zoom(0, 1),
        Escape: () => this.zoom(0, 1),
      };
      const act = !event.ctrlKey && !event.metaKey && !event.altKey && keys[event.key];
      if (act) {
        event.preventDefault();
        act();
      }
    }

    point(stop, cell, tell) {
      for (const one of this.group) one.show(stop === null ? null : one.nearest(at(one.data.x, stop)), one === this ? cell : null);
      if (tell) this.told.textContent = this.readout;
    }

    show(stop, cell) {
      this.here = stop;
      this.cell_ = cell ?? null;
      this.cursor?.remove();
      this.cursor = null;
      const { x, y, series } = this.data;
      this.where.textContent = stop === null ? "" : this.cell_ ? `${label(x, stop)} · ${this.cell_}` : label(x, stop);
      this.readout = `${x.name} ${this.where.textContent}`;
      this.outputs.forEach((output) => { output.textContent = ""; });
      if (stop === null) return;
      const across = (at(x, stop) - this.x[0]) / (this.x[1] - this.x[0]);
      this.cursor = make("g", {}, this.plot);
      make("line", { class: "cursor", x1: percent(across), x2: percent(across), y1: 0, y2: "100%" }, this.cursor);
      series.forEach((one, n) => {
        const index = one.at.indexOf(stop);
        const found = index < 0 ? null : one.value[index];
        if (found === null || !this.shown(n)) return;
        const text = label(y, found);
        const end = (ends) => ends[index] === null ? "open" : label(y, ends[index]);
        const around = one.low ? ` (${end(one.low)} – ${end(one.high)})` : "";
        this.outputs[n].textContent = text + around;
        this.readout += `, ${one.name} ${text}${around}`;
        const up = (at(y, found) - this.y[0]) / (this.y[1] - this.y[0]);
        if (up < 0 || up > 1) return;
        const colour = this.picture.querySelector(`.${this.boxes[n].className.replace("k", "s")}`);
        make("circle", { class: "spot", fill: getComputedStyle(colour).stroke, cx: percent(across), cy: percent(1 - up), r: 4.5 }, this.cursor);
      });
    }

    zoom(low, high) {
      const length = Math.min(1, Math.max(high - low, 1e-3));
      const from = Math.min(1 - length, Math.max(0, low));
      for (const one of this.group) {
        one.x = [from, from + length];
        one.look();
      }
    }

    // Shows what the view has come to.
    look() {
      const whole = this.x[1] - this.x[0] > 1 - 1e-9;
      this.button.hidden = whole;
      this.y = whole || this.data.heat ? [0, 1] : this.fitting();
      const [x0, x1] = this.x;
      const [y0, y1] = this.y;
      this.picture.setAttribute("viewBox", [x0 * SIDE, (1 - y1) * SIDE, (x1 - x0) * SIDE, (y1 - y0) * SIDE].join(" "));
      this.ticks(".gx", this.data.x, this.x, true);
      this.ticks(".gy", this.data.y, this.y, false);
      for (const mark of this.marks) {
        const up = mark.dataset.x !== undefined;
        const share = up ? (mark.dataset.x - x0) / (x1 - x0) : 1 - (mark.dataset.y - y0) / (y1 - y0);
        mark.setAttribute("display", share < 0 || share > 1 ? "none" : "inline");
        const [line, text] = mark.children;
        for (const key of up ? ["x1", "x2"] : ["y1", "y2"]) line.setAttribute(key, percent(share));
        text.setAttribute(up ? "x" : "y", percent(share));
      }
      this.show(this.here, this.cell_);
    }

    // The part of the y axis that what is seen takes up.
    fitting() {
      const { x, y, series } = this.data;
      const seen = series.flatMap((one, n) => one.value.filter((found, index) => {
        const share = at(x, one.at[index]);
        return this.shown(n) && found !== null && share >= this.x[0] && share <= this.x[1];
      })).map((found) => at(y, found));
      if (seen.length === 0) return [0, 1];
      const low = y.log || y.low < 0 ? Math.min(...seen) : 0;
      const high = Math.max(...seen);
      const room = Math.max((high - low) * 0.08, 0.02);
      return [y.log || y.low < 0 ? Math.max(0, low - room) : 0, Math.min(1, high + room)];
    }

    ticks(place, axis, [from, to], up) {
      const group = this.figure.querySelector(place);
      group.replaceChildren();
      const [low, high] = [value(axis, from), value(axis, to)];
      for (const [one, minor] of axis.log ? logTicks(axis, low, high) : linearTicks(axis, low, high)) {
        const share = (at(axis, one) - from) / (to - from);
        const on = percent(up ? share : 1 - share);
        const tick = make("g", { class: minor ? "minor" : "major" }, group);
        make("line", up ? { x1: on, x2: on, y1: 0, y2: "100%" } : { x1: 0, x2: "100%", y1: on, y2: on }, tick);
        const text = make("text", up ? { x: on, y: "100%", dy: 18 } : { x: -8, y: on, dy: 4 }, tick);
        text.textContent = label(axis, one);
      }
    }
  }

  for (const figure of document.querySelectorAll("figure.chart")) new Chart(figure);
})();
