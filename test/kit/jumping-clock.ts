// Loaded into a server before anything else: its clock is CLOCK_AHEAD_DAYS ahead, and each SIGUSR2 sets it, first a day ahead,
// then a day back, and so on.
const dayMs = 24 * 3600_000;
const RealDate = Date;
let aheadMs = Number(process.env['CLOCK_AHEAD_DAYS'] ?? 0) * dayMs;

class JumpingDate extends RealDate {
  constructor(...args: unknown[]) {
    super(...((args.length === 0 ? [JumpingDate.now()] : args) as [number]));
  }
  static override now(): number {
    return RealDate.now() + aheadMs;
  }
}

globalThis.Date = JumpingDate as DateConstructor;
process.on('SIGUSR2', () => {
  aheadMs = aheadMs === dayMs ? -dayMs : dayMs;
});
