/** Bytes as text, by the charset that the content type (or, for HTML, the page itself) names; UTF-8 when none is known. */
export function decodeText(bytes: Buffer, contentType: string): string {
  const named = charset(contentType) ?? (/html/i.test(contentType) ? inPage(bytes) : undefined);
  try {
    return new TextDecoder(named ?? 'utf-8').decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

const charset = (text: string): string | undefined => /charset\s*=\s*["']?([\w.:-]+)/i.exec(text)?.[1];

function inPage(bytes: Buffer): string | undefined {
  return /<meta[^>]{0,200}charset\s*=\s*["']?([\w-]+)/i.exec(bytes.toString('latin1', 0, 2048))?.[1];
}
