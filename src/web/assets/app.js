// swarm's own lines: one Trusted Types policy for htmx, and what the page does without the server.
(() => {
  'use strict';
  const policy = window.trustedTypes
    ? trustedTypes.createPolicy('swarm', { createHTML: (html) => html })
    : { createHTML: (html) => html };
  // For our other files: there may be no second policy.
  window.swarm = { policy };
  htmx.registerExtension('swarm', { init: (api) => api.initSecurity(policy) });

  // A click on a button that copies commands.
  document.addEventListener('click', (event) => {
    const button = event.target.closest('[data-copy]');
    if (!button) return;
    navigator.clipboard.writeText(button.dataset.copy).then(() => {
      const before = button.dataset.label ?? button.textContent;
      button.dataset.label = before;
      button.querySelector('.label').textContent = 'Copied';
      setTimeout(() => { button.querySelector('.label').textContent = before.trim(); }, 1500);
    });
  });

  // The daemon is gone: the page stays readable, its forms are inert.
  const gone = (is) => {
    document.documentElement.toggleAttribute('data-gone', is);
    document.querySelectorAll('form button').forEach((button) => { button.disabled = is; });
    const line = document.getElementById('gone');
    if (line) line.hidden = !is;
  };
  document.addEventListener('htmx:sse:error', () => gone(true));
  document.addEventListener('htmx:sse:after:connection', () => gone(false));
})();
