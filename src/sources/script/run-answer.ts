import { withLongIntegers, type ProgramOutcome } from '../../code/index.ts';
import { longYamlFlow } from '../ot/yaml-flow.ts';

type Finished = Extract<ProgramOutcome, { ok: true }>;

const noValue = 'Code executed successfully (no return value)';

/** The text of a finished program: what it printed, then its value. */
export async function answerText(outcome: Finished, introspection: ReadonlySet<string>): Promise<string> {
  return withPrinted(outcome.printed, await valueText(outcome, introspection));
}

/** Printed text stands before the answer, on lines of its own. */
export function withPrinted(printed: string, text: string): string {
  if (printed === '') return text;
  return printed.endsWith('\n') ? printed + text : `${printed}\n${text}`;
}

async function valueText({ hasValue, json, format }: Finished, introspection: ReadonlySet<string>): Promise<string> {
  if (!hasValue) return noValue;
  if (format === 'json') return json;
  if (format === 'yaml') return longYamlFlow(withLongIntegers(json));
  if (json === 'null') return 'None';
  if (json.startsWith('"')) return JSON.parse(json) as string;
  return introspection.has(json) ? longYamlFlow(JSON.parse(json)) : json;
}
