// Run a code-mode program in a killable child process against the call function it is handed. May import: nothing of ours.
export {
  openEngine,
  maxProgramLength,
  neededFunctions,
  type Engine,
  type EngineLimits,
  type EngineOptions,
  type LargeValue,
  type ProgramOutcome,
  type ProgramRequest,
} from './engine.ts';
export { ProgramEnd } from './program-calls.ts';
export type { ProgramError } from './program-error.ts';
export { functionInfo, pythonType, type FunctionInfo, type Param } from './signature.ts';
export { bindArguments } from './bind-arguments.ts';
export { nearest, editDistance, listing } from './nearest.ts';
export {
  exampleInvocation,
  exampleValues,
  expand as expandSnippet,
  type SnippetDefinition,
  type SnippetParam,
  type Snippets,
} from './snippets.ts';
export { shapeOf } from './shape.ts';
export { withLongIntegers } from './values.ts';
export { pythonLiteral } from './python-literal.ts';
export type { Answer, Pack, Target, World } from './world.ts';
