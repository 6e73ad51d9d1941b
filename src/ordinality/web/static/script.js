// Answers by fetch and by keys; results that follow the model. Everything works without it.
"use strict";
(() => {
  const find = (which, within = document) => within.querySelector(which);
  const root = document.documentElement;
  const GUARD = 250; // milliseconds for which a new question takes no answer
  const parse = (text) => new DOMParser().parseFromString(text, "text/html");
  const sleep = (time) => new Promise((done) => setTimeout(done, time));

  // The time that a question was seen, in seconds; a hidden page does not count.
  let spent = 0, since = performance.now(), shownAt = since;
  const seconds = () => (spent + (document.hidden ? 0 : performance.now() - since)) / 1000;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) spent += performance.now() - since;
    else since = performance.now();
  });

  // Answers

  let busy = false;

  async function send(form, button) {
    const sent = new URLSearchParams(new FormData(form));
    sent.set(button.name, button.value);
    sent.set("seconds", seconds().toFixed(2));
    sent.set("reply", "page");
    // The server knows a question by its number: the same answer twice is one answer.
    for (let wait = 500; ; wait = Math.min(2 * wait, 8000)) {
      try {
        const reply = await fetch(form.getAttribute("action"), {
          method: "POST", body: sent, signal: AbortSignal.timeout(10000),
        });
        if (reply.status < 500 && reply.status !== 429) return await reply.text();
      } catch { /* no reply: once more */ }
      const words = "Not saved yet. Trying again…", said = find(".said");
      say(words);
      said.textContent = words;
      said.className = "said flag";
      await sleep(wait);
    }
  }

  function say(words) { find("#live").textContent = words; }

  // Wait for the pictures of a page, though not for long.
  const loaded = (page) => Promise.race([sleep(3000), Promise.allSettled(
    [...page.images].map((each) => {
      const picture = new Image();
      picture.src = each.getAttribute("src");
      return picture.decode();
    }))]);

  function show(page) {
    if (!find("main", page)) return location.reload(); // not a page of ours: of a proxy, say
    find("main").replaceWith(document.adoptNode(find("main", page)));
    document.body.className = page.body.className;
    document.title = page.title;
    root.classList.add("fresh");
    showKeys();
    scrollTo(0, 0);
    find("h1").focus({ preventScroll: true });
    say((find(".said") || find("h1")).textContent.trim());
    spent = 0;
    since = shownAt = performance.now();
  }

  document.addEventListener("submit", async (event) => {
    const form = event.target, button = event.submitter;
    if (!/\/answer$/.test(form.getAttribute("action")) || !button) return;
    event.preventDefault();
    if (/^(up|down)-/.test(button.value)) return move(button);
    if (busy || performance.now() - shownAt < GUARD) return;
    busy = true;
    try {
      const page = parse(await send(form, button));
      await loaded(page);
      show(page);
    } finally {
      busy = false;
    }
  });

  // Sets: an item up or down in an order; the best, then the worst

  function move(button) {
    const row = button.closest("li"), list = row.parentNode;
    // The other item moves, so that the button keeps the focus.
    if (button.value.startsWith("up")) row.after(row.previousElementSibling || "");
    else row.before(row.nextElementSibling || "");
    const rows = [...list.children];
    find("[name=order]").value = rows.map((each) => each.dataset.item).join(" ");
    const name = find("h2", row).textContent;
    say(`${name}: ${rows.indexOf(row) + 1} of ${rows.length}`);
  }

  function complete() {
    const picked = document.querySelectorAll(".pick:checked");
    if (picked.length < 2 || picked[0].value === picked[1].value) return;
    const button = find("button[value=best-worst]");
    button.form.requestSubmit(button);
  }

  function pick(best) { // by a key
    const old = find("[name=best]:checked");
    const one = old && old !== best ? find(`[name=worst][value="${best.value}"]`) : best;
    one.checked = old !== best;
    say(one.checked ? one.ariaLabel : "");
    complete();
  }

  document.addEventListener("change", (event) => { // by a tap: arrow keys only look around
    if (event.target.matches(".pick:not(:focus-visible)")) complete();
  });

  // Keys

  const FIXED = { ArrowLeft: "left", ArrowRight: "right", ArrowDown: "equal", Backspace: "undo" };
  const own = { left: "1", right: "2", equal: "0", skip: "s", undo: "u" }; // may be changed

  function kept(name) { try { return localStorage.getItem(name); } catch { return null; } }
  function keep(name, value) { try { localStorage.setItem(name, value); } catch { /* no */ } }

  let useKeys = kept("keys") !== "off";
  try { Object.assign(own, JSON.parse(kept("own-keys"))); } catch { /* not of ours */ }

  const actAt = (key) => FIXED[key] || Object.keys(own).find((act) => key && own[act] === key)
    || (key === "=" && own.equal === "0" && "equal");

  // Some layouts have digits on shifted keys: what was typed goes before where the key is.
  function actOf(event) {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key, typed = actAt(key);
    const act = typed || (event.shiftKey && actAt(event.code.slice(5))); // of "Digit1"
    const much = event.shiftKey && (!typed || /^(\p{L}|Arrow.*)$/u.test(key));
    return much && /^(left|right)$/.test(act) ? act + "2" : act;
  }

  function showKeys() {
    for (const each of document.querySelectorAll("[data-key]")) {
      each.value = own[each.dataset.key]; // of a field
      each.textContent = each.value.toUpperCase();
    }
  }

  function changeKey(act, key) {
    if (!/^[? ]$/.test(key)) {
      for (const each in own) if (own[each] === key) own[each] = "";
      own[act] = key;
    }
    keep("own-keys", JSON.stringify(own));
    showKeys();
  }

  const scrolls = (element) => element.scrollHeight > element.clientHeight + 1;

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    if (!useKeys || !find("#answer") || find("dialog[open]")) return;
    if (event.target.closest("input:not(.pick), textarea, select, [contenteditable]")) return;
    if (event.key === "?") { find("#help")?.showModal(); return event.preventDefault(); }
    if (event.key === "ArrowDown" && (scrolls(root) || scrolls(event.target))) return;
    const direct = find(`main [data-digit="${CSS.escape(event.key)}"]`);
    const button = direct || find(`main button[name=act][value=${actOf(event)}]`);
    if (!button) return;
    event.preventDefault();
    if (event.repeat) return;
    if (button.type === "radio") pick(button);
    else button.form.requestSubmit(button);
  });

  function setKeys(on) {
    useKeys = on;
    root.classList.toggle("keys", on);
    const box = find("#use-keys");
    if (box) box.checked = on;
    keep("keys", on ? "on" : "off");
  }

  document.addEventListener("change", ({ target }) => {
    if (target.id === "use-keys") setKeys(target.checked);
    else if (target.dataset.key) changeKey(target.dataset.key, target.value.toLowerCase());
  });

  // Dialogs, pictures, links to copy

  document.addEventListener("click", async (event) => {
    const at = (which) => event.target.closest(which);
    if (at("[data-open]")) find("#" + at("[data-open]").dataset.open).showModal();
    else if (at("[data-reset]")) { keep("own-keys", null); location.reload(); }
    else if (at("[data-close]") || at("dialog.picture")) at("dialog").close();
    else if (at("a.zoom") && find("#picture") && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      const picture = find("#picture img"), shown = find("img", at("a.zoom"));
      [picture.src, picture.alt] = [shown.src, shown.alt];
      find("#picture").showModal();
    } else if (at("[data-copy]")) {
      await navigator.clipboard.writeText(find("#" + at("[data-copy]").dataset.copy).textContent);
      at("[data-copy]").textContent = "Copied";
    }
  });

  // Results: the server says when there is a new snapshot

  const { events, page } = document.body.dataset;
  let source, newest;

  async function refresh() {
    const reply = await fetch(page);
    if (!reply.ok) return;
    const now = parse(await reply.text());
    for (const old of document.querySelectorAll("[data-live]")) {
      const fresh = find(`[data-live=${old.dataset.live}]`, now);
      if (fresh && !old.contains(document.activeElement)) old.replaceWith(document.adoptNode(fresh));
    }
  }

  function follow() {
    source?.close();
    if (!events || document.hidden) return;
    source = new EventSource(events);
    source.onmessage = ({ data }) => {
      if (data !== newest) refresh(); // also at first: the page may be older than its events
      newest = data;
    };
  }

  document.addEventListener("visibilitychange", follow);
  addEventListener("pagehide", () => source?.close());
  // A page that comes back from the browser's memory may have an old question.
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

  root.classList.add("script");
  setKeys(useKeys);
  showKeys();
  follow();
  if (location.search.includes("said=")) history.replaceState(null, "", location.pathname);
})();
