import { offerTool, type BuiltInBundle } from '../schema/index.ts';

/** What one look at one thing found. `warn` works, but a person should know. */
export interface Finding {
  status: 'ok' | 'warn' | 'fail';
  text: string;
  /** The one thing to do next. */
  advice?: string;
}

/** One thing that can be looked at: a room offers those it knows about. */
export interface Check {
  name: string;
  look(signal: AbortSignal): Promise<Finding | Finding[]>;
}

export interface DoctorReport {
  ok: boolean;
  checks: (Finding & { name: string })[];
}

/** Looks at everything at once. A check that throws or hangs is a finding of its own, never the end of the others. */
export async function examine(checks: readonly Check[], timeoutMs = 5000): Promise<DoctorReport> {
  const found = await Promise.all(checks.map((check) => lookAt(check, timeoutMs)));
  const all = found.flat();
  return { ok: all.every((each) => each.status !== 'fail'), checks: all };
}

async function lookAt(check: Check, timeoutMs: number): Promise<DoctorReport['checks']> {
  const signal = AbortSignal.timeout(timeoutMs);
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error(`no answer within ${timeoutMs} ms`)));
  });
  try {
    const findings = await Promise.race([check.look(signal), late]);
    return [findings].flat().map((finding) => ({ name: check.name, ...finding }));
  } catch (error) {
    return [{ name: check.name, status: 'fail', text: error instanceof Error ? error.message : String(error) }];
  }
}

/** `doctor_run`: the same report for the web app and for agents of the admin. */
export function doctorTools(deps: { examine(): Promise<DoctorReport> }): BuiltInBundle {
  return {
    slug: 'doctor',
    displayName: 'Doctor',
    description: 'Checks the machine, the data folder and every part of the server.',
    isOwn: true,
    tools: [
      offerTool({
        slug: 'run',
        description:
          'Checks the machine, the data folder and every part of the server, and says what to do about each finding.',
        argSchema: { type: 'object', properties: {}, additionalProperties: false },
        level: 'admin',
        returns: '{ok, checks: [{name, status, text, advice}]}',
        example: 'doctor.run()',
        run: () => deps.examine(),
      }),
    ],
  };
}
