import type { Setting } from '../define.ts';
import { addAudit } from './audit.ts';
import { addBackup } from './backup.ts';
import { addBundles } from './bundles.ts';
import { addCalls } from './calls.ts';
import { addChat } from './chat.ts';
import { addClients } from './clients.ts';
import { addCompletion } from './completion.ts';
import { addDoctor } from './doctor.ts';
import { addExport } from './exports.ts';
import { addImports } from './imports.ts';
import { addLogin } from './login.ts';
import { addPacks } from './packs.ts';
import { addProjects } from './projects.ts';
import { addSecrets } from './secrets.ts';
import { addServe } from './serve.ts';
import { addServers } from './servers.ts';
import { addSessions } from './sessions.ts';
import { addSettings } from './settings.ts';
import { addStats } from './stats.ts';
import { addStdio } from './stdio.ts';
import { addTokens } from './tokens.ts';
import { addToolCommands } from './tools.ts';

/** Every command, in the order in which --help shows them. */
export function addCommands(setting: Setting): void {
  addServe(setting);
  addToolCommands(setting);
  addCalls(setting);
  addBundles(setting);
  addTokens(setting);
  addSecrets(setting);
  addServers(setting);
  addPacks(setting);
  addProjects(setting);
  addSessions(setting);
  addChat(setting);
  addStdio(setting);
  addClients(setting);
  addLogin(setting);
  addSettings(setting);
  addStats(setting);
  addAudit(setting);
  addDoctor(setting);
  addExport(setting);
  addImports(setting);
  addBackup(setting);
  addCompletion(setting);
}
