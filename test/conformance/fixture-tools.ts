// What the public conformance suite expects of a server, as data and small functions.
export const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
export const silence = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=';

export type Answers = Record<string, any>;
/** A question to the client, or an answer. */
export type Reply = {
  content?: object[];
  structuredContent?: object;
  isError?: boolean;
  ask?: Record<string, object>;
  state?: unknown;
};
export interface Asked {
  args: Record<string, any>;
  answers: Answers | undefined;
  state: any;
  can: Record<string, any>;
  progress(progress: number, total: number): Promise<void>;
  log(text: string): Promise<void>;
  changed(what: 'tools' | 'prompts'): void;
  needs(capability: object): never;
}

export const text = (value: string): object => ({ type: 'text', text: value });
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const nothing = { type: 'object', properties: {} };
const elicit = (message: string, properties: object, required: string[] = []): object => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties, required } },
});
const sample = (prompt: string, maxTokens = 100): object => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: text(prompt) }], maxTokens },
});
const roots = { method: 'roots/list', params: {} };
const name = { name: { type: 'string' } };
const isAnswer = (answer: unknown): boolean => typeof answer === 'object' && answer !== null;

/** Asks once, then says what came back. */
const round =
  (ask: (asked: Asked) => Record<string, object>, done: (answers: Answers) => string) =>
  async (asked: Asked): Promise<Reply> => {
    const wanted = ask(asked);
    if (!asked.answers || !Object.keys(wanted).every((key) => isAnswer(asked.answers?.[key]))) return { ask: wanted };
    return { content: [text(done(asked.answers))] };
  };

