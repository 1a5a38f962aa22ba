// The page of a monitor, live: it is fetched again when the history has changed. Nothing is loaded from elsewhere.
"use strict";
(() => {
  const EVERY = 2000;
  let view = "";
  let busy = false;
  const live = document.getElementById("live");
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);

  const version = () => document.getElementById("content").dataset.version;
  const say = (words) => { const at = document.getElementById("said"); if (at) at.textContent = words; };

  async function refresh() {
    const typed = [...live.querySelectorAll("form")].map((f) => [f.dataset.send, f.elements.text.value]);
    const focused = document.activeElement && document.activeElement.form;
    const answer = await fetch("/body" + view, { cache: "no-store" });
    if (!answer.ok) { say("The monitor cannot be read: " + (await answer.text()).trim()); return; }
    // Our own server escapes every value; this is its page, and scripts in it would not run.
    live.innerHTML = await answer.text();
    for (const [name, text] of typed) {
      const form = live.querySelector(`form[data-send="${name}"]`);
      if (form) { form.elements.text.value = text; if (focused && focused.dataset.send === name) form.elements.text.focus(); }
    }
  }

  async function look() {
    if (busy || document.hidden) return;
    busy = true;
    try {
      const answer = await fetch("/version", { cache: "no-store" });
      if (answer.ok && (await answer.json()).version !== version()) await refresh();
    } catch { say("The server does not answer."); } finally { busy = false; }
  }

  live.addEventListener("submit", async (event) => {
    event.preventDefault();
    const form = event.target;
    const answer = await fetch("/" + form.dataset.send, {
      method: "POST",
      headers: { "content-type": "application/json", "x-nammd-monitor": "1" },
      body: JSON.stringify({ text: form.elements.text.value }),
    });
    if (!answer.ok) { say((await answer.text()).trim()); return; }
    form.elements.text.value = "";
    await refresh();
  });

  live.addEventListener("click", async (event) => {
    const last = event.target.dataset.last;
    if (last === undefined) return;
    view = last ? "?last=" + last : "";
    await refresh();
  });

  const marks = (plot) => [...plot.querySelectorAll(".mark")];
  const middle = (mark) => { const box = mark.getBoundingClientRect(); return box.left + box.width / 2; };
  const nearest = (plot, x) => marks(plot).reduce((best, m) => (!best || Math.abs(middle(m) - x) < Math.abs(middle(best) - x) ? m : best), null);

  let from = null;
  live.addEventListener("pointerdown", (event) => {
    const plot = event.target.closest("#distances .plot");
    from = plot ? { plot, x: event.clientX } : null;
  });
  live.addEventListener("pointermove", (event) => {
    const plot = event.target.closest && event.target.closest("#distances .plot");
    const mark = plot && nearest(plot, event.clientX);
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.querySelector("title").textContent;
    tip.style.left = Math.min(event.clientX + 12, document.documentElement.clientWidth - tip.offsetWidth - 4) + "px";
    tip.style.top = event.clientY + 14 + "px";
  });
  live.addEventListener("pointerup", async (event) => {
    if (!from || Math.abs(event.clientX - from.x) < 15) { from = null; return; }
    const [a, b] = [nearest(from.plot, from.x), nearest(from.plot, event.clientX)];
    from = null;
    if (!a || !b || a === b) return;
    view = "?" + new URLSearchParams({ from: a.dataset.first, to: b.dataset.last });
    if (middle(a) > middle(b)) view = "?" + new URLSearchParams({ from: b.dataset.first, to: a.dataset.last });
    await refresh();
  });
  live.addEventListener("pointerleave", () => { tip.hidden = true; });

  setInterval(look, EVERY);
  document.addEventListener("visibilitychange", look);
})();
