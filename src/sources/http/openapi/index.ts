// OpenAPI documents as HTTP tools: a pure function from a document to tools and a report. May import: schema.
import { isObject, textOf } from '../../../schema/index.ts';
import { openDocument, parseDocument } from './document.ts';
import { longChoices } from './long-integers.ts';
import { convertOperation, methods, type ConvertOptions, type ImportedTool } from './operations.ts';
import { leadsNowhere } from './parameters.ts';
import { SchemaReader, shorten } from './schemas.ts';
import { secretPrefix } from './secret-names.ts';
import type { NeededSecret } from './security.ts';
import { slugify, Slugs } from './slugs.ts';

export { parseDocument, type ImportedTool, type NeededSecret };

export interface ImportOptions {
  /** Slug of the bundle; made from the document's title when left out. */
  bundle?: string | undefined;
  /** Where the document came from, or where the API is. */
  baseUrl?: string | undefined;
}

/** What became of each operation that did not become a tool, or not quite. */
export interface OperationNote {
  /** Also the place in the document, where several operations may share it. */
  operation: string;
  reason: string;
}

export interface ImportReport {
  operations: number;
  imported: number;
  /** Operations that are no tools now, each with its reason. */
  skipped: OperationNote[];
  /** Operations that are tools, but say less than the document did. */
  notes: OperationNote[];
  /** What must be set before the tools can sign in. */
  secrets: NeededSecret[];
  /** What allowedHosts must cover. */
  hosts: string[];
}

export interface ApiImport {
  bundle: { slug: string; displayName: string; description?: string };
  /** One after the other, so that a large document is never held twice; the report is complete after the last. */
  tools: Generator<ImportedTool, void, void>;
  report: ImportReport;
}

/** Reads a document (already parsed). Throws import.invalid when it is none; whatever is odd inside costs at most its operation. */
export function importOpenApi(root: unknown, options: ImportOptions = {}): ApiImport {
  const document = openDocument(root);
  const info = isObject(document.root['info']) ? document.root['info'] : {};
  const title = shorten(textOf(info['title']), 150);
  const slug =
    options.bundle ?? (slugify(title.replace(/\b(the|api|rest|openapi|swagger|specification)\b/gi, ' '), 32) || 'api');
  const description = shorten(textOf(info['description']), 500);
  const report: ImportReport = { operations: 0, imported: 0, skipped: [], notes: [], secrets: [], hosts: [] };
  const convert = {
    document,
    schemas: new SchemaReader(document),
    slugs: new Slugs(),
    prefix: secretPrefix(slug),
    baseUrl: options.baseUrl ?? originOf(info),
  };
  for (const { place, reason } of longChoices(document.root)) report.notes.push({ operation: place, reason });
  return {
    bundle: { slug, displayName: title || slug, ...(description !== '' && { description }) },
    report,
    tools: convertAll(convert, report),
  };
}

/** Collections of documents note where each was found. */
function originOf(info: Record<string, unknown>): string | undefined {
  const origins = Array.isArray(info['x-origin']) ? info['x-origin'] : [];
  const url = origins.flatMap((each) => (isObject(each) && typeof each['url'] === 'string' ? [each['url']] : []))[0];
  return url !== undefined && /^https?:\/\//i.test(url) ? url : undefined;
}

function* convertAll(options: ConvertOptions, report: ImportReport): Generator<ImportedTool, void, void> {
  const { document } = options;
  const paths = isObject(document.root['paths']) ? document.root['paths'] : {};
  const hosts = new Set<string>();
  const secrets = new Map<string, NeededSecret>();
  for (const [path, given] of Object.entries(paths)) {
    if (path.startsWith('x-')) continue;
    const pathItem = document.resolve(given);
    if (!pathItem) report.skipped.push({ operation: path, reason: leadsNowhere(given) });
    for (const method of pathItem ? methods : []) {
      const operation = pathItem?.[method];
      if (!pathItem || !isObject(operation)) continue;
      const name = `${method.toUpperCase()} ${path}`;
      report.operations++;
      const converted = convertOperation(path, method, pathItem, operation, options);
      if ('problem' in converted) {
        report.skipped.push({ operation: name, reason: converted.problem });
        continue;
      }
      report.imported++;
      for (const reason of new Set(converted.notes)) report.notes.push({ operation: name, reason });
      for (const secret of converted.secrets) secrets.set(secret.name, secret);
      report.secrets = [...secrets.values()];
      for (const host of converted.hosts) hosts.add(host);
      report.hosts = [...hosts];
      yield converted.tool;
    }
  }
}
