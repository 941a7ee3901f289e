// The first program in a sandbox: owns the agent's stdio, spools what it says, and outlives the server.
import { join } from 'node:path';
import { agentProcess, controlConnection, execConnection, openLoopback, spoolWriter } from './sandbox/inside/index.ts';
import { controlSocketName, execSocketName, insidePaths } from './schema/supervisor.ts';

const lonelyMs = Number(process.env['OUBLIETTE_LONELY_MS'] ?? 15 * 60_000);
const session = process.env['OUBLIETTE_SESSION'] ?? '';
const mcp = process.env['OUBLIETTE_MCP'] ?? insidePaths.mcp;
const folder = process.env['OUBLIETTE_SPOOL'] ?? insidePaths.spool;
const home = process.env['HOME'] ?? insidePaths.home;

const spool = spoolWriter(folder);
const agent = agentProcess(spool, home, { changed: () => control.wake(), stopped: () => process.exit(0) });
const control = controlConnection(join(mcp, controlSocketName), session, spool, agent);
execConnection(join(mcp, execSocketName));
// Outside a sandbox (in a test) the ports would be the host's own.
if (mcp === insidePaths.mcp) openLoopback(mcp);

const leave = async (graceMs: number): Promise<void> => {
  await agent.stop(graceMs);
  process.exit(0);
};
process.on('SIGTERM', () => void leave(2000));
process.on('SIGINT', () => void leave(2000));

// Also the second try of a write that found the disk full.
setInterval(
  () => {
    spool.flush();
    agent.heedSpool();
    if (performance.now() - control.heardAt > lonelyMs) void leave(2000);
  },
  Math.min(1000, lonelyMs / 4),
);
