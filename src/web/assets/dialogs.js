// Dialogs over the page, forms that answer beside their button, and drafts of typed text. Without
// this file each dialog is a page, and each form leads to the next one.
(() => {
  'use strict';
  const { policy } = window.swarm;
  const SCRIPT = { 'swarm-script': '1' };
  const parse = (text) => new DOMParser().parseFromString(policy.createHTML(text), 'text/html');
  const isAction = (form) => form.method === 'post' && addressOf(form).includes('/do/');
  const NO_ANSWER = `<main><div class="card ask" data-sheet>
    <div class="dh"><h1 id="ask-title">The daemon does not answer</h1></div>
    <div class="body"><p>Nothing was done. Start it: <code>swarm start</code></p></div>
    <div class="df"><a class="b" href="" data-close autofocus>Close</a></div></div></main>`;
  const addressOf = (form) => form.getAttribute('action') ?? '';

  // ---- the focus

  // On what this names, or, if that is gone or hidden, on the page's text.
  const focusOn = (selector) => {
    if (selector) document.querySelector(selector)?.focus({ preventScroll: true });
    if (document.activeElement !== document.body) return;
    document.getElementById('main').focus({ preventScroll: true });
  };

  // After an action the page is drawn anew: the focus goes to what acted, if it is still there.
  const FOCUS = 'swarm-focus';
  const returnFocus = () => {
    const selector = sessionStorage.getItem(FOCUS);
    sessionStorage.removeItem(FOCUS);
    if (selector !== null) focusOn(selector);
  };
  const actorOf = (form) => {
    if (dialog?.contains(form)) return opener;
    const own = `form[action="${CSS.escape(addressOf(form))}"]`;
    return ['input:not([type=hidden])', 'textarea', 'button'].map((one) => `${own} ${one}`).join();
  };

  // ---- dialogs

  let dialog = null;
  let opener = '';
  let onClose = null;

  const open = (link) => {
    const address = link.getAttribute('href');
    if (!dialog?.contains(link)) opener = `a[data-dialog][href="${CSS.escape(address)}"]`;
    return openAt(address);
  };

  const openAt = async (address) => {
    const answer = await fetch(address, { headers: SCRIPT }).catch(() => null);
    const page = parse(answer ? await answer.text() : NO_ANSWER);
    const sheet = page.querySelector('main [data-sheet]');
    if (!sheet) {
      location.assign(address);
      return;
    }
    show(sheet);
  };

  const show = (sheet) => {
    const isNew = !dialog;
    if (isNew) {
      dialog = document.createElement('dialog');
      dialog.setAttribute('aria-labelledby', 'ask-title');
      dialog.addEventListener('close', closed);
      document.body.append(dialog);
    }
    dialog.replaceChildren(document.importNode(sheet, true));
    const heading = dialog.querySelector('h1');
    if (heading) {
      const lower = document.createElement('h2');
      lower.id = heading.id;
      lower.append(...heading.childNodes);
      heading.replaceWith(lower);
    }
    restore(dialog);
    if (isNew) dialog.showModal();
    const first = dialog.querySelector('.refused, [autofocus]') ?? dialog;
    if (first.matches('.refused')) first.tabIndex = -1;
    first.focus();
    // A suggested name is replaced by what is typed.
    if (first.matches('input[data-check]')) first.select();
  };

  const closed = () => {
    dialog.remove();
    dialog = null;
    const after = onClose;
    onClose = null;
    if (after) {
      after();
      return;
    }
    // The browser has given the focus back, unless a live update drew the link anew.
    if (document.activeElement === document.body) focusOn(opener);
  };

  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey
        || event.shiftKey || event.altKey) return;
    const link = event.target.closest('a[data-dialog], dialog [data-close], dialog [data-go]');
    if (!link) return;
    event.preventDefault();
    if (link.matches('[data-dialog]')) open(link);
    else dialog?.close();
  });

  // ---- forms

  // The server acts once on a form, so a page that has acted is drawn anew.
  const go = (address, actor) => {
    const here = location.pathname + location.search;
    if (address === here || address === `${here}/`) {
      sessionStorage.setItem(FOCUS, actor);
      location.reload();
    } else location.assign(address);
  };

  const refusal = (text) => {
    const box = document.createElement('div');
    box.className = 'refused';
    box.setAttribute('role', 'alert');
    const line = document.createElement('p');
    line.textContent = text;
    box.append(line);
    return box;
  };

  const beside = (form, box) => {
    form.querySelectorAll('.refused').forEach((old) => old.remove());
    const body = form.querySelector('.body');
    if (body) body.prepend(box);
    else form.append(box);
  };

  const refused = (form, answer, page) => {
    const sheet = page.querySelector('main [data-sheet]');
    const box = page.querySelector('.refused');
    const own = form.closest('[data-sheet]');
    if (sheet && dialog?.contains(form)) {
      show(sheet);
    } else if (sheet?.matches('[data-fresh]') && !own) {
      opener = actorOf(form);
      show(sheet);
    } else if (sheet && own) {
      const next = document.importNode(sheet, true);
      own.replaceWith(next);
      const alert = next.querySelector('.refused');
      if (alert) {
        alert.tabIndex = -1;
        alert.focus();
      }
    } else if (box) {
      beside(form, document.importNode(box, true));
    } else {
      const title = page.querySelector('h1')?.textContent ?? `It was refused (${answer.status})`;
      beside(form, refusal(`${title}. Nothing was done.`));
    }
  };

  const send = async (form, button) => {
    if (form.hasAttribute('aria-busy')) return;
    form.setAttribute('aria-busy', 'true');
    const actor = actorOf(form);
    const body = new URLSearchParams(new FormData(form, button));
    try {
      const options = { method: 'POST', body, headers: SCRIPT };
      const answer = await fetch(addressOf(form), options).catch(() => null);
      if (!answer) {
        beside(form, refusal('The daemon did not answer. Send it again: it acts once.'));
        return;
      }
      // A preference leads on as a form without script does.
      const address = answer.redirected ? new URL(answer.url).pathname
        : answer.headers.get('swarm-go');
      if (address) forget(form);
      if (answer.status === 204 || answer.redirected) {
        go(address, actor);
        return;
      }
      const page = parse(await answer.text());
      const sheet = page.querySelector('main [data-sheet]');
      if (!address || !sheet) {
        refused(form, answer, page);
        return;
      }
      show(sheet);
      onClose = () => go(address, actor);
    } finally {
      form.removeAttribute('aria-busy');
    }
  };

  document.addEventListener('submit', (event) => {
    if (event.defaultPrevented || !isAction(event.target)) return;
    event.preventDefault();
    const { submitter } = event;
    if (submitter?.matches('[data-dialog]')) {
      // A button that asks about what its form has chosen.
      const address = submitter.getAttribute('formaction');
      opener = `[formaction="${CSS.escape(address)}"]`;
      openAt(`${address}?${new URLSearchParams(new FormData(event.target))}`);
    } else send(event.target, submitter);
  });

  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    const form = event.target.closest('form');
    const button = event.target.matches('textarea') && form?.querySelector('button.pri');
    if (button && isAction(form)) form.requestSubmit(button);
  });

  // A page that the browser kept was drawn before what was done since.
  window.addEventListener('pageshow', (event) => {
    if (event.persisted) location.reload();
  });

  // ---- drafts: what was typed survives a reload of the tab

  const TYPED = 'textarea[name], input[name]:not([type]), input[name][type="text"]';
  const key = (field) => `draft ${addressOf(field.form)} ${field.name}`;

  const restore = (root) => {
    for (const field of root.querySelectorAll(TYPED)) {
      if (!field.form || !isAction(field.form)) continue;
      const draft = JSON.parse(sessionStorage.getItem(key(field)) ?? 'null');
      if (draft && draft.base === field.defaultValue && field.value === field.defaultValue) {
        field.value = draft.value;
      }
    }
  };

  const forget = (form) => {
    const start = `draft ${addressOf(form)} `;
    for (const name of Object.keys(sessionStorage)) {
      if (name.startsWith(start)) sessionStorage.removeItem(name);
    }
  };

  document.addEventListener('input', (event) => {
    const field = event.target;
    if (!field.matches(TYPED) || !field.form || !isAction(field.form)) return;
    const draft = { base: field.defaultValue, value: field.value };
    sessionStorage.setItem(key(field), JSON.stringify(draft));
  });

  restore(document);
  returnFocus();
})();
