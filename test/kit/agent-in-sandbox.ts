import { agentOf, type AgentEvent, type AgentSpec, type AgentState, type Step } from '../../src/agents/index.ts';
import { openLink, type SandboxSpec, type SpoolRecord, type SupervisorLink } from '../../src/sandbox/index.ts';
import { insidePaths, type AgentCommand, type AgentConfig } from '../../src/schema/index.ts';

/** What a store keeps of a session: all that is needed to go on after a crash. */
export interface Kept {
  state: AgentState;
  offset: number;
  events: AgentEvent[];
}

/** The smallest possible owner of a session: stores each batch, then sends what is to be sent. */
export interface Host {
  kept: Kept;
  records: SpoolRecord[];
  link: SupervisorLink;
  do(change: (state: AgentState) => Step): void;
  /** Reads on until an event (or a spool record) is what was waited for. */
  until(is: (event: AgentEvent) => boolean): Promise<AgentEvent>;
  /** Forgets everything but what was kept, as a server that is killed does. */
  crash(): Promise<Kept>;
}

export async function hostAgent(options: {
  sandbox: SandboxSpec;
  config: AgentConfig;
  spec?: Partial<AgentSpec>;
  agent?: Partial<AgentCommand>;
  kept?: Kept;
}): Promise<Host> {
  const { driver, command } = agentOf('test', options.config);
  const isNew = options.kept === undefined;
  const opened = driver.open({
    config: options.config,
    cwd: insidePaths.workspace,
    mcpServers: [],
    permissions: 'auto',
    ...options.spec,
  });
  const kept: Kept = options.kept
    ? (JSON.parse(JSON.stringify(options.kept)) as Kept)
    : { state: opened.state, offset: 0, events: [] };
  const link = await openLink({
    session: 'ses_test',
    mcp: options.sandbox.mcp,
    spool: options.sandbox.spool,
    from: kept.offset,
  });
  if (isNew)
    link.send({ id: 'start', do: 'start', agent: { command, cwd: insidePaths.workspace, env: {}, ...options.agent } });
  const records: SpoolRecord[] = [];
  const batches = link.records()[Symbol.asyncIterator]();
  const sent = new Set<string>();

  const apply = (step: Step): void => {
    kept.state = step.state;
    kept.events.push(...step.events);
  };
  const sendAll = (): void => {
    for (const { id, line } of kept.state.outbox) {
      if (sent.has(id)) continue;
      sent.add(id);
      link.send({ id, do: 'write', line });
    }
  };
  const take = (record: SpoolRecord): void => {
    records.push(record);
    if (record.kind === 'out') apply(driver.line(kept.state, record.line));
    if (record.kind === 'err') apply(driver.line(kept.state, record.line, 'err'));
    if (record.kind === 'done') apply(driver.delivered(kept.state, record.id, record.error));
    if (record.kind === 'state') apply(driver.process(kept.state, record.state));
    kept.offset = record.next;
  };
  sendAll();

  return {
    kept,
    records,
    link,
    do(change) {
      apply(change(kept.state));
      sendAll();
    },
    async until(is) {
      for (let seen = 0; ;) {
        for (; seen < kept.events.length; seen++) if (is(kept.events[seen]!)) return kept.events[seen]!;
        const batch = await batches.next();
        if (batch.done) throw new Error(`the spool ended: ${JSON.stringify(kept.events.slice(-3))}`);
        batch.value.forEach(take);
        sendAll();
      }
    },
    async crash() {
      await link.close();
      return JSON.parse(JSON.stringify(kept)) as Kept;
    },
  };
}
