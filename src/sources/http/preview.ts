import type { SecretStore } from '../../store/index.ts';
import { Failure, fail } from '../../schema/index.ts';
import type { RequestPlan } from './request-plan.ts';
import { MissingValue, TemplateProblem, type Values } from './template.ts';

/** What would be sent. */
export interface RequestPreview {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | null;
  /** Secrets that the request uses, and whether they are set. */
  secrets: { name: string; isSet: boolean }[];
}

/** Fills a request with masks in the place of secrets, signatures and tokens. Throws tool.failed as a call would. */
export async function previewRequest(
  plan: RequestPlan,
  args: Record<string, unknown>,
  secrets: SecretStore,
): Promise<RequestPreview> {
  const isSet = async (name: string): Promise<boolean> =>
    secrets.get(name).then(
      () => true,
      (error: unknown) => {
        if (error instanceof Failure && error.code === 'secret.missing') return false;
        throw error;
      },
    );
  const used = await Promise.all(
    [...plan.ownSecretNames, ...plan.tokenSecretNames].map(async (name) => ({ name, isSet: await isSet(name) })),
  );
  const values: Values = {
    args,
    secret: (name) => `[secret:${name}]`,
    own: (name) => (name === 'timestamp' ? String(Math.floor(Date.now() / 1000)) : ''),
  };
  try {
    const built = plan.build(values);
    const set = plan.auth?.apply(built, values, '[access token]') ?? [];
    for (const name of set) built.headers[name] = masked(built.headers[name] ?? '');
    return { ...built, secrets: used };
  } catch (error) {
    if (error instanceof TemplateProblem || error instanceof MissingValue)
      throw fail('tool.failed', { reason: error.message });
    throw error;
  }
}

/** Basic is base64 and an HMAC is a digest of the mask: shown as what they stand for. */
function masked(value: string): string {
  if (value.startsWith('Basic ')) return `Basic [base64 of ${Buffer.from(value.slice(6), 'base64').toString('utf8')}]`;
  return /^[0-9a-f]{64}$/.test(value) ? '[signature]' : value;
}
