// Draws the charts in the colours of the reader's scheme, again when it changes, and for paper.
(function () {
  "use strict";
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const narrow = window.matchMedia("(max-width: 600px)");
  const still = { responsive: true, displayModeBar: false, scrollZoom: false };

  function coloured(value, style) {
    if (typeof value === "string") {
      const named = /^var\((--[a-z0-9-]+)\)$/.exec(value);
      return named ? style.getPropertyValue(named[1]).trim() : value;
    }
    if (Array.isArray(value)) { return value.map((one) => coloured(one, style)); }
    if (value && typeof value === "object") {
      const copy = {};
      for (const key of Object.keys(value)) { copy[key] = coloured(value[key], style); }
      return copy;
    }
    return value;
  }

  function axis(given, style) {
    return Object.assign({
      gridcolor: style.getPropertyValue("--rule").trim(), zeroline: false, fixedrange: true,
      linecolor: style.getPropertyValue("--rule").trim(), automargin: true, exponentformat: "none",
    }, given);
  }

  // What a chart has otherwise on a phone: shorter names, fewer of them.
  function onPhone(chart, layout) {
    const narrow = chart.narrow || {};
    (narrow.data || []).forEach((given, index) => Object.assign(chart.data[index], given));
    for (const name of Object.keys(narrow.layout || {})) { Object.assign(layout[name], narrow.layout[name]); }
  }

  // A long legend above the lanes would leave a phone no room for them: it goes below.
  function underneath(layout, element) {
    if (layout.legend.yref !== "container") { return; }
    layout.legend = Object.assign({}, layout.legend, { y: 0, yanchor: "bottom", font: { size: 10 } });
    layout.margin = Object.assign({}, layout.margin, { l: 20, t: 30, b: 250 });
    layout.height += 180;
    element.style.height = layout.height + "px";
  }

  function draw(id) {
    const element = document.getElementById(id);
    const style = getComputedStyle(document.documentElement);
    const chart = coloured(charts[id], style);
    const layout = Object.assign({
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true,
      font: { family: "system-ui, sans-serif", size: narrow.matches ? 11 : 13,
              color: style.getPropertyValue("--ink").trim() },
      margin: { l: 54, r: 12, t: 12, b: 48 },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, itemsizing: "constant" },
    }, chart.layout);
    layout.font = Object.assign({}, chart.layout.font, { color: style.getPropertyValue("--ink").trim() });
    for (const name of Object.keys(layout)) {
      if (/^[xy]axis\d*$/.test(name)) { layout[name] = axis(layout[name], style); }
    }
    if (narrow.matches) {
      onPhone(chart, layout);
      underneath(layout, element);
      for (const trace of chart.data) { if (trace.colorbar) { trace.showscale = false; } }
    }
    Plotly.react(element, chart.data, layout, still);
  }

  // The library unpacks itself behind the text: the page can be read before there is any chart.
  async function unpacked() {
    const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const library = document.createElement("script");
    library.textContent = await new Response(stream).text();
    document.head.append(library);
  }

  const drawn = new Set();
  function drawOnce(id) { if (!drawn.has(id)) { drawn.add(id); draw(id); } }
  function drawAgain() { drawn.forEach(draw); }

  // What is folded has no width: it is drawn when it is opened and comes into sight.
  function watch() {
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) { seen.unobserve(entry.target); drawOnce(entry.target.id); }
      }
    }, { rootMargin: "600px" });
    Object.keys(charts).forEach((id) => seen.observe(document.getElementById(id)));
  }

  // On paper everything is open, drawn, and in the colours of the light scheme.
  let opened = [];
  function toPaper() {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((one) => { one.open = true; });
    document.documentElement.classList.add("paper");
    if (window.Plotly) { Object.keys(charts).forEach((id) => { drawn.add(id); draw(id); }); }
  }
  function fromPaper() {
    opened.forEach((one) => { one.open = false; });
    document.documentElement.classList.remove("paper");
    if (window.Plotly) { drawAgain(); }
  }
  window.addEventListener("beforeprint", toPaper);
  window.addEventListener("afterprint", fromPaper);

  // A link to a folded section opens it.
  function openTarget() {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const folded = target && (target.closest("details") || target.querySelector(":scope > details"));
    if (folded) { folded.open = true; }
  }
  window.addEventListener("hashchange", openTarget);
  openTarget();

  unpacked().then(() => {
    watch();
    dark.addEventListener("change", drawAgain);
    narrow.addEventListener("change", drawAgain);
    document.documentElement.dataset.charts = "ready";
  });
}());
