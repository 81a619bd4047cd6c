import { z } from 'zod';
import { failed, ok } from '../../../protocol/base/result.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { namedReflection } from './named-reflection.js';
import { reflectionFile } from './reflection-file.js';

/** Shows a reflection as the text of a file (interface §4.12, reference-mcp-cli §1.2). */
export const memoryExportReflection = defineOperation({
  name: 'memory_export_reflection',
  family: 'power',
  summary: 'Show a reflection as the text of a file, in Markdown or JSON.',
  input: z.object({
    memory_id: fields.memoryId,
    format: z
      .enum(['md', 'markdown', 'json'])
      .transform((format) => (format === 'json' ? 'json' : 'md'))
      .default('md')
      .describe('Markdown with a front matter, or JSON'),
  }),
  output: z.object({
    content: z.string(),
    suggested_filename: z.string().describe('<namespace>/<id> with its ending'),
  }),
  effect: 'read',
  guards: {},
  http: [{ method: 'POST', path: '/memory_export_reflection', fields: 'body' }],
  mcp: { description: 'Show a reflection as a Markdown or JSON file.' },
  run: async (call, { memory_id: id, format }) => {
    const memory = await namedReflection(call, id);
    if (!memory.ok) return failed(memory.error);
    const file = await reflectionFile(call, memory.value, format);
    if (!file.ok) return failed(file.error);
    return ok({ content: file.value.content, suggested_filename: file.value.name });
  },
});
