// The other side of `http-tool`: the API behind a bare `fetch`, asked as often as the first line on stdin says.
import { createInterface } from 'node:readline';

const [url = ''] = process.argv.slice(2);
console.log('{}');
for await (const line of createInterface({ input: process.stdin })) {
  const { inFlight, requests } = JSON.parse(line) as { inFlight: number; requests: number };
  let left = requests;
  const startedAt = performance.now();
  const work = async (): Promise<void> => {
    while (left-- > 0) {
      const answer = await fetch(`${url}/weather/Ulm?units=metric`, {
        headers: { authorization: 'Bearer some-api-token' },
      });
      if (((await answer.json()) as { temp: number }).temp !== 21.5) throw new Error('a wrong answer');
    }
  };
  await Promise.all(Array.from({ length: inFlight }, work));
  console.log(JSON.stringify({ perSecond: requests / ((performance.now() - startedAt) / 1000) }));
}
