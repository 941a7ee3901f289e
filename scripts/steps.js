import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './install.js';
import { nodeFlags } from './node.js';

const total = { passed: 0, failed: 0 };
const cache = join(root, '.cache');

/** Runs one checking program of node_modules; it counts as one test. */
export function checkStep(node, title, script, args) {
  run(title, () => {
    const done = spawnSync(node, [join(root, 'node_modules', script), ...args], {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    total[done.status === 0 ? 'passed' : 'failed']++;
  });
}

/** Runs test files that match; every single test counts. A file that breaks counts as a failed test. */
export function testStep(node, title, patterns, { concurrency = 2, exclude = [] } = {}) {
  const left = exclude.map((pattern) => new Set(globSync(pattern, { cwd: root })));
  const files = patterns
    .flatMap((pattern) => globSync(pattern, { cwd: root }))
    .filter((file) => !left.some((set) => set.has(file)));
  if (files.length === 0) return;
  run(title, () => {
    mkdirSync(cache, { recursive: true });
    const counts = join(cache, `counts-${process.pid}.json`);
    const done = spawnSync(
      node,
      [
        ...nodeFlags,
        '--test',
        `--test-concurrency=${concurrency}`,
        '--test-timeout=300000',
        '--test-reporter=spec',
        '--test-reporter-destination=stdout',
        `--test-reporter=${join(root, 'scripts', 'count-reporter.js')}`,
        `--test-reporter-destination=${counts}`,
        ...files.sort(),
      ],
      {
        cwd: root,
        stdio: ['ignore', 'inherit', 'inherit'],
      },
    );
    const counted = existsSync(counts) ? JSON.parse(readFileSync(counts, 'utf8')) : { passed: 0, failed: 1 };
    rmSync(counts, { force: true });
    total.passed += counted.passed;
    total.failed += counted.failed === 0 && done.status !== 0 ? 1 : counted.failed;
  });
}

/** Prints the closing line and sets the exit code. */
export function close() {
  console.log(`\n${total.passed} passed, ${total.failed} failed`);
  process.exitCode = total.failed === 0 ? 0 : 1;
}

function run(title, step) {
  const startedAt = Date.now();
  console.log(`\n== ${title}`);
  step();
  console.log(`== ${title}: ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
}

export function typeCheck(node) {
  checkStep(node, 'type-check', 'typescript/bin/tsc', ['-p', '.']);
  if (existsSync(join(root, 'ui', 'tsconfig.json')))
    checkStep(node, 'type-check ui', 'typescript/bin/tsc', ['-p', 'ui']);
}

export function lint(node) {
  checkStep(node, 'lint', 'oxlint/bin/oxlint', ['--deny-warnings']);
}

/** Exports that nobody imports, files and packages that nobody needs. */
export function deadCode(node) {
  checkStep(node, 'dead code', 'knip/bin/knip.js', ['--no-progress']);
}

export function formatting(node) {
  checkStep(node, 'format', 'prettier/bin/prettier.cjs', ['--check', '--log-level', 'warn', '.']);
}
