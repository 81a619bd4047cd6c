import { z } from 'zod';

const severity = z
  .enum(['INFO', 'WARN', 'CRIT'])
  .describe('How bad a finding is; N/A is for a section whose feature is not configured');

const finding = z
  .object({
    code: z.string().describe('Stable, in capitals'),
    severity,
    message: z.string(),
    fix: z.string().describe('A command or a setting that helps; empty when nothing needs to be done'),
  })
  .readonly();

const section = z
  .object({
    name: z.string(),
    severity: z.enum([...severity.options, 'N/A']),
    facts: z.array(z.tuple([z.string(), z.string()]).readonly()).readonly(),
    findings: z.array(finding).readonly(),
  })
  .readonly();

/** What doctor found (reference-mcp-cli §2.2, doctor). */
export const examination = z
  .object({
    mode: z.enum(['local', 'remote']),
    source: z.string().describe('The home that was examined, or the nodes'),
    generated_at: z.string(),
    sections: z.array(section).readonly(),
    overall: severity,
  })
  .readonly();

export type Severity = z.output<typeof severity>;
export type Finding = z.output<typeof finding>;
export type Section = z.output<typeof section>;
export type Examination = z.output<typeof examination>;
