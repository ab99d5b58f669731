// A name that is checked while it is typed, and text that one button copies.
(() => {
  'use strict';
  let waits;
  let newest = 0;

  const check = (input, answer) => {
    const mine = (newest += 1);
    const address = `${input.dataset.check}?name=${encodeURIComponent(input.value)}`;
    fetch(address, { headers: { Accept: 'application/json' } })
      .then((response) => response.json())
      .then(({ free, words }) => {
        if (mine !== newest) return;
        input.setCustomValidity(free ? '' : words);
        if (answer) answer.textContent = words;
      })
      .catch(() => { input.setCustomValidity(''); });
  };

  document.addEventListener('input', (event) => {
    const input = event.target.closest('input[data-check]');
    if (!input) return;
    const answer = input.form?.querySelector('[data-check-answer]');
    input.setCustomValidity('');
    clearTimeout(waits);
    waits = setTimeout(() => check(input, answer), 200);
  });

  document.querySelectorAll('button[data-copy-from]').forEach((button) => {
    button.hidden = false;
    button.addEventListener('click', () => {
      const from = document.getElementById(button.dataset.copyFrom);
      const label = button.querySelector('.label');
      if (!from) return;
      const before = label.textContent;
      navigator.clipboard.writeText(from.textContent).then(() => {
        label.textContent = 'Copied';
        setTimeout(() => { label.textContent = before; }, 1500);
      });
    });
  });
})();
