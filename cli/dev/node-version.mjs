// Runs before every other module of the development scripts, so its words are those of old releases of Node.

/** The oldest Node on which the program runs. `engines` asks for a newer one, which Node's project still maintains. */
export const OLDEST_NODE = [20, 19];

/** Two lines for who starts the program with an older Node: what is wrong, and what to do. */
export const tooOld = (version) =>
  `mnemesh needs Node ${OLDEST_NODE.join('.')} or newer, and this is Node ${version}.\n` +
  'Install a newer Node (https://nodejs.org), or try one for this call: npx -y -p node@22 -p mnemesh mnemesh\n';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
  process.stderr.write(tooOld(process.version));
  process.exit(78);
}
