/** True for content types that stand for bytes: what is sent in them is a file. More (a charset, further types) may follow. */
export function isByteType(contentType: string): boolean {
  return /^\s*((image|audio|video|font)\/|application\/(octet-stream|pdf|zip|gzip|x-tar)(?![^\s;,]))/i.test(
    contentType,
  );
}

/** True for those of them that nobody can read as text: an SVG image is a file when it is sent, but an answer is read. */
export function isUnreadableType(contentType: string): boolean {
  return isByteType(contentType) && !/^\s*image\/svg\+xml(?![^\s;,])/i.test(contentType);
}
