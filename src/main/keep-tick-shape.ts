import { createHook } from 'node:async_hooks';

const kept: object[] = [];

/**
 * Every answer puts some objects into Node's tick queue. When V8 collects garbage while the queue is empty it forgets
 * their shape, and from then on makes each of them the slow way, in three times the time. While one lives it does not.
 */
export function keepTickShape(): void {
  const hook = createHook({ init: (_id, _type, _trigger, tick) => void kept.push(tick), trackPromises: false });
  hook.enable();
  process.nextTick(() => {});
  hook.disable();
}
