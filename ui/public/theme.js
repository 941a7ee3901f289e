// Runs before the first paint, so that a page in the dark theme never flashes white.
(function () {
  let choice = null;
  try {
    choice = JSON.parse(localStorage.getItem('oubliette.theme') || 'null');
  } catch {
    choice = null;
  }
  const dark = choice === 'dark' || (choice !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
})();
