// Loaded into a server before its program: SIGUSR2 starts counting how long the event loop was blocked at most,
// the next SIGUSR2 prints it to standard error as `loop-delay <ms>`.
import { monitorEventLoopDelay } from 'node:perf_hooks';

const histogram = monitorEventLoopDelay({ resolution: 1 });
let isCounting = false;
process.on('SIGUSR2', () => {
  if (isCounting) process.stderr.write(`loop-delay ${histogram.max / 1e6} ${histogram.percentile(99.9) / 1e6}\n`);
  else {
    histogram.enable();
    histogram.reset();
  }
  isCounting = !isCounting;
});
