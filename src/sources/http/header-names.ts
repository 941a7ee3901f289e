/** Headers of the connection itself: set by us or not at all. */
const ofTheConnection = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'te',
  'trailer',
  'expect',
  'proxy-authorization',
  'proxy-connection',
]);

export const isConnectionHeader = (name: string): boolean => ofTheConnection.has(name.toLowerCase());

export const isHeaderName = (name: string): boolean => /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name);
