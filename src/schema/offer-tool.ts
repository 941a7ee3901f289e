import type { Static } from 'typebox';
import type { Call, Handler } from './call.ts';
import type { OfferedFunction } from './provider.ts';

/** What a handler is given: the arguments as the schema describes them, with the defaults that the gate has filled in. */
export type ArgsOf<S extends object> = S extends { properties: infer P } ? Filled<Static<S>, Defaulted<P>> : Static<S>;

type Defaulted<P> = { [K in keyof P]: P[K] extends { default: unknown } ? K : never }[keyof P];
type Filled<A, K> = Flat<A & Required<Pick<A, keyof A & K>>>;
type Flat<T> = { [K in keyof T]: T[K] };

export interface TypedTool<S extends object> extends Omit<OfferedFunction, 'argSchema' | 'run'> {
  argSchema: S;
  run: (args: ArgsOf<S>, call: Call) => unknown;
}

/** A tool whose handler takes what its schema lets through: the two cannot drift apart. */
export function offerTool<const S extends object>({ run, ...tool }: TypedTool<S>): OfferedFunction {
  // The caller has checked the arguments against this very schema.
  return { ...tool, run: run as Handler };
}

/** The schema of a tool's arguments: an object that refuses what it does not name. */
export interface ArgSchema<P, R extends readonly string[]> {
  type: 'object';
  properties: P;
  required: R;
  additionalProperties: false;
}

export function argsOf<const P extends Record<string, object>, const R extends readonly (keyof P & string)[] = []>(
  properties: P,
  required?: R,
): ArgSchema<P, R> {
  return { type: 'object', properties, required: required ?? ([] as never), additionalProperties: false };
}
