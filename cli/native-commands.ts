import type { CommandTable } from './command.js';

/**
 * Commands that are not operations, by name; `group member` makes a member of a group. Each is loaded when it is
 * called, so that a command does not wait for the modules of another; they are declared with `defineCommand`.
 */
export const NATIVE_COMMANDS: CommandTable = {
  serve: async () => (await import('./serve-command.js')).serveCommand,
  mcp: async () => (await import('./mcp-command.js')).mcpCommand,
  'identity generate': async () => (await import('./identity/generate-command.js')).generateCommand,
  'identity import': async () => (await import('./identity/import-command.js')).importCommand,
  'identity list': async () => (await import('./identity/list-command.js')).listCommand,
  'identity export-pub': async () => (await import('./identity/export-command.js')).exportCommand,
  doctor: async () => (await import('./doctor-command.js')).doctorCommand,
  'config show': async () => (await import('./config-show-command.js')).configShowCommand,
  'config migrate': async () => (await import('./config-migrate-command.js')).configMigrateCommand,
  export: async () => (await import('./export-command.js')).exportCommand,
  import: async () => (await import('./import-command.js')).importCommand,
  backup: async () => (await import('./backup-command.js')).backupCommand,
  restore: async () => (await import('./restore-command.js')).restoreCommand,
  completions: async () => (await import('./completions-command.js')).completionsCommand(NATIVE_COMMANDS),
  repair: async () => (await import('./repair-command.js')).repairCommand,
  reembed: async () => (await import('./reembed-command.js')).reembedCommand,
  'encoder list': async () => (await import('./encoder/list-command.js')).listCommand,
  'encoder install': async () => (await import('./encoder/install-command.js')).installCommand,
  'encoder use': async () => (await import('./encoder/use-command.js')).useCommand,
  'mesh init': async () => (await import('./mesh/init-command.js')).initCommand,
  'mesh invite': async () => (await import('./mesh/invite-command.js')).inviteCommand,
  'mesh join': async () => (await import('./mesh/join-command.js')).joinCommand,
  'mesh status': async () => (await import('./mesh/status-command.js')).statusCommand,
  'mesh verify': async () => (await import('./mesh/verify-command.js')).verifyCommand,
  'mesh remove': async () => (await import('./mesh/remove-command.js')).removeCommand,
  'mesh renew': async () => (await import('./mesh/renew-command.js')).renewCommand,
  'mesh adopt': async () => (await import('./mesh/adopt-command.js')).adoptCommand,
  'mesh op': async () => (await import('./mesh/op-command.js')).opCommand,
  'mesh scrub': async () => (await import('./mesh/scrub-command.js')).scrubCommand,
  'mesh conflicts': async () => (await import('./mesh/conflicts-command.js')).conflictsCommand,
  'pending watch': async () => (await import('./pending/watch-command.js')).watchCommand,
  'inbox-watch': async () => (await import('./inbox-watch-command.js')).inboxWatchCommand,
  'rules add': async () => (await import('./rules/add-command.js')).addCommand,
  'rules check': async () => (await import('./rules/check-command.js')).checkCommand,
  'rules enable': async () => (await import('./rules/change-commands.js')).enableCommand,
  'rules disable': async () => (await import('./rules/change-commands.js')).disableCommand,
  'rules remove': async () => (await import('./rules/change-commands.js')).removeCommand,
  'rules keygen': async () => (await import('./rules/key-commands.js')).keygenCommand,
  'rules sign-seed': async () => (await import('./rules/key-commands.js')).signSeedCommand,
  'hooks check': async () => (await import('./hooks/check-command.js')).checkCommand,
  'governance install-defaults': async () =>
    (await import('./governance/install-defaults-command.js')).installDefaultsCommand,
  'governance migrate-to-permissions': async () =>
    (await import('./governance/migrate-command.js')).migrateCommand,
  'campaign validate': async () => (await import('./campaign-command.js')).campaignValidateCommand,
};
