import type { DocumentedFlag } from '../command.js';

/** The flags of `serve` that are about a service of the user. */
export const SERVICE_FLAGS: readonly DocumentedFlag[] = [
  {
    name: 'install',
    kind: 'switch',
    doc: 'Run the node as a service of this user (systemd, launchd), now and at each login',
  },
  { name: 'uninstall', kind: 'switch', doc: 'End that service and remove it; the data stays' },
  { name: 'dry-run', kind: 'switch', doc: 'With --install: only print the file of the service' },
];
