import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Debian package to a file that it brings. */
const needed = {
  curl: '/usr/bin/curl',
  git: '/usr/bin/git',
  procps: '/usr/bin/ps',
  chromium: '/usr/bin/chromium',
  'docker.io': '/usr/sbin/dockerd',
  podman: '/usr/bin/podman',
  runc: '/usr/sbin/runc',
  bubblewrap: '/usr/bin/bwrap',
  'busybox-static': '/bin/busybox',
  uidmap: '/usr/bin/newuidmap',
};

/** On Debian as root, installs what browser and sandbox tests need; elsewhere that is up to the person. */
export function installSystemPackages() {
  const missing = Object.keys(needed).filter((name) => !existsSync(needed[name]));
  if (missing.length > 0) aptInstall(missing);
}

/** On Debian as root, installs packages as far as they can be had; elsewhere does nothing. */
export function aptInstall(names) {
  if (!existsSync('/etc/debian_version') || process.getuid?.() !== 0) return;
  console.error(`Installing Debian packages: ${names.join(' ')} ...`);
  const apt = (...args) =>
    spawnSync('apt-get', ['-qq', '-y', '-o', 'Dpkg::Use-Pty=0', ...args], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    }).status === 0;
  // One package that cannot be had must not keep the others away.
  if (!apt('update') || !apt('install', '--no-install-recommends', ...names))
    for (const name of names) apt('install', '--no-install-recommends', name);
}
