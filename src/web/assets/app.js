// swarm's own lines: one Trusted Types policy for htmx, and what the page does without the server.
(() => {
  'use strict';
  const policy = window.trustedTypes
    ? trustedTypes.createPolicy('swarm', { createHTML: (html) => html })
    : { createHTML: (html) => html };
  // For our other files: there may be no second policy. `page` is the address of a page.
  window.swarm = { policy, page: (path) => document.documentElement.dataset.base + path };
  htmx.registerExtension('swarm', { init: (api) => api.initSecurity(policy) });

  // On a narrow screen the list of pages is one line: the page's own name is in view.
  document.querySelector('.side [aria-current]')
    ?.scrollIntoView({ block: 'nearest', inline: 'center', behavior: 'instant' });

  // A click on a button that copies commands.
  document.addEventListener('click', (event) => {
    const button = event.target.closest('[data-copy]');
    if (!button) return;
    navigator.clipboard.writeText(button.dataset.copy).then(() => {
      const before = button.dataset.label ?? button.getAttribute('aria-label');
      button.dataset.label = before;
      button.setAttribute('aria-label', 'Copied');
      button.classList.add('c-ok');
      setTimeout(() => {
        button.setAttribute('aria-label', before);
        button.classList.remove('c-ok');
      }, 1500);
    });
  });
})();
