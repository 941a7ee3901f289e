import { isObject, isTag, textOf, type FieldStyle, type HttpAuth, type ToolBody } from '../../../schema/index.ts';
import { isByteType } from '../byte-types.ts';
import type { ApiDocument, Value } from './document.ts';
import {
  addParameter,
  declare,
  leadsNowhere,
  noArguments,
  parametersOf,
  placeholder,
  type Arguments,
} from './parameters.ts';
import { shorten, type SchemaReader } from './schemas.ts';
import { credentialsOf, isSaidBy, type NeededSecret } from './security.ts';
import { baseOf } from './servers.ts';
import type { Slugs } from './slugs.ts';
import { formStyles } from './styles.ts';

/** A tool ready to be stored. */
export type ImportedTool = ToolBody & { slug: string; version: string };

export type Converted =
  { tool: ImportedTool; hosts: string[]; secrets: NeededSecret[]; notes: string[] } | { problem: string };

export const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;

export interface ConvertOptions {
  document: ApiDocument;
  schemas: SchemaReader;
  slugs: Slugs;
  /** Starts the names of secrets. */
  prefix: string;
  /** Where the document came from, or where the API is: relative servers are relative to it. */
  baseUrl?: string | undefined;
}

/** One operation as an HTTP tool, or why it cannot be one. */
export function convertOperation(
  path: string,
  method: string,
  pathItem: Value,
  operation: Value,
  options: ConvertOptions,
): Converted {
  const { document, schemas, slugs, prefix } = options;
  if (method === 'trace') return { problem: 'TRACE cannot be sent' };
  const base = baseOf(document, pathItem, operation, options.baseUrl);
  if ('problem' in base) return base;
  const args = noArguments();
  const parameters = parametersOf(document, pathItem, operation, args.notes);
  const credentials = credentialsOf(document, operation, parameters, prefix);
  args.secrets = new Set(credentials.secrets.map(({ name }) => name));
  for (const parameter of parameters)
    if (parameter['in'] !== 'body' && parameter['in'] !== 'formData' && !isSaidBy(credentials, parameter))
      addParameter(args, parameter, document, schemas);
  const body = document.isSwagger2
    ? swaggerBody(args, parameters, operation, document, schemas)
    : openApiBody(args, operation, document, schemas);
  const urlTemplate = base.origin + pathTemplate(base.path, path, args);
  const headers = {
    ...args.headers,
    ...credentials.headers,
    ...cookieHeader(args, credentials.headers['Cookie']),
    ...(body && { 'Content-Type': body.contentType }),
  };
  const query = { ...args.query, ...credentials.query };
  const styles = {
    ...(Object.keys(args.queryStyles).length > 0 && { query: args.queryStyles }),
    ...(body && Object.keys(body.styles).length > 0 && { body: body.styles }),
  };
  const { schema: argSchema, isCut } = schemas.close(args.properties, args.required);
  if (isCut)
    args.notes.push('parts of the argument schema were left open, because it is very large or leads back to itself');
  const summary = shorten(textOf(operation['summary']), 150);
  const description = [summary, shorten(textOf(operation['description']), 900)]
    .filter((text, index, all) => text !== '' && all.indexOf(text) === index)
    .join('\n');
  const operationId = typeof operation['operationId'] === 'string' ? operation['operationId'] : undefined;
  const slug = slugs.take(operationId, `${method} ${path.replace(/[{}]/g, ' ')}`);
  return {
    hosts: [base.host, ...credentials.hosts],
    secrets: credentials.secrets,
    notes: [...args.notes, ...credentials.notes],
    tool: {
      slug,
      version: 'v1',
      displayName: summary || (operationId ?? `${method.toUpperCase()} ${path}`).slice(0, 150).trim() || slug,
      description: description || `${method.toUpperCase()} ${path}`.slice(0, 500),
      ...tagsOf(operation),
      isEnabled: true,
      type: 'http',
      argSchema: { $schema: 'https://json-schema.org/draft/2020-12/schema', ...argSchema },
      httpImpl: {
        request: requestOf(method, urlTemplate, { query, headers, styles }, body?.placeholder, credentials.auth),
      },
    },
  };
}

type Request = NonNullable<ToolBody['httpImpl']>['request'];
type Styles = NonNullable<Request['styles']>;

