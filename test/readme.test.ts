import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, test } from 'node:test';
import { cliFile } from './kit/programs.ts';
import {
  cleanEnv,
  endSandboxes,
  root,
  serveForPeople,
  startTestServer,
  type TestServer,
} from './kit/running-server.ts';

interface Block {
  language: string;
  text: string;
}

const readme = await readFile(join(root, 'README.md'), 'utf8');
const blocks: Block[] = [...readme.matchAll(/^```(\w*)\n([^]*?)^```$/gm)].map(([, language, text]) => ({
  language: language!,
  text: text!,
}));
let server: TestServer;
let person: string;
before(async () => {
  person = await mkdtemp(join(tmpdir(), 'oub-readme-'));
  server = await startTestServer({ home: join(person, '.oubliette') });
  await mkdir(join(person, 'bin'));
  await writeFile(join(person, 'bin', 'oubliette'), `#!/bin/sh\nexec "${process.execPath}" "${cliFile}" "$@"\n`);
  await chmod(join(person, 'bin', 'oubliette'), 0o755);
});
after(async () => {
  await endSandboxes(server);
  await server.stop();
  await rm(person, { recursive: true, force: true });
});

/** Runs a script as the person who reads would, in one shell; answers what each block printed. */
async function paste(scripts: string[]): Promise<string[]> {
  const mark = '=====next block=====';
  const whole = scripts
    .map((script) => script.replaceAll('http://127.0.0.1:4777', server.url))
    .join(`\necho; echo ${mark}\n`);
  const env = cleanEnv({ HOME: person, PATH: `${join(person, 'bin')}${delimiter}${process.env['PATH']}` });
  const shell = spawn('bash', ['-eu', '-o', 'pipefail', '-c', whole], {
    env,
    cwd: person,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  shell.stdout.setEncoding('utf8').on('data', (chunk: string) => (out += chunk));
  shell.stderr.setEncoding('utf8').on('data', (chunk: string) => (err += chunk));
  const [code] = (await once(shell, 'close')) as [number];
  assert.equal(code, 0, `${out}\n${err}`);
  return out.split(mark).map((text) => text.trim());
}

/** What a program of Node prints that ends well. */
async function printed(args: string[]): Promise<string> {
  const child = spawn(process.execPath, args, {
    env: cleanEnv({ OUBLIETTE_URL: server.url, OUBLIETTE_TOKEN: server.token }),
  });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (out += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (err += chunk));
  assert.deepEqual(await once(child, 'close'), [0, null], `${out}\n${err}`);
  return out;
}

/** `…` stands for what differs from time to time. */
function resembles(shown: string): RegExp {
  const parts = shown
    .trim()
    .split('…')
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^]*?')}$`);
}

test('every shell example, pasted in order, prints what the README shows', async () => {
  const shell = blocks
    .map((block, at) => ({ block, shown: blocks[at + 1] }))
    .filter(({ block }) => block.language === 'sh');
  assert.ok(shell.length >= 6, `found ${shell.length} examples`);
  const printed = await paste(shell.map(({ block }) => block.text));
  assert.equal(printed.length, shell.length);
  let compared = 0;
  shell.forEach(({ shown }, at) => {
    if (shown?.language !== 'text') return;
    assert.match(printed[at]!, resembles(shown.text));
    compared++;
  });
  assert.ok(compared >= 5);
  const search = printed.find((text) => text.includes('"match"'))!;
  assert.match(search, /"name":"garden_animal"/, 'the typo is forgiven');
});

test('npm start says what the README shows first', async () => {
  const home = join(person, 'other');
  const { child, printed } = await serveForPeople(home);
  child.kill('SIGTERM');
  await once(child, 'exit');
  const shown = blocks.find((block) => block.language === 'text')!.text;
  const said = printed.replaceAll(home, '~/.oubliette').replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:4777');
  assert.match(said.trim(), resembles(shown));
});

test('the program that lends a tool does it in about ten lines', async () => {
  const program = blocks.find((block) => block.language === 'ts')!.text;
  assert.ok(program.trim().split('\n').length <= 12);
  const file = join(person, 'bot.ts');
  await writeFile(file, program.replace("'oubliette'", JSON.stringify(join(root, 'src', 'sdk.ts'))));
  assert.equal(await printed([file]), 'sunny in Oslo\n');
});

test('the TypeScript in docs/ is typed strictly, and the program of docs/sdk.md runs', async () => {
  const files: string[] = [];
  for (const name of ['packs', 'sdk']) {
    const paper = await readFile(join(root, 'docs', `${name}.md`), 'utf8');
    const program = [...paper.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, text]) => text!).join('\n');
    assert.ok(program.length > 300, name);
    const file = join(person, `${name}-example.mts`);
    await writeFile(file, program.replace("'oubliette'", JSON.stringify(join(root, 'src', 'sdk.ts'))));
    files.push(file);
  }
  const flags = '--noEmit --strict --noUncheckedIndexedAccess --target esnext --module nodenext';
  const how = '--ignoreConfig --skipLibCheck --allowImportingTsExtensions --types node';
  const typeRoots = ['--typeRoots', join(root, 'node_modules', '@types')];
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  assert.equal(await printed([tsc, ...flags.split(' '), ...how.split(' '), ...typeRoots, ...files]), '');
  assert.equal(
    await printed([files[1]!]),
    'green\nargs.invalid 400 false /args/text\nsunny\nuser [n * n for n in range(4)]\nagent [0,1,4,9]\n[0,1,4,9]\n',
  );
});

test('every file that the README links to is there', async () => {
  const links = [...readme.matchAll(/\]\((?!http)([^)#]+)\)/g)].map((match) => match[1]!);
  assert.ok(links.length >= 3);
  for (const link of links) await readFile(join(root, link));
});
