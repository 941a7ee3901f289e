import { asText, TemplateProblem } from './template.ts';

/** A value as part of one path segment; a list becomes `a,b`. */
export function forPath(value: unknown): string {
  return Array.isArray(value)
    ? value.map((each) => encodeURIComponent(asText(each))).join(',')
    : encodeURIComponent(asText(value));
}

/** A value inside a query or a form. */
export function forQuery(value: unknown): string {
  return encodeURIComponent(asText(value));
}

/** A value inside a header; a list becomes `a, b`. Line breaks and what a header cannot carry are refused. */
export function forHeader(value: unknown): string {
  const text = Array.isArray(value) ? value.map(asText).join(', ') : asText(value);
  if (/[\r\n\0]/.test(text))
    throw new TemplateProblem('a value for a header holds a line break or a NUL, which is refused');
  if (/[^\t\x20-\x7e\x80-\xff]/.test(text))
    throw new TemplateProblem('a value for a header holds a character that headers cannot carry');
  return text;
}

/** A value as part of a cookie: nothing in it can end the cookie and begin another. */
export function forCookie(value: unknown): string {
  if (Array.isArray(value)) return value.map(forCookie).join(',');
  const text = asText(value);
  if (/[\x00-\x1f\x7f]/.test(text)) throw new TemplateProblem('a value for a cookie holds a control character');
  return text.toWellFormed().replace(/[^\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]/gu, encodeURIComponent);
}

/** A value inside a text that is JSON: `inString` says whether the placeholder stands between quotes. */
export function forJsonText(value: unknown, inString: boolean): string {
  return inString ? JSON.stringify(asText(value)).slice(1, -1) : JSON.stringify(value);
}

/** A value inside XML, between tags or inside an attribute. */
export function forXml(value: unknown): string {
  return asText(value).replace(/[&<>"']/g, (each) => `&#${each.charCodeAt(0)};`);
}

const dotSegment = /^(\.|%2e){1,2}$/i;

/** A value that is `..` would climb out of the path the author wrote. */
export function refuseDotSegments(path: string): void {
  for (const segment of path.split('/'))
    if (dotSegment.test(segment))
      throw new TemplateProblem(`a value would make the path segment ${segment}, which is refused`);
}