function requestOf(
  method: string,
  urlTemplate: string,
  { query, headers, styles }: { query: Value; headers: Record<string, string>; styles: Styles },
  body: string | undefined,
  auth: HttpAuth | undefined,
): Request {
  return {
    method: method.toUpperCase(),
    urlTemplate,
    ...(Object.keys(query).length > 0 && { query }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(body !== undefined && { body }),
    ...(Object.keys(styles).length > 0 && { styles }),
    ...(auth && { auth }),
  };
}

/** `{petId}` becomes the placeholder of its argument; a name that no parameter describes becomes a text argument. */
function pathTemplate(base: string, path: string, args: Arguments): string {
  const [plain = '', fragment] = path.split('#');
  if (fragment !== undefined) args.notes.push('the part of the path behind # is not sent');
  const rooted = plain.startsWith('/') || plain === '' ? plain : `/${plain}`;
  // A $ right before a placeholder would make it a literal one.
  return (base + rooted).replaceAll('${', '%24{').replace(/\{([^{}]*)\}/g, (_, inner: string) => {
    // `{+name}` and `{name:.*}` are ways to say that slashes may follow.
    const name =
      inner
        .replace(/^[+/;?&.#]/, '')
        .replace(/[:*].*$/s, '')
        .trim() || 'value';
    if (inner !== name)
      args.notes.push(`the value of ${name.slice(0, 40)} is sent as one part of the path, slashes encoded`);
    const known = args.path.get(name) ?? args.path.get(inner);
    if (known !== undefined) return known;
    const made = placeholder(declare(args, name, { type: 'string' }, true));
    args.path.set(name, made);
    return made;
  });
}

interface Body {
  placeholder: string;
  contentType: string;
  styles: Record<string, FieldStyle>;
}

const preferred = [
  /^application\/json\s*(;|$)/i,
  /^application\/[\w.+-]*json\b/i,
  /^\*\/\*$/,
  /^application\/x-www-form-urlencoded\b/i,
  /^multipart\/form-data\b/i,
  /^text\//i,
  /^application\/([\w.-]+\+)?xml\b/i,
];

function openApiBody(
  args: Arguments,
  operation: Value,
  document: ApiDocument,
  schemas: SchemaReader,
): Body | undefined {
  const requestBody = document.resolve(operation['requestBody']);
  if (!requestBody && operation['requestBody'] !== undefined)
    args.notes.push(`the body is left out: ${leadsNowhere(operation['requestBody'])}`);
  const content = requestBody?.['content'];
  if (!requestBody || !isObject(content)) return undefined;
  const contentTypes = Object.keys(content);
  const chosen =
    preferred.map((pattern) => contentTypes.find((type) => pattern.test(type))).find((type) => type !== undefined) ??
    contentTypes[0];
  if (chosen === undefined) return undefined;
  const media = content[chosen];
  const given = isObject(media) ? media['schema'] : undefined;
  const description = requestBody['description'];
  const body = addBody(args, chosen, schemas.read(given), description, requestBody['required'] === true);
  if (isForm(body) && isObject(media))
    body.styles = formStyles(isObject(given) ? given : {}, media['encoding'], isMultipart(body), document);
  return body;
}

const isMultipart = ({ contentType }: Body): boolean => /^multipart\/form-data\b/i.test(contentType);
const isForm = (body: Body): boolean =>
  isMultipart(body) || /^application\/x-www-form-urlencoded\b/i.test(body.contentType);

function addBody(args: Arguments, chosen: string, given: Value, description: unknown, isRequired: boolean): Body {
  const type =
    chosen === '*/*' || !/^[\w.+-]+\/[\w.+*-]+/.test(chosen) || chosen.includes('*') ? 'application/json' : chosen;
  const isObjectLike = /json|x-www-form-urlencoded|form-data/i.test(type);
  if (/form-data/i.test(type) || isByteType(type)) args.notes.push('files are sent as text');
  const schema: Value = isObjectLike ? { ...given } : { type: 'string' };
  if (typeof description === 'string' && schema['description'] === undefined && schema['$ref'] === undefined)
    schema['description'] = shorten(description, 600);
  const name = declare(args, 'body', schema, isRequired);
  return { placeholder: placeholder(name), contentType: type.split(/[\r\n]/)[0] as string, styles: {} };
}

function swaggerBody(
  args: Arguments,
  parameters: Value[],
  operation: Value,
  document: ApiDocument,
  schemas: SchemaReader,
): Body | undefined {
  const consumes = [operation['consumes'], document.root['consumes']].find(Array.isArray) as unknown[] | undefined;
  const accepted = (consumes ?? []).filter((each): each is string => typeof each === 'string');
  const body = parameters.find((each) => each['in'] === 'body');
  if (body) {
    const chosen =
      preferred.map((pattern) => accepted.find((type) => pattern.test(type))).find((type) => type !== undefined) ??
      accepted[0] ??
      'application/json';
    return addBody(args, chosen, schemas.read(body['schema']), body['description'], body['required'] === true);
  }
  const fields = parameters.filter((each) => each['in'] === 'formData');
  if (fields.length === 0) return undefined;
  const properties = Object.fromEntries(
    fields.map((field) => [textOf(field['name']), schemas.read({ ...field, required: undefined })]),
  );
  const required = fields.filter((field) => field['required'] === true).map((field) => textOf(field['name']));
  const hasParts =
    fields.some((field) => field['type'] === 'file') ||
    (accepted.includes('multipart/form-data') && !accepted.includes('application/x-www-form-urlencoded'));
  const type = hasParts ? 'multipart/form-data' : 'application/x-www-form-urlencoded';
  const schema = { type: 'object', properties, ...(required.length > 0 && { required }) };
  const made = addBody(args, type, schema, undefined, required.length > 0);
  const given = { properties: Object.fromEntries(fields.map((field) => [textOf(field['name']), field])) };
  return { ...made, styles: formStyles(given, undefined, hasParts, document) };
}

/** All cookies in one header; one that is not given is left out when it is sent. */
function cookieHeader({ cookies }: Arguments, secret: string | undefined): Record<string, string> {
  const all = secret === undefined ? cookies : [secret, ...cookies];
  return all.length === 0 ? {} : { Cookie: all.join('; ') };
}

function tagsOf(operation: Value): { tags?: string[] } {
  const tags = (Array.isArray(operation['tags']) ? operation['tags'] : [])
    .filter((each): each is string => typeof each === 'string')
    .map((each) =>
      each
        .replace(/[^A-Za-z0-9_-]+/g, '-')
        .replace(/^[^A-Za-z_]+|-+$/g, '')
        .slice(0, 64)
        .toLowerCase(),
    )
    .filter(isTag);
  return tags.length === 0 ? {} : { tags: [...new Set(tags)].slice(0, 8) };
}
