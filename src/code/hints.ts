const importable = new Set(['asyncio', 'datetime', 'json', 'math', 'os', 'pathlib', 're', 'sys', 'typing']);
const available = [...importable].join(', ');

const modules: Record<string, string> = {
  collections: 'Use dict and list: counts[k] = counts.get(k, 0) + 1; groups.setdefault(k, []).append(v)',
  itertools: 'Use loops and comprehensions: [x for part in parts for x in part]',
  functools: 'Use a loop instead of reduce, and a dict instead of a cache',
  random: 'There is no randomness here; call a tool that has it',
  time: 'There is no clock here; call clock.now()',
  base64: 'Call text.base64()',
  hashlib: 'Call text.hash()',
  uuid: 'There is no randomness here; call a tool that has it',
  requests: 'There is no network here; call web.fetch() or another tool (ot.packs() lists them)',
  urllib: 'There is no network here; call web.fetch() or another tool (ot.packs() lists them)',
  httpx: 'There is no network here; call web.fetch() or another tool (ot.packs() lists them)',
  subprocess: 'There are no processes here; call a tool (ot.packs() lists them)',
  dataclasses: 'Use dicts',
  enum: 'Use plain constants',
  statistics: 'Use sum(x) / len(x) and sorted(x)[len(x) // 2]',
  string: 'Write the characters out',
  csv: 'Split lines and fields with str.split, or call data.convert()',
  copy: 'Use list(x) or dict(x) for a copy',
  operator: "Use a lambda: key=lambda row: row['name']",
  io: 'Use strings',
  traceback: 'The text of a failure is enough: except Exception as e: str(e)',
  logging: 'Use print()',
  pprint: 'Use json.dumps(value, indent=2)',
  heapq: 'Use sorted(items)[:n]',
  zoneinfo: 'Call clock.convert()',
  calendar: 'Use datetime, or call clock.add()',
  decimal: 'Call calc.evaluate(), or count in the smallest unit',
  threading: 'Many calls at once: parallel([("pack.function", {"key": "value"}), ...])',
  concurrent: 'Many calls at once: parallel([("pack.function", {"key": "value"}), ...])',
  aiohttp: 'There is no network here; call web.fetch() or another tool (ot.packs() lists them)',
  numpy: 'Use lists, sum(), min(), max() and math',
  pandas: 'Use lists of dicts, sorted() and comprehensions',
  yaml: 'Call data.convert()',
};

/** Methods that are there when they are called; otherwise the interpreter knows nothing of them. */
const methods: [string, string][] = [
  ['dict', 'get|items|keys|pop|setdefault|update|values'],
  ['list', 'append|count|extend|index|insert|pop|remove|sort'],
  ['set', 'add|discard|remove|union|update'],
  ['str', 'count|endswith|find|index|join|lower|lstrip|replace|rstrip|split|startswith|strip|title|upper'],
];

