// Tries all ways out of a bubblewrap sandbox as whoever runs this, and prints what each gave: node probe-runner.ts FILL
import { openTestDriver } from '../kit/sandboxes.ts';
import { fillIn, probes } from './probes.ts';

const fill = JSON.parse(process.argv[2]!) as Record<string, string>;
const kit = await openTestDriver('bubblewrap');
const results: Record<string, string> = {};
try {
  const abilities = await kit.driver.probe();
  const other = await kit.spec();
  await kit.driver.start(other);
  const spec = await kit.spec();
  const { level, missing } = await kit.driver.start(spec);
  for (const probe of probes) {
    const filled = fillIn(probe, { ...fill, HOST_OTHER: other.workspace });
    const { stdout } = await kit.driver.exec(spec.id, {
      command: ['/bin/sh', '-c', filled],
      timeoutMs: 60_000,
      maxBytes: 20_000,
    });
    results[probe.name] = stdout.trim();
  }
  const bomb = 'i=0; while [ $i -lt 200 ]; do sleep 5 & i=$((i+1)); done';
  const { stderr } = await kit.driver.exec(spec.id, {
    command: ['/bin/sh', '-c', bomb],
    timeoutMs: 60_000,
    maxBytes: 500,
  });
  console.log(JSON.stringify({ uid: process.getuid?.(), probe: abilities, level, missing, results, bomb: stderr }));
} finally {
  await kit.close();
}
