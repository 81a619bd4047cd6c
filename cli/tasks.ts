/** What people do with the program, and the commands for it. */
export interface Task {
  readonly title: string;
  /** First words of commands, those of the first page of help. */
  readonly often: readonly string[];
  /** First words of further commands. */
  readonly also: readonly string[];
}

const words = (text: string): readonly string[] => text.split(' ').filter((word) => word !== '');

/** The place of a command: that of its first word, and among the words of a task in their order. */
export function inTask<T extends { readonly name: string }>(
  { often, also }: Task,
  commands: readonly T[],
): readonly T[] {
  const firstWord = ({ name }: T) => name.split(' ')[0] as string;
  return [...often, ...also].flatMap((word) => commands.filter((each) => firstWord(each) === word));
}

/** Every command has its place here by its first word, in the order of help. */
export const TASKS: readonly Task[] = [
  {
    title: 'Keep notes',
    often: words('store update promote delete undo-edit history'),
    also: words('forget erasure check-duplicate ingest-multistep offload deref'),
  },
  {
    title: 'Find notes',
    often: words('recall search list get namespaces stats'),
    also: words('recalls expand recall-observations'),
  },
  {
    title: 'Work with agents',
    often: words('install mcp boot wrap inbox notify share board'),
    also: words(
      'uninstall inbox-read inbox-watch recover-previous-session skill subscribe unsubscribe list-subscriptions subscription-replay subscription-dlq-list',
    ),
  },
  {
    title: 'Connect notes',
    often: words('link kg-query find-paths lineage replay'),
    also: words('kg-invalidate kg-timeline entity-register entity-get-by-alias'),
  },
  {
    title: 'Condense notes',
    often: words('consolidate reflect atomise persona resolve curator'),
    also: words(
      'auto-consolidate reflection-origin dependents-of-invalidated verify-reflection-chain export-reflections',
    ),
  },
  {
    title: 'Decide who may',
    often: words('agents identity token pending rules namespace hooks'),
    also: words('sign governance reown quota-status verify-signed-events-chain verify-audit-trail audit'),
  },
  {
    title: 'Move and save',
    often: words('import mine export backup restore archive'),
    also: words('sync sync-daemon export-forensic-bundle verify-forensic-bundle schema-init migrate'),
  },
  {
    title: 'Run a node',
    often: words('serve doctor config encoder jobs gc room repair'),
    also: words('init logs reembed calibrate bench'),
  },
  { title: 'Run several nodes', often: ['mesh'], also: [] },
  { title: 'Use the shell', often: words('shell completions man help'), also: ['campaign'] },
];
