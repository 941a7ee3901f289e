/** What the browser lends to an agent: it is a caller like any other program, under the name `web`. */
export const lent = {
  caller_id: 'web',
  on_disconnect: 'wait',
  // A person needs longer to answer than a program.
  timeout_ms: 600_000,
  caller_tools: [
    {
      name: 'ask_user',
      description:
        'Ask the person in front of the web page a question and wait for the answer. Answers {"answer": text}.',
      inputSchema: {
        type: 'object',
        properties: {
          question: { type: 'string', description: 'What to ask' },
          choices: {
            type: 'array',
            items: { type: 'string' },
            description: 'Answers to choose from; without them the person types',
          },
        },
        required: ['question'],
        additionalProperties: false,
      },
    },
    {
      name: 'pick_file',
      description:
        'Ask the person in front of the web page to pick a file. Answers {"name", "size", "type", "text"} for text up to 200 KB, else {"name", "size", "type", "blob_id"}.',
      inputSchema: {
        type: 'object',
        properties: {
          prompt: { type: 'string', description: 'Which file is wanted, and why' },
          accept: { type: 'string', description: 'File types, for example ".csv,text/plain"' },
        },
        required: ['prompt'],
        additionalProperties: false,
      },
    },
  ],
} as const;
