import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/**
 * Makes a bundle load some of Node's modules at their first use. HTTP/2 and TLS are mentioned at the top of the HTTP library
 * but seldom used, and a module import of node:http touches every part of it, down to fetch: together a tenth of the
 * memory of an idle server.
 */
export const lateModules = {
  name: 'late-modules',
  setup(build) {
    const filter = /^(node:)?(http|https|http2)$/;
    build.onResolve({ filter }, ({ path, namespace }) =>
      namespace === 'late' ? undefined : { path: `node:${path.replace(/^node:/, '')}`, namespace: 'late' },
    );
    build.onLoad({ filter: /.*/, namespace: 'late' }, ({ path }) => ({ contents: lateModule(path) }));
  },
};

function lateModule(name) {
  const parts = Object.keys(require(name)).map((key) => `get ${key}() { return load().${key}; }`);
  return `let loaded;
const load = () => (loaded ??= require('${name}'));
module.exports = { ${parts.join(', ')} };`;
}
