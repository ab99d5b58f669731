// The time bar: drag to a moment, step by event and milestone, play. A moment is an address
// (`?at=`), so each step is a navigation: the newest wins, and Back works.
(() => {
  'use strict';
  const PLAYING = 'swarm-play';
  const SCROLL = 'swarm-scroll';
  const STEP = 900;
  const form = () => document.querySelector('.time form.scrub');
  const range = () => form()?.querySelector('input[type=range]');
  const columns = () => (form()?.dataset.seqs ?? '').split(' ').filter(Boolean).map(Number);

  const address = (seq) => {
    const url = new URL(location.href);
    url.searchParams.delete('page');
    if (seq >= Number(range().max)) url.searchParams.delete('at');
    else url.searchParams.set('at', seq);
    return url;
  };
  const go = (href) => {
    sessionStorage.setItem(SCROLL, String(scrollY));
    location.assign(href);
  };

  // The picture is drawn in time, the range counts events: columns translate between the two.
  const seqAt = (place) => {
    const all = columns();
    const index = Math.min(all.length - 1, Math.max(0, Math.floor(place * all.length)));
    return all[index] ?? Number(range().value);
  };
  const placeOf = (seq) => {
    const all = columns();
    const index = all.findIndex((last) => last >= seq);
    return index < 0 ? 1 : (index + 0.5) / Math.max(1, all.length);
  };
  const preview = (seq, place) => {
    const bar = form();
    const at = `${(place * 100).toFixed(2)}%`;
    const head = bar.querySelector('.head');
    if (!head) return;
    head.setAttribute('x1', at);
    head.setAttribute('x2', at);
    bar.querySelector('.grip').setAttribute('cx', at);
    const time = new Date(Number(bar.dataset.from)
      + (Number(bar.dataset.to) - Number(bar.dataset.from)) * place);
    const words = `about ${time.toTimeString().slice(0, 5)}, event ${seq}`;
    range().setAttribute('aria-valuetext', words);
    const clock = document.querySelector('.time .clock');
    clock.querySelector('b').textContent = time.toTimeString().slice(0, 8);
    clock.querySelector('span').lastChild.textContent = String(seq);
  };

  let held = null;
  const place = (event) => {
    const box = range().getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  const drag = (event) => {
    held = place(event);
    const seq = held >= 0.999 ? Number(range().max) : seqAt(held);
    range().value = seq;
    preview(seq, held);
  };
  const isRange = (event) => event.target === range();
  document.addEventListener('pointerdown', (event) => {
    if (isRange(event) && columns().length) drag(event);
  });
  document.addEventListener('pointermove', (event) => { if (held !== null) drag(event); });
  // Live updates leave the value alone: now is the end.
  document.addEventListener('focusin', (event) => {
    const isPast = document.documentElement.classList.contains('is-past');
    if (isRange(event) && held === null && !isPast) range().value = range().max;
  });
  document.addEventListener('pointercancel', () => { held = null; });
  document.addEventListener('input', (event) => {
    if (!isRange(event)) return;
    const seq = Number(range().value);
    if (held === null) preview(seq, placeOf(seq));
    else range().value = seqAt(held);
  });
  document.addEventListener('pointerup', (event) => {
    if (held === null) return;
    drag(event);
    held = null;
    go(address(Number(range().value)));
  });
  // By keyboard: the arrows move the range, and the moment is shown when they rest.
  let resting;
  document.addEventListener('change', (event) => {
    if (!isRange(event) || held !== null) return;
    clearTimeout(resting);
    resting = setTimeout(() => go(address(Number(range().value))), 400);
  });

  const isTyping = (target) => target.closest('input:not([type=range]), textarea, select, dialog');
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.documentElement.dataset.keys === 'off') return;
    if (!'[]{}l'.includes(event.key)) return;
    const link = [...document.querySelectorAll('.time [data-key]')]
      .find((one) => one.dataset.key === event.key);
    if (!link || link.getAttribute('aria-current')) return;
    event.preventDefault();
    stop();
    go(link.href);
  });

  // Play: from one column with events to the next, so idle stretches take no time.
  const button = document.getElementById('time-play');
  let timer;
  const stop = () => {
    clearTimeout(timer);
    sessionStorage.removeItem(PLAYING);
    button?.setAttribute('aria-pressed', 'false');
    button?.setAttribute('aria-label', 'Play');
    button?.querySelector('use').setAttribute('href', '#play');
  };
  const next = () => {
    const here = Number(range().value);
    const found = columns().find((seq) => seq > here);
    if (found === undefined || found >= Number(range().max)) {
      stop();
      go(address(Number(range().max)));
    } else go(address(found));
  };
  const play = () => {
    sessionStorage.setItem(PLAYING, '1');
    button.setAttribute('aria-pressed', 'true');
    button.setAttribute('aria-label', 'Stop playing');
    button.querySelector('use').setAttribute('href', '#pause');
    timer = setTimeout(next, STEP);
  };
  if (button && range()) {
    button.hidden = false;
    const isPast = document.documentElement.classList.contains('is-past');
    if (sessionStorage.getItem(PLAYING) && isPast) play();
    else sessionStorage.removeItem(PLAYING);
    button.addEventListener('click', () => {
      if (sessionStorage.getItem(PLAYING)) { stop(); return; }
      play();
      clearTimeout(timer);
      if (isPast) next();
      else go(address(columns()[0] ?? Number(range().min)));
    });
  }
  const scrolled = sessionStorage.getItem(SCROLL);
  sessionStorage.removeItem(SCROLL);
  if (scrolled) scrollTo(0, Number(scrolled));
})();
