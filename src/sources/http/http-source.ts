import { fail, pointerStep, type Failure, type Source, type Tool, type ToolView } from '../../schema/index.ts';
import { compileAnswer } from './answer.ts';
import { HttpCall, type HttpSourceDeps, type Plan } from './http-call.ts';
import { keptTokens } from './oauth-tokens.ts';
import { previewRequest, type RequestPreview } from './preview.ts';
import { compileRequest } from './request-plan.ts';
import { secretHosts } from './secret-hosts.ts';
import { TemplateProblem } from './template.ts';

export interface HttpSource extends Source {
  /** The request that a call would send, with every secret masked; nothing is sent. */
  preview(tool: Pick<Tool, 'httpImpl' | 'argSchema'>, args: Record<string, unknown>): Promise<RequestPreview>;
}

const mostPlans = 2_000;

/** Runs tools of type http: templates, secrets, one checked request, retries inside one deadline. */
export function httpSource(deps: HttpSourceDeps): HttpSource {
  const plans = new Map<string, { plan: Plan; impl: Tool['httpImpl']; text: string }>();
  const demandHost = secretHosts();
  const tokens = keptTokens(deps.dialler, deps.secrets, deps.redactor);

  function planFor(tool: ToolView): Plan {
    const kept = plans.get(tool.id);
    // A version never changes, but its file may be edited by hand, and is read anew now and then.
    if (kept && (kept.impl === tool.httpImpl || kept.text === textOf(tool))) return kept.plan;
    const plan = compile(tool);
    plans.set(tool.id, { plan, impl: tool.httpImpl, text: textOf(tool) });
    if (plans.size > mostPlans) plans.delete(plans.keys().next().value as string);
    return plan;
  }

  return {
    check(tool) {
      const { request } = compile(tool, invalid);
      deps.dialler.check(request.origin);
      if (request.auth?.tokenOrigin !== undefined) deps.dialler.check(request.auth.tokenOrigin);
    },
    level: (tool) => (/^(get|head)$/i.test(tool.httpImpl?.request.method ?? '') ? 'read' : 'write'),
    preview: (tool, args) => previewRequest(compile(tool, invalid).request, args, deps.secrets),
    run: (tool, args, call) => new HttpCall({ deps, tokens, demandHost, plan: planFor(tool), tool, call }).run(args),
  };
}

function compile(tool: Pick<Tool, 'httpImpl' | 'argSchema'>, refuse: Refuse = broken): Plan {
  if (!tool.httpImpl) throw refuse('httpImpl is missing');
  try {
    return {
      request: compileRequest(tool.httpImpl.request, tool.argSchema),
      answer: compileAnswer(tool.httpImpl.response),
    };
  } catch (error) {
    if (error instanceof TemplateProblem) throw refuse(error.message, error.at);
    throw error;
  }
}

type Refuse = (reason: string, at?: readonly string[]) => Failure;

const textOf = ({ httpImpl, argSchema }: Tool): string => JSON.stringify([httpImpl, argSchema]);

/** A 400 that names the field as every other one does, so that a form can show it there. */
const invalid: Refuse = (reason, at = []) => {
  const field = at.slice(1).join('.');
  const message = field !== '' && reason.startsWith(`${field}: `) ? reason.slice(field.length + 2) : reason;
  const path = ['/httpImpl', ...at.map(pointerStep)].join('/');
  return fail('request.invalid', { reason: `${path} ${message}` }, { details: [{ path, message }] });
};
const broken = (reason: string): Failure => fail('tool.failed', { reason: `The tool cannot be used: ${reason}` });
