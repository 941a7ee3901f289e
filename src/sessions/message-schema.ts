const text = (description: string, maxLength = 512) =>
  ({ type: 'string', description, minLength: 1, maxLength }) as const;
const orNull = <const S extends { description: string }>(schema: S) =>
  ({ anyOf: [schema, { type: 'null' }], description: schema.description }) as const;

const callerProperties = {
  caller_id: orNull(text('Name of the calling program: the prefix of its tools.')),
  caller_tools: orNull({
    type: 'array',
    maxItems: 128,
    description: 'Tools that the caller lends to the agent; a later declaration replaces them.',
    items: {
      type: 'object',
      required: ['name'],
      additionalProperties: false,
      properties: {
        name: { type: 'string', description: 'Name without prefix.' },
        description: { type: 'string', maxLength: 16_384, description: 'What it does, for the agent.' },
        inputSchema: { type: 'object', description: 'JSON Schema of its arguments.' },
      },
    },
  }),
} as const;

const contextProperties = {
  ...callerProperties,
  on_disconnect: orNull({
    enum: ['fail', 'wait'],
    description: 'What waiting caller tools do when the last stream of the caller closes.',
  }),
  timeout_ms: orNull({
    type: 'integer',
    minimum: 1,
    maximum: 86_400_000,
    description: 'How long a caller tool may take; default 60000.',
  }),
  inherit: orNull({ type: 'boolean', description: 'Whether child sessions may use the caller tools too.' }),
} as const;

const properties = {
  project_id: text('Id of the project, proj_...'),
  session_id: text('Id of a session to go on with, ses_...'),
  message: { type: 'string', minLength: 1, maxLength: 1_048_576, description: 'What to say to the agent.' },
  workspace_id: text('Workspace to work in, wsp_...; default is the default one.'),
  create_workspace: {
    type: 'boolean',
    description: 'Make a workspace if the external id names none yet, or a new one without it.',
  },
  external_id: text('Your own name for the workspace.'),
  source: text('Where the external id comes from.'),
  agent: text('Agent to use instead of the one of the project.', 256),
  model: text('Model to use instead of the one of the project.', 256),
  attachments: {
    type: 'array',
    maxItems: 64,
    description: 'Uploaded blobs to place in the workspace.',
    items: {
      type: 'object',
      required: ['blob_id', 'name'],
      additionalProperties: false,
      properties: {
        blob_id: text('Answer of POST /blobs.'),
        name: { type: 'string', minLength: 1, maxLength: 200, description: 'File name for the agent.' },
      },
    },
  },
  grant: {
    type: 'object',
    additionalProperties: false,
    description: "An API key for the session, never wider than your own: lets the agent use the server's own tools.",
    properties: {
      scope: { enum: ['read', 'write', 'admin'], description: 'Level of the key; default read.' },
      bundles: {
        type: 'array',
        maxItems: 256,
        items: text('bundle slug'),
        description: 'Bundles it reaches; default all that you reach.',
      },
      projects: {
        type: 'array',
        maxItems: 256,
        items: text('project id'),
        description: 'Projects it reaches; default its own.',
      },
    },
  },
  permissions: {
    enum: ['auto', 'deny', 'ask'],
    description: "What happens to the agent's permission requests: allow, refuse, or ask the owner.",
  },
  idempotency_key: text('The same key again answers what the first call answered, and does nothing.'),
  context: {
    type: 'object',
    additionalProperties: false,
    properties: contextProperties,
    description: 'Who calls, and what it lends to the agent.',
  },
  ...callerProperties,
} as const;

export const messageSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['message'],
  properties,
} as const;

const { session_id: _, ...forSpawn } = properties;
export const spawnSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['project_id', 'message'],
  properties: forSpawn,
} as const;
