/** Engines mix stdout and stderr in frames: kind, three zeros, length, bytes. What is not framed is left as it is. */
export function demultiplex(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at + 8 <= bytes.length;) {
    if (bytes[at]! > 2 || bytes.readUIntBE(at + 1, 3) !== 0) return bytes;
    const length = bytes.readUInt32BE(at + 4);
    parts.push(bytes.subarray(at + 8, at + 8 + length));
    at += 8 + length;
  }
  return Buffer.concat(parts);
}
