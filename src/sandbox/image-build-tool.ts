import { isAbsolute } from 'node:path';
import { demandUnconfined, fail, offerTool, type OfferedFunction } from '../schema/index.ts';
import { buildTimeoutMs } from './defaults.ts';
import { imageContext } from './image-context.ts';
import type { Sandboxes } from './sandboxes.ts';

/**
 * The tool `image_build`: a project's own image from a folder with a Dockerfile. A Dockerfile runs commands on this
 * machine, so only this machine may ask for it, unless the configuration says otherwise.
 */
export function imageBuildTool(sandboxes: Pick<Sandboxes, 'choose'>, allowsRemote: () => boolean): OfferedFunction {
  return offerTool({
    slug: 'build',
    description:
      'Build an image for projects from a folder of this machine with a Dockerfile, best FROM oubliette-base. Name it in project_create as sandbox.image.',
    level: 'admin',
    argSchema: {
      type: 'object',
      additionalProperties: false,
      required: ['folder', 'image'],
      properties: {
        folder: { type: 'string', minLength: 1, description: 'Absolute path of the folder with the Dockerfile.' },
        image: {
          type: 'string',
          pattern: '^[a-z0-9]+([._-][a-z0-9]+)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$',
          maxLength: 200,
          description: 'Name of the image, such as my-agents:1.',
        },
        driver: {
          enum: ['auto', 'docker', 'podman', 'bubblewrap'],
          description: 'Build for this driver; default: the one that projects get.',
        },
      },
    },
    returns: '{image, duration_ms}',
    example: 'image.build(folder="/home/me/agents", image="my-agents:1")',
    limits: { timeoutMs: buildTimeoutMs },
    run: async ({ folder, image, driver: wanted = 'auto' }, call) => {
      demandUnconfined(call.actor, 'Building an image');
      if (call.actor.door !== 'cli' && call.actor.kind !== 'local' && !allowsRemote())
        throw fail('remote_config.refused');
      if (!isAbsolute(folder))
        throw fail('request.invalid', { reason: `folder must be an absolute path, not ${folder}` });
      const { driver } = await sandboxes.choose({ driver: wanted, level: 'basic' });
      return driver.buildImage(image, await imageContext(folder), call.signal);
    },
  });
}
