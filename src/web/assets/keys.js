// Shortcuts, the palette and the list of shortcuts. No single key acts: each moves, opens or asks.
(() => {
  'use strict';
  const { swarm } = window;
  const palette = document.getElementById('palette');
  const field = document.getElementById('palette-q');
  const found = document.getElementById('palette-found');
  const shortcuts = document.getElementById('shortcuts');
  const ROWS = 'main tr[id], main li[id]';

  // ---- The palette: the server searches, the newest answer wins ----
  let asked = 0;
  let timer = 0;
  const search = async () => {
    asked += 1;
    const mine = asked;
    const query = new URLSearchParams(new FormData(field.form));
    try {
      const answer = await fetch(`${field.form.action}?${query}`, { headers: { 'HX-Request': 'true' } });
      const text = await answer.text();
      if (mine !== asked) return;
      if (answer.ok) found.innerHTML = swarm.policy.createHTML(text);
      else found.textContent = 'The search has no answer.';
    } catch {
      if (mine === asked) found.textContent = 'The daemon does not answer.';
    }
  };
  const openPalette = () => {
    if (palette.open) return;
    palette.showModal();
    field.select();
    search();
  };
  field.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(search, 80);
  });
  // Enter opens the first thing found, without waiting for an older answer.
  field.form.addEventListener('submit', async (event) => {
    event.preventDefault();
    clearTimeout(timer);
    await search();
    found.querySelector('a')?.click();
  });
  palette.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const links = [field, ...found.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement);
    links[(at + step + links.length) % links.length].focus();
  });
  // A dialog of an action opens in the place of the palette.
  found.addEventListener('click', (event) => {
    if (event.target.closest('a[data-dialog]')) palette.close();
  });
  for (const dialog of [palette, shortcuts]) {
    dialog.addEventListener('click', (event) => {
      if (event.target === dialog) dialog.close();
    });
  }
  document.addEventListener('click', (event) => {
    if (!event.target.closest('[data-palette]') || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    openPalette();
  });

  // ---- Single keys ----
  const isOn = () => document.documentElement.dataset.keys !== 'off';
  const isTyping = (node) => node.isContentEditable
    || (/^(INPUT|TEXTAREA|SELECT)$/.test(node.tagName)
      && !['checkbox', 'radio'].includes(node.type));
  const rowNow = () => document.activeElement.closest(ROWS);
  const move = (step) => {
    const rows = [...document.querySelectorAll(ROWS)].filter((row) => row.offsetParent);
    if (rows.length === 0) return;
    const at = rows.indexOf(rowNow());
    const row = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))];
    const target = row.querySelector('a[href]') ?? row;
    if (target === row) row.tabIndex = -1;
    target.focus();
    row.scrollIntoView({ block: 'nearest' });
  };
  // The agent or idea of the row, else of the page.
  const subject = () => {
    const hrefs = [...(rowNow()?.querySelectorAll('a[href]') ?? [])].map((link) => link.pathname);
    for (const path of [...hrefs, location.pathname]) {
      const id = /\/(?:agents|ideas)\/([^/]+)$/.exec(path)?.[1];
      if (id && !['graph', 'add'].includes(id)) return id;
    }
    return null;
  };
  const follow = (path) => {
    const link = document.createElement('a');
    link.href = swarm.page(path);
    link.dataset.dialog = '';
    link.hidden = true;
    document.body.append(link);
    link.click();
    link.remove();
  };
  const isPast = () => document.documentElement.classList.contains('is-past');
  let isGoing = false;
  const actions = {
    '?': () => shortcuts.showModal(),
    j: () => move(1),
    k: () => move(-1),
    x: () => rowNow()?.querySelector('input[type=checkbox]')?.click(),
    '/': () => {
      const own = document.querySelector('main input[type=search]');
      if (own) own.focus();
      else openPalette();
    },
    a: () => { if (!isPast()) location.href = swarm.page('ideas/add'); },
    i: () => {
      const id = subject();
      if (id && !isPast()) follow(`do/intervene/${id}`);
    },
    g: () => {
      isGoing = true;
      setTimeout(() => { isGoing = false; }, 1500);
    },
  };
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.altKey) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      openPalette();
      return;
    }
    if (document.documentElement.hasAttribute('data-over')) return;
    if (event.ctrlKey || event.metaKey || !isOn() || isTyping(event.target)) return;
    if (document.querySelector('dialog[open]')) return;
    if (isGoing) {
      isGoing = false;
      const link = document.querySelector(`#shortcuts [data-letter="${CSS.escape(event.key)}"]`);
      if (link) location.href = link.href;
      return;
    }
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
})();
