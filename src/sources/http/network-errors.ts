import { Failure } from '../../schema/index.ts';

const reasons: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was closed early',
  UND_ERR_SOCKET: 'the connection was closed early',
  ENOTFOUND: 'the name is not known',
  EAI_AGAIN: 'the name could not be looked up',
  ETIMEDOUT: 'the connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  EPIPE: 'the connection was closed early',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the answer is shorter or longer than announced',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too large',
  HPE_HEADER_OVERFLOW: 'the headers of the answer are too large',
};

/** In words what the network said; undefined for a failure of ours, which says it itself. */
export function networkReason(error: unknown): string | undefined {
  if (error instanceof Failure) return undefined;
  const { code = '', name = '', message = '' } = error as { code?: unknown; name?: string; message?: string };
  if (typeof code === 'string' && reasons[code] !== undefined) return reasons[code];
  if (name === 'TimeoutError' || name === 'AbortError') return 'it took too long';
  if (typeof code === 'string' && code.startsWith('HPE_')) return 'what came back is no HTTP';
  if (typeof code === 'string' && /^(CERT_|ERR_TLS|DEPTH_|SELF_|UNABLE_|ERR_SSL)/.test(code))
    return `the certificate is not accepted (${code})`;
  return typeof code === 'string' && code !== '' ? code : message.slice(0, 200) || 'unknown trouble';
}

/** True when asking again cannot help: what came back will be the same. */
export function isHopeless(error: unknown): boolean {
  const code = String((error as { code?: unknown }).code ?? '');
  return (
    error instanceof Failure ||
    code.startsWith('HPE_') ||
    code === 'UND_ERR_HEADERS_OVERFLOW' ||
    code === 'UND_ERR_INVALID_ARG'
  );
}
