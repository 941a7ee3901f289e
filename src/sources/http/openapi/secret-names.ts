/** `api-key` becomes `API_KEY`. */
export function upper(text: string): string {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .toUpperCase()
    .slice(0, 40);
}

/** How the secrets of an API begin, whatever it is called: the name of a secret never begins with a digit. */
export function secretPrefix(text: string): string {
  return (upper(text) || 'API').replace(/^(?=\d)/, '_');
}
