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

/** Keeps a value across reloads. In a full storage what can be had again makes room for it; without one the page goes on. */
export function remember(name: string, value: unknown): void {
  const text = JSON.stringify(value);
  try {
    localStorage.setItem(prefix + name, text);
  } catch {
    for (const kind of replaceable) for (const old of remembered(kind)) forget(old);
    try {
      localStorage.setItem(prefix + name, text);
    } catch {
      return;
    }
  }
}

/** Answers, arguments and names of before; never a sign-in, a draft or an example. */
const replaceable = ['history.', 'chat-results.', 'palette-args.', 'chat-title.', 'console-runs'];

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
