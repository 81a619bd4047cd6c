import type { GetPromptResult, Prompt } from '@modelcontextprotocol/sdk/types.js';
import { INVALID_PARAMS, RpcError } from './rpc-error.js';

interface PromptDeclaration {
  readonly name: string;
  readonly description: string;
  readonly arguments?: Prompt['arguments'];
  readonly text: (args: Readonly<Record<string, unknown>>) => string;
}

/** The two prompts of the interface's reference (reference-mcp-cli §5.1). */
const PROMPTS: readonly PromptDeclaration[] = [
  {
    name: 'recall-first',
    description: 'Look into memory before answering',
    arguments: [{ name: 'namespace', description: 'Namespace to look in', required: false }],
    text: (args) => {
      const namespace = typeof args['namespace'] === 'string' ? args['namespace'].trim() : '';
      const where = namespace === '' ? '' : ` with namespace ${JSON.stringify(namespace)}`;
      return [
        `Before you answer, call memory_recall${where} and describe in \`context\` what the question is about.`,
        'Build on what comes back, and say so when a memory contradicts what you were going to say.',
        'A short memory comes whole. A text that ends in [+n] is a passage: call memory_get with its id when you need the n characters left out.',
        'When nothing fits, try other words once, then answer from what you know.',
      ].join('\n');
    },
  },
  {
    name: 'memory-workflow',
    description: 'How to work with this memory',
    text: () =>
      [
        'How to work with this memory:',
        '1. Recall first: memory_recall with the task in `context`, before you begin and whenever the subject changes.',
        '2. Store what will matter later with memory_store, one fact to a memory: decisions with their reasons, preferences, results, names. Give it a title that a search would use.',
        '3. Choose the tier by how long it holds: short for hours, mid for 90 days after the last use, long for what stays true.',
        '4. File it under a namespace that the next reader will look in, such as team/project; recall searches a namespace together with its ancestors.',
        '5. When a fact changes, store it under the same title with on_conflict "merge" instead of adding a second one.',
        '6. Keep answers short: the default format toon_compact is the smallest; memory_get reads the rest of a text that ends in [+n].',
      ].join('\n'),
  },
];

export function listPrompts(): Prompt[] {
  return PROMPTS.map(({ text: _text, ...prompt }) => prompt);
}

/** The text of a prompt as one user message; -32602 for an unknown or missing name. */
export function getPrompt(name: unknown, args: Readonly<Record<string, unknown>>): GetPromptResult {
  const prompt = PROMPTS.find((known) => known.name === name);
  if (prompt === undefined) {
    throw new RpcError(INVALID_PARAMS, `unknown prompt: ${String(name ?? '').slice(0, 128)}`);
  }
  return {
    description: prompt.description,
    messages: [{ role: 'user', content: { type: 'text', text: prompt.text(args) } }],
  };
}
