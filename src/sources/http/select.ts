import { compile, TreeInterpreter, type JSONValue } from '@jmespath-community/jmespath';
import { pointerKey, valueAt } from '../../schema/index.ts';
import { TemplateProblem } from './template.ts';

/** Picks a part of an answer. */
export type Select = (value: unknown) => unknown;

const maxLength = 4_096;
const place = ['response', 'select'];

/** Compiles `response.select`: starting with `/` a JSON Pointer, else JMESPath. What is not there is null. */
export function compileSelect(text: string | undefined): Select {
  if (text === undefined || text === '') return (value) => value;
  if (text.length > maxLength) throw new TemplateProblem(`is longer than ${maxLength} characters`, place);
  if (text.startsWith('/')) return pointer(text);
  try {
    const expression = compile(text);
    return (value) => TreeInterpreter.search(expression, value as JSONValue) ?? null;
  } catch (error) {
    throw new TemplateProblem(`is neither a JSON Pointer nor JMESPath: ${(error as Error).message}`, place);
  }
}

function pointer(text: string): Select {
  if (/~(?![01])/.test(text)) throw new TemplateProblem('is no JSON Pointer: ~ must be followed by 0 or 1', place);
  const keys = text.slice(1).split('/').map(pointerKey);
  return (value) => valueAt(value, keys) ?? null;
}
