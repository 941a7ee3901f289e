import type { Ajv, AnySchema, ValidateFunction } from 'ajv';
import { isObject, pointerStep, type JsonSchema } from './json.ts';

/** A part of a schema that has a default of its own. */
interface Owner {
  place: string;
  part: Record<string, unknown>;
}

/** Keywords whose value is data: what looks like a schema in there is none. */
const isData = new Set(['default', 'const', 'enum', 'examples']);
const root = 'oubliette:defaults';

/**
 * The schema without those defaults of properties that do not fit where they stand (`{type: "string", default: null}`):
 * filled in, they would have the caller refused for what it never gave. Undefined when there are none. `validator`
 * tells all errors and has compiled nothing yet. Never throws.
 */
export function withoutUnfitDefaults(
  schema: JsonSchema,
  validator: Ajv,
  fits: (validate: ValidateFunction, value: unknown) => boolean,
): JsonSchema | undefined {
  const copy = structuredClone(schema);
  const owners: Owner[] = [];
  collect(copy, '', owners);
  try {
    validator.addSchema({ ...(copy as object), $id: root });
    const places = owners.map(({ place }): AnySchema => ({ $ref: `${root}#${place}` }));
    const validate = validator.compile({ properties: { ...places } });
    if (fits(validate, { ...owners.map(({ part }) => part['default']) })) return undefined;
    const unfit = new Set((validate.errors ?? []).map(({ instancePath }) => Number(instancePath.split('/')[1])));
    for (const index of unfit) delete owners[index]?.part['default'];
    return unfit.size > 0 ? copy : undefined;
  } catch {
    // A part that cannot be looked at alone, such as one that goes by a name of its own, stays as it is.
    return undefined;
  }
}

function collect(part: unknown, place: string, owners: Owner[]): void {
  if (Array.isArray(part)) part.forEach((each, index) => collect(each, `${place}/${index}`, owners));
  if (!isObject(part)) return;
  for (const [key, value] of Object.entries(part)) {
    const inside = `${place}/${step(key)}`;
    if (key === 'properties' && isObject(value))
      for (const [name, property] of Object.entries(value)) {
        if (isObject(property) && Object.hasOwn(property, 'default'))
          owners.push({ place: `${inside}/${step(name)}`, part: property });
        collect(property, `${inside}/${step(name)}`, owners);
      }
    else if (!isData.has(key)) collect(value, inside, owners);
  }
}

const step = (key: string): string => encodeURIComponent(pointerStep(key));
