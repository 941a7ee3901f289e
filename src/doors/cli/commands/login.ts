import { define, type Setting } from '../define.ts';

export function addLogin(setting: Setting): void {
  define(setting, setting.program, {
    usage: 'login',
    summary: 'print a new one-time sign-in link for the web app',
    examples: ['oubliette login'],
    async run(cli) {
      const server = await cli.server();
      const answer = await server.json<{ signInUrl: string }>('POST', '/auth/link', { body: {} });
      cli.print(answer, () => `${answer.signInUrl}\n${cli.paint('dim', 'Signs you in once, within 10 minutes.')}`);
    },
  });
}
