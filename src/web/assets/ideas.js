// Ideas: choosing several of a list, files that were seen, comments on lines of a diff.
(() => {
  'use strict';
  const $ = (selector, root = document) => root.querySelector(selector);
  const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };

  // ---- choosing ideas ----
  const picks = () => [...document.querySelectorAll('.picks input[name="id"]')];
  const counted = () => {
    const output = $('#picked');
    if (!output) return;
    const chosen = picks().filter((box) => box.checked).length;
    output.textContent = chosen ? `${chosen} chosen` : '';
  };
  const all = $('#pick-all');
  if (all) {
    all.hidden = false;
    $('input', all).addEventListener('change', (event) => {
      picks().forEach((box) => { box.checked = event.target.checked; });
      counted();
    });
    document.addEventListener('change', (event) => {
      if (event.target.matches('.picks input[name="id"]')) counted();
    });
    counted();
  }

  // ---- files that were seen ----
  const SEEN = 'swarm-seen';
  const remembered = () => {
    try { return JSON.parse(localStorage.getItem(SEEN) ?? '[]'); } catch { return []; }
  };
  document.querySelectorAll('[data-seen]').forEach((label) => {
    const box = $('input', label);
    const file = label.closest('.dfile');
    const key = label.dataset.seen;
    label.hidden = false;
    box.checked = remembered().includes(key);
    file.classList.toggle('is-seen', box.checked);
    box.addEventListener('change', () => {
      const others = remembered().filter((other) => other !== key);
      // The oldest are forgotten.
      const now = (box.checked ? [...others, key] : others).slice(-2000);
      try { localStorage.setItem(SEEN, JSON.stringify(now)); } catch { /* it is only a mark */ }
      file.classList.toggle('is-seen', box.checked);
    });
  });

  // ---- newer work than the one that is drawn ----
  const bar = $('#review');
  const drawn = bar?.dataset.source ?? '';
  const compare = () => {
    const newer = $('#newer');
    const same = newer?.dataset.source === drawn;
    // Only a change is written: each write is seen again here.
    if (newer && newer.hidden !== same) newer.hidden = same;
  };
  const place = $('#f-idea-newer');
  if (place) {
    new MutationObserver(compare)
      .observe(place, { subtree: true, childList: true, attributes: true, attributeFilter: ['data-source', 'hidden'] });
    compare();
  }

  // ---- comments on lines ----
  const sheet = $('[data-comments]');
  if (!sheet || !bar) return;
  const comments = new Map();
  const DRAFT = `swarm-comments ${location.pathname} ${drawn}`;

  const show = () => {
    const count = comments.size;
    $('#comments').hidden = count === 0;
    $('[data-send-back]').hidden = count > 0;
    $('#comment-count').textContent =
      count === 1 ? 'Send back with 1 comment' : `Send back with ${count} comments`;
    $('#comment-list').replaceChildren(...[...comments].map(([key, { where, text }]) => {
      const field = make('input', { type: 'hidden', name: 'line', value: `${where}: ${text}` });
      const remove = make('button', { type: 'button', className: 'b quiet', textContent: 'Remove' });
      remove.setAttribute('aria-label', `Remove the comment on ${where}`);
      remove.addEventListener('click', () => { comments.delete(key); show(); });
      return make('li', {}, field, make('code', { textContent: where }),
        make('span', { textContent: text, className: 'grow' }), remove);
    }));
    try { sessionStorage.setItem(DRAFT, JSON.stringify([...comments])); } catch { /* not kept */ }
  };

  // The row with a line's number, on the side that has it after the change, or before.
  const rowOf = (file, number, isOld) => [...file.querySelectorAll('tr')].find((row) => {
    const numbers = row.querySelectorAll('td.n');
    return numbers[isOld ? 0 : 1]?.textContent === String(number);
  });

  const open = (file, number, isOld, columns) => {
    const path = file.dataset.path;
    const side = isOld ? ' (before)' : '';
    const key = JSON.stringify([path, number, isOld]);
    const id = `comment-${file.id}-${isOld ? 'old' : 'new'}-${number}`;
    const before = document.getElementById(id);
    if (before) { before.focus(); return; }
    const row = rowOf(file, number, isOld);
    if (!row) return;
    const text = make('textarea', { id, rows: 2, value: comments.get(key)?.text ?? '' });
    const label = make('label', { htmlFor: id }, make('b', { textContent: `Line ${number}${side}` }),
      make('span', { className: 'dim', textContent: ' goes back with the work' }));
    const keep = make('button', { type: 'submit', className: 'b', textContent: 'Keep the comment' });
    const drop = make('button', { type: 'button', className: 'b quiet', textContent: 'Remove' });
    const form = make('form', { className: 'talk' }, label, text,
      make('div', { className: 'row' }, keep, drop));
    const cell = make('td', { colSpan: columns }, form);
    const talk = make('tr', { className: 'talk' }, cell);
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      if (text.value.trim()) {
        comments.set(key, { where: `${path}:${number}${side}`, text: text.value.trim() });
      } else {
        comments.delete(key);
      }
      talk.remove();
      show();
    });
    drop.addEventListener('click', () => { comments.delete(key); talk.remove(); show(); });
    row.after(talk);
    text.focus();
  };

  sheet.classList.add('is-live');
  $('#comment-hint').hidden = false;
  sheet.addEventListener('pointerover', (event) => {
    const cell = event.target.closest('td.n');
    if (cell?.textContent) cell.title = 'Comment on this line';
  });
  sheet.addEventListener('click', (event) => {
    const cell = event.target.closest('td.n');
    if (!cell || !cell.textContent) return;
    const row = cell.parentElement;
    const numbers = [...row.querySelectorAll('td.n')];
    // A line that both sides have is commented on as it is after the change.
    const after = numbers[1]?.textContent;
    const isSplit = row.closest('table').classList.contains('split');
    const isOld = numbers[0] === cell && (isSplit ? !!row.querySelector('.del') : !after);
    const number = Number(isOld ? cell.textContent : after || cell.textContent);
    open(cell.closest('.dfile'), number, isOld, 4);
  });

  // The same without a mouse: a number and a button in the head of each file.
  sheet.querySelectorAll('.dfile').forEach((file) => {
    const first = file.querySelector('tr:not(.hunk) td.n:nth-of-type(2):not(:empty)');
    if (!first) return;
    const number = make('input', { type: 'number', min: 1, value: first.textContent });
    number.setAttribute('aria-label', `Line of ${file.dataset.path}`);
    const button = make('button', { type: 'submit', className: 'b quiet', textContent: 'Comment' });
    button.setAttribute('aria-label', `Comment on this line of ${file.dataset.path}`);
    const form = make('form', { className: 'row at-line' }, 'Line', number, button);
    // Its row is marked, as the one under the pointer.
    const mark = (isOn) => {
      $('.is-at', sheet)?.classList.remove('is-at');
      if (isOn) rowOf(file, Number(number.value), false)?.classList.add('is-at');
    };
    form.addEventListener('focusin', () => mark(true));
    form.addEventListener('focusout', () => mark(false));
    number.addEventListener('input', () => mark(true));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      open(file, Number(number.value), false, 4);
    });
    $('header', file).append(form);
  });

  try {
    JSON.parse(sessionStorage.getItem(DRAFT) ?? '[]').forEach(([key, value]) => comments.set(key, value));
  } catch { /* none */ }
  show();
})();
