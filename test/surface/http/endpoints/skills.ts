import { type EndpointRow, INVALID, NO_ADMIN, NOT_FOUND, ROOT } from './row.js';

const NO_SKILL = '00000000-0000-4000-8000-000000000000';
const SKILL = {
  ...{ id: 'string', namespace: 'string', name: 'string', description: 'string', digest: 'string' },
  ...{ created_at: 'number', signing_agent: 'string' },
} as const;
const text = (more = '') =>
  `---\nnamespace: team/k\nname: deploy\ndescription: How to deploy\n${more}---\n\n# Deploy\n`;
const row = (
  method: EndpointRow['method'],
  path: string,
): Pick<EndpointRow, 'section' | 'method' | 'path' | 'as'> => ({
  ...{ section: '4.12', method, path, as: ROOT },
});

export const skills: readonly EndpointRow[] = [
  {
    ...{ ...row('POST', '/skill/register'), what: 'register a skill', body: { inline_skill: text() } },
    ...{
      status: 200,
      keep: 'k',
      holds: { registered: true, namespace: 'team/k', name: 'deploy', signed: true },
    },
    shape: { id: 'string', digest: 'string' },
  },
  {
    ...{ ...row('POST', '/skill/register'), what: 'register a skill of no name', ...INVALID },
    body: { inline_skill: '---\nnamespace: team/k\n---\n' },
  },
  { ...{ ...row('POST', '/skill/register'), what: 'register nothing', body: {}, ...INVALID } },
  {
    ...{ ...row('POST', '/skill/register'), what: 'register a folder of the host', ...INVALID },
    body: { folder_path: '/etc' },
  },
  {
    ...{ ...row('POST', '/skill/register'), as: 'ai:alice', what: 'register a skill as no admin' },
    ...{ body: { inline_skill: text() }, ...NO_ADMIN },
  },
  {
    ...{ ...row('GET', '/skill/list?namespace=team/%25'), what: 'list skills', status: 200 },
    ...{ holds: { count: 1 }, shape: { skills: [SKILL] } },
  },
  { ...{ ...row('GET', '/skill/list'), as: 'ai:alice', what: 'list skills as no admin', ...NO_ADMIN } },
  {
    ...{ ...row('GET', '/skill/{k}'), what: 'show a skill', status: 200 },
    ...{ holds: { body: '# Deploy\n', current: true, resources: [], metadata: {} }, shape: SKILL },
  },
  { ...{ ...row('GET', `/skill/${NO_SKILL}`), what: 'show a skill that is not there', ...NOT_FOUND } },
  { ...{ ...row('GET', '/skill/{k}'), as: 'ai:alice', what: 'show a skill as no admin', ...NO_ADMIN } },
  {
    ...{ ...row('GET', '/skill/{k}/resource?path=scripts/run.sh'), what: 'show a file that is not there' },
    ...NOT_FOUND,
  },
  { ...{ ...row('GET', '/skill/{k}/resource'), what: 'show no file', ...INVALID } },
  {
    ...{
      ...row('POST', '/skill/{k}/export'),
      what: 'write a skill to a folder',
      body: { target_folder: 'out' },
    },
    ...{ status: 200, holds: { exported: true, resources_exported: 0, files: ['SKILL.md'] } },
    shape: { target_folder: 'string', digest: 'string', skill_id: 'string' },
  },
  {
    ...{ ...row('POST', '/skill/{k}/export'), what: 'write a skill to a folder of the host' },
    ...{ body: { target_folder: '/tmp/elsewhere' }, ...INVALID },
  },
  {
    ...{ ...row('POST', '/skill/{k}/export'), what: 'write a skill out of the folder of skills' },
    ...{ body: { target_folder: '../elsewhere' }, ...INVALID },
  },
  {
    ...{ ...row('POST', '/skill/no-such/promote'), what: 'make a skill of a memory that is not there' },
    ...{ body: { name: 'x', description: 'd' }, ...NOT_FOUND },
  },
  {
    ...{ ...row('POST', '/skill/{k}/compose'), what: 'compose a skill', status: 200 },
    holds: {
      ...{ skill_namespace: 'team/k', skill_name: 'deploy', compositional_namespaces: [], reflections: [] },
      ...{ budget_tokens: 4000, tokens_used: 0, memories_dropped: 0 },
    },
  },
  {
    ...{ ...row('POST', '/skill/{k}/compose'), what: 'compose a skill with a budget that is none' },
    ...{ body: { budget_tokens: -1 }, ...INVALID },
  },
];
