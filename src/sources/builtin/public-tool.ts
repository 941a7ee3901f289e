import { argsOf, offerTool, type ArgSchema, type OfferedFunction, type TypedTool } from '../../schema/index.ts';

interface PublicTool<P, R extends readonly string[]> extends Omit<TypedTool<ArgSchema<P, R>>, 'argSchema' | 'level'> {
  properties: P;
  required: R;
}

/** A read-only public function with named arguments. */
export function publicTool<const P extends Record<string, object>, const R extends readonly (keyof P & string)[]>({
  properties,
  required,
  ...rest
}: PublicTool<P, R>): OfferedFunction {
  return offerTool({ ...rest, level: 'read', isPublic: true, argSchema: argsOf(properties, required) });
}
