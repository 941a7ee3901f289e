import { hash } from 'node:crypto';

const blockBytes = 64;
const digestBytes = 32;
const mostBytesOfUnit = 3;

/**
 * HMAC-SHA-256 of many short texts with one key. `createHmac` makes an object of OpenSSL for every text, which takes
 * longer than the hash itself; here the two blocks of the key are prepared once and hashed in one go with each text.
 */
export class KeyedHash {
  /** The inner block of the key, then room for the text; the outer block, then room for the inner digest. */
  #inner = Buffer.alloc(4096, 0x36);
  readonly #outer = Buffer.alloc(blockBytes + digestBytes, 0x5c);

  /** A key of at most one block. */
  constructor(key: Uint8Array) {
    if (key.length > blockBytes) throw new RangeError(`a key of ${key.length} bytes is longer than ${blockBytes}`);
    for (const [at, byte] of key.entries()) {
      this.#inner[at]! ^= byte;
      this.#outer[at]! ^= byte;
    }
  }

  /** As hexadecimal digits. */
  of(text: string): string {
    this.#makeRoom(blockBytes + text.length * mostBytesOfUnit);
    const end = blockBytes + this.#inner.write(text, blockBytes);
    this.#outer.write(hash('sha256', this.#inner.subarray(0, end), 'latin1'), blockBytes, 'latin1');
    return hash('sha256', this.#outer, 'hex');
  }

  #makeRoom(bytes: number): void {
    if (bytes <= this.#inner.length) return;
    const larger = Buffer.alloc(bytes);
    this.#inner.copy(larger, 0, 0, blockBytes);
    this.#inner = larger;
  }
}
