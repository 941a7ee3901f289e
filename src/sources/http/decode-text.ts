import { isUtf8 } from 'node:buffer';

/** Bytes as text, by their own mark, by the charset that the content type (or, for HTML, the page itself) names; UTF-8 when none is known. */
export function decodeText(bytes: Buffer, contentType: string): string {
  const named =
    charset(contentType) ??
    marked(bytes) ??
    (/html/i.test(contentType) ? inPage(bytes) : undefined) ??
    unsaid(bytes, contentType);
  try {
    return new TextDecoder(named).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

/** True for bytes that no charset which is named, or usual for this type, makes a text of. */
export function isNoText(bytes: Buffer, contentType: string): boolean {
  const isCalledText = /^\s*text\/|[/+](json|xml|javascript|x-www-form-urlencoded)\b/i.test(contentType);
  return !isCalledText && (charset(contentType) ?? marked(bytes)) === undefined && !isUtf8(bytes);
}

const charset = (text: string): string | undefined => /charset\s*=\s*["']?([\w.:-]+)/i.exec(text)?.[1];

/** UTF-16 that says so with its first character. */
function marked([first, second]: Buffer): string | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
}

/** What old servers mean by text without a charset, when it is no UTF-8. */
const unsaid = (bytes: Buffer, contentType: string): string =>
  /^\s*text\//i.test(contentType) && !isUtf8(bytes) ? 'windows-1252' : 'utf-8';

function inPage(bytes: Buffer): string | undefined {
  return /<meta[^>]{0,200}charset\s*=\s*["']?([\w-]+)/i.exec(bytes.toString('latin1', 0, 2048))?.[1];
}
