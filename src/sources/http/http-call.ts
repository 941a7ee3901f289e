import { fail, Failure, type Call, type ToolResult, type ToolView } from '../../schema/index.ts';
import type { Redactor, Secret, SecretStore } from '../../store/index.ts';
import type { AnswerPlan, KeepBlob } from './answer.ts';
import type { DialAnswer, DialPolicy, Dialler } from './dialler.ts';
import { isHopeless, networkReason } from './network-errors.ts';
import type { OauthTokens } from './oauth-tokens.ts';
import { acceptedEncodings, readText } from './read-body.ts';
import type { BuiltRequest, RequestPlan } from './request-plan.ts';
import { isTransient, waitMs, waitWithin } from './retry.ts';
import type { DemandHost } from './secret-hosts.ts';
import { MissingValue, TemplateProblem, type Values } from './template.ts';

export interface HttpSourceDeps {
  dialler: Dialler;
  secrets: SecretStore;
  redactor: Redactor;
  /** Keeps the bytes of a binary answer for their owner; without it they stay in the answer. */
  keepBlob?: (owner: string, ...blob: Parameters<KeepBlob>) => ReturnType<KeepBlob>;
}

export interface Plan {
  request: RequestPlan;
  answer: AnswerPlan;
}

export interface HttpCallOptions {
  deps: HttpSourceDeps;
  tokens: OauthTokens;
  demandHost: DemandHost;
  plan: Plan;
  tool: ToolView;
  call: Call;
}

const defaultTimeoutMs = 10_000;
const maxTimeoutMs = 60_000;
const defaultMaxBytes = 4 * 1024 * 1024;
const mostTries = 3;

type Tried =
  | { done: ToolResult }
  /** `status` is there when the server answered. */
  | { failure: Failure; mayRetry: boolean; status?: number; retryAfter?: string | string[] | undefined };

/** One call of one tool: everything it waits for ends at its deadline. */
export class HttpCall {
  readonly #deps: HttpSourceDeps;
  readonly #tokens: OauthTokens;
  readonly #demandHost: DemandHost;
  readonly #plan: Plan;
  readonly #tool: ToolView;
  readonly #call: Call;
  readonly #abort = new AbortController();
  readonly #timeoutMs: number;
  readonly #maxBytes: number;
  readonly #deadline: number;
  readonly #secrets = new Map<string, Secret>();

  constructor({ deps, tokens, demandHost, plan, tool, call }: HttpCallOptions) {
    this.#deps = deps;
    this.#tokens = tokens;
    this.#demandHost = demandHost;
    this.#plan = plan;
    this.#tool = tool;
    this.#call = call;
    const asked = Math.min(
      tool.httpImpl?.request.timeoutMs ?? tool.limits?.timeoutMs ?? defaultTimeoutMs,
      tool.limits?.timeoutMs ?? maxTimeoutMs,
      maxTimeoutMs,
    );
    this.#timeoutMs = asked;
    this.#maxBytes = tool.limits?.maxResponseBytes ?? defaultMaxBytes;
    this.#deadline = performance.now() + asked;
  }

