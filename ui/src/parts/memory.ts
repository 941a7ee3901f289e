const prefix = 'oubliette.';

/** What this browser remembers under a name; undefined when there is nothing or storage is closed to us. */
export function recall<T>(name: string): T | undefined {
  try {
    const text = localStorage.getItem(prefix + name);
    return text === null ? undefined : (JSON.parse(text) as T);
  } catch {
    return undefined;
  }
}

/** Keeps a value across reloads. A full storage loses the memory, never the page. */
export function remember(name: string, value: unknown): void {
  try {
    localStorage.setItem(prefix + name, JSON.stringify(value));
  } catch {
    dropOldest();
  }
}

export function forget(name: string): void {
  try {
    localStorage.removeItem(prefix + name);
  } catch {
    return;
  }
}

/** Names in memory that start like this. */
export function remembered(start: string): string[] {
  try {
    return Object.keys(localStorage)
      .filter((key) => key.startsWith(prefix + start))
      .map((key) => key.slice(prefix.length));
  } catch {
    return [];
  }
}

/** Forgets everything that belongs to a person; looks are kept. */
export function forgetPerson(): void {
  for (const name of remembered('')) if (name !== 'theme' && name !== 'language') forget(name);
}

function dropOldest(): void {
  for (const name of remembered('history.').slice(0, 20)) forget(name);
}
