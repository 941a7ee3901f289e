let last: HTMLElement | undefined;

/** From now on it is known what had the focus last outside of all dialogs and menus. */
export function watchFocus(): void {
  document.addEventListener('focusin', ({ target }) => {
    if (target instanceof HTMLElement && !target.closest('[role=dialog], [role=menu]')) last = target;
  });
}

/** A dialog closed: the focus goes back to where it was, or to the page when that is gone; never to nowhere. */
export function returnFocus(event: Event): void {
  event.preventDefault();
  const now = document.activeElement;
  if (now && now !== document.body) return;
  const target = last?.isConnected ? last : document.getElementById('content');
  target?.focus({ preventScroll: true });
}