  async run(args: Record<string, unknown>): Promise<ToolResult> {
    const timer = setTimeout(
      () => this.#abort.abort(fail('tool.timeout', { tool: this.#tool.name, timeoutMs: this.#timeoutMs })),
      this.#timeoutMs,
    );
    const cancel = (): void => this.#abort.abort(this.#call.signal.reason);
    this.#call.signal.addEventListener('abort', cancel, { once: true });
    if (this.#call.signal.aborted) cancel();
    try {
      return await this.#untilDone(args);
    } catch (error) {
      if (this.#abort.signal.aborted && !(error instanceof Failure)) throw this.#abort.signal.reason;
      if (error instanceof TemplateProblem || error instanceof MissingValue)
        throw fail('tool.failed', { reason: upper(error.message) });
      throw error;
    } finally {
      clearTimeout(timer);
      this.#call.signal.removeEventListener('abort', cancel);
    }
  }

  async #untilDone(args: Record<string, unknown>): Promise<ToolResult> {
    const { request } = this.#plan;
    for (const name of [...request.ownSecretNames, ...request.tokenSecretNames])
      this.#secrets.set(name, await this.#deps.secrets.get(name));
    const impl = this.#tool.httpImpl?.request;
    const isRepeatable = request.isIdempotent || impl?.retry?.unsafe === true;
    const tries = isRepeatable
      ? Math.min(impl?.retry?.maxTries ?? mostTries, this.#tool.limits?.maxTries ?? mostTries)
      : 1;
    let rejected: string | undefined;
    for (let tried = 1; ; tried++) {
      const values = this.#values(args);
      const built = request.build(values);
      const token = request.auth?.client && (await this.#token(request.auth.client(values), rejected));
      const outcome = await this.#try(built, values, token);
      if ('done' in outcome) return outcome.done;
      // A token that was revoked early costs one more request, not one of the tries.
      if (token !== undefined && rejected === undefined && outcome.status === 401) {
        rejected = token;
        tried--;
        continue;
      }
      const mayGoOn =
        outcome.mayRetry &&
        tried < tries &&
        (await waitWithin(waitMs(tried, outcome.retryAfter), this.#deadline, this.#abort.signal));
      if (mayGoOn) continue;
      if (this.#plan.answer.errorMode === 'empty' && outcome.status !== undefined)
        return { value: null, isEmpty: true };
      throw outcome.failure;
    }
  }

  #values(args: Record<string, unknown>): Values {
    const timestamp = String(Math.floor(Date.now() / 1000));
    return {
      args,
      secret: (name) => this.#secrets.get(name)?.value ?? '',
      own: (name) => (name === 'timestamp' ? timestamp : ''),
    };
  }

  #token(client: Parameters<OauthTokens['token']>[0], rejected: string | undefined): Promise<string> {
    const { origin } = new URL(client.tokenUrl);
    const onHop = (url: URL): void => this.#checkSecrets(this.#plan.request.tokenSecretNames, url, origin);
    return this.#tokens.token(client, this.#abort.signal, { onHop }, rejected);
  }

  /** Secrets go only where they are bound to; a redirect to another origin leaves them behind. */
  #checkSecrets(names: readonly string[], url: URL, origin: string): void {
    if (url.origin !== origin) return;
    for (const secret of names.flatMap((name) => this.#secrets.get(name) ?? [])) this.#demandHost(secret, url);
  }

  async #try(built: BuiltRequest, values: Values, token: string | undefined): Promise<Tried> {
    const { request, answer: plan } = this.#plan;
    const authHeaders = request.auth?.apply(built, values, token) ?? [];
    const maxRequest = this.#tool.limits?.maxRequestBytes;
    if (maxRequest !== undefined && built.body !== null && Buffer.byteLength(built.body) > maxRequest)
      throw fail('tool.failed', {
        reason: `The request body is larger than ${maxRequest} bytes, the limit of ${this.#tool.name}.`,
      });
    const policy: DialPolicy = {
      credentialHeaders: [...authHeaders, ...request.credentialHeaders],
      hasSecretBody: request.hasSecretBody,
      ...(request.ownSecretNames.length > 0 && {
        onHop: (url: URL) => this.#checkSecrets(request.ownSecretNames, url, request.origin),
      }),
    };
    try {
      const answer = await this.#deps.dialler.fetch(
        built.url,
        {
          method: built.method,
          headers: { ...ordinaryHeaders, ...built.headers },
          body: built.body,
          signal: this.#abort.signal,
        },
        policy,
      );
      if (plan.isSuccess(answer.status)) return { done: await this.#read(answer) };
      return await this.#refused(answer);
    } catch (error) {
      if (this.#abort.signal.aborted) throw this.#abort.signal.reason;
      const reason = networkReason(error);
      if (reason === undefined) throw error;
      const what = new URL(built.url).host;
      return { failure: fail('source.unreachable', { what, reason }, { cause: error }), mayRetry: !isHopeless(error) };
    }
  }

  #read(answer: DialAnswer): Promise<ToolResult> {
    let count = 0;
    const onItem = (text: string): void => this.#call.progress({ progress: ++count, message: text });
    const { keepBlob, redactor } = this.#deps;
    const owner = this.#call.actor?.principal ?? '';
    const limits = {
      tool: this.#tool.name,
      maxBytes: this.#maxBytes,
      redactor,
      ...(keepBlob && { keepBlob: (...blob: Parameters<KeepBlob>) => keepBlob(owner, ...blob) }),
    };
    return this.#plan.answer.read(answer, limits, onItem);
  }

  async #refused(answer: DialAnswer): Promise<Tried> {
    const { status } = answer;
    const text = await readText(answer, 64 * 1024, this.#tool.name).catch(() => '');
    this.#abort.signal.throwIfAborted();
    // Cutting first could leave half of a secret, which nothing would recognise any more.
    const clean = this.#deps.redactor.text(text).trim();
    const said = clean === '' ? '' : `: ${clean.slice(0, 500).toWellFormed()}`;
    const reason = `${this.#plan.request.method} ${answer.url.host}${answer.url.pathname} answered ${status}${said}`;
    const failure = fail('tool.failed', { reason }, { retryable: status >= 500 });
    return { failure, mayRetry: isTransient(status), status, retryAfter: answer.headers['retry-after'] };
  }
}

const ordinaryHeaders = { accept: '*/*', 'accept-encoding': acceptedEncodings, 'user-agent': 'oubliette' };
const upper = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
