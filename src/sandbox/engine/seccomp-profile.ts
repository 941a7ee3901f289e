import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject } from '../../schema/index.ts';
import { namespaceFlags, refusedCalls, unknownCalls } from '../system-calls.ts';

const defaults = ['/etc/containers/seccomp.json', '/usr/share/containers/seccomp.json'];

/**
 * podman's own filter lets anyone make user namespaces, mount inside them and trace. This is the same filter without
 * that, as a file that podman can be pointed at; answers its path.
 */
export async function podmanProfile(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, 'seccomp-podman.json');
  await writeFile(`${path}.tmp`, JSON.stringify(narrowed(await defaultProfile())), { mode: 0o600 });
  await rename(`${path}.tmp`, path);
  return path;
}

async function defaultProfile(): Promise<Record<string, unknown>> {
  for (const path of defaults) {
    const profile = await readFile(path, 'utf8').then(JSON.parse, () => undefined);
    if (isObject(profile) && Array.isArray(profile['syscalls'])) return profile;
  }
  return { defaultAction: 'SCMP_ACT_ALLOW', syscalls: [] };
}

/** Takes calls out of what a profile allows and says of each how it is answered instead. */
export function narrowed(profile: Record<string, unknown>): Record<string, unknown> {
  const ours = new Set([...refusedCalls, ...unknownCalls, 'clone']);
  const kept = (profile['syscalls'] as Record<string, unknown>[])
    .map((rule) => ({ ...rule, names: ((rule['names'] ?? []) as string[]).filter((name) => !ours.has(name)) }))
    .filter((rule) => rule.names.length > 0);
  const noNamespace = { index: 0, value: namespaceFlags, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' };
  return {
    ...profile,
    syscalls: [
      ...kept,
      { names: refusedCalls, action: 'SCMP_ACT_ERRNO', errnoRet: 1 },
      { names: unknownCalls, action: 'SCMP_ACT_ERRNO', errnoRet: 38 },
      ...(profile['defaultAction'] === 'SCMP_ACT_ALLOW'
        ? eachNamespace
        : [{ names: ['clone'], action: 'SCMP_ACT_ALLOW', args: [noNamespace] }]),
    ],
  };
}

/** For a profile that allows by default: one rule per flag, as a rule can only ask whether masked bits are equal. */
const eachNamespace = Array.from({ length: 31 }, (_, bit) => 2 ** bit)
  .filter((flag) => (flag & namespaceFlags) !== 0)
  .map((flag) => ({
    names: ['clone'],
    action: 'SCMP_ACT_ERRNO',
    errnoRet: 1,
    args: [{ index: 0, value: flag, valueTwo: flag, op: 'SCMP_CMP_MASKED_EQ' }],
  }));
