/** How a node is started as a service of its user. */
export interface Service {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export const UNIT_NAME = 'mnemesh.service';
export const AGENT_LABEL = 'mnemesh';

/** What each file has that `serve --install` wrote. A comment of XML has no two hyphens. */
const UNIT_MARK = 'Written by "mnemesh serve --install"; "mnemesh serve --uninstall" removes it.';
const AGENT_MARK = 'Written by mnemesh serve with its flag "install"; its flag "uninstall" removes it.';

export const isOwn = (text: string): boolean => text.includes(UNIT_MARK) || text.includes(AGENT_MARK);

/** Exit code of a start that its configuration or database forbids: another start would end alike. */
const REFUSED = 78;

/** The unit of systemd. */
export function unitText({ command, env }: Service): string {
  return [
    `# ${UNIT_MARK}`,
    '[Unit]',
    'Description=mnemesh, a memory service for AI agents',
    '',
    '[Service]',
    'Type=exec',
    `ExecStart=${command.map(systemdWord).join(' ')}`,
    ...Object.entries(env).map(([name, value]) => `Environment=${systemdWord(`${name}=${value}`)}`),
    'Restart=on-failure',
    'RestartSec=2',
    `RestartPreventExitStatus=${REFUSED}`,
    'UMask=0077',
    'NoNewPrivileges=true',
    '',
    '[Install]',
    'WantedBy=default.target',
    '',
  ].join('\n');
}

/** A word of a unit: quoted, without the specifiers of systemd and without variables. */
function systemdWord(word: string): string {
  const plain = word.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w@%+=:,./$-]+$/.test(plain)
    ? plain
    : `"${plain.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}

/** The property list of a launch agent. */
export function agentText({ command, env }: Service, log: string): string {
  const text = (value: string) => `<string>${xml(value)}</string>`;
  const variables = Object.entries(env).map(([name, value]) => `    <key>${xml(name)}</key>${text(value)}`);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    `<!-- ${AGENT_MARK} -->`,
    '<plist version="1.0">',
    '<dict>',
    `  <key>Label</key>${text(AGENT_LABEL)}`,
    '  <key>ProgramArguments</key>',
    '  <array>',
    ...command.map((word) => `    ${text(word)}`),
    '  </array>',
    '  <key>EnvironmentVariables</key>',
    '  <dict>',
    ...variables,
    '  </dict>',
    '  <key>RunAtLoad</key><true/>',
    '  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>',
    '  <key>ThrottleInterval</key><integer>10</integer>',
    '  <key>Umask</key><integer>63</integer>',
    `  <key>StandardErrorPath</key>${text(log)}`,
    '</dict>',
    '</plist>',
    '',
  ].join('\n');
}

const XML: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

const xml = (text: string): string => text.replace(/[&<>]/g, (character) => XML[character]!);
