import { fail, offerTool, type Actor, type BuiltInBundle, type ToolView } from '../../schema/index.ts';
import type { HttpSource } from './http-source.ts';

export interface PreviewDeps {
  http: HttpSource;
  /** The tool behind an exact version, as far as the actor reaches. */
  resolve(actor: Actor, ref: { bundleID: string; slug: string; version: string }): Promise<ToolView>;
}

const text = (description: string) => ({ type: 'string', minLength: 1, description }) as const;

/** `preview_request`: what the live tester shows before anything is sent. */
export function previewTools({ http, resolve }: PreviewDeps): BuiltInBundle {
  return {
    slug: 'preview',
    displayName: 'Previews',
    description: 'What a tool would do, without doing it.',
    tools: [
      offerTool({
        slug: 'request',
        description:
          'The request that an HTTP tool would send with these arguments, every secret masked. Nothing is sent.',
        level: 'read',
        argSchema: {
          type: 'object',
          properties: {
            bundle_id: text('Id of the bundle'),
            slug: text('Slug of the tool'),
            version: text('Version of the tool'),
            args: {
              type: 'object',
              default: {},
              description: 'Arguments of the tool; defaults of its schema are not filled in',
            },
          },
          required: ['bundle_id', 'slug', 'version'],
          additionalProperties: false,
        },
        returns: '{method, url, headers, body, secrets:[{name,isSet}]}',
        example: 'preview.request(bundle_id="...", slug="weather", version="v1", args={"city": "Bonn"})',
        run: async ({ bundle_id, slug, version, args }, call) => {
          const tool = await resolve(call.actor, { bundleID: bundle_id, slug, version });
          if (tool.type !== 'http')
            throw fail('type.unsupported', {
              message: `${tool.name} sends no request of its own: it is of type ${tool.type}.`,
            });
          return http.preview(tool, args as Record<string, unknown>);
        },
      }),
    ],
  };
}
