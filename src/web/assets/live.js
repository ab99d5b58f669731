// Live updates. Each message of the stream replaces one fragment. A fragment waits, and only its
// newest form is kept, while a person has its text selected, types in it, or has a row of it in hand
// that would move. Whatever is typed is kept as a draft too, until its form is sent.
(() => {
  const stream = document.getElementById('stream');
  const held = new Map();
  const now = () => performance.now();

  // ---- What a person has in hand ----
  const ROW = 'main tr[id], main li[id]';
  const AFTER = 2000; // a row stays for so long after the pointer or the focus left it
  const STILL = 10000; // a pointer or focus that rests for so long holds nothing
  const hands = { pointer: { row: null, at: -1e9 }, focus: { row: null, at: -1e9 } };
  const rowOf = (node) => (node instanceof Element ? node.closest(ROW) : null);
  const take = (hand, row) => {
    if (row) Object.assign(hand, { row, at: now() });
  };
  document.addEventListener('pointermove', (event) => take(hands.pointer, rowOf(event.target)),
    { passive: true });
  for (const kind of ['focusin', 'keydown']) {
    document.addEventListener(kind, () => take(hands.focus, rowOf(document.activeElement)));
  }
  const isOn = (hand, row) => (hand === hands.pointer
    ? row.matches(':hover') : row.contains(document.activeElement));
  const rowsInHand = () => Object.values(hands)
    .filter(({ row }) => row?.isConnected)
    .filter((hand) => now() - hand.at < (isOn(hand, hand.row) ? STILL : AFTER))
    .map(({ row }) => row);

  const isField = (node) => node instanceof HTMLTextAreaElement || node instanceof HTMLSelectElement
    || (node instanceof HTMLInputElement && !['checkbox', 'radio', 'range'].includes(node.type));
  const idsBefore = (row) => [...row.parentElement.children]
    .slice(0, [...row.parentElement.children].indexOf(row))
    .map((sibling) => sibling.id).join();
  const wouldMove = (row, html) => {
    const next = new DOMParser().parseFromString(swarm.policy.createHTML(html), 'text/html');
    const same = next.getElementById(row.id);
    return !same || idsBefore(same) !== idsBefore(row);
  };
  const mustWait = (id, html) => {
    const element = document.getElementById(id);
    if (!element) return false;
    const selection = getSelection();
    if (!selection.isCollapsed && selection.rangeCount > 0
      && selection.getRangeAt(0).intersectsNode(element)) return true;
    if (isField(document.activeElement) && element.contains(document.activeElement)) return true;
    return rowsInHand().some((row) => element.contains(row) && wouldMove(row, html));
  };

  // ---- Messages ----
  const bare = (message) => message.replace(/^<hx-partial[^>]*>/, '')
    .replace(/<\/hx-partial>\s*$/, '');
  document.addEventListener('htmx:sse:before:message', (event) => {
    const { data } = event.detail.message;
    const id = /^<hx-partial hx-target="#([^"]+)"/.exec(data)?.[1];
    if (!id) return;
    held.delete(id);
    if (mustWait(id, bare(data))) {
      held.set(id, data);
      event.preventDefault();
    }
  });
  setInterval(() => {
    for (const [id, data] of held) {
      if (mustWait(id, bare(data))) continue;
      held.delete(id);
      htmx.swap({ text: data, sourceElement: stream, target: stream, swap: 'none swapEmpty:false' });
    }
  }, 250);

  // A row in hand stays where it is on the screen, whatever grows above it.
  let anchor = null;
  let focused = null;
  document.addEventListener('htmx:before:swap', () => {
    const element = document.activeElement;
    focused = { element, home: element?.closest('.live') };
    const row = rowsInHand()[0];
    anchor = row && { row, top: row.getBoundingClientRect().top };
  });
  document.addEventListener('htmx:after:swap', () => {
    if (anchor?.row.isConnected) {
      const moved = anchor.row.getBoundingClientRect().top - anchor.top;
      if (Math.abs(moved) >= 1) scrollBy({ top: moved, behavior: 'instant' });
    }
    anchor = null;
    // What had the focus is gone: its fragment takes it, and the Tab key goes on from there. The
    // fragment's own element has no box.
    if (focused?.home?.isConnected && !focused.element.isConnected) {
      const near = focused.home.firstElementChild ?? document.getElementById('main');
      near.tabIndex = -1;
      near.focus({ preventScroll: true });
    }
    focused = null;
    showState();
  });

  // ---- Title, icon, and what needs a person ----
  const stateNow = () => document.getElementById('tab-state');
  const icon = document.querySelector('link[rel=icon]');
  let needs = Number(stateNow()?.dataset.needs ?? 0);
  const words = (count) => (count === 1 ? '1 thing needs you' : `${count} things need you`);
  const showState = () => {
    const state = stateNow();
    if (!state) return;
    const next = Number(state.dataset.needs);
    if (icon.getAttribute('href') !== state.dataset.icon) icon.setAttribute('href', state.dataset.icon);
    if (next === needs) return;
    const title = document.title.replace(/^\(\d+\) /, '');
    document.title = next > 0 ? `(${next}) ${title}` : title;
    document.getElementById('announce').textContent = next > 0 ? words(next) : 'Nothing needs you';
    if (next > needs) notify(words(next));
    needs = next;
  };
  const notify = (text) => {
    const isWanted = document.documentElement.dataset.notify === 'on' && document.hidden;
    if (!isWanted || !window.Notification || Notification.permission !== 'granted') return;
    const name = document.querySelector('.brand b').textContent;
    const shown = new Notification(name, { body: text, tag: `swarm ${name}` });
    shown.onclick = () => { focus(); shown.close(); };
  };
  // Browsers ask for the permission on a click only.
  document.addEventListener('submit', ({ submitter }) => {
    if (submitter?.name === 'notify' && submitter.value === 'on') window.Notification?.requestPermission();
  });

  if (!stream) return;

  // ---- The connection ----
  let since = null;
  const show = (id, is) => { document.getElementById(id).hidden = !is; };
  // Once the daemon of a demo is gone, no other comes: the page says so, and asks no more.
  const over = document.getElementById('demo-over');
  let isOver = false;
  const end = () => {
    isOver = true;
    held.clear();
    stream.remove();
    over.hidden = false;
    document.documentElement.toggleAttribute('data-gone', true);
    document.documentElement.toggleAttribute('data-over', true);
    const leading = 'form :is(button, input, select, textarea), .time input, a[href]:not([href^="#"])';
    document.querySelectorAll(leading).forEach((element) => { element.inert = true; });
  };
  const setGone = (is, status) => {
    if (isOver) return;
    if (is && over && !status) {
      fetch(swarm.page('palette'), { method: 'HEAD' }).catch(end);
      return;
    }
    const isSignedOut = is && (status === 401 || status === 404);
    if (is && !since) since = new Date();
    if (!is) since = null;
    const time = document.querySelector('#gone time');
    if (since) {
      time.dateTime = since.toISOString();
      time.textContent = since.toTimeString().slice(0, 5);
    }
    show('gone', is && !isSignedOut);
    show('signed-out', isSignedOut);
    document.documentElement.toggleAttribute('data-gone', is);
    // What acts is out of reach. Fields are not: whoever types keeps the focus and the caret.
    const acting = document.querySelectorAll('form[method=post] button, a[data-dialog]');
    acting.forEach((element) => { element.inert = is && element !== document.activeElement; });
  };
  document.addEventListener('htmx:sse:error', ({ detail: { connection, status } }) => {
    setGone(true, status);
    if (status || !connection) return;
    // A daemon that is away is asked each second: on the same machine that costs nothing.
    connection.attempt = Math.min(connection.attempt, 1);
    connection.config.reconnectDelay = 500;
  });
  document.addEventListener('htmx:sse:after:connection', ({ detail }) => {
    if (detail.connection.status === 200) setGone(false);
  });
  // The server says who has a stream: see `streams.rs`.
  stream.addEventListener('swarm:crowded', () => show('crowded', true));
  stream.addEventListener('swarm:live', () => show('crowded', false));
  // Another log, or another version of the page.
  stream.addEventListener('swarm:reload', () => location.reload());
  // A first request that failed is not repeated by the extension.
  let tries = 0;
  const again = () => {
    if (isOver) return;
    setTimeout(again, Math.min(60000, 5000 * 2 ** tries));
    if (document.hidden || stream._htmx?.sse) {
      tries = 0;
      return;
    }
    tries += 1;
    fetch(swarm.page('palette'), { method: 'HEAD' })
      .then((answer) => (answer.status === 401 || answer.status === 404
        ? setGone(true, 401)
        : htmx.ajax('GET', stream.getAttribute('hx-sse:connect'), { source: stream })))
      .catch(() => setGone(true));
  };
  setTimeout(again, 5000);
})();
