// The one script of pages for members. Everything also works without it.

addEventListener('keydown', (event) => {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest('input, textarea, select')) return;
  const search = document.querySelector('input[name=q]');
  if (key !== '/' || !search || document.body.dataset.keys === 'off') return;
  event.preventDefault();
  search.focus();
});
