import { Readable } from 'node:stream';
import { fail, isObject } from '../../schema/index.ts';
import { packBase, planBase, type BasePlan } from '../base/index.ts';
import { buildTimeoutMs } from '../defaults.ts';
import type { SandboxDriver } from '../driver.ts';
import type { EngineClient } from './engine-client.ts';

/** Name of the base image; `FROM oubliette-base` in a Dockerfile means the newest. */
const baseName = (id: string): string => `oubliette-base:${id}`;

export interface EngineImages extends Pick<SandboxDriver, 'buildBase' | 'buildImage'> {
  /** Whether an image, or without a name the base image, is there. */
  has: SandboxDriver['hasImage'];
  /** Its name; the base image is built when it is missing. Fails with sandbox.unavailable for another one. */
  find(image?: string): Promise<string>;
}

/** The images of one engine. */
export function engineImages(engine: 'docker' | 'podman', ask: EngineClient['ask']): EngineImages {
  let plan: Promise<BasePlan> | undefined;
  const basePlan = (): Promise<BasePlan> => {
    plan ??= planBase();
    plan.catch(() => (plan = undefined));
    return plan;
  };
  const has = async (image?: string): Promise<boolean> => {
    const wanted = image ?? baseName((await basePlan()).id);
    return (await ask(`/images/${encodeURIComponent(wanted)}/json`, { allow: [404] })).status !== 404;
  };

  const buildBase: SandboxDriver['buildBase'] = async (signal) => {
    const started = performance.now();
    plan = undefined;
    const { id, entries, notes } = await basePlan();
    const image = baseName(id);
    await ask('/images/create', {
      method: 'POST',
      // The tag is part of the name, because podman ignores a separate one.
      query: { fromSrc: '-', repo: image, message: 'made by oubliette' },
      tar: packBase({ id, entries, notes }),
      timeoutMs: buildTimeoutMs,
      ...(signal ? { signal } : {}),
    });
    await ask(`/images/${encodeURIComponent(image)}/tag`, {
      method: 'POST',
      query: { repo: image.split(':')[0]!, tag: 'latest' },
    });
    return { image, duration_ms: Math.round(performance.now() - started) };
  };
  let building: Promise<unknown> | undefined;
  const find = async (image?: string): Promise<string> => {
    if (image !== undefined) {
      if (await has(image)) return image;
      throw fail('sandbox.unavailable', {
        reason: `there is no image ${image}; build it with: oubliette project image`,
      });
    }
    if (!(await has())) {
      building ??= buildBase().finally(() => (building = undefined));
      await building;
    }
    return baseName((await basePlan()).id);
  };

  const buildImage: SandboxDriver['buildImage'] = async (tag, context, signal) => {
    const started = performance.now();
    await find();
    const hasBridge = (await ask('/networks/bridge', { allow: [404] })).status !== 404 || engine === 'podman';
    const answer = await ask('/build', {
      method: 'POST',
      query: { t: tag, rm: 'true', forcerm: 'true', pull: 'false', ...(hasBridge ? {} : { networkmode: 'none' }) },
      tar: Readable.from(context),
      timeoutMs: buildTimeoutMs,
      ...(signal ? { signal } : {}),
    });
    const problem = buildFailure(answer.bytes);
    if (problem !== undefined)
      throw fail('sandbox.failed', { reason: `the image could not be built: ${problem}` }, { retryable: false });
    return { image: tag, duration_ms: Math.round(performance.now() - started) };
  };
  return { has, find, buildBase, buildImage };
}

/** Why a build failed, from the JSON lines the engine streams; undefined when it did not. */
export function buildFailure(stream: Buffer): string | undefined {
  const said: string[] = [];
  for (const line of stream.toString('utf8').split('\n')) {
    const message = parse(line);
    if (!isObject(message)) continue;
    if (typeof message['stream'] === 'string') said.push(message['stream']);
    const error =
      message['error'] ?? (isObject(message['errorDetail']) ? message['errorDetail']['message'] : undefined);
    if (error !== undefined) return `${said.slice(-5).join('').trim()}\n${String(error)}`.trim().slice(-2000);
  }
  return undefined;
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
