// Adds what a registry did not have to package-lock.json: node scripts/complete-lock.js
//
// Packages with one binary per platform name them all as optional. npm leaves those that the registry lacks out of the
// lock file and then refuses it in `npm ci`. With the entry there, other platforms skip it and its own platform fetches it.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Entries that package-lock.json should have and has not: path to entry. */
export function missingEntries(lock) {
  const missing = {};
  for (const [path, entry] of Object.entries(lock.packages))
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      if (isThere(lock.packages, path, name) || !/^\d+\.\d+\.\d+/.test(version)) continue;
      missing[`node_modules/${name}`] = {
        version,
        ...platformOf(name),
        ...(entry.dev && { dev: true }),
        optional: true,
      };
    }
  return missing;
}

function isThere(packages, path, name) {
  for (let base = path; ; base = base.slice(0, Math.max(0, base.lastIndexOf('node_modules/') - 1))) {
    if (packages[`${base}${base && '/'}node_modules/${name}`]) return true;
    if (base === '') return false;
  }
}

function platformOf(name) {
  const parts = name.split(/[/-]/);
  const os = [
    'android',
    'darwin',
    'freebsd',
    'linux',
    'openharmony',
    'win32',
    'aix',
    'netbsd',
    'openbsd',
    'sunos',
  ].find((each) => parts.includes(each));
  const cpu = ['arm64', 'arm', 'x64', 'ia32', 'ppc64', 'riscv64', 's390x', 'loong64', 'mips64el', 'wasm32'].find(
    (each) => parts.includes(each),
  );
  const isMusl = parts.some((each) => each.startsWith('musl'));
  const isGlibc = os === 'linux' && parts.some((each) => each.startsWith('gnu'));
  const libc = isMusl ? 'musl' : isGlibc && 'glibc';
  return { ...(cpu && { cpu: [cpu] }), ...(libc && { libc: [libc] }), ...(os && { os: [os] }) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = join(import.meta.dirname, '..', 'package-lock.json');
  const lock = JSON.parse(readFileSync(file, 'utf8'));
  const missing = missingEntries(lock);
  const packages = { ...lock.packages, ...missing };
  lock.packages = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => a.localeCompare(b, 'en')));
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`${Object.keys(missing).length} entries added`);
}
