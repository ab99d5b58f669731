// The output of an agent: more lines while scrolling, following its end, the search, line links.
// Without this the page shows 500 lines, with links to earlier and later ones and a search form.
(() => {
  'use strict';
  const box = document.getElementById('logbox');
  if (!box) return;
  const CHUNK = 500;
  const MOST = 2000; // lines in the page
  const LIGHT = 2600; // elements of these, but at least two chunks stay
  const NEAR = 800; // pixels from an edge at which more lines are fetched
  const HITS = 50000; // lines that match of which the numbers are kept
  const byId = (id) => document.getElementById(id);
  const follow = byId('log-follow');
  const form = document.querySelector('.logfind');
  let list = byId('log');
  let isBusy = false;
  let pattern = '';
  let lastTop = 0;

  document.querySelectorAll('.scripted').forEach((one) => { one.hidden = one.id === 'log-new'; });
  document.querySelectorAll('.unscripted').forEach((one) => { one.hidden = true; });

  const number = (name) => (list.dataset[name] === undefined ? null : Number(list.dataset[name]));
  const first = () => number('first') ?? 1;
  const last = () => number('last') ?? 0;
  const count = () => number('count') ?? 0;
  const isLive = () => list.dataset.live !== undefined;
  const rows = () => list.children;
  const atEnd = () => last() >= count();
  const grouped = (value) => value.toLocaleString('en-US');

  // Parses markup without running anything in it; null if there is nothing new.
  const fetchList = (query) => new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('GET', box.dataset.output + pattern + query);
    request.responseType = 'document';
    request.onload = () => {
      if (request.status === 204) resolve(null);
      else if (request.status === 200) resolve(request.response.getElementById('log'));
      else reject(new Error(`status ${request.status}`));
    };
    request.onerror = () => reject(new Error('no answer'));
    request.send();
  });

  const toEnd = () => { box.scrollTop = box.scrollHeight; lastTop = box.scrollTop; };

  const showRange = () => {
    const size = byId('log-range');
    if (!size || !rows().length) return;
    size.textContent = `Lines ${grouped(first())} to ${grouped(last())} of ${grouped(count())}`;
  };

  // The number of a row's last line: a folded call has several.
  const lastOf = (row) => {
    const inner = row.querySelectorAll('[id^=L]');
    return Number((inner.length ? inner[inner.length - 1] : row).id.slice(1));
  };

  // Takes rows away from one end, so that the page stays light and nothing seems to move.
  const trim = (end) => {
    const elements = list.getElementsByTagName('*');
    const isTooMuch = () => rows().length > MOST
      || (elements.length > LIGHT && rows().length > 2 * CHUNK);
    if (!isTooMuch()) return;
    const height = list.scrollHeight;
    const top = box.scrollTop;
    while (isTooMuch()) (end === 'top' ? list.firstElementChild : list.lastElementChild).remove();
    if (end === 'top') {
      box.scrollTop = top - (height - list.scrollHeight);
      list.dataset.first = list.firstElementChild.id.slice(1);
    } else {
      list.dataset.last = lastOf(list.lastElementChild);
      delete list.dataset.open;
    }
    lastTop = box.scrollTop;
  };

  const about = (more) => {
    for (const name of ['count', 'bytes']) list.dataset[name] = more.dataset[name];
    list.toggleAttribute('data-live', more.dataset.live !== undefined);
  };

  const append = (more) => {
    about(more);
    if (!more.children.length) return;
    // A line that had no end comes again, longer.
    const again = list.querySelector(`#L${more.dataset.first}`);
    if (again && again.parentElement === list) again.remove();
    list.append(...more.children);
    list.dataset.last = more.dataset.last;
    list.toggleAttribute('data-open', more.dataset.open !== undefined);
    trim('top');
    showRange();
  };

  const prepend = (more) => {
    const height = list.scrollHeight;
    const top = box.scrollTop;
    list.prepend(...more.children);
    list.dataset.first = more.dataset.first;
    box.scrollTop = top + (list.scrollHeight - height);
    trim('bottom');
    lastTop = box.scrollTop;
    showRange();
  };

  const replace = (more) => {
    const own = document.adoptNode(more);
    list.replaceWith(own);
    list = own;
    byId('log-uncounted')?.remove();
    showRange();
  };

  // One request at a time; what fails is tried again with the next scroll or the next second.
  const busy = async (work) => {
    if (isBusy) return;
    isBusy = true;
    try { await work(); } catch { /* the header says when the daemon is gone */ } finally { isBusy = false; }
  };

  const earlier = () => busy(async () => {
    const before = first();
    const from = Math.max(1, before - CHUNK);
    const more = await fetchList(`&from=${from}&lines=${before - from}`);
    if (!more || !more.children.length) return;
    // An answer has a most: of long lines it may end too early.
    if (Number(more.dataset.last) !== before - 1) replace(more);
    else prepend(more);
  });

  const later = () => busy(async () => {
    const from = list.dataset.open === undefined ? last() + 1 : last();
    const more = await fetchList(`&from=${from}`);
    if (more) append(more);
  });

  const mark = (line) => {
    list.querySelectorAll('.here').forEach((one) => one.classList.remove('here'));
    list.querySelectorAll('mark.at').forEach((one) => one.classList.remove('at'));
    const row = byId(`L${line}`);
    if (!row) return;
    const folded = row.closest('details');
    if (folded) folded.open = true;
    row.classList.add('here');
    row.querySelectorAll('mark').forEach((one) => one.classList.add('at'));
    box.scrollTop += row.getBoundingClientRect().top - box.getBoundingClientRect().top
      - box.clientHeight / 3;
    lastTop = box.scrollTop;
  };

  // Shows a line, wherever it is.
  const goTo = async (line, isNew) => {
    if (follow) follow.checked = false;
    if (isNew || !byId(`L${line}`)) {
      const more = await fetchList(`&from=${Math.max(1, line - CHUNK / 4)}`).catch(() => null);
      if (more && more.children.length) replace(more);
    }
    mark(line);
  };

  // ---- following ----

  const fresh = byId('log-new');
  let seen = count();
  const showFresh = () => {
    const lines = count() - seen;
    fresh.hidden = lines <= 0 || follow?.checked;
    fresh.textContent = `${grouped(lines)} new ${lines === 1 ? 'line' : 'lines'}`;
  };
  const isAtBottom = () => box.scrollHeight - box.scrollTop - box.clientHeight < 30 && atEnd();

  const jumpToEnd = async () => {
    if (!atEnd()) {
      const more = await fetchList('').catch(() => null);
      if (!more) return;
      replace(more);
    }
    if (follow) follow.checked = true;
    seen = count();
    showFresh();
    toEnd();
  };
  fresh.addEventListener('click', jumpToEnd);
  follow?.addEventListener('change', () => { if (follow.checked) jumpToEnd(); });

  const look = () => busy(async () => {
    const isHere = atEnd();
    const from = list.dataset.open === undefined ? last() + 1 : Math.max(1, last());
    const query = isHere ? `&from=${from}` : '&lines=1';
    const more = await fetchList(`${query}&size=${list.dataset.bytes}`);
    if (!more) return;
    if (isHere) append(more);
    else { about(more); showRange(); }
    if (follow?.checked) { seen = count(); toEnd(); }
    showFresh();
  });
  const again = async () => {
    if (!document.hidden && isLive()) await look();
    if (isLive()) setTimeout(again, 1000);
  };
  if (isLive()) setTimeout(again, 1000);

  box.addEventListener('scroll', () => {
    const isUp = box.scrollTop < lastTop - 2;
    lastTop = box.scrollTop;
    if (follow) {
      if (isUp) follow.checked = false;
      else if (isAtBottom()) { follow.checked = true; seen = count(); showFresh(); }
    }
    if (isUp && box.scrollTop < NEAR && first() > 1) earlier();
    const below = box.scrollHeight - box.scrollTop - box.clientHeight;
    if (!isUp && below < NEAR && !atEnd()) later();
  }, { passive: true });

  // ---- search ----

  let hits = [];
  let at = -1;
  let run = 0;
  let isAll = true;
  const shown = byId('log-hits');
  const buttons = [byId('log-before'), byId('log-after')];
  const showHits = (words) => {
    const more = isAll ? '' : '+';
    if (words) shown.textContent = words;
    else if (!hits.length) shown.textContent = isAll ? 'none' : '…';
    else shown.textContent = `${grouped(at + 1)} of ${grouped(hits.length)}${more}`;
    buttons.forEach((button) => { button.hidden = !hits.length; });
  };
  const step = async (by) => {
    if (!hits.length) return;
    at = (at + by + hits.length) % hits.length;
    showHits();
    const mine = run;
    await goTo(hits[at], false);
    if (mine !== run) return;
    history.replaceState(null, '', `${box.dataset.page}${pattern}&line=${hits[at]}#L${hits[at]}`);
  };

  const search = async () => {
    run += 1;
    const mine = run;
    const text = form.elements.q.value;
    pattern = text ? `&q=${encodeURIComponent(text)}${form.elements.regex.checked ? '&regex=1' : ''}` : '';
    hits = [];
    at = -1;
    if (!text) {
      shown.textContent = '';
      buttons.forEach((button) => { button.hidden = true; });
      return;
    }
    let place = '';
    isAll = false;
    showHits();
    while (mine === run && hits.length < HITS) {
      const answer = await fetch(box.dataset.search + pattern + place).catch(() => null);
      if (!answer?.ok) { showHits(answer?.status === 400 ? 'no pattern' : 'failed'); return; }
      const found = await answer.json();
      if (mine !== run) return;
      const isFirst = !hits.length && found.lines.length > 0;
      for (const line of found.lines) hits.push(line);
      isAll = !found.next;
      if (isFirst) {
        at = 0;
        showHits();
        await goTo(hits[0], true);
      } else {
        showHits();
      }
      if (isAll) return;
      place = `&byte=${found.next.byte}&line=${found.next.line}`;
    }
  };
  form?.addEventListener('submit', (event) => { event.preventDefault(); search(); });
  form?.elements.regex.addEventListener('change', () => { if (form.elements.q.value) search(); });
  form?.elements.q.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !hits.length) return;
    if (pattern.startsWith(`&q=${encodeURIComponent(form.elements.q.value)}`)) {
      event.preventDefault();
      step(event.shiftKey ? -1 : 1);
    }
  });
  buttons.forEach((button, nth) => {
    button?.addEventListener('click', (event) => { event.preventDefault(); step(nth ? 1 : -1); });
    button?.setAttribute('role', 'button');
    if (button) button.href ||= '#log';
  });
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest('input, textarea, select, dialog')) return;
    if (document.documentElement.dataset.keys === 'off') return;
    if (event.key === '/') { event.preventDefault(); form?.elements.q.focus(); }
    else if (event.key === 'n' && hits.length) step(1);
    else if (event.key === 'N' && hits.length) step(-1);
  });

  // ---- lines, wrap, copy ----

  byId('log-wrap')?.addEventListener('change', (event) => {
    box.classList.toggle('nowrap', !event.target.checked);
    if (follow?.checked) toEnd();
  });
  byId('log-copy')?.addEventListener('click', () => {
    const texts = Array.from(list.querySelectorAll('li'), (row) => {
      const parts = row.querySelectorAll('summary, div[id]');
      return parts.length ? Array.from(parts, (part) => part.textContent).join('\n') : row.textContent;
    });
    navigator.clipboard.writeText(`${texts.join('\n')}\n`);
  });
  // A click on a line's number makes the address lead to it.
  box.addEventListener('click', (event) => {
    const row = event.target.closest('li[id]');
    if (!row || event.clientX - row.getBoundingClientRect().left > 58) return;
    const line = row.id.slice(1);
    history.replaceState(null, '', `${box.dataset.page}${pattern}&line=${line}#${row.id}`);
    mark(line);
  });
  const named = () => /^#L(\d+)$/.exec(location.hash)?.[1];
  window.addEventListener('hashchange', () => { if (named()) goTo(Number(named()), false); });

  // ---- begin ----

  const begin = async () => {
    const line = Number(named() ?? box.dataset.line ?? 0);
    if (form?.elements.q.value) {
      const kept = line;
      await search();
      if (kept && kept !== hits[at]) {
        at = Math.max(0, hits.findIndex((hit) => hit >= kept));
        showHits();
        await goTo(kept, false);
      }
      return;
    }
    if (!list.dataset.count) {
      const more = await fetchList('');
      if (more) replace(more);
      seen = count();
    }
    if (line) { await goTo(line, false); return; }
    if (new URLSearchParams(location.search).has('from')) return;
    if (follow) follow.checked = true;
    toEnd();
  };
  begin().catch(() => {});
})();
