import {
  check,
  checkSchema,
  checkText,
  fail,
  type Failure,
  isObject,
  isSlug,
  isTag,
  isVersion,
  ToolBody,
  type BundleBody,
  type Detail,
} from '../schema/index.ts';

const knownTypes = ['function', 'go', 'http', 'script'];
const implOf = { function: 'functionImpl', go: 'goImpl', http: 'httpImpl', script: 'scriptImpl' } as const;
const maxTags = 32;

/** Checks what a person PUT as a tool, apart from what its source must say; throws a 400 that names the field. */
export function checkToolBody(slug: string, version: string, raw: unknown): ToolBody {
  checkPlace(slug, version);
  if (isObject(raw) && typeof raw['type'] === 'string' && !knownTypes.includes(raw['type']))
    throw fail(
      'type.unsupported',
      { type: raw['type'] },
      { details: [{ path: '/type', message: 'is not supported' }] },
    );
  const body = check(ToolBody, raw);
  checkText(body);
  checkDisplayName(body.displayName);
  checkImpl(body);
  checkTags(body.tags ?? []);
  checkSchema(body.argSchema, '/argSchema');
  checkTakesObject(body.argSchema);
  if (body.outputSchema !== undefined) checkSchema(body.outputSchema, '/outputSchema');
  return body;
}

function checkPlace(slug: string, version: string): void {
  const rule = 'must be 1 to 64 letters, digits or dashes';
  if (!isSlug(slug)) throw invalid('/slug', rule, slug);
  if (!isVersion(version)) throw invalid('/version', `${rule}, or dots`, version);
}

function checkImpl(body: ToolBody): void {
  const wanted = implOf[body.type];
  if (!body[wanted]) throw invalid(`/${wanted}`, `is missing for a tool of type ${body.type}`);
  for (const other of Object.values(implOf))
    if (other !== wanted && body[other]) throw invalid(`/${other}`, `does not belong to a tool of type ${body.type}`);
}

function checkTags(tags: string[]): void {
  if (tags.length > maxTags) throw invalid('/tags', `may hold at most ${maxTags} tags`);
  tags.forEach((tag, index) => {
    if (!isTag(tag))
      throw invalid(
        `/tags/${index}`,
        'must start with a letter or _ and hold letters, digits, _ or -, at most 64',
        tag,
      );
    if (tags.indexOf(tag) !== index) throw invalid(`/tags/${index}`, 'stands there twice', tag);
  });
}

/** Arguments are always an object: a schema that leaves objects out would make a tool that nobody can call. */
function checkTakesObject(schema: unknown): void {
  const type = isObject(schema) ? schema['type'] : undefined;
  if (isObject(schema) && (type === undefined || [type].flat().includes('object'))) return;
  if (isObject(schema)) throw invalid('/argSchema/type', 'must be object, for arguments are always one');
  throw invalid('/argSchema', 'must be the schema of an object, such as {"type":"object","properties":{}}');
}

/** Checks what a person PUT as a bundle. */
export function checkBundleBody(body: BundleBody): void {
  if (!isSlug(body.slug)) throw invalid('/slug', 'must be 1 to 64 letters, digits or dashes', body.slug);
  checkText(body);
  checkDisplayName(body.displayName);
}

function checkDisplayName(name: string): void {
  if (name.trim() === '') throw invalid('/displayName', 'must not be empty');
}

function invalid(path: string, message: string, value?: string): Failure {
  const shown = value === undefined ? '' : ` (${JSON.stringify(Array.from(value).slice(0, 80).join(''))})`;
  const details: Detail[] = [{ path, message }];
  return fail('request.invalid', { reason: `${path} ${message}${shown}` }, { details });
}
