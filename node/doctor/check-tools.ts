import { listedTools } from '../bindings/profile.js';
import { toolRow } from '../bindings/tool-list.js';
import { type Profile, profileName } from '../config/tool-profile.js';
import type { Operation } from '../pipeline/operation.js';
import type { CountTokens } from '../semantics/budget.js';
import { type Section, SectionBuilder } from './report.js';

/** Tokens that a client spends at every start of a session; the bound of the reference. */
const LIST_TOKENS_HIGH = 8000;

/** The share of the tool list in an agent's context, in cl100k tokens. */
export interface ToolTokens {
  readonly profile: string;
  readonly tools: readonly { readonly name: string; readonly family: string; readonly tokens: number }[];
  readonly count: number;
  /** Of the whole answer to `tools/list`, so slightly more than the sum of the tools. */
  readonly tokens: number;
}

/** Counts the tools as `tools/list` shows them under a profile. */
export function toolTokens(
  operations: readonly Operation[],
  profile: Profile,
  count: CountTokens,
): ToolTokens {
  const listed = listedTools(operations, profile);
  const rows = listed.map(toolRow);
  return {
    profile: profileName(profile),
    tools: listed.map(({ name, family }, index) => ({
      name,
      family,
      tokens: count(JSON.stringify(rows[index])),
    })),
    count: listed.length,
    tokens: count(JSON.stringify({ tools: rows })),
  };
}

/** The same as a section of the report, the most expensive tool first. */
export function checkTools({ profile, tools, count, tokens }: ToolTokens): Section {
  const section = new SectionBuilder('Tools')
    .fact('profile', profile)
    .fact('tools', count)
    .fact('tokens of tools/list', tokens);
  const dearest = [...tools].sort((a, b) => b.tokens - a.tokens || (a.name < b.name ? -1 : 1));
  for (const tool of dearest) section.fact(tool.name, tool.tokens);
  if (tokens > LIST_TOKENS_HIGH) {
    section.warn(
      'TOOL_LIST_LARGE',
      `the tool list takes ${tokens} tokens of every agent's context`,
      'serve the core profile: SVC_PROFILE=core',
    );
  }
  return section.done();
}
