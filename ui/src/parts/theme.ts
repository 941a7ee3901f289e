import { useEffect, useState } from 'react';
import { recall, remember } from './memory.ts';

export type Theme = 'system' | 'light' | 'dark';

const darkSystem = matchMedia('(prefers-color-scheme: dark)');

function apply(theme: Theme): void {
  const isDark = theme === 'dark' || (theme === 'system' && darkSystem.matches);
  document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light';
  dispatchEvent(new Event('oubliette:theme'));
}

/** The chosen theme; `system` follows the machine while the page is open. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => recall<Theme>('theme') ?? 'system');
  useEffect(() => {
    apply(theme);
    const changed = (): void => apply(theme);
    darkSystem.addEventListener('change', changed);
    return () => darkSystem.removeEventListener('change', changed);
  }, [theme]);
  return [
    theme,
    (next) => {
      remember('theme', next);
      setTheme(next);
    },
  ];
}
