import { loadavg } from 'node:os';

/** How long something that is to be done within `ms` may take on a machine that has as much else to do as this one. */
export const patient = (ms: number): number => ms * (2 + loadavg()[0]!);