const enums = {
  untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
  titledSingle: {
    type: 'string',
    oneOf: [
      { const: 'value1', title: 'First Option' },
      { const: 'value2', title: 'Second Option' },
      { const: 'value3', title: 'Third Option' },
    ],
  },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
  titledMulti: {
    type: 'array',
    items: {
      anyOf: [
        { const: 'value1', title: 'First Choice' },
        { const: 'value2', title: 'Second Choice' },
        { const: 'value3', title: 'Third Choice' },
      ],
    },
  },
};
const defaults = {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
};
const newest = JSON.parse(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": { "address": { "$anchor": "addressDef", "type": "object", "properties": { "street": { "type": "string" }, "city": { "type": "string" } } } },
  "properties": {
    "name": { "type": "string" },
    "address": { "$ref": "#/$defs/address" },
    "contactMethod": { "type": "string", "enum": ["phone", "email"] },
    "phone": { "type": "string" },
    "email": { "type": "string" }
  },
  "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
  "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
  "then": { "required": ["phone"] },
  "else": { "required": ["email"] },
  "additionalProperties": false
}`) as object;

export interface FixtureTool {
  description: string;
  inputSchema: object;
  run(asked: Asked): Promise<Reply>;
}
const tool = (
  description: string,
  run: (asked: Asked) => Promise<Reply> | Reply,
  inputSchema: object = nothing,
): FixtureTool => ({
  description,
  inputSchema,
  run: async (asked) => run(asked),
});
const result = (content: object[]) => () => ({ content });

export const tools: Record<string, FixtureTool> = {
  test_simple_text: tool('Text', result([text('This is a simple text response for testing.')])),
  test_image_content: tool('Image', result([{ type: 'image', data: pixel, mimeType: 'image/png' }])),
  test_audio_content: tool('Audio', result([{ type: 'audio', data: silence, mimeType: 'audio/wav' }])),
  test_embedded_resource: tool(
    'Resource',
    result([
      {
        type: 'resource',
        resource: {
          uri: 'test://embedded-resource',
          mimeType: 'text/plain',
          text: 'This is an embedded resource content.',
        },
      },
    ]),
  ),
  test_multiple_content_types: tool(
    'Mixed',
    result([
      text('Multiple content types test:'),
      { type: 'image', data: pixel, mimeType: 'image/png' },
      {
        type: 'resource',
        resource: {
          uri: 'test://mixed-content-resource',
          mimeType: 'application/json',
          text: '{"test":"data","value":123}',
        },
      },
    ]),
  ),
  test_error_handling: tool('Fails', () => ({
    isError: true,
    content: [text('This tool intentionally returns an error for testing')],
  })),
  test_tool_with_logging: tool('Logs', async ({ log }) => {
    await log('Tool execution started');
    await pause(50);
    await log('Tool processing data');
    await pause(50);
    await log('Tool execution completed');
    return { content: [text('Logged three times.')] };
  }),
  test_logging_tool: tool('Logs once', async ({ log }) => {
    await log('only if wanted');
    return { content: [text('Logged.')] };
  }),
  test_tool_with_progress: tool('Progress', async ({ progress }) => {
    for (const step of [0, 50, 100]) {
      await progress(step, 100);
      await pause(50);
    }
    return { content: [text('Done.')] };
  }),
  test_sampling: tool(
    'Samples',
    round(
      ({ args }) => ({ answer: sample(String(args['prompt'])) }),
      ({ answer }) => `LLM response: ${answer.content?.text}`,
    ),
    { type: 'object', properties: { prompt: { type: 'string' } }, required: ['prompt'] },
  ),
  test_elicitation: tool(
    'Elicits',
    round(
      ({ args }) => ({
        user: elicit(
          String(args['message']),
          {
            username: { type: 'string', description: "User's response" },
            email: { type: 'string', description: "User's email address" },
          },
          ['username', 'email'],
        ),
      }),
      ({ user }) => `User response: ${JSON.stringify(user)}`,
    ),
    { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
  ),
  test_elicitation_sep1034_defaults: tool(
    'Defaults',
    round(
      () => ({ form: elicit('Please review', defaults) }),
      ({ form }) => `Elicitation completed: action=${form.action}, content=${JSON.stringify(form.content)}`,
    ),
  ),
  test_elicitation_sep1330_enums: tool(
    'Enums',
    round(
      () => ({ form: elicit('Please choose', enums) }),
      ({ form }) => `Elicitation completed: action=${form.action}, content=${JSON.stringify(form.content)}`,
    ),
  ),
  json_schema_2020_12_tool: tool('Tool with JSON Schema 2020-12 features', result([text('valid')]), newest),
  test_custom_headers: tool('Mirrored in a header', ({ args }) => ({ content: [text(JSON.stringify(args))] }), {
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, query: { type: 'string' } },
    required: ['region'],
  }),
  test_missing_capability: tool('Needs sampling', ({ can, needs }) =>
    can['sampling'] ? { content: [text('can sample')] } : needs({ sampling: {} }),
  ),
  test_streaming_elicitation: tool('Progress, then a question', async (asked) => {
    await asked.progress(1, 2);
    return round(
      () => ({ user: elicit('Your name?', name) }),
      () => 'Thanks',
    )(asked);
  }),
  test_trigger_tool_change: tool('Changes the tool list', ({ changed }) => {
    changed('tools');
    return { content: [text('changed')] };
  }),
  test_trigger_prompt_change: tool('Changes the prompt list', ({ changed }) => {
    changed('prompts');
    return { content: [text('changed')] };
  }),
  test_input_required_result_elicitation: tool(
    'Asks a name',
    round(
      () => ({ user_name: elicit('What is your name?', name, ['name']) }),
      ({ user_name: user }) => `Hello, ${user.content?.name}!`,
    ),
  ),
  test_input_required_result_sampling: tool(
    'Samples',
    round(
      () => ({ capital_question: sample('What is the capital of France?') }),
      ({ capital_question: said }) => String(said.content?.text),
    ),
  ),
  test_input_required_result_list_roots: tool(
    'Lists roots',
    round(
      () => ({ client_roots: roots }),
      ({ client_roots: listed }) => JSON.stringify(listed.roots),
    ),
  ),
  test_input_required_result_request_state: tool('Keeps state', async ({ answers, state }) =>
    answers?.['confirm'] && state?.step === 'confirm'
      ? { content: [text('state-ok')] }
      : { ask: { confirm: elicit('Please confirm', { ok: { type: 'boolean' } }, ['ok']) }, state: { step: 'confirm' } },
  ),
  test_input_required_result_tampered_state: tool('Keeps state', async ({ answers, state }) =>
    answers && state
      ? { content: [text('state-ok')] }
      : { ask: { confirm: elicit('Please confirm', { ok: { type: 'boolean' } }, ['ok']) }, state: { step: 'confirm' } },
  ),
  test_input_required_result_multiple_inputs: tool('Asks three things', async ({ answers }) =>
    answers?.['user_name'] && answers['greeting'] && answers['client_roots']
      ? { content: [text(JSON.stringify(answers))] }
      : {
          ask: {
            user_name: elicit('What is your name?', name, ['name']),
            greeting: sample('Generate a greeting', 50),
            client_roots: roots,
          },
          state: { step: 1 },
        },
  ),
  test_input_required_result_multi_round: tool('Asks twice', async ({ answers, state }): Promise<Reply> => {
    if (state?.step === 2 && answers?.['step2'])
      return { content: [text(`${state.name} likes ${answers['step2'].content?.color}`)] };
    if (answers?.['step1'])
      return {
        ask: { step2: elicit('Step 2: What is your favorite color?', { color: { type: 'string' } }, ['color']) },
        state: { step: 2, name: answers['step1'].content?.name },
      };
    return { ask: { step1: elicit('Step 1: What is your name?', name, ['name']) }, state: { step: 1 } };
  }),
  test_input_required_result_capabilities: tool('Asks only what can be answered', async ({ answers, can }) => {
    if (answers) return { content: [text('thanks')] };
    return {
      ask: {
        ...(can['sampling'] && { said: sample('Say something') }),
        ...(can['elicitation'] && { user_name: elicit('Your name?', name) }),
      },
    };
  }),
};

export const prompts: Record<
  string,
  {
    description: string;
    arguments?: object[];
    run(args: Record<string, string>, answers?: Answers): Reply & { messages?: object[] };
  }
> = {
  test_simple_prompt: {
    description: 'Simple',
    run: () => ({ messages: [{ role: 'user', content: text('This is a simple prompt for testing.') }] }),
  },
  test_prompt_with_arguments: {
    description: 'With arguments',
    arguments: [
      { name: 'arg1', description: 'First', required: true },
      { name: 'arg2', description: 'Second', required: true },
    ],
    run: ({ arg1, arg2 }) => ({
      messages: [{ role: 'user', content: text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`) }],
    }),
  },
  test_prompt_with_embedded_resource: {
    description: 'With a resource',
    arguments: [{ name: 'resourceUri', description: 'Which one', required: true }],
    run: ({ resourceUri }) => ({
      messages: [
        {
          role: 'user',
          content: {
            type: 'resource',
            resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
          },
        },
        { role: 'user', content: text('Please process the embedded resource above.') },
      ],
    }),
  },
  test_prompt_with_image: {
    description: 'With an image',
    run: () => ({
      messages: [
        { role: 'user', content: { type: 'image', data: pixel, mimeType: 'image/png' } },
        { role: 'user', content: text('Please analyze the image above.') },
      ],
    }),
  },
  test_input_required_result_prompt: {
    description: 'Asks for its context',
    run: (_args, answers) =>
      answers?.['user_context']
        ? { messages: [{ role: 'user', content: text(`Context: ${answers['user_context'].content?.context}`) }] }
        : {
            ask: {
              user_context: elicit('What context should the prompt use?', { context: { type: 'string' } }, ['context']),
            },
          },
  },
};

export const resources = [
  { uri: 'test://static-text', name: 'Static Text', description: 'A text', mimeType: 'text/plain' },
  { uri: 'test://static-binary', name: 'Static Binary', description: 'A picture', mimeType: 'image/png' },
  { uri: 'test://watched-resource', name: 'Watched', description: 'Changes now and then', mimeType: 'text/plain' },
];
export const templates = [
  {
    uriTemplate: 'test://template/{id}/data',
    name: 'Template',
    description: 'Data by id',
    mimeType: 'application/json',
  },
];

export function readResource(uri: string): object | undefined {
  if (uri === 'test://static-text')
    return { uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' };
  if (uri === 'test://static-binary') return { uri, mimeType: 'image/png', blob: pixel };
  if (uri === 'test://watched-resource') return { uri, mimeType: 'text/plain', text: 'Watched resource content' };
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  return (
    (id && {
      uri,
      mimeType: 'application/json',
      text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
    }) ||
    undefined
  );
}