/** Patterns of the interpreter's messages, each with what to do instead. */
const ways: [RegExp, string | ((match: RegExpExecArray) => string)][] = [
  [/class definitions/, 'Use dicts and functions instead of classes'],
  [/pattern matching/, 'Use if / elif instead of match'],
  [/yield expressions/, 'Build a list and return it instead of yield'],
  [/'del' statement/, 'Use items.pop(key) instead of del, or set the name to None'],
  [/async for loops/, 'Use a plain for loop: tool calls need no await'],
  [/async with|context manager/, 'Call the tool directly, without with'],
  [/type aliases/, 'Leave the type statement out'],
  [/exception groups/, 'Use except instead of except*'],
  [/complex constants/, 'Complex numbers are not available'],
  [/Wildcard imports/, 'Import the names one by one'],
  [/matrix multiplication/, 'Write the sums out with loops'],
  [/'str' object has no attribute 'format'/, 'Use an f-string: f"{value}"'],
  [/unsupported operand type\(s\) for %: 'str'/, 'Use an f-string instead of %: f"{value}"'],
  [/thousands separator/, 'Leave , and _ out of the format: f"{value:.2f}"'],
  [/unsupported operand .*'bool'/, 'Make a number of it first: int(flag); sum(1 for x in rows if x > 1)'],
  [/unsupported operand type\(s\) for \|=?: 'dict'/, 'Put dicts together like this: {**a, **b}'],
  [/not supported between instances of 'list' and 'list'/, 'Compare tuples: sorted(rows, key=tuple)'],
  [/not slice$/, 'Put the pieces together: items = items[:1] + new + items[3:]'],
  [/invalid unpacking target/, 'Take the values into names first, then store them one by one'],
  [/'iterator' object is not iterable|object is not an iterator/, 'Keep a list, and use a for loop over it'],
  [/'type' object has no attribute '(\w+)'/, (match) => `Use a lambda: lambda value: value.${match[1]}()`],
  [/callable replacement/, 'Go through re.findall or str.split and put the text together'],
  [/exceptions can only be called with/, 'Give an exception one text: raise ValueError(str(value))'],
  [/Value after \* must be an iterable/, 'Make a list of it first: [*list(values)]'],
  [/^(?:enumerate|sum|round) expected at most 2 arguments, got 1$/, 'Give it by its place: enumerate(items, 1)'],
  [/^int expected at most 1 argument/, 'Only decimal digits are read: add up the others, n = n * 16 + digits.index(c)'],
  [/JSONEncoder\.__init__/, 'Make text of such values first: {"day": str(day)}'],
  [/'file' argument is not supported/, 'Leave file out: what is printed is part of the answer'],
  [/cannot unpack non-iterable range/, 'Make a list of it first: first, *rest = list(range(3))'],
  [
    /coroutine or an awaitable is required/,
    'Tool calls need no await. Many at once: parallel([("pack.function", {"key": "value"}), ...])',
  ],
  [/^module 'asyncio' has no attribute 'sleep'/, 'Leave it out: there is nothing to wait for'],
  [
    /'datetime\.datetime' object has no attribute '\w*fromtimestamp'/,
    'Write datetime(1970, 1, 1) + timedelta(seconds=n)',
  ],
  [
    /'datetime\.datetime' object has no attribute 'time'/,
    'Use d.hour, d.minute and d.second, or d.strftime("%H:%M:%S")',
  ],
  [
    new RegExp(`'(?:${methods.map(([type, names]) => `${type}' object has no attribute '(?:${names})`).join('|')})'$`),
    'A method can only be called, not passed on: key=lambda k: counts.get(k)',
  ],
  [
    /^'module' object has no attribute 'path'/,
    "Use pathlib: from pathlib import Path; str(Path('a') / 'b'), Path(p).name",
  ],
  [/^module 'sys' has no attribute 'exit'/, 'Use return to end a program'],
  [/unexpected token \$/, 'A snippet stands at the start of a line of its own: $name key=value'],
  [/can't be awaited/, 'Tool calls need no await: call the function directly'],
  [
    /external functions are not yet supported in this context/,
    'Call tools in a loop or comprehension first, then sort or map the results',
  ],
  [/'(?:datetime\.now|date\.today|datetime\.utcnow)' is not supported/, 'There is no clock here; call clock.now()'],
  [/Permission denied/, 'There is no file access here; call a tool that reads files'],
  [/^module 'os' has no attribute/, 'There is no access to files, processes or the environment here; call a tool'],
  [
    /^(?:module '\w+'|'module' object) has no attribute/,
    'Only a part of each module is here; write it out, or call a tool',
  ],
  [
    /is not supported in this environment/,
    'There is no access to files, processes, clock or environment here; call a tool',
  ],
  [
    /No module named '([\w.]+)'/,
    (match) => {
      const top = match[1]!.split('.')[0]!;
      const own = Object.hasOwn(modules, top) ? `${modules[top]}. ` : '';
      return `${own || `If ${top} is a pack, leave the import out: packs are there already. `}Modules that can be imported: ${available}`;
    },
  ],
];

/** What to write instead, for what this Python does not have. */
export function hintFor(message: string): string | undefined {
  for (const [pattern, way] of ways) {
    const match = pattern.exec(message);
    if (match) return typeof way === 'string' ? way : way(match);
  }
  return undefined;
}

const builtins: Record<string, string> = {
  exec: 'programs cannot run text as code',
  eval: 'programs cannot run text as code; use json.loads to read data',
  compile: 'programs cannot run text as code',
  __import__: 'use an import statement',
  globals: 'keep values in a dict of your own',
  locals: 'keep values in a dict of your own',
  vars: 'keep values in a dict of your own',
  dir: 'ot.help(query="name") shows what there is',
  help: 'ot.help(query="name") shows what there is',
  input: 'programs cannot ask questions; pass the value in the code',
  bytearray: 'use bytes or a list of numbers',
  memoryview: 'use bytes',
  super: 'there are no classes; use functions',
  object: 'there are no classes; use dicts',
  property: 'there are no classes; use functions',
  format: 'use an f-string: f"{value:.2f}"',
  callable: 'what can be called is known when the program is written; leave the question out',
  issubclass: 'there are no classes; use isinstance(value, str)',
  complex: 'complex numbers are not available',
};

/** Why a builtin or module of full Python is not here, and what to do. */
export function missingBuiltin(name: string): string | undefined {
  if (importable.has(name)) return `write 'import ${name}' first`;
  if (Object.hasOwn(modules, name)) return `module '${name}' is not available. ${modules[name]}`;
  return Object.hasOwn(builtins, name) ? builtins[name] : undefined;
}

/** Rewrites the interpreter's messages: they name parts of its parser, but the author needs the construct. */
export function plainMessage(message: string): string {
  return message
    .replace(/^The monty syntax parser does not yet support (.*)$/s, 'not supported here: $1')
    .replace(/^Internal error in monty: /, '');
}
